"""What `watch` prints about a gate that is failing."""

import pytest

from aileron_tui.cli.commands.watch import _print_event
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.runtime.source_events import SourceEvent


@pytest.mark.parametrize(
    ("name", "data", "source", "printed"),
    [
        ("snapshot", {"items": []}, "", ""),
        ("snapshot", {"items": [], "problem": "the disk is full"}, "", "the gate is failing: the disk is full\n"),
        ("health", {"problem": "the disk is full"}, "work", "work is failing: the disk is full\n"),
        ("health", {"problem": "a\x1b[2Jb"}, "", "the gate is failing: a⟨ESC⟩[2Jb\n"),
        ("health", {"problem": ""}, "", "the gate works again\n"),
        ("limited", {"agent": "a\x1bb"}, "", "a⟨ESC⟩b asked too often: its calls are refused for now\n"),
        ("resolved", {"id": "act-1"}, "", ""),
    ],
)
def test_a_failing_gate_is_reported(
    name: str, data: JsonObject, source: str, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _print_event(SourceEvent(1, name, data, (), source), as_json=False)
    assert capsys.readouterr() == ("", printed)
