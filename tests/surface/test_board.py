"""What the console knows, without a terminal."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from aileron_tui.core.outcomes import QUIET
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.surface.board import Board, Tone, approved_pill
from tests.core.examples import prompt


def item(number: int, state: RequestState = RequestState.PENDING, revision: int = 0, **fields: str) -> Request:
    shown = replace(prompt(), args={"draft_id": f"r-{number}"})
    return Request(
        id=f"act-{number}",
        prompt=shown,
        digest=shown.digest,
        state=state,
        requested_at=f"2026-05-12T10:00:{number:02}.000000Z",
        expires_at="2026-05-12T10:05:00.000000Z",
        revision=revision,
        fetching=False,
        instance="gate-1",
        head="sha256:" + "0" * 64,
        asked_again="",
        reason="",
        fields=dict(fields),
    )


def of_daemon(number: int, state: RequestState = RequestState.PENDING, kind: str = "action", **changes: Any) -> Request:
    made = item(number, state)
    return replace(made, daemon=True, prompt=replace(made.prompt, kind=kind), expires_at="", **changes)


def told(name: str, *items: Request) -> SourceEvent:
    return SourceEvent(1, name, {}, items)


def test_the_first_request_is_chosen_and_later_ones_never_move_the_choice() -> None:
    board = Board()
    assert board.receive([told("snapshot", item(2))]) == ["act-2"]
    assert board.selected == "act-2"
    board.receive([told("pending", item(3)), told("snapshot", item(1), item(2), item(3))])
    assert board.selected == "act-2"
    board.move(-1)
    assert board.selected == "act-1"
    board.move(-1)
    assert board.selected == "act-1"
    board.move(99)
    assert board.selected == "act-3"


def test_the_choice_stays_on_a_request_that_ended() -> None:
    board = Board()
    board.receive([told("snapshot", item(1), item(2))])
    board.record_answer(board.requests["act-1"])
    board.receive([told("updated", item(1, RequestState.EXECUTED, 1))])
    assert board.selected == "act-1"
    assert board.pill("act-1").words == "done ✓"
    assert board.waiting_count == 1


def test_a_pill_says_what_we_do_then_what_the_gate_says() -> None:
    board = Board()
    board.receive([told("snapshot", item(1))])
    assert board.pill("act-1").words == ""
    board.set_pill("act-1", "sending…")
    assert board.pill("act-1").words == "sending…"
    board.record_answer(board.requests["act-1"])
    board.receive([told("updated", item(1, RequestState.RUNNING, 1))])
    assert board.pill("act-1").words == "running…"
    board.receive([told("updated", item(1, RequestState.FAILED, 1, error="network_error: no route"))])
    assert board.pill("act-1").words == "failed ✗ network_error: no route"
    assert board.pill("act-1").tone is Tone.BAD


@pytest.mark.parametrize("kind", ["tool", "definition"])
def test_an_approved_tool_call_waits_for_its_program_and_does_not_run(kind: str) -> None:
    waits = item(1)
    waits = replace(waits, prompt=replace(waits.prompt, kind=kind))
    board = Board()
    board.receive([told("snapshot", waits)])
    board.show_pill("act-1", approved_pill(waits))
    assert board.pill("act-1").words == "approved, waiting for its program"
    board.record_answer(waits)
    board.receive([told("updated", replace(waits, state=RequestState.APPROVED, revision=1))])
    assert board.pill("act-1").words == "approved, waiting for its program"
    board.receive([told("updated", replace(waits, state=RequestState.HANDED_OVER, revision=2))])
    assert board.pill("act-1").words == "handed over →"


def test_an_approved_action_is_running() -> None:
    assert approved_pill(item(1)).words == "running…"


def test_a_long_error_is_cut_to_a_few_lines_that_say_so() -> None:
    board = Board()
    board.receive(
        [told("snapshot", item(1)), told("updated", item(1, RequestState.FAILED, 1, error="no route " * 100_000))]
    )
    words = board.pill("act-1").words
    assert words.startswith("failed ✗ no route no route")
    assert words.endswith("⟩")
    assert len(words) < 350


def test_what_somebody_else_answered_is_told_apart() -> None:
    board = Board()
    board.receive([told("snapshot", item(1), item(2), item(3), item(4))])
    board.receive(
        [told("updated", item(1, RequestState.DENIED, 1)), told("updated", item(2, RequestState.EXECUTED, 1))]
    )
    board.receive([told("updated", item(3, RequestState.EXPIRED, 1)), told("snapshot")])
    assert [board.pill(f"act-{number}").words for number in (1, 2, 3, 4)] == [
        "answered elsewhere: denied",
        "answered elsewhere: done ✓",
        "nobody answered",
        "no longer waiting",
    ]


def test_the_filter_narrows_by_any_word_and_clears() -> None:
    board = Board()
    board.receive([told("snapshot", item(1), item(22))])
    board.set_filter("R-2")
    assert board.listed == []
    board.receive(
        [told("snapshot", *(replace(item(n), prompt=replace(prompt(), action=f"move-{n}")) for n in (1, 22)))]
    )
    board.set_filter("move-22")
    assert board.listed == ["act-22"]
    board.set_filter("")
    assert len(board.listed) == 2


def test_an_old_revision_never_replaces_a_newer_one() -> None:
    board = Board()
    board.receive([told("snapshot", item(1, revision=3))])
    board.receive([told("pending", item(1, revision=2))])
    assert board.requests["act-1"].revision == 3


def test_dismissing_keeps_what_waits_and_what_is_looked_at() -> None:
    board = Board()
    board.receive([told("snapshot", item(1), item(2), item(3))])
    board.receive([told("updated", item(1, RequestState.DENIED, 1)), told("updated", item(2, RequestState.DENIED, 1))])
    assert not board.remove_ended(100.0)
    assert not board.remove_ended(159.0)
    assert board.remove_ended(161.0)
    assert board.listed == ["act-1", "act-3"]


def named(
    source: str, number: int, state: RequestState = RequestState.PENDING, revision: int = 0, reason: str = ""
) -> Request:
    return replace(item(number, state, revision), source=source, reason=reason)


def from_(source: str, name: str, *items: Request) -> SourceEvent:
    return SourceEvent(1, name, {}, items, source)


def test_the_same_id_on_two_sources_is_two_requests() -> None:
    board = Board()
    board.receive([from_("work", "snapshot", named("work", 1)), from_("home", "snapshot", named("home", 1))])
    assert board.listed == ["home act-1", "work act-1"]
    board.set_pill("work act-1", "sending…")
    board.marked.add("work act-1")
    board.receive([from_("work", "updated", named("work", 1, RequestState.DENIED, 1))])
    assert (board.is_waiting("work act-1"), board.is_waiting("home act-1")) == (False, True)
    assert board.pill("home act-1").words == ""
    board.receive([from_("work", "snapshot")])
    assert board.is_waiting("home act-1")


def test_a_source_cannot_speak_for_another() -> None:
    board = Board()
    board.receive([from_("work", "snapshot", named("work", 1))])
    shown = board.requests["work act-1"]
    for lie in (
        from_("evil", "updated", named("work", 1, RequestState.EXECUTED, 9)),
        from_("evil", "pending", replace(named("work", 1, revision=9), prompt=replace(prompt(), action="harmless"))),
        from_("evil", "snapshot", named("work", 1, revision=9)),
        from_("evil", "snapshot"),
    ):
        board.receive([lie])
        assert board.requests["work act-1"] is shown
        assert board.is_waiting("work act-1")
        assert board.listed == ["work act-1"]


def test_a_mark_ends_with_its_request_and_does_not_come_back_with_its_id() -> None:
    board = Board()
    first, second = (replace(item(number), daemon=True) for number in (1, 2))
    board.receive([told("snapshot", first, second)])
    board.marked = {"act-1", "act-2"}
    board.receive([told("updated", replace(first, state=RequestState.DENIED))])
    assert board.marked == {"act-2"}
    board.receive([told("snapshot", first, second)])
    assert board.is_waiting("act-1")
    assert board.marked == {"act-2"}


def test_the_filter_finds_a_source() -> None:
    board = Board()
    board.receive([from_("work", "snapshot", named("work", 1)), from_("home", "snapshot", named("home", 2))])
    board.set_filter("HOME")
    assert board.listed == ["home act-2"]


def test_what_is_said_of_a_call_under_way_is_a_warning() -> None:
    board = Board()
    board.receive([told("snapshot", item(1), item(2))])
    board.record_answer(item(1))
    board.record_answer(item(2))
    board.receive([told("updated", replace(item(1, RequestState.RUNNING), reason="the vault is locked\x1b[2J"))])
    assert board.pill("act-1").words == "the vault is locked⟨ESC⟩[2J"
    assert board.pill("act-1").tone is Tone.WARN
    board.receive([told("updated", item(1, RequestState.RUNNING))])
    assert board.pill("act-1").words == "running…"
    # The reason somebody gave with the answer is no news of the call.
    board.receive([told("updated", replace(item(2, RequestState.RUNNING, reason="looks good"), reason="looks good"))])
    assert board.pill("act-2").words == "running…"


def test_a_request_that_waits_after_all_can_be_answered_again() -> None:
    board = Board()
    board.receive([told("snapshot", item(1))])
    board.record_answer(board.requests["act-1"])
    board.set_pill("act-1", "running…")
    board.receive([told("updated", replace(item(1, revision=1), reason="the answer did not arrive"))])
    assert board.pill("act-1").words == ""
    assert board.remark("act-1").words == "the answer did not arrive"
    assert board.remark("act-1").tone is Tone.WARN
    board.set_pill("act-1", "sending…")
    board.receive([told("pending", item(1, revision=1))])
    assert board.pill("act-1").words == "sending…"
    board.record_answer(board.requests["act-1"])
    board.receive([told("pending", item(1, revision=1))])
    assert board.pill("act-1").words == ""


def test_an_answer_that_was_missed_is_told_once_it_is_known() -> None:
    board = Board()
    board.receive([told("snapshot", item(1)), told("snapshot")])
    assert board.pill("act-1").words == "no longer waiting"
    board.receive([told("updated", item(1, RequestState.EXECUTED))])
    assert board.pill("act-1").words == "answered elsewhere: done ✓"


def test_what_a_rule_answered_says_so_but_a_daemon_cannot_claim_it() -> None:
    board = Board()
    board.receive([told("snapshot", item(1), item(2), of_daemon(3))])
    executed, denied = RequestState.EXECUTED, RequestState.DENIED
    board.receive([told("updated", item(1, executed, 1, rule="rule-1"), item(2, denied, 1, rule="rule-2"))])
    board.receive([told("updated", of_daemon(3, executed, fields={"rule": "rule-3"}))])
    assert board.pill("act-1").words == "allowed by a rule: done ✓"
    assert board.pill("act-1").short == "allowed by a rule"
    assert board.pill("act-2").words == "denied by a rule"
    assert "by a rule" not in board.pill("act-3").words


def test_requests_that_cannot_be_read_are_counted_until_the_next_list() -> None:
    board = Board()
    board.receive(
        [SourceEvent(0, "unreadable", {"count": 2}, (), "work"), SourceEvent(0, "unreadable", {}, (), "home")]
    )
    assert board.unreadable_count == 3
    board.receive([from_("work", "snapshot")])
    assert board.unreadable_count == 1


def test_what_a_daemon_lists_again_waits_again() -> None:
    board = Board()
    board.receive([told("snapshot", of_daemon(1), of_daemon(2))])
    board.record_answer(board.requests["act-1"])
    board.set_pill("act-1", "running…")
    board.receive([told("updated", of_daemon(1, RequestState.RUNNING))])
    board.remove_ended(0.0)
    assert board.waiting_count == 1
    assert board.receive([told("snapshot", of_daemon(1), of_daemon(2))]) == ["act-1"]
    assert board.waiting_count == 2
    assert board.pill("act-1").words == ""
    board.receive([told("updated", of_daemon(1, RequestState.DENIED))])
    board.selected = "act-2"
    assert not board.remove_ended(61.0)
    assert board.pill("act-1").words == "answered elsewhere: denied"


def test_an_end_and_a_return_heard_at_once_leave_it_waiting() -> None:
    board = Board()
    board.receive([told("snapshot", of_daemon(1))])
    board.record_answer(board.requests["act-1"])
    board.set_pill("act-1", "running…")
    board.receive([told("updated", of_daemon(1, RequestState.RUNNING)), told("snapshot", of_daemon(1))])
    assert board.waiting_count == 1
    assert board.pill("act-1").words == ""


def test_a_list_that_is_older_than_our_answer_does_not_take_it_away() -> None:
    board = Board()
    board.receive([told("snapshot", of_daemon(1))])
    board.record_answer(board.requests["act-1"])
    board.set_pill("act-1", "running…")
    board.receive([told("snapshot", of_daemon(1))])
    assert board.pill("act-1").words == "running…"


def test_a_gate_never_brings_back_what_ended() -> None:
    board = Board()
    board.receive([told("snapshot", item(1)), told("updated", item(1, RequestState.DENIED)), told("snapshot", item(1))])
    assert board.waiting_count == 0


def test_what_became_of_a_shells_command_is_not_made_up() -> None:
    board = Board()
    board.receive([told("snapshot", of_daemon(1, reports_end=False))])
    board.record_answer(board.requests["act-1"])
    board.receive([told("updated", of_daemon(1, RequestState.RUNNING, reports_end=False))])
    assert board.pill("act-1").words == "allowed ✓, outcome not reported"
    board.receive([told("updated", of_daemon(1, RequestState.EXECUTED, reports_end=False))])
    assert board.pill("act-1").words == "done ✓"


@pytest.mark.parametrize("daemon", [True, False])
def test_since_when_nothing_is_heard_of_a_running_call(daemon: bool) -> None:
    now = datetime(2026, 5, 12, 12, tzinfo=UTC)
    board = Board(now=lambda: now)
    board.receive([told("snapshot", replace(of_daemon(1), daemon=daemon))])
    board.record_answer(board.requests["act-1"])
    board.receive([told("updated", replace(of_daemon(1, RequestState.RUNNING), daemon=daemon))])
    heard = now
    now += QUIET
    assert not board.newly_silent()
    assert board.pill("act-1").words == "running…"
    now += timedelta(seconds=1)
    assert board.newly_silent()
    assert not board.newly_silent()
    quiet = f"approved, no news since {heard.astimezone():%H:%M}"
    assert board.pill("act-1").words == (quiet if daemon else "running…")
    board.receive([told("updated", replace(of_daemon(1, RequestState.EXECUTED), daemon=daemon))])
    assert board.pill("act-1").words == "done ✓"
    assert not board.newly_silent()


def test_an_edited_call_stays_the_edited_one_to_its_end() -> None:
    board, asked = Board(), item(1)
    board.receive([told("snapshot", asked)])
    edited = replace(item(7), id="act-1", edited_from=asked.prompt)
    board.record_answer(edited)
    board.record_approved_edit(edited)
    assert board.requests["act-1"].prompt == edited.prompt
    # A source that does not tell of the edit cannot make it look as if there had been none.
    board.receive([told("updated", item(1, RequestState.RUNNING, 1))])
    assert board.pill("act-1").words == "running… (edited)"
    board.receive([told("updated", item(1, RequestState.FAILED, 2, error="no route"))])
    assert board.pill("act-1").words == "failed ✗ (edited) no route"
    assert (board.requests["act-1"].prompt, board.requests["act-1"].edited_from) == (edited.prompt, asked.prompt)


def test_an_edit_that_did_not_arrive_is_forgotten() -> None:
    board, asked = Board(), of_daemon(1)
    board.receive([told("snapshot", asked)])
    board.record_answer(board.requests["act-1"])
    board.record_approved_edit(replace(of_daemon(7), id="act-1", edited_from=asked.prompt))
    board.receive([told("updated", of_daemon(1, RequestState.RUNNING)), told("snapshot", asked)])
    assert board.requests["act-1"] == asked
    assert board.pill("act-1").words == ""


def test_an_edit_approved_elsewhere_is_marked() -> None:
    board = Board()
    board.receive([told("snapshot", item(1))])
    board.receive([told("updated", replace(item(2, RequestState.EXECUTED, 1), id="act-1", edited_from=item(1).prompt))])
    assert board.pill("act-1").words == "answered elsewhere: done ✓ (edited)"


def swapped(request: Request) -> Request:
    """Another call under the same id."""
    shown = replace(request.prompt, args={"draft_id": "r-666"})
    return replace(request, prompt=shown, digest=shown.digest)


def test_an_answer_is_forgotten_with_its_request() -> None:
    board = Board()
    board.receive([told("snapshot", item(1), item(2))])
    board.record_answer(item(1))
    board.receive([told("updated", item(1, RequestState.DENIED))])
    board.selected = "act-2"
    board.remove_ended(0.0)
    assert board.remove_ended(61.0)
    assert not board.answered_here
    board.receive([told("snapshot", item(1), item(2)), told("updated", item(1, RequestState.EXECUTED))])
    assert board.pill("act-1").words == "answered elsewhere: done ✓"


@pytest.mark.parametrize("edit", [False, True])
def test_a_call_that_was_not_answered_here_is_not_shown_as_ours(edit: bool) -> None:
    board, asked = Board(), item(1)
    board.receive([told("snapshot", asked)])
    answered = replace(item(7), id="act-1", edited_from=asked.prompt) if edit else asked
    if edit:
        board.record_approved_edit(answered)
    board.record_answer(answered)
    board.set_pill("act-1", "running…")
    board.receive([told("updated", swapped(item(1, RequestState.EXECUTED, 1)))])
    assert board.requests["act-1"].prompt.args == {"draft_id": "r-666"}
    assert board.pill("act-1").words == "answered elsewhere: done ✓"


def test_events_about_unknown_requests_leave_nothing_behind() -> None:
    board = Board()
    for number in range(100):
        board.receive([told("updated", item(number, RequestState.EXECUTED))])
    assert not board._approved_since
