"""Rows in a terminal: equal requests are answered together, and others can be told apart from the list alone."""

import re
import time
from typing import Any

import pytest

from tests.robot.case import Case
from tests.robot.pace import make_case
from tests.robot.session import Session

EQUAL = 20
COMMAND = {"tool": "Bash", "input": {"command": "make test"}, "folder": "/srv", "session": "s-1"}


def answers(session: Session, ids: list[str]) -> list[Any]:
    """The answers to tool calls, once each has one."""
    found: dict[str, Any] = {}
    end = time.monotonic() + 20
    while len(found) < len(ids) and time.monotonic() < end:
        for id_ in ids:
            if id_ not in found and (reply := session.permission(id_))["status"] != "pending_approval":
                found[id_] = reply
    return [found[id_] for id_ in ids]


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_twenty_equal_tool_calls_are_one_row_and_answered_with_one_key() -> None:
    with Session([], undo_seconds=0) as session:
        session.terminal.resize((100, 30))
        session.terminal.press("h")  # an answer counts for those that were in the row when it was armed
        session.terminal.until("History")
        ids = [session.ask(COMMAND) for _ in range(EQUAL)]
        session.terminal.still(0.5)
        session.terminal.press("\x1b")
        text = session.terminal.until(lambda text: f"ready to answer {EQUAL} identical requests" in text)
        assert f"Bash ×{EQUAL}" in text
        assert len([line for line in text.splitlines() if "make test" in line and "▎" not in line]) == 1
        session.terminal.press("a")
        replies = answers(session, ids)
        assert {reply["status"] for reply in replies} == {"allowed"}
        assert {reply["input"]["command"] for reply in replies} == {"make test"}
        assert len({str(reply["decision"]) for reply in replies}) == EQUAL


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("columns", [80, 45])
def test_ten_requests_of_one_action_are_told_apart_from_the_list_alone(columns: int) -> None:
    cases: list[Case] = [make_case(number) for number in range(0, 20, 2)]
    with Session(cases) as session:
        session.terminal.resize((columns, 50))
        for case in cases:
            session.call(case.call)
        session.terminal.until(lambda text: "10 waiting" in text)
        rows: list[str] = []
        for _ in cases:
            screen = session.terminal.still(0.2)
            rows.append(_listed(screen))
            session.terminal.press("n")
            session.terminal.still(0.2)
        assert len(set(rows)) == len(cases), rows


def _listed(screen: str) -> str:
    """What the list says about the selected request: the row with the cursor, and the line below it."""
    lines = screen.splitlines()
    at = next(number for number, line in enumerate(lines) if line.lstrip().startswith("▸"))
    row = re.sub(r"\d+:\d\d|\d+/\d+", "", lines[at])  # neither the time nor the number tells requests apart
    below = lines[at + 1] if at + 1 < len(lines) and lines[at + 1].startswith("   ") else ""
    return f"{row} {below}".strip()
