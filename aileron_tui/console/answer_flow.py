"""Where answers are given: asked once more if need be, held for the undo window, sent, and followed to their end."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from textual.timer import Timer

from aileron_tui.console.render import foreign_line, own
from aileron_tui.console.timers import call_after
from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.risk import RiskLevel
from aileron_tui.surface.answer_delivery import Answer, Delivery, deliver
from aileron_tui.surface.board import Tone

if TYPE_CHECKING:
    from aileron_tui.console.app import Console
    from aileron_tui.core.request import Request

_AT_ONCE: Final = 4
_DRAWN_LATER: Final = 0.05
_CHANGED: Final = "it changed before it was sent: look again"


class AnswerFlow:
    """The answers of one console. Sending is work of the app, so it outlives every screen."""

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._board = console.board
        self._held: tuple[Answer, float, Timer] | None = None
        self._soon: Timer | None = None
        self._hands: dict[str, ThreadPoolExecutor] = {}
        self._sent: dict[str, Answer] = {}
        self.edited: Answer | None = None

    @property
    def shown(self) -> "Request | None":
        """The request to draw: as it was edited, if that is what will be, or is being, approved."""
        item = self._board.current
        if item is None or (item.edited_from and not item.state.decidable):
            return item
        held = self._held[0] if self._held else None
        for answer in (self.edited, held, self._sent.get(item.key)):
            if answer is not None and answer.edits is not None and answer.request.key == item.key:
                return answer.request
        return item

    def close(self) -> None:
        """Begins nothing more; what is being sent is seen through."""
        for hands in self._hands.values():
            hands.shutdown(wait=False, cancel_futures=True)

    # one answer

    def approve(self) -> None:
        """Approves what is shown; high risk is asked once more."""
        answer = self.edited or self._answer(Verdict.APPROVE)
        if answer is None:
            return
        if answer.request.prompt.risk.level is RiskLevel.HIGH:
            self._ask_once_more(answer)
        else:
            self._hold(answer)

    def deny(self) -> None:
        """Denies the request that is shown, at once: nothing runs."""
        if answer := self._answer(Verdict.DENY):
            self._send(answer)

    def deny_with_reason(self) -> None:
        """Asks for the reason, then denies."""
        answer = self._answer(Verdict.DENY)
        if answer is None:
            return
        from aileron_tui.console.screens.reason import ReasonScreen  # noqa: PLC0415  # screens load when opened

        item = answer.request

        def denied(reason: str | None) -> None:
            if reason is not None:
                self._send(Answer(item, Verdict.DENY, reason))

        self._console.push_screen(ReasonScreen(item.prompt.action, self._console.arming), denied)

    def _answer(self, verdict: Verdict) -> Answer | None:
        item = self._board.current
        return Answer(item, verdict) if item else None

    def _ask_once_more(self, answer: Answer) -> None:
        from aileron_tui.console.screens.confirm import ConfirmScreen, TypedConfirmScreen  # noqa: PLC0415
        from aileron_tui.console.screens.lock import LockScreen  # noqa: PLC0415

        settings, prompt = self._console.settings, answer.request.prompt
        question = own("⚠ High risk. Approve ", "bold $text-error") + foreign_line(prompt.action) + own("?")

        def confirmed(sure: bool | None) -> None:
            if sure and self._outdated(answer):
                self._console.hint(_CHANGED, Tone.WARN)
            elif sure:
                self._hold(answer)

        if settings.high_risk == "type":
            self._console.push_screen(TypedConfirmScreen(question, prompt.action), confirmed)
        elif settings.high_risk == "passphrase" and self._console.keys.lockable:
            self._console.push_screen(LockScreen(self._console.keys, "Approve with your passphrase"), confirmed)
        else:
            detail = foreign_line(prompt.risk.reason)
            self._console.push_screen(ConfirmScreen(question, detail, self._console.arming), confirmed)

    # the undo window

    def _hold(self, answer: Answer) -> None:
        """Keeps an approval back for a moment; low risk goes out at once. A second approval sends the first."""
        seconds = self._console.settings.undo_seconds
        if self._held:
            self._send(self._release(self._held))
        if not seconds or answer.request.prompt.risk.level is RiskLevel.LOW:
            self._send(answer)
            return
        timer = call_after(self._console, seconds, self._time_is_up)
        self._held = (answer, monotonic() + seconds, timer)
        self._board.set_pill(answer.request.key, "approved, not sent yet", Tone.WARN, brief="not sent yet")
        self._console.redraw()

    def _time_is_up(self) -> None:
        if self._held:
            self._send(self._release(self._held))

    @property
    def held(self) -> float:
        """Seconds until a held approval is sent, 0 if there is none."""
        return max(0.1, self._held[1] - monotonic()) if self._held else 0.0

    def take_back(self) -> None:
        """Undo: nothing is sent."""
        if not self._held:
            self._console.hint("there is nothing to take back")
            return
        answer = self._release(self._held)
        self._board.clear_pill(answer.request.key)
        self._console.hint("taken back: nothing was sent")
        self._console.redraw()

    def _release(self, held: tuple[Answer, float, Timer]) -> Answer:
        held[2].stop()
        self._held = None
        self._console.arming.keys_moved()  # where its undo could be clicked there may be another key now
        return held[0]

    def look_again(self) -> None:
        """After news from a source: an approval over what is no longer shown is not sent, its edit is forgotten."""
        if self.edited and not self._board.is_waiting(self.edited.request.key):
            self.edited = None
        if self._held:
            answer = self._held[0]
            if self._outdated(answer):
                self._release(self._held)
                self._board.clear_pill(answer.request.key)
                self._console.hint(_CHANGED, Tone.WARN)

    def _outdated(self, answer: Answer) -> bool:
        """Whether the request is another now than the one that was answered; an edited call is fetched and kept."""
        now = self._board.requests.get(answer.request.key)
        return answer.edits is None and now is not None and now.digest != answer.request.digest

    # sending

    def _send(self, answer: Answer) -> None:
        if self.edited and self.edited.request.key == answer.request.key:
            self.edited = None
        if answer.edits is not None:
            self._sent[answer.request.key] = answer
        self._board.set_pill(answer.request.key, "sending…")
        self._board.marked.discard(answer.request.key)
        self._work(answer.request.source, partial(self._deliver, [answer], self._settled))
        self._draw_soon()

    def _draw_soon(self) -> None:
        """The answer goes before the picture: most are taken before the word would have been drawn."""
        if self._soon is None:
            self._soon = call_after(self._console, _DRAWN_LATER, self._draw)

    def _draw(self) -> None:
        if self._soon:
            self._soon.stop()
        self._soon = None
        self._console.redraw()

    @property
    def draws_soon(self) -> bool:
        """Whether an answer is on its way, and the board will be drawn in a moment anyway."""
        return self._soon is not None

    def _deliver(self, answers: list[Answer], told: Callable[[Delivery], None]) -> None:
        """Off the loop: sends one answer to its source, or several to the same one after the other."""
        for answer in answers:
            source = self._console.source_of(answer.request)
            outcome = deliver(source, answer) if source else Delivery(answer, False, _unsent(answer.request))
            self._console.call_later(told, outcome)

    def _settled(self, outcome: Delivery) -> None:
        """The pill tells the truth."""
        key = outcome.answer.request.key
        sent = self._sent.pop(key, None)
        if outcome.taken:
            if sent is not None:
                self._board.record_approved_edit(sent.request)
            self._board.answered_here.add(key)
            self._board.set_pill(key, "running…" if outcome.answer.verdict is Verdict.APPROVE else "denied")
        else:
            self._board.clear_pill(key)
            self._console.hint(outcome.words, outcome.tone)
            self._console.vaults.ask(outcome.answer.request.source)
        self._draw()

    def _settled_one_of(self, outcomes: list[Delivery], count: int, outcome: Delivery) -> None:
        self._settled(outcome)
        outcomes.append(outcome)
        if len(outcomes) == count > 1:
            self._summed_up(outcomes)

    def _summed_up(self, outcomes: list[Delivery]) -> None:
        counts = {"approved": 0, "denied": 0, "skipped": 0}
        for outcome in outcomes:
            verdict = "approved" if outcome.answer.verdict is Verdict.APPROVE else "denied"
            counts[verdict if outcome.taken else "skipped"] += 1
        words = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        why = "; ".join(dict.fromkeys(outcome.words for outcome in outcomes if not outcome.taken))
        self._console.hint(f"{words} ({why})" if why else words, Tone.WARN if why else Tone.GOOD)
        self._board.marked -= {outcome.answer.request.key for outcome in outcomes}
        self._console.redraw()

    def _work(self, source: str, task: Callable[[], None]) -> None:
        """Off the loop. Each source has hands of its own: a slow one keeps nobody waiting but its own."""
        if source not in self._hands:
            self._hands[source] = ThreadPoolExecutor(_AT_ONCE, f"desk {source}".rstrip())
        self._hands[source].submit(task)

    # editing

    def edit(self) -> None:
        """Opens the form; what comes of it is shown as a difference before it can be approved."""
        from aileron_tui.console.screens.edit import EditScreen  # noqa: PLC0415

        item = self._board.current
        if item is None:
            return

        def edited(edits: JsonObject | None) -> None:
            if edits:
                self._board.set_pill(item.key, "fetching the edited call…", brief="fetching…")
                self._console.redraw()
                self._work(item.source, partial(self._fetch_edited, item, edits))

        so_far = self.edited.edits if self.edited and self.edited.request.key == item.key else None
        self._console.push_screen(EditScreen(item, so_far), edited)

    def _fetch_edited(self, item: "Request", edits: JsonObject) -> None:
        source = self._console.source_of(item)
        try:
            if source is None:
                raise AileronError("not connected")
            # What it is compared with is what was shown here, not what the source says was asked.
            edited = replace(source.refresh(item.id, edits), source=item.source)
            edited = replace(edited, edited_from=item.edited_from or item.prompt)
            answer = Answer(edited, Verdict.APPROVE, "", edits)
        except AileronError as error:
            self._console.call_later(self._not_edited, item, str(error))
        else:
            self._console.call_later(self._show_edited, answer)

    def _not_edited(self, item: "Request", why: str) -> None:
        self._board.clear_pill(item.key)
        self._console.hint(why, Tone.BAD)
        self._console.redraw()

    def _show_edited(self, answer: Answer) -> None:
        self._board.clear_pill(answer.request.key)
        if self._board.selected == answer.request.key:
            self.edited = answer
        self._console.redraw()

    def forget_edit(self) -> None:
        """Back to what the agent sent."""
        self.edited = None

    # several at once

    def mark(self) -> None:
        """Marks the request for a batch, or unmarks it."""
        item = self._board.current
        if item is None or not self._board.is_waiting(item.key):
            self._console.hint("only a waiting request can be marked")
            return
        self._board.marked ^= {item.key}
        self._console.redraw()

    def batch(self, verdict: Verdict) -> None:
        """The sheet of marked requests, without those that something is already being done about."""
        from aileron_tui.console.screens.batch import BatchChoice, BatchScreen  # noqa: PLC0415

        board = self._board
        waiting = [key for key in board.listed if key in board.marked and board.is_waiting(key)]
        marked = [board.requests[key] for key in waiting if not board.pill(key).words]
        busy = board.pill(waiting[0]).words if waiting else ""
        nothing = f"it cannot be answered now: {busy}" if busy else "nothing is marked: space marks a request"
        if why := self._console.unable() or ("" if marked else nothing):
            self._console.hint(why)
            return
        start = BatchChoice.APPROVE if verdict is Verdict.APPROVE else BatchChoice.DENY
        unable = {item.key: why for item in marked if (why := self._console.unable(item))}
        self._console.push_screen(BatchScreen(marked, start, unable, self._console.arming), self._send_all)

    def _send_all(self, chosen: "list[tuple[Request, Verdict]] | None") -> None:
        if not chosen:
            return
        for item, _ in chosen:
            self._board.set_pill(item.key, "sending…")
        self._console.redraw()
        told = partial(self._settled_one_of, [], len(chosen))
        for source in dict.fromkeys(item.source for item, _ in chosen):
            answers = [Answer(item, verdict) for item, verdict in chosen if item.source == source]
            self._work(source, partial(self._deliver, answers, told))


def _unsent(item: "Request") -> str:
    return f"{f'{item.source} is ' if item.source else ''}not connected: nothing was sent"
