"""Sends answers, each recorded first and sent only once. After a lost reply, its outcome is looked up."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from aileron_tui.core.daemon_kinds import NO_EFFECT
from aileron_tui.core.decision import Statement, Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.request import Request
from aileron_tui.core.states import InvalidTransition, RequestState
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.runtime.daemon import request_reader
from aileron_tui.runtime.daemon.answer_lock import AnswerLock
from aileron_tui.runtime.daemon.daemon_ledger import DaemonLedger
from aileron_tui.runtime.daemon.listed_client import DaemonResult, ListedClient
from aileron_tui.runtime.daemon.tracker import Tracker
from aileron_tui.runtime.errors import (
    ApprovalsOff,
    InvalidReply,
    NoGate,
    NoReply,
    NotFound,
    NotWaiting,
    PromptChanged,
    Rejected,
    RuntimeFault,
)
from aileron_tui.signing.approvers import Approver
from aileron_tui.signing.envelope import Envelope, check_decision, opened, sign
from aileron_tui.signing.key_store import UnlockedKey


class AnswerRefused(RuntimeFault):
    """The answer is not possible for this request, so nothing was sent."""


class AnswerSender:
    """Sends the answers of one connection; safe to use from several threads.

    `report` is called with the outcome of an answer, `follow` with the id of a request whose state must be looked up.
    `check_again` raises if a request is no longer what was shown; it is called right before an approval is recorded.
    `in_flight` contains the ids of the requests whose answer is being sent right now.
    """

    def __init__(  # noqa: PLR0913  # what an answer is made of
        self,
        client: ListedClient,
        ledger: DaemonLedger,
        tracker: Tracker,
        key: UnlockedKey,
        lock: AnswerLock,
        *,
        surface: str,
        clock: Callable[[], datetime],
        report: Callable[[str, DaemonResult], None],
        follow: Callable[[str], None],
        check_again: Callable[[Request], None] | None = None,
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._tracker = tracker
        self._key = key
        self._surface = surface
        self._clock = clock
        self._report = report
        self._follow = follow
        self._check_again = check_again
        self._lock = lock
        self._uncertain = f"it is not known whether the {client.peer} accepted the answer"
        self.in_flight: set[str] = set()

    def statement(self, request: Request, verdict: Verdict, reason: str, edits: JsonObject | None) -> Statement:
        """What is to be signed to answer exactly what the request shows."""
        shown = replace(request, head=self._ledger.head)
        edits = edits if verdict is Verdict.APPROVE else None
        return shown.statement(verdict, reason=reason, edits=edits, surface=self._surface, now=self._clock())

    def decide_signed(self, request: Request, envelope: Envelope, approver: Approver) -> RequestState:
        """Records and sends a decision that this approver signed, after checking it: a daemon does not."""
        statement = opened(envelope, {approver.public.fingerprint: approver})
        check_decision(
            statement,
            now=self._clock(),
            instance=request.instance,
            request=request.id,
            digest=request.digest,
            seen_nonce=lambda _: False,  # the ledger refuses a nonce that was used
        )
        self._ledger.enroll(approver)
        return self._decide(request, statement.verdict, statement.reason, statement.edits, envelope)

    def decide(self, request: Request, verdict: Verdict, reason: str, edits: JsonObject | None) -> RequestState:
        """Signs, records and sends a decision on exactly what the request shows; returns its new state."""
        return self._decide(request, verdict, reason, edits, None)

    def _decide(
        self, request: Request, verdict: Verdict, reason: str, edits: JsonObject | None, signed: Envelope | None
    ) -> RequestState:
        approved = verdict is Verdict.APPROVE
        if request.deny_only and approved:
            raise AnswerRefused("this request can only be denied", request.deny_only)
        edits = edits if approved else None
        payload = request_reader.payload(request, edits)
        with self._lock.held():
            if approved:  # a denial runs nothing, so it is safe even if the request has changed
                self._check_unchanged(request, edits)
                if self._check_again is not None:
                    self._check_again(request)
            signed = signed or sign(self.statement(request, verdict, reason, edits), self._key)
            envelope = self._record_decision(request, signed)
            self._tracker.answer_recorded(request.id, request if edits else None)
            body: JsonObject = {"approved": approved, "reason": reason, "envelope": envelope}
            if payload is not None:
                body["edited_payload"] = payload
            try:
                return self._send(request, verdict, body)
            except AileronError:
                self._follow(request.id)  # events about this request were ignored in the meantime
                raise

    def is_own_outcome(self, id_: str, result: DaemonResult) -> bool:
        """Whether our own answer led to this result, even if the reply to it was lost."""
        answer = self._tracker.own_answers.get(id_)
        if answer is None:
            return False
        if answer.unconfirmed is not None and _confirms(result, answer.unconfirmed):
            self._tracker.answer_taken(id_, answer.unconfirmed)
        # The daemon may forget a request that we answered.
        return answer.taken is not None and (result.state is RequestState.WITHDRAWN or _fits(result, answer.taken))

    def is_answered_elsewhere(self, id_: str, result: DaemonResult) -> bool:
        """Whether somebody else's answer led to this result. A request can also end without any answer."""
        if self.is_own_outcome(id_, result) or result.state is RequestState.WITHDRAWN or result.unanswered:
            return False
        return result.state is not RequestState.FAILED or not self._tracker.is_unconfirmed(id_)

    def _check_unchanged(self, request: Request, edits: JsonObject | None) -> None:
        """Checks that the id still belongs to what was shown, because a daemon only checks the id of an answer."""
        now = self._tracker.waiting.get(request.id)
        if now is not None and (request_reader.edited(now, edits) if edits else now).digest != request.digest:
            raise PromptChanged(
                409, {"error": {"message": "the request has changed since it was shown"}}, peer=self._client.peer
            )

    def _record_decision(self, request: Request, signed: Envelope) -> JsonObject:
        """Records a signed decision; returns the envelope."""
        envelope = signed.fields()
        try:
            self._ledger.record_decision(request.id, envelope)
        except InvalidTransition:
            # Our ledger has an answer already. If it never arrived, the daemon is still waiting for one.
            result = self._client.current_state(request.id)
            if result.state is not RequestState.PENDING:
                raise self._superseded(request.id, result) from None
            own = request.id in self._tracker.own_answers
            self._ledger.record_report(request.id, RequestState.PENDING, decided_here=own)
            self._record_decision_again(request.id, envelope)
        return envelope

    def _record_decision_again(self, id_: str, envelope: JsonObject) -> None:
        try:
            self._ledger.record_decision(id_, envelope)
        except InvalidTransition as error:  # the daemon reported that it ended, and now lists it as waiting again
            message = f"our own ledger says that the request is {error.state}"
            raise NotWaiting(
                409, {"state": error.state, "error": {"message": message}}, peer=self._client.peer
            ) from None

    def _send(self, request: Request, verdict: Verdict, body: JsonObject) -> RequestState:
        id_ = request.id
        self.in_flight.add(id_)
        try:
            self._client.decide(id_, body)
        except NotFound as error:
            return self._after_not_found(request, verdict, error)
        except (NoReply, InvalidReply) as error:
            return self._after_lost_reply(request, verdict, error)
        except Rejected as error:
            if error.status >= 500 and not isinstance(error, ApprovalsOff):
                return self._after_lost_reply(request, verdict, error)
            self._record_report(id_, RequestState.PENDING)
            raise
        except NoGate:
            self._record_report(id_, RequestState.PENDING)
            raise
        else:
            return self._taken(request, verdict)
        finally:
            self.in_flight.discard(id_)

    def _taken(self, request: Request, verdict: Verdict, found: DaemonResult | None = None) -> RequestState:
        """Reports that the daemon accepted the answer; `found` is what it says about the request since."""
        result = found or DaemonResult(RequestState.RUNNING if verdict is Verdict.APPROVE else RequestState.DENIED)
        result = without_effect(result) if request.abandoned else result
        self._tracker.answer_taken(request.id, verdict)
        self._record_report(request.id, result.state, error=result.error)
        self._report(request.id, result)
        return result.state

    def _after_not_found(self, request: Request, verdict: Verdict, error: NotFound) -> RequestState:
        """Handles a request that is not waiting: an earlier answer of ours arrived, or somebody else answered first."""
        id_ = request.id
        try:
            result = self._client.current_state(id_)
        except RuntimeFault:
            raise error from None
        if result.state is RequestState.PENDING:
            self._record_report(id_, RequestState.PENDING)
            title = f"the {self._client.peer} lists this request, but replied that it does not exist"
            raise InvalidReply(title, hint="Try again.")
        if self.is_own_outcome(id_, result) and _fits(result, verdict):
            return self._taken(request, verdict, result)
        raise self._superseded(id_, result)

    def _after_lost_reply(self, request: Request, verdict: Verdict, error: RuntimeFault) -> RequestState:
        """Handles a lost reply: looks up whether the daemon took the answer, and sends nothing again."""
        id_ = request.id
        self._tracker.answer_unconfirmed(id_, verdict)
        try:
            result = self._client.current_state(id_)
        except RuntimeFault as fault:
            raise NoReply(
                self._uncertain, str(fault), "Check the state of the request before you answer again."
            ) from None
        if result.state is RequestState.PENDING:
            self._record_report(id_, RequestState.PENDING)
            if not isinstance(error, NoReply):
                self._tracker.answer_rejected(id_)
                raise error
            raise NoReply(
                f"the {self._client.peer} did not reply, and the request is still waiting", hint="Answer again."
            )
        if _confirms(result, verdict):
            return self._taken(request, verdict, result)
        raise self._superseded(id_, result)

    def _superseded(self, id_: str, result: DaemonResult) -> RuntimeFault:
        """Reports what happened to the request instead of this answer; returns the error to raise."""
        own, state = self.is_own_outcome(id_, result), result.state
        self._report(id_, result)
        if state is RequestState.WITHDRAWN and self._tracker.is_unconfirmed(id_):
            self._record_report(id_, RequestState.INTERRUPTED)
            return NoReply(self._uncertain, result.note)
        if state is RequestState.WITHDRAWN:
            self._record_report(id_, state)
            return NotFound(404, {"error": {"message": result.note}}, peer=self._client.peer)
        elsewhere = self.is_answered_elsewhere(id_, result)
        self._record_report(id_, state, elsewhere=elsewhere, reason=result.reason, error=result.error)
        if result.unanswered:
            body: JsonObject = {"state": result.unanswered, "error": {"message": result.error}}
            return NotWaiting(404, body, peer=self._client.peer)
        if not own and not elsewhere:
            return NoReply(self._uncertain, result.error)
        message = f"{'your earlier answer was accepted' if own else 'answered elsewhere'}: it is {state}"
        return NotWaiting(404, {"state": state, "error": {"message": message}}, peer=self._client.peer)

    def _record_report(
        self, id_: str, state: RequestState, *, elsewhere: bool = False, reason: str = "", error: str = ""
    ) -> None:
        """Records the outcome of an answer. If that fails, the outcome is still valid, and `watch` reports it."""
        with suppress(LedgerError):
            own = id_ in self._tracker.own_answers
            self._ledger.record_report(id_, state, elsewhere=elsewhere, decided_here=own, reason=reason, error=error)


def without_effect(result: DaemonResult) -> DaemonResult:
    """What became of an approved request that nobody was waiting for: a daemon only says that it is running."""
    if result.state is not RequestState.RUNNING:
        return result
    return replace(result, state=RequestState.UNKNOWN, error=NO_EFFECT, note=NO_EFFECT)


def _fits(result: DaemonResult, verdict: Verdict) -> bool:
    """Whether an answer with this verdict could have led to this result."""
    if verdict is Verdict.DENY:
        return result.state is RequestState.DENIED
    no_approval = (RequestState.DENIED, RequestState.WITHDRAWN, RequestState.PENDING)
    return result.state not in no_approval and not result.unanswered


def _confirms(result: DaemonResult, verdict: Verdict) -> bool:
    """Whether this result shows that an answer was taken. A daemon also fails requests that nobody answered."""
    return _fits(result, verdict) and result.state is not RequestState.FAILED
