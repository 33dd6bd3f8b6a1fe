"""How an answer is given: confirmed at high risk, held for the undo window, sent, and followed to its outcome."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from aileron_tui.console.port import BatchChecks
from aileron_tui.core.connector_groups import connectors_of, grouped
from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.surface_words import answer_words
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import short
from aileron_tui.surface.answer_delivery import Answer, Delivery, DeliveryRefusal, answer_statement, deliver
from aileron_tui.surface.answered_row import AnsweredRows
from aileron_tui.surface.batch_summary import summarize
from aileron_tui.surface.board import Pill, Tone, approved_pill
from aileron_tui.surface.equal_approvals import EqualApprovals
from aileron_tui.surface.held_approval import HeldApproval, HeldApprovals, Stoppable, is_outdated
from aileron_tui.surface.marked_requests import hidden_marked, ready_marked
from aileron_tui.surface.reading_time import HastyReading, ReadingTime
from aileron_tui.surface.waiting_order import is_open, next_waiting

if TYPE_CHECKING:
    from aileron_tui.console.port import ConsolePort, Dialogs
    from aileron_tui.core.decision import Statement
    from aileron_tui.core.request import Request
    from aileron_tui.core.skeletons import KnownNames
    from aileron_tui.surface.security_key_touch import Touched

_ANSWERS: Final = "answers"
_REDRAW_DELAY: Final = 0.05
_LONGEST_NAME: Final = 40
_MOST_MARKED: Final = 500
_CHANGED: Final = "the request changed before your answer was sent: look again"


@dataclass(frozen=True, slots=True)
class RefusedEdit:
    """The changes of an edited call that its source did not accept, and why."""

    edits: JsonObject
    why: str


class AnswerFlow:
    """The answers of one console. Answers are sent by the app, so that this continues when a screen closes.

    `not_taken` is called with the name of a source that did not accept an answer.
    """

    def __init__(self, port: "ConsolePort", dialogs: "Dialogs", not_taken: Callable[[str], None]) -> None:
        self._port = port
        self._dialogs = dialogs
        self._not_taken = not_taken
        self._board = port.board
        self._held = HeldApprovals()
        self._redraw_timer: Stoppable | None = None
        self._edits_being_sent: dict[str, Answer] = {}
        self._refused_edits: dict[str, RefusedEdit] = {}
        self.edited: Answer | None = None
        self.reading = ReadingTime(port.settings.fastest_reading)
        self._hasty: tuple[str, HastyReading] | None = None
        self._equal = EqualApprovals()
        self._answered_rows = AnsweredRows()

    @cached_property
    def seen(self) -> "KnownNames":
        """The hosts and addresses that this console has shown, and those of requests approved here."""
        from aileron_tui.core.skeletons import KnownNames  # noqa: PLC0415  # not needed for the first frame

        return KnownNames()

    @property
    def shown(self) -> "Request | None":
        """The request to draw; with its edits if the edited call is shown, held or being sent."""
        request = self._board.current
        if request is None or (request.edited_from and not request.state.decidable):
            return request
        held = self._held.of(request.key)
        for answer in (self.edited, held.answer if held else None, self._edits_being_sent.get(request.key)):
            if answer is not None and answer.edits is not None and answer.request.key == request.key:
                extended = answer.request.expires_at != request.expires_at
                return replace(answer.request, expires_at=request.expires_at) if extended else answer.request
        return request

    # one answer

    def approve(self) -> None:
        """Approves the request that is shown; asks once more if the risk is high or it was read very fast."""
        answers = [self.edited] if self.edited else self._answers(Verdict.APPROVE)
        if not answers:
            return
        answer = answers[0]
        if answer.request.prompt.risk.level is RiskLevel.HIGH:
            prepare, done = partial(self._statement, answer), partial(self._confirmed, answer)
            self._dialogs.confirm_high_risk(answer.request, prepare, done)
        elif not self._asked_about(answer.request) and (hasty := self.reading.hasty(answer.request)):
            self._hasty = answer.request.digest, hasty
            self._port.arming.asked_again()
            self._port.redraw()
        else:
            self._note_row(answers)
            self._hold(*answers)

    def _asked_about(self, request: "Request") -> bool:
        """Whether the operator was already asked once more about exactly this prompt."""
        return self._hasty is not None and self._hasty[0] == request.digest

    @property
    def hasty(self) -> HastyReading | None:
        """How fast the request that is shown was read, if its approval must be given once more."""
        request = self.shown
        return self._hasty[1] if self._hasty and request and self._asked_about(request) else None

    @property
    def offers_rule(self) -> bool:
        """Whether calls equal to the one that is shown were approved so often that a rule is worth it."""
        request = self.shown
        return request is not None and self._equal.enough(request)

    def rule_made(self, request: "Request") -> None:
        """Stops offering a rule for calls equal to this one."""
        self._equal.forget(request)

    def _statement(self, answer: Answer) -> "Statement":
        """In a thread: what a security key is to sign for an answer."""
        return answer_statement(self._port.source(answer.request.source), answer)

    def _confirmed(self, answer: Answer, sure: "bool | Touched | None") -> None:
        if sure and is_outdated(self._board, answer):
            self._port.show_message(_CHANGED, Tone.WARN)
        elif sure:
            self._hold(answer if sure is True else replace(answer, touched=sure))

    def deny(self) -> None:
        """Denies the request that is shown and the others of its row, without an undo window: nothing runs."""
        self._deny(self._answers(Verdict.DENY))

    def deny_request(self, request: "Request", reason: str) -> None:
        """Denies a request that need not be on screen, unless it is being answered."""
        if is_open(self._board, request.key):
            self._send(Answer(request, Verdict.DENY, reason))

    def deny_with_reason(self) -> None:
        """Asks for a reason, then denies the request that is shown."""
        if answers := self._answers(Verdict.DENY):
            self._dialogs.ask_reason(answers[0].request, partial(self._deny_because, answers))

    def _deny_because(self, answers: list[Answer], reason: str | None) -> None:
        if reason is not None:
            self._deny([replace(answer, reason=reason) for answer in answers])

    def _deny(self, answers: list[Answer]) -> None:
        self._note_row(answers)
        for answer in answers:
            self._send(answer)

    def _answers(self, verdict: Verdict) -> list[Answer]:
        return [Answer(request, verdict) for request in self.covered]

    @property
    def covered(self) -> "list[Request]":
        """The requests that an answer counts for: the selected one, and the identical ones of its row.

        A request that joined the row after the prompt was armed is not among them.
        """
        board, request = self._board, self._board.current
        if request is None:
            return []
        row = [key for key in board.row(request.key) if key in self._port.arming.covered and key != request.key]
        others = [board.requests[key] for key in row if is_open(board, key)]
        return [request, *(other for other in others if other.digest == request.digest)]

    def _note_row(self, answers: list[Answer]) -> None:
        """Remembers which answers were given with one key. Each has a decision of its own."""
        if len(answers) > 1:
            self._answered_rows.add(answer.request.key for answer in answers)

    # the undo window

    def _hold(self, *answers: Answer) -> None:
        """Holds approvals for the undo window, beside others that are held; low risk is sent at once."""
        self._hasty = None
        seconds = self._port.settings.undo_seconds
        send_at = monotonic() + seconds
        for answer in answers:
            if not seconds or answer.request.prompt.risk.level is RiskLevel.LOW:
                self._send(answer)
                continue
            timer = self._port.call_after(seconds, partial(self._undo_window_over, answer.request.key))
            self._held.add(HeldApproval(answer, send_at, timer))
        if self.update_holds():
            self._port.redraw()

    def _undo_window_over(self, key: str) -> None:
        if held := self._held.of(key):
            self._send(self._release(held))

    def update_holds(self) -> bool:
        """Shows on each request with a held approval how long it can be undone; returns whether that changed."""
        changed = [self._board.show_pill(held.answer.request.key, held.pill) for held in self._held]
        return any(changed)

    @property
    def held_count(self) -> int:
        """How many approvals are held."""
        return len(self._held)

    @property
    def is_newest_held(self) -> bool:
        """Whether `take_back` would cancel the approval of the selected request."""
        newest = self._held.newest
        return newest is not None and newest.answer.request.key in self._board.row(self._board.selected)

    def holds(self, key: str) -> bool:
        """Whether the approval of this request is held."""
        return self._held.of(key) is not None

    def take_back(self) -> None:
        """Cancels the newest held approval, and those that were given with the same key: they are not sent."""
        if held := self._held.newest:
            keys = self._answered_rows.together_with(held.answer.request.key)
            cancelled = [one for one in self._held if one.answer.request.key in keys]
            for one in cancelled:
                self._cancel(one)
            action = short(held.answer.request.prompt.action, _LONGEST_NAME)
            count = len(cancelled)
            approvals = "the approval of" if count == 1 else f"{count} approvals of"
            self._port.show_message(f"undone: {approvals} {action} {'was' if count == 1 else 'were'} not sent")
            self._port.redraw()

    def take_back_all(self) -> None:
        """Cancels every held approval."""
        if count := len(self._held):
            for held in self._held:
                self._cancel(held)
            approvals = "the held approval was" if count == 1 else f"{count} held approvals were"
            self._port.show_message(f"undone: {approvals} not sent")
            self._port.redraw()

    def _cancel(self, held: HeldApproval) -> None:
        answer = self._release(held)
        self._board.clear_pill(answer.request.key)
        if summary := self._answered_rows.undone(answer.request.key):
            self._port.show_message(*summary)

    def _release(self, held: HeldApproval) -> Answer:
        if held.answer.request.key == self._board.selected:
            self._port.arming.keys_moved()  # `undo` could be clicked on its status line
        return self._held.release(held)

    def board_changed(self) -> None:
        """Call after events from a source. Drops an edit or a held approval if its request ended or changed."""
        if self.edited and not self._board.is_waiting(self.edited.request.key):
            self.edited = None
        self._refused_edits = {key: edit for key, edit in self._refused_edits.items() if self._board.is_waiting(key)}
        outdated = [held for held in self._held if is_outdated(self._board, held.answer)]
        for held in outdated:
            self._cancel(held)
        if outdated:
            self._port.show_message(_CHANGED, Tone.WARN)

    # sending

    def _send(self, answer: Answer) -> None:
        if self.edited and self.edited.request.key == answer.request.key:
            self.edited = None
        if answer.edits is not None:
            self._edits_being_sent[answer.request.key] = answer
        self._board.set_pill(answer.request.key, "sending…")
        self._board.marked.discard(answer.request.key)
        self._port.run_blocking(_ANSWERS, answer.request.source, partial(self._deliver, [answer], self._delivered))
        self._redraw_soon()

    def _redraw_soon(self) -> None:
        """Redraws a moment later: most answers are accepted before `sending…` would be visible."""
        if self._redraw_timer is None:
            self._redraw_timer = self._port.call_after(_REDRAW_DELAY, self._redraw)

    def _redraw(self) -> None:
        if self._redraw_timer:
            self._redraw_timer.stop()
        self._redraw_timer = None
        self._port.redraw()

    @property
    def redraws_soon(self) -> bool:
        """Whether an answer is being sent and the board will be drawn in a moment anyway."""
        return self._redraw_timer is not None

    def _deliver(self, answers: list[Answer], delivered: Callable[[Delivery], None]) -> None:
        """In a thread: sends answers to their source, one after the other."""
        approved: list[Request] = []
        for answer in answers:
            source = self._port.source(answer.request.source)
            delivery = deliver(source, answer) if source else Delivery(answer, False, _not_connected(answer.request))
            self._port.report(delivered, delivery)
            approved += [answer.request] if delivery.taken and answer.verdict is Verdict.APPROVE else []
        for request in approved:
            self._port.report(partial(self.seen.remember, approved=True), _names_to_remember(request))

    def _delivered(self, delivery: Delivery) -> None:
        """Shows on the request what really happened to its answer."""
        key = delivery.answer.request.key
        edited = self._edits_being_sent.pop(key, None)
        if delivery.taken:
            if edited is not None:
                self._board.record_approved_edit(edited.request)
            self._board.record_answer(delivery.answer.request)
            if delivery.answer.verdict is Verdict.APPROVE:
                self._equal.record(delivery.answer.request)
            approved = delivery.answer.verdict is Verdict.APPROVE
            self._board.show_pill(key, approved_pill(delivery.answer.request) if approved else Pill("denied"))
        else:
            self._board.clear_pill(key)
            self._port.show_message(self._refusal_words(delivery), delivery.tone)
            if edited is not None and edited.edits is not None:
                self._refused_edits[key] = RefusedEdit(edited.edits, delivery.words)
            self._not_taken(delivery.answer.request.source)
        if summary := self._answered_rows.delivered(delivery):
            self._port.show_message(*summary)
        if self._answered_rows.is_open:
            self._redraw_soon()
        else:
            self._redraw()

    def _refusal_words(self, delivery: Delivery) -> str:
        """Why an answer was not accepted; if somebody else was first, who that was."""
        first = self._board.others.first(delivery.answer.request.key)
        if first is None or delivery.refusal is not DeliveryRefusal.ANSWERED_ELSEWHERE:
            return delivery.words
        return f"{answer_words(first)}, before your answer arrived"

    # editing

    def edit(self) -> None:
        """Opens the form for the inputs; the edited call is shown with its changes before it can be approved."""
        request = self._board.current
        if request is None:
            return
        edits = self.edited.edits if self.edited and self.edited.request.key == request.key else None
        refused = self._refused_edits.get(request.key) if edits is None else None
        if refused:
            edits = refused.edits
        done = partial(self._fetch_edited, request)
        self._dialogs.edit_inputs(request, edits, done, refused=refused.why if refused else "")

    def _fetch_edited(self, request: "Request", edits: JsonObject | None) -> None:
        self._refused_edits.pop(request.key, None)
        if edits:
            self._board.set_pill(request.key, "fetching the edited call…", brief="fetching…")
        self._port.redraw()
        if edits:
            self._port.run_blocking(_ANSWERS, request.source, partial(self._preview_edited, request, edits))

    def _preview_edited(self, request: "Request", edits: JsonObject) -> None:
        """In a thread: fetches the request with the edits applied."""
        source = self._port.source(request.source)
        try:
            if source is None:
                raise AileronError("not connected")
            # Compared with the prompt that was shown here, not with what the source says was asked.
            edited = replace(source.refresh(request.id, edits), source=request.source)
            edited = replace(edited, edited_from=request.edited_from or request.prompt)
            answer = Answer(edited, Verdict.APPROVE, "", edits)
        except AileronError as error:
            self._port.report(self._edit_failed, request, RefusedEdit(edits, str(error)))
        else:
            self._port.report(self._show_edited, answer)

    def _edit_failed(self, request: "Request", refused: RefusedEdit) -> None:
        """Keeps what was typed, so that it can be corrected in the form."""
        self._board.clear_pill(request.key)
        self._refused_edits[request.key] = refused
        self._port.show_message(refused.why, Tone.BAD)
        self._port.redraw()

    def refused_edit(self, key: str) -> bool:
        """Whether an edit of this request was refused and is kept for the form."""
        return key in self._refused_edits and self._board.is_waiting(key)

    def _show_edited(self, answer: Answer) -> None:
        self._board.clear_pill(answer.request.key)
        if self._board.selected == answer.request.key:
            self.edited = answer
        self._port.redraw()

    def discard_edit(self) -> None:
        """Discards the edit, so that the original call is shown again."""
        self.edited = None
        self._hasty = None

    # previews

    def refresh_preview(self) -> None:
        """Fetches the preview of the selected request again."""
        if request := self._board.current:
            self._board.set_pill(request.key, "refreshing…")
            self._port.redraw()
            self._port.run_blocking("previews", request.source, partial(self._refresh, request))

    def _refresh(self, request: "Request") -> None:
        source, why = self._port.source(request.source), ""
        try:
            if source is not None:
                source.refresh(request.id)
        except AileronError as error:
            why = str(error)
        self._port.report(self._refreshed, request, why)

    def _refreshed(self, request: "Request", why: str) -> None:
        self._board.clear_pill(request.key)
        if why:
            self._port.show_message(why, Tone.WARN)
        self._port.redraw()

    # batches

    def mark(self) -> None:
        """Marks the requests of the selected row for a batch, or unmarks them, and goes to the next row that waits."""
        row = set(self._board.row(self._board.selected))
        self._board.marked = self._board.marked - row if row <= self._board.marked else self._board.marked | row
        if below := next_waiting(self._board, wrap=False):
            self.discard_edit()
            self._board.selected = below
        self._port.redraw()

    def mark_all(self) -> None:
        """Marks every listed request that waits, as many as fit on a sheet; unmarks them if all are marked."""
        keys = [key for key in self._board.listed if is_open(self._board, key)]
        chosen = set(keys[:_MOST_MARKED])
        if chosen <= self._board.marked:
            self._board.marked -= set(keys)
        else:
            self._board.marked |= chosen
            if len(chosen) < len(keys):
                self._port.show_message(f"only the first {len(chosen)} of {len(keys):,} are marked")
        self._port.redraw()

    def batch(self, verdict: Verdict) -> None:
        """Opens the sheet of marked requests, without those that are already being answered."""
        checks = BatchChecks(self._batch_problem, self._board.was_read, self.seen, hidden_marked(self._board))
        self._dialogs.review_batch(ready_marked(self._board), verdict, checks, self._send_batch)

    def _batch_problem(self, request: "Request") -> str:
        """Why a request on the sheet cannot be answered now."""
        now = self._board.requests.get(request.key)
        if now is None or not now.state.decidable:
            return "no longer waiting"
        if now.digest != request.digest or now.fetching != request.fetching:
            return "it changed: read it again"
        return self._board.pill(request.key).words or self._port.answer_problem(request)

    def _send_batch(self, chosen: "list[tuple[Request, Verdict]] | None") -> None:
        if not chosen:
            return
        for request, _ in chosen:
            self._board.set_pill(request.key, "sending…")
        self._port.redraw()
        delivered = partial(self._delivered_in_batch, [], len(chosen))
        for source in dict.fromkeys(request.source for request, _ in chosen):
            answers = [Answer(request, verdict) for request, verdict in chosen if request.source == source]
            for together in grouped(
                answers, _connectors
            ):  # an answer waits for the ops of earlier ones on its connector
                self._port.run_blocking(_ANSWERS, source, partial(self._deliver, together, delivered))

    def _delivered_in_batch(self, deliveries: list[Delivery], count: int, delivery: Delivery) -> None:
        self._delivered(delivery)
        deliveries.append(delivery)
        if len(deliveries) == count > 1:
            self._port.show_message(*summarize(deliveries))
            self._board.marked -= {one.answer.request.key for one in deliveries}
            self._port.redraw()


def _names_to_remember(request: "Request") -> list[str]:
    from aileron_tui.core.lookalikes import names_to_remember  # noqa: PLC0415  # not needed for the first frame
    from aileron_tui.core.prompt import shown_values  # noqa: PLC0415

    return names_to_remember(shown_values(request.prompt))


def _connectors(answer: Answer) -> frozenset[str]:
    return frozenset() if answer.request.daemon else connectors_of(answer.request.prompt)


def _not_connected(request: "Request") -> str:
    return f"{f'{request.source} is ' if request.source else ''}not connected: nothing was sent"
