"""Rows with several requests: which requests share one, and that it stays right while requests come and go."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.caution import Caution
from aileron_tui.core.jsontext import Json
from aileron_tui.core.prompt import Asker, PreviewResult
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.surface import row_folding
from aileron_tui.surface.board import Board, Tone
from aileron_tui.surface.row_folding import LONGEST_FOLDED, MOST_FOLDED
from tests.core.examples import prompt
from tests.runtime.daemon.asked import ACTION, GOOGLE, asked, read
from tests.surface.test_board import item

MOVE = replace(prompt(), risk=Risk(RiskLevel.NORMAL, "it moves something"))


def call(number: int, inputs: str = "r-1", **changes: Any) -> Request:
    """A request at normal risk that is identical to the others with the same inputs."""
    shown = replace(MOVE, args={"draft_id": inputs})
    return replace(item(number), prompt=shown, digest=shown.digest, **changes)


def shown_as(number: int, **changes: Any) -> Request:
    """The same with a prompt that differs."""
    shown = replace(call(number).prompt, **changes)
    return replace(call(number), prompt=shown, digest=shown.digest)


def told(name: str, *items: Request, source: str = "") -> SourceEvent:
    return SourceEvent(1, name, {}, items, source)


def board(*requests: Request) -> Board:
    made = Board()
    made.receive([told("snapshot", *requests)])
    return made


def test_identical_requests_share_a_row() -> None:
    waiting = board(call(1), call(2), call(3), call(4, "other"), call(5))
    assert waiting.rows == ["act-1", "act-4", "act-5"]
    assert waiting.row("act-2") == waiting.row("act-1") == ("act-1", "act-2", "act-3")
    assert waiting.row_key("act-3") == "act-1"
    assert waiting.row("act-5") == ("act-5",), "another request was asked in between"
    assert waiting.listed == [f"act-{number}" for number in range(1, 6)]
    waiting.move(1)
    assert waiting.selected == "act-4"


@pytest.mark.parametrize(
    "other",
    [
        shown_as(2, risk=Risk(RiskLevel.HIGH, "it sends")),
        shown_as(2, asker=Asker("another agent", "s-1", "/home/me/project")),
        shown_as(2, asker=replace(MOVE.asker, session="s-2")),
        shown_as(2, asker=replace(MOVE.asker, says="I am the other one")),
        shown_as(2, inputs=(Row("Draft id", "r-2"),)),
        shown_as(2, preview=PreviewResult((Row("To", "eve@example.com"),))),
        shown_as(2, preview=None),
        shown_as(2, action="send-draft-2"),
        shown_as(2, connector=replace(MOVE.connector, version="1.0.1")),
        shown_as(2, steps=()),
        call(2, fetching=True),
        call(2, deny_only="the daemon has no vault"),
        call(2, cautions=(Caution("nobody waits for the answer"),)),
        call(2, edited_from=MOVE),
        call(2, asked_again="act-0"),
        call(2, reason="the preview failed"),
        call(2, state=RequestState.EXECUTED),
    ],
    ids=lambda request: "",
)
def test_whatever_differs_has_a_row_of_its_own(other: Request) -> None:
    waiting = board(call(1), call(3))
    waiting.receive([told("updated" if other.state.final else "pending", call(2), other)])
    waiting.receive([told("snapshot", call(1), *([other] if other.state.decidable else []), call(3))])
    assert "act-2" in waiting.rows
    assert waiting.row("act-2") == ("act-2",)


@pytest.mark.parametrize(
    "changes",
    [
        {"risk": Risk(RiskLevel.HIGH, "it sends")},
        {"inputs": (Row("To", "te\u0430m@example.com"),)},
        {"preview": PreviewResult((), "timeout")},
        {"connector": replace(MOVE.connector, trust="revoked")},
    ],
    ids=["high risk", "look-alike", "no preview", "unclear signature"],
)
def test_high_risk_and_warnings_never_share_a_row(changes: dict[str, Any]) -> None:
    waiting = board(*(shown_as(number, **changes) for number in range(1, 4)))
    assert len({request.digest for request in waiting.requests.values()}) == 1
    assert waiting.rows == ["act-1", "act-2", "act-3"]


@pytest.mark.parametrize("fetched", [False, True])
def test_long_texts_never_share_a_row_and_are_not_checked_here(fetched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[object] = []
    monkeypatch.setattr("aileron_tui.core.prompt.count_warnings", checked.append)
    rows = (Row("Body", "x" * LONGEST_FOLDED, multiline=True),)
    changes: dict[str, Any] = {"preview": PreviewResult(rows)} if fetched else {"inputs": rows}
    waiting = board(*(shown_as(number, **changes) for number in range(1, 4)))
    assert waiting.rows == ["act-1", "act-2", "act-3"]
    assert not checked, "a check of a long text would freeze the console"


def test_requests_of_several_sources_never_share_a_row() -> None:
    waiting = Board()
    for name in ("home", "work"):
        waiting.receive([told("snapshot", replace(call(1), source=name), source=name)])
    assert waiting.rows == ["home act-1", "work act-1"]


def test_what_is_done_about_some_of_them_splits_a_row() -> None:
    waiting = board(*map(call, range(1, 5)))
    waiting.set_pill("act-1", "sending…")
    waiting.set_pill("act-2", "sending…")
    assert waiting.rows == ["act-1", "act-3"]
    waiting.set_pill("act-1", "running…", Tone.GOOD)
    assert waiting.rows == ["act-1", "act-2", "act-3"]
    waiting.clear_pill("act-1")
    waiting.clear_pill("act-2")
    assert waiting.rows == ["act-1"]


def test_a_row_can_be_opened_and_closed() -> None:
    waiting = board(call(1), call(2), call(3, "other"))
    assert waiting.open_row("act-1", opened=True)
    assert waiting.rows == ["act-1", "act-2", "act-3"]
    assert not waiting.open_row("act-2", opened=True), "it is open"
    waiting.move(1)
    assert waiting.selected == "act-2"
    assert waiting.open_row("act-2", opened=False)
    assert waiting.rows == ["act-1", "act-3"]
    assert waiting.row_key(waiting.selected) == "act-1"
    waiting.move(1)
    assert waiting.selected == "act-3"
    assert not waiting.open_row("act-3", opened=True), "it is alone"


def test_a_row_has_at_most_so_many_requests() -> None:
    requests = [replace(call(1), id=f"act-{number:03}") for number in range(MOST_FOLDED + 20)]
    assert [len(board(*requests).row(key)) for key in board(*requests).rows] == [MOST_FOLDED, 20]
    waiting = Board()
    for request in requests:
        waiting.receive([told("pending", request)])
    assert [len(waiting.row(key)) for key in waiting.rows] == [MOST_FOLDED, 20]


def test_an_arrival_costs_the_same_however_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = board(*(replace(call(1), id=f"act-{number:04}") for number in range(1000)))
    assert len(waiting.rows) == 10
    looked: list[str] = []
    like = row_folding.RowFolding._like

    def counted(self: row_folding.RowFolding, request: Request, pill: row_folding.Pills) -> object:
        looked.append(request.key)
        return like(self, request, pill)

    monkeypatch.setattr(row_folding.RowFolding, "_like", counted)
    waiting.receive([told("pending", replace(call(1), id="act-9999"))])
    assert waiting.rows[-1] == "act-9999"
    assert len(looked) <= 2


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["arrive", "change", "end", "pill", "clear", "filter", "snapshot", "open", "close"]),
        st.integers(1, 6),
        st.integers(1, 2),
    ),
    max_size=25,
)


@given(STEPS)
def test_the_rows_are_those_of_a_board_that_sees_only_the_result(steps: list[tuple[str, int, int]]) -> None:
    waiting = Board()
    for revision, (what, number, inputs) in enumerate(steps):
        request = replace(call(number, f"r-{inputs}"), revision=revision)
        match what:
            case "arrive" | "change":
                waiting.receive([told("pending", request)])
            case "end":
                known = waiting.requests.get(request.key, request)
                waiting.receive([told("updated", replace(known, state=RequestState.DENIED, revision=revision))])
            case "pill":
                waiting.set_pill(request.key, "sending…")
            case "clear":
                waiting.clear_pill(request.key)
            case "filter":
                waiting.set_filter("" if number % 2 else f"r-{inputs}")
            case "snapshot":
                waiting.receive([told("snapshot", *(one for one in waiting.requests.values() if one.state.decidable))])
            case _:
                waiting.open_row(request.key, opened=what == "open")
        rows = waiting.rows
        found = [waiting.row(key) for key in rows]
        assert [key for row in found for key in row] == waiting.listed, "every request is in one row, in order"
        kept = [*rows]
        waiting._rows.reset()
        waiting._rows._folding._likeness.clear()
        assert waiting.rows == kept
        assert [waiting.row(key) for key in waiting.rows] == found
        for row in found:
            assert len({(waiting.requests[key].digest, waiting.pill(key).words) for key in row}) == 1


def test_identical_actions_of_a_daemon_share_a_row() -> None:
    steps: list[Json] = [{"id": "make", "connector": GOOGLE, "op": "create_draft"}]
    requests = [
        read(
            asked(
                "action",
                id=f"act-{number}",
                action_name="create-draft",
                requested_at=f"2026-05-12T12:15:{number}0.5+02:00",
                session_id="01J0ABCDEF" if number < 4 else "another",
            ),
            action=ACTION | {"name": "create-draft", "execute": steps},
        )
        for number in range(1, 5)
    ]
    waiting = board(*requests)
    assert all(request.daemon for request in requests)
    assert [waiting.row(key) for key in waiting.rows] == [("act-1", "act-2", "act-3"), ("act-4",)]
