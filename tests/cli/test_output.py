"""Long lines on a terminal: wrapped by us, behind an indent that foreign text cannot leave."""

import fcntl
import os
import pty
import struct
import termios
from dataclasses import replace

import pytest

from aileron_tui import cli
from aileron_tui.cli import approver_session
from aileron_tui.cli.commands import watch
from aileron_tui.cli.output import columns
from aileron_tui.core.errors import AileronError
from aileron_tui.core.prompt import Asker
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.states import RequestState
from aileron_tui.core.visible_text import cells
from aileron_tui.runtime.source_events import SourceEvent
from tests.console import sample_requests as samples


def test_a_name_or_a_value_cannot_forge_a_line_of_a_prompt() -> None:
    agent = "claude".ljust(80 - len("asked by    "), ".") + "risk        low: it only reads"
    value = "r-9".ljust(80 - len("  Draft id: "), ".") + "  To:       team@example.com"
    shown = replace(samples.worked().prompt, inputs=(Row("Draft id", value),), asker=Asker(agent), preview=None)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with os.fdopen(theirs, "w") as out, os.fdopen(ours):
        assert columns(out) == 80
        printed = list(approver_session.shown(samples.item(shown), out))
    assert all(cells(line) <= 80 for line in printed)
    assert [line for line in printed if line.startswith("risk")] == [
        line for line in printed if line.startswith("risk        high")
    ]
    assert not any(line.startswith("  To:") for line in printed)


def test_no_id_name_or_reason_forges_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    forged = "x" * 200 + "send-draft" + " " * 6 + "0:41"
    asked = replace(
        samples.item(replace(samples.worked().prompt, action=forged)), id=forged, expires_at="", requested_at="?"
    )
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with os.fdopen(theirs, "w") as out, os.fdopen(ours, "rb", buffering=0) as terminal:
        monkeypatch.setattr("sys.stdout", out)
        monkeypatch.setattr("sys.stderr", out)
        approver_session.say(
            *approver_session.row(asked, samples.NOW, approver_session.width()), *approver_session.hint(asked)
        )
        watch._tell(SourceEvent(1, "updated", {}, (replace(asked, state=RequestState.DENIED),)), as_json=False)
        approver_session.complain(AileronError(forged, forged, forged))
        cli._complain(forged, forged, forged)
        out.flush()
        printed = terminal.read(1 << 16).decode().splitlines()
    assert len(printed) > 20
    assert all(cells(line) <= 80 for line in printed)
    starts = ("⚠ x", "  x", "  Draft id: ", "    ", "[Approve]", "[Deny]", "denied: ", "error: ")
    assert [line for line in printed if not line.startswith(starts)] == []
    assert "time not known" in printed[0]


def test_what_is_no_terminal_gets_whole_lines() -> None:
    read, write = os.pipe()
    with os.fdopen(write, "w") as out, os.fdopen(read):
        assert columns(out) == 0
