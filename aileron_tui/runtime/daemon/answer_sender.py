"""Answering a daemon: once, on our own record first, and never again before it is known what stands."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.request import Request
from aileron_tui.core.states import InvalidTransition, RequestState
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.runtime.daemon import request_reader
from aileron_tui.runtime.daemon.answer_lock import AnswerLock
from aileron_tui.runtime.daemon.daemon_client import DaemonClient, DaemonResult
from aileron_tui.runtime.daemon.daemon_ledger import DaemonLedger
from aileron_tui.runtime.daemon.tracker import Tracker
from aileron_tui.runtime.errors import (
    ApprovalsOff,
    NoGate,
    NotFound,
    NotWaiting,
    PromptChanged,
    Rejected,
    RuntimeFault,
    Unanswered,
    Untrustworthy,
)
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import UnlockedKey

_UNCERTAIN: Final = "whether the daemon took the answer is not known"


class NotAnswered(RuntimeFault):
    """An answer that must not be given."""


class AnswerSender:
    """The answers of one connection, from any thread.

    `ended` is called with what became of a request, `unsettled` with one of which that must still be found out.
    """

    def __init__(  # noqa: PLR0913  # what an answer is made of
        self,
        client: DaemonClient,
        record: DaemonLedger,
        tracker: Tracker,
        key: UnlockedKey,
        turns: AnswerLock,
        *,
        surface: str,
        clock: Callable[[], datetime],
        ended: Callable[[str, DaemonResult], None],
        unsettled: Callable[[str], None],
    ) -> None:
        self._client = client
        self._record = record
        self._tracker = tracker
        self._key = key
        self._surface = surface
        self._clock = clock
        self._ended = ended
        self._unsettled = unsettled
        self._turns = turns
        self.sending: set[str] = set()

    def decide(self, item: Request, verdict: Verdict, reason: str, edits: JsonObject | None) -> RequestState:
        """Answers exactly what the item shows; returns the state it is in then, or raises what went wrong."""
        approved = verdict is Verdict.APPROVE
        if item.deny_only and approved:
            raise NotAnswered("this request can only be denied", item.deny_only)
        edits = edits if approved else None
        payload = request_reader.payload(item, edits)
        with self._turns.turn():
            if approved:  # a denial runs nothing, whatever it meets
                self._check_unchanged(item, edits)
            envelope = self._recorded(item, verdict, reason, edits)
            self._tracker.decided(item.id, item if edits else None)
            body: JsonObject = {"approved": approved, "reason": reason, "envelope": envelope}
            if payload is not None:
                body["edited_payload"] = payload
            try:
                return self._sent(item.id, verdict, body)
            except AileronError:
                self._unsettled(item.id)  # events that came meanwhile were left to this answer
                raise

    def arrived(self, id_: str, result: DaemonResult) -> bool:
        """Whether this became of a request by our own answer, also by one whose reply was lost."""
        answer = self._tracker.own_answers.get(id_)
        if answer is None:
            return False
        if answer.unconfirmed is not None and _agrees(result, answer.unconfirmed):
            self._tracker.taken(id_)
        return answer.taken

    def _check_unchanged(self, item: Request, edits: JsonObject | None) -> None:
        """A daemon takes an answer by the id alone, so it is for us to see that the id still means what was shown."""
        now = self._tracker.waiting.get(item.id)
        if now is not None and (request_reader.edited(now, edits) if edits else now).digest != item.digest:
            raise PromptChanged(409, {"error": {"message": "what it asks changed meanwhile"}}, called="daemon")

    def _recorded(self, item: Request, verdict: Verdict, reason: str, edits: JsonObject | None) -> JsonObject:
        shown = replace(item, head=self._record.head)
        statement = shown.statement(verdict, reason=reason, edits=edits, surface=self._surface, now=self._clock())
        envelope = sign(statement, self._key).fields()
        try:
            self._record.decided(item.id, envelope)
        except InvalidTransition:
            # Our own record has an answer. If it never arrived, the daemon still waits for one.
            result = self._client.standing(item.id)
            if result.state is not RequestState.PENDING:
                raise self._elsewhere(item.id, result) from None
            self._record.told(item.id, RequestState.PENDING, decided_here=item.id in self._tracker.own_answers)
            self._record_again(item.id, envelope)
        return envelope

    def _record_again(self, id_: str, envelope: JsonObject) -> None:
        try:
            self._record.decided(id_, envelope)
        except InvalidTransition as error:  # its end was told, and the daemon has it waiting again
            words = f"by our own record it is {error.state}"
            raise NotWaiting(409, {"state": error.state, "error": {"message": words}}, called="daemon") from None

    def _sent(self, id_: str, verdict: Verdict, body: JsonObject) -> RequestState:
        self.sending.add(id_)
        try:
            self._client.decide(id_, body)
        except NotFound as error:
            return self._late(id_, verdict, error)
        except (Unanswered, Untrustworthy) as error:
            return self._unclear(id_, verdict, error)
        except Rejected as error:
            if error.status >= 500 and not isinstance(error, ApprovalsOff):
                return self._unclear(id_, verdict, error)
            self._note(id_, RequestState.PENDING)
            raise
        except NoGate:
            self._note(id_, RequestState.PENDING)
            raise
        else:
            return self._taken(id_, verdict)
        finally:
            self.sending.discard(id_)

    def _taken(self, id_: str, verdict: Verdict) -> RequestState:
        state = RequestState.RUNNING if verdict is Verdict.APPROVE else RequestState.DENIED
        self._tracker.taken(id_)
        self._note(id_, state)
        self._ended(id_, DaemonResult(state))
        return state

    def _late(self, id_: str, verdict: Verdict, error: NotFound) -> RequestState:
        """It does not wait any more: an earlier answer of ours arrived after all, or somebody else was first."""
        try:
            result = self._client.standing(id_)
        except RuntimeFault:
            raise error from None
        if result.state is RequestState.PENDING:
            self._note(id_, RequestState.PENDING)
            raise Untrustworthy("the daemon lists the request and says that it does not know it", hint="Try again.")
        if self.arrived(id_, result) and _agrees(result, verdict):
            return self._taken(id_, verdict)
        raise self._elsewhere(id_, result)

    def _unclear(self, id_: str, verdict: Verdict, error: RuntimeFault) -> RequestState:
        """Whether it was taken is not known: what stands is asked for, and nothing is sent again."""
        self._tracker.sent_without_reply(id_, verdict)
        try:
            result = self._client.standing(id_)
        except RuntimeFault as fault:
            raise Unanswered(_UNCERTAIN, str(fault), "Look again before you answer again.") from None
        if result.state is RequestState.PENDING:
            self._note(id_, RequestState.PENDING)
            if not isinstance(error, Unanswered):
                self._tracker.not_taken(id_)  # it replied, so nothing is on its way any more
                raise error
            raise Unanswered("the daemon did not reply, and the request still waits", hint="Answer again.")
        if _agrees(result, verdict):
            return self._taken(id_, verdict)
        raise self._elsewhere(id_, result)

    def _elsewhere(self, id_: str, result: DaemonResult) -> RuntimeFault:
        """This answer was not the one. Words for people, after what became of the request was passed on."""
        ours, state = self.arrived(id_, result), result.state
        self._ended(id_, result)
        if state is RequestState.WITHDRAWN and self._tracker.is_unconfirmed(id_):
            self._note(id_, RequestState.INTERRUPTED)
            return Unanswered(_UNCERTAIN, result.note)
        if state is RequestState.WITHDRAWN:
            self._note(id_, state)
            return NotFound(404, {"error": {"message": result.note}}, called="daemon")
        self._note(id_, state, elsewhere=not ours, reason=result.reason, error=result.error)
        words = f"{'your earlier answer counts' if ours else 'answered elsewhere'}: it is {state}"
        return NotWaiting(404, {"state": state, "error": {"message": words}}, called="daemon")

    def _note(
        self, id_: str, outcome: RequestState, *, elsewhere: bool = False, reason: str = "", error: str = ""
    ) -> None:
        """Records what came of an answer. It is what it is, even if it cannot be recorded: the watch says so then."""
        with suppress(LedgerError):
            here = id_ in self._tracker.own_answers
            self._record.told(id_, outcome, elsewhere=elsewhere, decided_here=here, reason=reason, error=error)


def _agrees(result: DaemonResult, verdict: Verdict) -> bool:
    denied = result.state is RequestState.DENIED
    return (
        denied
        if verdict is Verdict.DENY
        else not denied and result.state not in (RequestState.WITHDRAWN, RequestState.PENDING)
    )
