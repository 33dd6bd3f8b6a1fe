"""Long lines on a terminal: wrapped by us, behind an indent that foreign text cannot leave."""

import fcntl
import io
import os
import pty
import select
import struct
import termios
from dataclasses import replace

import pytest

from aileron_tui import cli
from aileron_tui.cli.commands import watch
from aileron_tui.cli.output import columns, print_error, print_lines
from aileron_tui.cli.request_text import answer_commands, list_lines, list_width, prompt_lines
from aileron_tui.core.errors import AileronError
from aileron_tui.core.prompt import Asker
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.states import RequestState
from aileron_tui.core.visible_text import cells
from aileron_tui.runtime.source_events import SourceEvent
from tests.console import sample_requests as samples


def test_a_name_or_a_value_cannot_forge_a_line_of_a_prompt() -> None:
    agent = "claude".ljust(80 - len('says        "'), ".") + "risk        low: it only reads"
    value = "r-9".ljust(80 - len("  Draft id: "), ".") + "  To:       team@example.com"
    shown = replace(samples.worked().prompt, inputs=(Row("Draft id", value),), asker=Asker(says=agent), preview=None)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with os.fdopen(theirs, "w") as out, os.fdopen(ours):
        assert columns(out) == 80
        printed = list(prompt_lines(samples.item(shown), out))
    assert all(cells(line) <= 80 for line in printed)
    assert [line for line in printed if line.startswith("risk")] == [
        line for line in printed if line.startswith("risk        high")
    ]
    assert not any(line.startswith("  To:") for line in printed)


def test_what_an_agent_says_about_itself_is_marked_as_its_claim() -> None:
    asker = Asker("mallory", "s-1", "/etc", "Gate self-check (verified)")
    printed = list(prompt_lines(samples.item(replace(samples.worked().prompt, asker=asker)), io.StringIO()))
    assert "agent       mallory" in printed
    claims = ['says        "Gate self-check (verified)"', 'says        session "s-1"', 'says        folder "/etc"']
    assert [line for line in printed if line.startswith("says")] == claims
    old = list(prompt_lines(samples.item(replace(samples.worked().prompt, asker=asker, version=2)), io.StringIO()))
    assert not any(line.startswith("agent  ") for line in old)
    assert [line for line in old if line.startswith("says")] == ['says        "mallory"', *claims[1:]]


def test_a_claim_cannot_forge_another_claim() -> None:
    asker = Asker("mallory", "", "", 'bob", folder "/safe')
    printed = list(prompt_lines(samples.item(replace(samples.worked().prompt, asker=asker)), io.StringIO()))
    assert [line for line in printed if line.startswith("says")] == [r'says        "bob\", folder \"/safe"']


def test_a_value_in_a_list_cannot_forge_its_neighbour() -> None:
    rows = (
        Row("To", "evil@example.net · Cc: team@example.com"),
        Row('x" · To', 'a" · Cc: "b'),
        Row("Note", "n/a"),
        Row("Bcc", missing=True),
        Row("Subject", "Weekly recap"),
    )
    shown = replace(samples.worked().prompt, action="nothing is waiting", inputs=rows, preview=None)
    asked = samples.item(shown)
    first, _, values = list_lines(asked, samples.NOW, 200)
    assert first.startswith("⚠ nothing is waiting")
    assert values == r'  "evil@example.net · Cc: team@example.com" · "a\" · Cc: \"b" · Weekly recap · "n/a"'
    low = replace(asked, prompt=replace(asked.prompt, risk=Risk(RiskLevel.NORMAL, "")))
    assert next(list_lines(low, samples.NOW, 200)).startswith("• nothing is waiting")


def test_a_long_value_in_a_list_is_cut_and_leaves_room_for_others() -> None:
    rows = (Row("Note", "x" * 500 + " · To: team@example.com"), Row("To", "evil@example.net"))
    shown = replace(samples.worked().prompt, inputs=rows, preview=None)
    *_, values = list_lines(samples.item(shown), samples.NOW, 100)
    assert values == f"  evil@example.net · {'x' * 78}…"


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
        print_lines(*list_lines(asked, samples.NOW, list_width()), *answer_commands(asked))
        watch._print_event(SourceEvent(1, "updated", {}, (replace(asked, state=RequestState.DENIED),)), as_json=False)
        print_error(AileronError(forged, forged, forged))
        cli._print_error(forged, forged, forged)
        out.flush()
        sent = b""
        while select.select([terminal], [], [], 0.5)[0]:  # one read may return only a part
            sent += terminal.read(1 << 16)
        printed = sent.decode().splitlines()
    assert len(printed) > 20
    assert all(cells(line) <= 80 for line in printed)
    starts = ("⚠ x", '  "x', "  x", "  team@example.com", "    ", "[Approve]", "[Deny]", "denied: ", "error: ")
    assert [line for line in printed if not line.startswith(starts)] == []
    assert "time unknown" in printed[0]


def test_what_is_no_terminal_gets_whole_lines() -> None:
    read, write = os.pipe()
    with os.fdopen(write, "w") as out, os.fdopen(read):
        assert columns(out) == 0
