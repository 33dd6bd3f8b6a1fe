"""Asks about one waiting request after another, sends the answers, and says what became of them."""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Final

from aileron_tui.cli import question_text as text
from aileron_tui.cli.exit_codes import FAILED, NOT_FOUND, OK, OUTCOME_UNKNOWN, WAITING
from aileron_tui.cli.output import counted
from aileron_tui.cli.question import Question, QuestionLeft, QuestionOver, QuestionSettings
from aileron_tui.cli.question_answers import ENTER, TICK_SECONDS, Answers
from aileron_tui.cli.question_lock import KeyLock
from aileron_tui.cli.question_presence import AT_TERMINAL_SECONDS, ReadingReporter
from aileron_tui.cli.question_terminal import QuestionTerminal
from aileron_tui.cli.question_text import capitalized
from aileron_tui.cli.question_touch import touched
from aileron_tui.cli.request_lookup import PREVIEW_SECONDS
from aileron_tui.cli.security_key_prompt import needs_touch
from aileron_tui.console.source_listeners import SourceListeners
from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.request import Request, request_key
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import inline, short
from aileron_tui.runtime.errors import NotFound
from aileron_tui.surface.answer_delivery import Answer, Delivery, DeliveryRefusal, deliver
from aileron_tui.surface.arming import Arming, elapsed
from aileron_tui.surface.board import Board
from aileron_tui.surface.other_surfaces import OtherSurfaces
from aileron_tui.surface.security_key_device import TouchFault
from aileron_tui.surface.source_listener import ConnectionState

if TYPE_CHECKING:
    from aileron_tui.surface.source import OperatorKey, Source, SourceSpec

SURFACE: Final = "prompt"

_OUTCOME_SECONDS: Final = 5.0
_LAST_OUTCOME_SECONDS: Final = 60.0
_CONNECT_SECONDS: Final = 1.5
_NEWS_SECONDS: Final = 3.0
_LONGEST_REASON: Final = 300
_CODES: Final = {
    RequestState.EXECUTED: OK,
    RequestState.HANDED_OVER: OK,
    RequestState.UNKNOWN: OUTCOME_UNKNOWN,
    RequestState.INTERRUPTED: OUTCOME_UNKNOWN,
}
_UNLOCK: Final = "A request is waiting. Unlock your key to read it, or press enter to leave it."
_NOT_CONNECTED: Final = "not connected"
_Version = tuple[object, ...]


