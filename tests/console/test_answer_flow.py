"""How an answer is given, without a terminal: a port that notes what it is asked for stands in for the app."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from aileron_tui.console.answer_flow import AnswerFlow
from aileron_tui.console.guide import Guide
from aileron_tui.console.port import BatchChecks
from aileron_tui.console.settings import ConsoleSettings
from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import Asker, ConnectorRef, Prompt
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.request_queue import Arrived, apply_all
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.states import RequestState
from aileron_tui.signing.envelope import Signable
from aileron_tui.surface.agent_notices import AgentNotices
from aileron_tui.surface.arming import Arming
from aileron_tui.surface.board import Board, Tone
from aileron_tui.surface.security_key_touch import Touched

NORMAL, HIGH, LOW = (Risk(level, "why") for level in (RiskLevel.NORMAL, RiskLevel.HIGH, RiskLevel.LOW))


def request(number: int, risk: Risk = NORMAL) -> Request:
    """A request that differs from the others by its id."""
    prompt = Prompt(
        kind="action",
        action="send-draft",
        connector=ConnectorRef("local://samples/mail", "1.0.0", "sha256:" + "0" * 64, "signed by samples"),
        args={"draft_id": f"r-{number}"},
        inputs=(Row("Draft id", f"r-{number}"),),
        preview=None,
        asker=Asker("claude-code", "s-81f2", "~/mail/recap"),
        risk=risk,
    )
    return Request(
        id=f"act-{number}",
        prompt=prompt,
        digest=prompt.digest,
        state=RequestState.PENDING,
        requested_at="2026-05-12T10:15:30Z",
        expires_at="2026-05-12T10:20:30Z",
        revision=1,
        fetching=False,
        instance="gate-1",
        head="sha256:" + "0" * 64,
        asked_again="",
        reason="",
        fields={},
    )


class FakeTimer:
    """Fires when a test says so."""

    def __init__(self, callback: Callable[[], object]) -> None:
        self.fire = callback
        self.stopped = False

    def stop(self) -> None:
        """Notes it."""
        self.stopped = True


class FakeSource:
    """Takes every decision."""

    def __init__(self) -> None:
        self.decided: list[tuple[str, Verdict, str]] = []

    def decide(
        self, request: Request, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> RequestState:
        """Notes the decision."""
        del edits
        self.decided.append((request.id, verdict, reason))
        return RequestState.APPROVED if verdict is Verdict.APPROVE else RequestState.DENIED


class FakePort:
    """The app as the answers see it: work runs at once, timers only when a test says so."""

    def __init__(self, *requests: Request) -> None:
        self.board = Board()
        self.board.queue = apply_all(self.board.queue, [Arrived(one) for one in requests])
        self.board.selected = requests[0].key
        self.agent_notices = AgentNotices()
        self.arming = Arming(0.0)
        self.settings = ConsoleSettings(undo_seconds=2.0)
        self.keys: Any = None
        self.keymap_in_use: Mapping[str, str] = {}
        self.read_only = False
        self.shown_key = ""
        self.is_locked = False
        self.log_lines: Callable[[], Sequence[str]] | None = None
        self.guide: Guide | None = None
        self.statuses: Mapping[str, Any] = {}
        self.source_events: Any = None
        self.connected: FakeSource | None = FakeSource()
        self.timers: list[FakeTimer] = []
        self.tasks = 0
        self.messages: list[str] = []

    def source(self, name: str) -> Any:
        del name
        return self.connected

    def source_label(self, name: str) -> str:
        del name
        return "gate"

    def answer_problem(self, request: Request | None = None) -> str:
        return "it is away" if request and request.id == "act-3" else ""

    def request_shown(self, key: str) -> None:
        self.shown_key = key

    def redraw(self) -> None:
        """Nothing is drawn."""

    def show_message(self, words: str, tone: Tone = Tone.QUIET) -> None:
        del tone
        self.messages.append(words)

    def clear_message(self) -> None:
        self.messages.clear()

    def lock(self) -> None:
        """Nothing is locked."""

    def leave(self) -> None:
        """Nothing ends."""

    def call_after(self, seconds: float, callback: Callable[[], object]) -> FakeTimer:
        del seconds
        self.timers.append(FakeTimer(callback))
        return self.timers[-1]

    def run_blocking(self, kind: str, source: str, task: Callable[[], None]) -> None:
        del kind, source
        self.tasks += 1
        task()

    def report(self, callback: Callable[..., object], *values: object) -> None:
        callback(*values)


class FakeDialogs:
    """Answers every dialog as a test says."""

    def __init__(self) -> None:
        self.sure: bool | None = True
        self.reason: str | None = "not today"
        self.meanwhile: Callable[[], None] = lambda: None
        self.problems: Mapping[str, str] = {}

    def confirm_high_risk(
        self, request: Request, prepare: Callable[[], Signable], done: Callable[[bool | Touched | None], None]
    ) -> None:
        del request, prepare
        self.meanwhile()
        done(self.sure)

    def ask_reason(self, request: Request, done: Callable[[str | None], None]) -> None:
        del request
        done(self.reason)

    def edit_inputs(
        self,
        request: Request,
        edits: JsonObject | None,
        done: Callable[[JsonObject | None], None],
        *,
        refused: str = "",
    ) -> None:
        del request, edits, refused
        done(None)

    def review_batch(
        self,
        requests: list[Request],
        verdict: Verdict,
        checks: BatchChecks,
        done: Callable[[list[tuple[Request, Verdict]] | None], None],
    ) -> None:
        self.problems = {one.key: why for one in requests if (why := checks.problem(one))}
        done([(one, verdict) for one in requests if one.key not in self.problems])

    def ask_vault_passphrase(
        self, source: str, unlock: Callable[[bytearray], None], done: Callable[[bool | None], None]
    ) -> None:
        del source, unlock
        done(None)


class Flow:
    """The answers with everything around them."""

    def __init__(self, *requests: Request) -> None:
        self.port = FakePort(*requests)
        self.dialogs = FakeDialogs()
        self.not_taken: list[str] = []
        self.answers = AnswerFlow(self.port, self.dialogs, self.not_taken.append)

    @property
    def decided(self) -> list[tuple[str, Verdict, str]]:
        """What reached the source."""
        assert self.port.connected is not None
        return self.port.connected.decided


def test_an_approval_is_held_and_sent_when_its_time_is_up() -> None:
    flow = Flow(request(1))
    flow.answers.approve()
    assert flow.decided == []
    assert flow.answers.held_count > 0
    assert flow.port.board.pill("act-1").words == "approved, sends in 2 s"
    flow.port.timers[0].fire()
    assert flow.decided == [("act-1", Verdict.APPROVE, "")]
    assert flow.answers.held_count == 0
    assert flow.port.board.pill("act-1").words == "running…"


def test_a_held_approval_can_be_taken_back() -> None:
    flow = Flow(request(1))
    flow.answers.approve()
    flow.answers.take_back()
    assert flow.port.timers[0].stopped
    assert flow.decided == []
    assert flow.port.messages == ["undone: the approval of send-draft was not sent"]


def hold(flow: Flow, *keys: str) -> None:
    for key in keys:
        flow.port.board.selected = key
        flow.answers.approve()


def test_several_approvals_are_held_each_for_its_own_time() -> None:
    flow = Flow(request(1), request(2), request(3))
    hold(flow, "act-1", "act-2", "act-3")
    assert flow.decided == []
    assert all(flow.port.board.pill(key).short == "sends in 2 s" for key in ("act-1", "act-2", "act-3"))
    flow.port.timers[1].fire()
    assert flow.decided == [("act-2", Verdict.APPROVE, "")]
    assert flow.answers.held_count == 2


def test_undo_takes_back_the_newest_first() -> None:
    flow = Flow(request(1), request(2), request(3))
    hold(flow, "act-1", "act-2")
    flow.port.board.selected = "act-3"
    flow.answers.take_back()
    assert (flow.answers.holds("act-1"), flow.answers.holds("act-2")) == (True, False)
    flow.answers.take_back()
    assert flow.answers.held_count == 0
    flow.answers.take_back()
    assert flow.decided == []
    assert all(timer.stopped for timer in flow.port.timers)


def test_the_end_of_a_hold_elsewhere_leaves_the_selected_request_armed() -> None:
    flow = Flow(request(1), request(2))
    hold(flow, "act-1")
    flow.port.board.selected = "act-2"
    before = flow.port.arming.changes
    flow.port.timers[0].fire()
    assert flow.decided == [("act-1", Verdict.APPROVE, "")]
    assert flow.port.arming.changes == before


def test_what_changed_is_not_sent_and_other_held_approvals_stay() -> None:
    flow = Flow(request(1), request(2))
    hold(flow, "act-1", "act-2")
    board = flow.port.board
    board.queue = apply_all(board.queue, [Arrived(replace(request(1), digest="another", revision=2))])
    flow.answers.board_changed()
    assert (flow.answers.holds("act-1"), flow.answers.holds("act-2")) == (False, True)
    flow.port.timers[1].fire()
    assert flow.decided == [("act-2", Verdict.APPROVE, "")]


def test_locking_takes_back_every_held_approval() -> None:
    flow = Flow(request(1), request(2))
    hold(flow, "act-1", "act-2")
    flow.answers.take_back_all()
    assert flow.decided == []
    assert flow.answers.held_count == 0
    assert flow.port.messages == ["undone: 2 held approvals were not sent"]


def test_marking_goes_to_the_next_waiting_request_and_stays_on_the_last() -> None:
    flow = Flow(request(1), request(2), request(3))
    hold(flow, "act-2")
    board = flow.port.board
    board.selected = "act-1"
    flow.answers.mark()
    assert (board.marked, board.selected) == ({"act-1"}, "act-3")
    flow.answers.mark()
    assert (board.marked, board.selected) == ({"act-1", "act-3"}, "act-3")


def test_all_that_is_listed_is_marked_and_again_unmarked() -> None:
    flow = Flow(request(1), request(2), request(3))
    board = flow.port.board
    board.marked = {"act-3"}
    board.set_filter("r-3")
    flow.answers.mark_all()
    assert board.marked == set()
    board.set_filter("")
    flow.answers.mark_all()
    assert board.marked == {"act-1", "act-2", "act-3"}
    flow.answers.mark_all()
    assert board.marked == set()


def test_no_more_is_marked_at_once_than_fits_on_a_sheet() -> None:
    flow = Flow(*map(request, range(1, 600)))
    flow.answers.mark_all()
    assert len(flow.port.board.marked) == 500
    assert flow.port.messages == ["only the first 500 of 599 are marked"]
    flow.answers.mark_all()
    assert not flow.port.board.marked


def test_low_risk_is_sent_at_once() -> None:
    flow = Flow(request(1, LOW))
    flow.answers.approve()
    assert flow.decided == [("act-1", Verdict.APPROVE, "")]


@pytest.mark.parametrize(("sure", "held"), [(True, True), (False, False), (None, False)])
def test_high_risk_is_held_only_if_confirmed(sure: bool | None, held: bool) -> None:
    flow = Flow(request(1, HIGH))
    flow.dialogs.sure = sure
    flow.answers.approve()
    assert bool(flow.answers.held_count) is held
    assert flow.decided == []


def test_what_changed_while_it_was_being_confirmed_is_not_approved() -> None:
    flow = Flow(request(1, HIGH))
    board = flow.port.board

    def change() -> None:
        board.queue = apply_all(board.queue, [Arrived(replace(request(1, HIGH), digest="another", revision=2))])

    flow.dialogs.meanwhile = change
    flow.answers.approve()
    assert flow.answers.held_count == 0
    assert flow.port.messages == ["the request changed before your answer was sent: look again"]


def test_what_changed_while_it_was_held_is_not_sent() -> None:
    flow = Flow(request(1))
    flow.answers.approve()
    board = flow.port.board
    board.queue = apply_all(board.queue, [Arrived(replace(request(1), digest="another", revision=2))])
    flow.answers.board_changed()
    assert flow.answers.held_count == 0
    assert flow.decided == []


@pytest.mark.parametrize(("reason", "decided"), [("no", [("act-1", Verdict.DENY, "no")]), (None, [])])
def test_a_reason_goes_with_the_denial(reason: str | None, decided: list[tuple[str, Verdict, str]]) -> None:
    flow = Flow(request(1))
    flow.dialogs.reason = reason
    flow.answers.deny_with_reason()
    assert flow.decided == decided


def test_an_answer_without_a_connection_is_not_sent_and_its_source_is_named() -> None:
    flow = Flow(request(1))
    flow.port.connected = None
    flow.answers.deny()
    assert flow.port.messages == ["not connected: nothing was sent"]
    assert flow.not_taken == [""]
    assert flow.port.board.pill("act-1").words == ""


def test_a_batch_leaves_out_what_cannot_be_answered_and_is_summed_up() -> None:
    flow = Flow(request(1), request(2), request(3))
    flow.port.board.marked = {"act-1", "act-2", "act-3"}
    flow.answers.batch(Verdict.DENY)
    assert flow.port.tasks == 1, "what uses one connector is sent in order"
    assert flow.dialogs.problems == {"act-3": "it is away"}
    assert flow.decided == [("act-1", Verdict.DENY, ""), ("act-2", Verdict.DENY, "")]
    assert flow.port.messages == ["2 denied"]
    assert flow.port.board.marked == {"act-3"}


def test_a_batch_on_different_connectors_is_sent_at_the_same_time() -> None:
    other = request(2)
    prompt = replace(other.prompt, connector=replace(other.prompt.connector, name="local://samples/files"))
    flow = Flow(request(1), replace(other, prompt=prompt, digest=prompt.digest))
    flow.port.board.marked = {"act-1", "act-2"}
    flow.answers.batch(Verdict.DENY)
    assert flow.port.tasks == 2
    assert flow.port.messages == ["2 denied"]
