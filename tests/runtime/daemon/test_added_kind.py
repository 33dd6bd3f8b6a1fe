"""A kind of request is added by one declaration."""

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from aileron_tui.console.widgets.prompt_words import caution_lines, title
from aileron_tui.core.caution import Caution
from aileron_tui.core.daemon_kinds import KINDS, EditableArgument, KindArgument, RequestKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.outcomes import ending
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.daemon.request_reader import edited, payload
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.surface.board import Board
from tests.runtime.daemon.asked import SEEN, read

FAX = RequestKind(
    "fax",
    "Send this fax?",
    (KindArgument("number", "Number"), KindArgument("text", "Text", multiline=True)),
    lambda _: Risk(RiskLevel.HIGH, "paper is patient"),
    EditableArgument("text", sent_as="words", required=True),
    lambda args: (Caution(f"goes to {args['number']}"), Caution("the line is slow", after=timedelta(minutes=1))),
    reports_end=False,
)
SENT: JsonObject = {
    "id": "act-1",
    "kind": "fax",
    "action_name": "send_fax",
    "args": {"number": "555", "text": "Hello", "pages": 2},
    "requested_at": "2026-05-12T10:16:00Z",
}


@dataclass(frozen=True)
class PastFax:
    outcome: str = "running"
    kind: str = "fax"
    daemon: str = "here"
    decided: str = "2026-05-12T10:16:10.000000Z"
    edited: bool = False


@pytest.fixture(autouse=True)
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, FAX.name, FAX)


def test_its_question_rows_risk_and_cautions_are_in_the_prompt() -> None:
    request = read(SENT)
    assert title(request).plain == "Send this fax?"
    assert [(row.label, row.value) for row in request.prompt.inputs] == [
        ("Number", "555"),
        ("Text", "Hello"),
        ("pages", "2"),
    ]
    assert request.prompt.risk == Risk(RiskLevel.HIGH, "paper is patient")
    assert caution_lines(request, SEEN).plain == "⚠ goes to 555"
    assert caution_lines(request, SEEN + timedelta(minutes=1)).plain == "⚠ goes to 555\n⚠ the line is slow"


def test_what_can_be_edited_is_in_the_form_and_in_the_answer() -> None:
    request = read(SENT)
    assert request.fields["inputs"] == [
        {"name": "text", "type": "string", "required": True, "label": "Text", "multiline": True}
    ]
    after = edited(request, {"text": "Bye"})
    assert payload(after, {"text": "Bye"}) == {"words": "Bye"}


def test_that_its_end_is_never_reported_shows_on_the_board_and_in_the_history() -> None:
    board = Board()
    request = read(SENT)
    board.receive([SourceEvent(0, "snapshot", {}, (request,))])
    board.record_answer(request)
    board.receive([SourceEvent(0, "updated", {}, (replace(request, state=RequestState.RUNNING),))])
    assert board.pill(request.key).short == "allowed ✓"
    assert ending(PastFax(), SEEN) == ("→", "allowed")