class QuestionLoop:
    """Asks about the requests of some sources. All but `stop` and `resumed` is for one thread."""

    def __init__(  # whom to ask, where and how
        self,
        sources: "Sequence[SourceSpec]",
        key: "OperatorKey",
        terminal: QuestionTerminal,
        settings: QuestionSettings,
        arming: Arming | None = None,
    ) -> None:
        self._key = key
        self._terminal = terminal
        self._settings = settings
        self._board = Board(others=OtherSurfaces(SURFACE, key.name))
        self._sources = SourceListeners(sources, key, terminal.wake)
        self._reading = ReadingReporter(self._sources)
        self._answers = Answers(terminal, arming or Arming(), self._note_input)
        self._lock = KeyLock(key, terminal, self._answers, settings.lock_minutes)
        self._skipped: dict[str, _Version] = {}
        self._fetching: dict[str, float] = {}
        self._running: dict[str, str] = {}
        self._lost: dict[str, str] = {}
        self._said = ""
        self._begun = elapsed()
        self._last_seen = -AT_TERMINAL_SECONDS if settings.until_idle else elapsed()
        self._readers = ""
        self._stopping = False
        self.was_left = False

    def stop(self) -> None:
        """Ends the loop soon. Nothing is decided by that."""
        self._stopping = True
        self._terminal.wake()

    def resumed(self) -> None:
        """The program was stopped and goes on now. May be called from a signal handler."""
        self._answers.resumed()

    @property
    def waiting_ids(self) -> frozenset[str]:
        """The ids of the requests that wait, as far as this loop knows."""
        return frozenset(request.id for request in self._board.queue.waiting)

    @property
    def _unanswered_count(self) -> int:
        """How many requests wait for an answer; one that was answered here may not be reported as ended yet."""
        return sum(not self._is_answered(request) for request in self._board.queue.waiting)

    def run(self) -> int:
        """Asks until the operator leaves; returns the exit code."""
        try:
            self._unlock()
            self._sources.start()
            self._answers.begin_idle()
            return self._ask_all()
        except QuestionLeft:
            self.was_left = True
            return self._leave()
        finally:
            self._reading.close()
            self._sources.stop()

    def _leave(self) -> int:
        if waiting := self._unanswered_count:
            self._terminal.write(f"{counted(waiting, 'request')} still waiting.")
        return FAILED if self._settings.once else OK

    def _ask_all(self) -> int:
        while not self._stopping:
            self._take_news()
            self._report_outcomes()
            request = self._next()
            if request is not None and self._unlock():
                continue  # the connection is made again
            if request is not None:
                self._said = ""
                code = self._ask_about(request)
                if self._settings.once and code is not None:
                    return code
            elif self._settings.until_idle and self._board.has_reports and not self._is_awaited():
                return OK
            else:
                self._wait()
        return OK

    def _unlock(self) -> bool:
        """Asks for the passphrase if the key is locked; returns whether it was.

        Connections are made again then, because each signs with the key that it was made with.
        """
        why = _UNLOCK if self._settings.until_idle or self._board.waiting_count else ""
        if not self._lock.unlock(why, self._check_needed):
            return False
        self._sources.disconnect()
        self._begun = elapsed()
        return True

    def _check_needed(self) -> None:
        if self._stopping or not self._settings.is_needed():
            raise QuestionLeft

    # which request

    def _next(self) -> Request | None:
        """The oldest request that waits, was not answered here or skipped, and can be answered now."""
        for request in self._board.queue.waiting:
            if self._is_answered(request) or self._is_skipped(request) or self._connection_problem(request):
                continue
            if not request.fetching or self._has_fetched_for_long(request):
                return request
        return None

    def _has_fetched_for_long(self, request: Request) -> bool:
        return monotonic() - self._fetching.setdefault(request.key, monotonic()) > PREVIEW_SECONDS

    def _is_awaited(self) -> bool:
        """Whether something will be asked soon: its preview is being fetched, or its source is reconnecting."""
        return not all(map(self._is_skipped, self._board.queue.waiting))

    def _is_answered(self, request: Request) -> bool:
        """Whether this prompt was answered here, and its source has not reported what became of it."""
        return self._board.answered_here.get(request.key) == request.digest

    def _is_skipped(self, request: Request) -> bool:
        return not self._settings.is_wanted(request.id) or self._skipped.get(request.key) == _version(request)

    def _wait(self) -> None:
        """Waits for news, and says once what for."""
        is_connecting = self._trouble() and elapsed() - self._begun < _CONNECT_SECONDS
        words = self._said if is_connecting else self._waiting_words()
        if words != self._said:
            self._said = words
            self._answers.begin_idle()
            self._terminal.write(*words.split("\n"))
        key = self._answers.idle(TICK_SECONDS)
        if key == "q":
            raise QuestionLeft
        if key == ENTER and self._skipped:
            self._skipped.clear()
        elif key and self._terminal.style.plain:
            self._said = ""
        self._lock.lock_when_idle()

    def _waiting_words(self) -> str:
        quit_ = "Type q and press enter to quit." if self._terminal.style.plain else "Press q to quit."
        if trouble := self._trouble():
            return f"{capitalized(trouble)}.\n{quit_}"
        if any(request.fetching for request in self._board.queue.waiting):
            return "A request is waiting. Its preview is being fetched."
        skipped = sum(request.key in self._skipped for request in self._board.queue.waiting)
        if skipped:
            return f"{counted(skipped, 'skipped request')} still waiting. Press enter to be asked again.\n{quit_}"
        return f"Nothing is waiting. The next request is shown here.\n{quit_}"

    def _trouble(self) -> str:
        """Why nothing can be asked about now although something may wait, "" if it can."""
        if problem := self._sources.problem():
            why = self._sources.trouble
            return f"{problem}: {short(why, _LONGEST_REASON)}" if why else problem
        waiting = (request for request in self._board.queue.waiting if not self._is_skipped(request))
        return next(filter(None, map(self._connection_problem, waiting)), "")

    # what the sources report

    def _take_news(self) -> None:
        for report in self._sources.reports():
            if report.events:
                self._board.receive(report.events)
            if report.status is not None and report.status.state is not ConnectionState.LIVE:
                self._board.source_lost(report.status.since, report.name)
        self._board.remove_ended(monotonic())
        waiting = self._board.requests
        self._fetching = {key: since for key, since in self._fetching.items() if key in waiting}
        self._skipped = {key: version for key, version in self._skipped.items() if key in waiting}

    def _check(self, asked: Request) -> Request:
        """The request as it is now, if the prompt that was asked about still waits and can be answered."""
        if self._stopping:
            raise QuestionOver("Stopping. Nothing was decided.")
        self._take_news()
        now = self._board.requests.get(asked.key)
        if now is None or not now.state.decidable:
            raise QuestionOver(text.ended_words(self._board.pill(asked.key).words))
        if _version(now) != _version(asked):
            raise QuestionOver("The prompt has changed. Read it again.")
        if problem := self._connection_problem(now):
            raise QuestionOver(f"{capitalized(problem)}. Nothing was decided.")
        if self._lock.lock_when_idle():
            raise QuestionOver("Nothing was decided.")
        self._tell_readers(now)
        return now

    def _tell_readers(self, request: Request) -> None:
        """Tells the gate that this request is being read here, and the operator who reads it elsewhere."""
        is_read = elapsed() - self._last_seen < AT_TERMINAL_SECONDS
        self._reading.report(request if is_read else None)
        self._board.others.own = {request_key(request.source, id_) for id_ in self._reading.own}
        words = next(iter(self._board.reading_elsewhere(request.key)), "")
        if words and words != self._readers:
            self._terminal.write(f"It is {words}.")
        self._readers = words

    def _wait_for(self, happened: Callable[[], bool], seconds: float) -> bool:
        """Waits for news until something has happened."""
        end = monotonic() + seconds
        self._terminal.read_keys()
        while not self._stopping:
            self._take_news()
            if happened():
                return True
            left = end - monotonic()
            if left <= 0:
                return False
            self._answers.idle(min(left, TICK_SECONDS))
        return False

    # one request

    def _ask_about(self, asked: Request) -> int | None:
        """Asks about a request; returns the exit code if it was the only one, None if it is to be asked again."""
        terminal = self._terminal
        if self._settings.bell:
            terminal.ring()
        question = Question(asked, terminal, self._answers, lambda: self._check(asked))
        self._readers = ""
        try:
            while True:
                word = question.ask(self._unanswered_count, lambda: self._source(asked).fetched(asked.id))
                if word == text.SKIP:
                    self._skipped[asked.key] = _version(asked)
                    terminal.write(f"Skipped {text.name_of(asked)}. It is still waiting.")
                    return FAILED
                if word == text.DENY:
                    return self._send(Answer(question.request, Verdict.DENY, question.reason()))
                if not text.is_high(asked) or question.confirm(self._settings.high_risk, self._key):
                    return self._send(self._signed(Answer(self._check(asked), Verdict.APPROVE), question))
        except QuestionOver as over:
            self._answers.interrupted()
            terminal.write(over.words)
        except TouchFault as fault:
            terminal.write(f"Not approved: {inline(str(fault))}", *([inline(fault.hint)] if fault.hint else []))
        finally:
            self._reading.report(None)
        now = self._board.requests.get(asked.key)
        return NOT_FOUND if now is None or not now.state.decidable else None

    def _signed(self, answer: Answer, question: Question) -> Answer:
        """The answer, signed by a security key if it must be."""
        if not needs_touch(answer, self._settings.high_risk):
            return answer
        return touched(self._source(answer.request), answer, self._terminal, self._answers, question.check)

    def _connection_problem(self, request: Request) -> str:
        """Why the connection does not allow answering a request, "" if it does."""
        connected = self._sources.listeners[request.source].source is not None
        return self._sources.problem(request) or ("" if connected else _NOT_CONNECTED)

    def _source(self, request: Request) -> "Source":
        source = self._sources.listeners[request.source].source
        if source is None:
            raise AileronError(_NOT_CONNECTED)
        return source

    def _send(self, answer: Answer) -> int | None:
        request = answer.request
        try:
            source = self._source(request)
            if request.daemon and answer.verdict is Verdict.APPROVE:
                _check_unchanged(source, request)  # a daemon itself checks only the id
            delivery = deliver(source, answer)
        except QuestionOver as over:
            self._terminal.write(over.words)
            self._wait_for(lambda: self._is_news(request), _NEWS_SECONDS)
            return None
        except AileronError as error:
            self._terminal.write(f"Not sent: {inline(str(error))}")
            return None
        except KeyboardInterrupt:
            self._terminal.write("Interrupted while the answer was being sent: it may have arrived.")
            raise
        return self._accepted(delivery) if delivery.taken else self._refused(delivery)

    def _accepted(self, delivery: Delivery) -> int:
        request, verdict = delivery.answer.request, delivery.answer.verdict
        self._board.record_answer(request)
        name = f"{text.name_of(request)} {short(request.id, _LONGEST_REASON)}"
        if verdict is Verdict.DENY:
            self._terminal.write(f"Denied {name}.")
            return OK
        self._terminal.write(f"Approved {name}.")
        if not request.reports_end:
            self._terminal.write("Its outcome is not reported.")
            return OK
        self._running[request.key] = name
        limit = _LAST_OUTCOME_SECONDS if self._settings.once else _OUTCOME_SECONDS
        self._wait_for(lambda: self._is_settled(request.key), limit)
        now = self._board.requests.get(request.key)
        settled = now is not None and self._is_settled(request.key)
        self._report_outcomes()
        if now is None or not settled:
            self._terminal.write("It is still running.")
            return WAITING
        return _CODES.get(now.state, FAILED)

    def _refused(self, delivery: Delivery) -> int | None:
        self._terminal.write(f"{capitalized(delivery.words)}.")
        request = delivery.answer.request
        if delivery.refusal is DeliveryRefusal.OTHER:
            if delivery.error is not None and delivery.error.hint:
                self._terminal.write(inline(delivery.error.hint))
            return None
        self._wait_for(lambda: self._is_news(request), _NEWS_SECONDS)
        return None if delivery.refusal is DeliveryRefusal.CHANGED else NOT_FOUND

    def _is_news(self, asked: Request) -> bool:
        now = self._board.requests.get(asked.key)
        return now is None or not now.state.decidable or (_version(now) != _version(asked) and not now.fetching)

    def _is_settled(self, key: str) -> bool:
        now = self._board.requests.get(key)
        return now is None or now.state.settled

    def _report_outcomes(self) -> None:
        """Says how approved requests ended."""
        for key in [key for key in self._running if self._is_settled(key)]:
            name = self._running.pop(key)
            self._terminal.write(f"{name}: {self._board.pill(key).words}")

    def _note_input(self) -> None:
        self._lock.input_received()
        self._last_seen = elapsed()


def _version(request: Request) -> _Version:
    """What must stay the same while a request is asked about."""
    cautions = request.cautions_at(utc_now())
    return request.digest, request.instance, request.deny_only, request.fetching, cautions


def _check_unchanged(source: "Source", request: Request) -> None:
    try:
        now = source.item(request.id)
    except NotFound:
        raise QuestionOver("It is no longer waiting. Nothing was decided.") from None
    if not now.state.decidable:
        raise QuestionOver(f"It is no longer waiting: {inline(now.state)}.")
    if (now.digest, now.instance, now.deny_only) != (request.digest, request.instance, request.deny_only):
        raise QuestionOver("The prompt has changed; nothing was decided. Read it again.")
