"""Requests from a gate are believed only as far as they can be checked."""

from datetime import UTC, datetime
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict, read_statement
from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.errors import InvalidReply
from aileron_tui.runtime.request_reader import read_gate_request
from tests.runtime.examples import HEAD, INSTANCE, item, prompt


def test_a_good_item_is_read() -> None:
    read = read_gate_request(item(), INSTANCE)
    assert read.prompt == prompt()
    assert read.digest == prompt().digest
    assert (read.state, read.revision, read.fetching) == (RequestState.PENDING, 1, False)
    assert read.seconds_left(datetime(2026, 5, 12, 10, 20, 0, tzinfo=UTC)) == 30
    assert read.seconds_left(datetime(2026, 5, 12, 10, 21, 0, tzinfo=UTC)) == 0


def shown_as(**changes: Any) -> dict[str, Any]:
    """The prompt in the item was changed, its digest was not."""
    return {"prompt": prompt(**changes).fields()}


@pytest.mark.parametrize(
    "changes",
    [
        shown_as(args={"draft_id": "r-66666"}),
        shown_as(preview=PreviewResult((Row("To", "attacker@example.com"),))),
        shown_as(inputs=()),
        {"digest": "sha256:" + "00" * 32},
        {"digest": None},
        {"prompt": None},
        {"prompt": {}},
        {"prompt": prompt().fields() | {"extra": 1}},
        {"instance": "gate-other"},
        {"action_name": "list-drafts"},
        {"state": "perhaps"},
        {"id": 7},
        {"head": None},
    ],
    ids=lambda changes: repr(changes)[:50],
)
def test_a_bad_twin_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidReply):
        read_gate_request(item(**changes), INSTANCE)


@pytest.mark.parametrize("odd", [None, [], "x", 7])
def test_something_else_is_no_item(odd: Any) -> None:
    with pytest.raises(InvalidReply):
        read_gate_request(odd)


def test_a_statement_covers_what_is_shown() -> None:
    now = datetime(2026, 5, 12, 10, 16, tzinfo=UTC)
    read = read_gate_request(item())
    statement = read.statement(Verdict.DENY, reason="no", surface="cli", now=now)
    assert read_statement(statement.payload()) == statement
    assert (statement.request, statement.instance, statement.head) == (read.id, INSTANCE, HEAD)
    assert (statement.digest, statement.connector) == (prompt().digest, prompt().connector.hash)
    assert (statement.time, statement.expires) == ("2026-05-12T10:16:00.000000Z", "2026-05-12T10:18:00.000000Z")
    assert statement.nonce != read.statement(Verdict.DENY, surface="cli", now=now).nonce
