"""Long lines on a terminal: wrapped by us, behind an indent that foreign text cannot leave."""

import fcntl
import os
import pty
import struct
import termios
from dataclasses import replace

from aileron_tui.cli import approver
from aileron_tui.cli.columns import columns
from aileron_tui.core.prompt import Asker
from aileron_tui.core.rows import Row
from aileron_tui.core.text import cells
from tests.console import items


def test_a_name_or_a_value_cannot_forge_a_line_of_a_prompt() -> None:
    agent = "claude".ljust(80 - len("asked by    "), ".") + "risk        low: it only reads"
    value = "r-9".ljust(80 - len("  Draft id: "), ".") + "  To:       team@example.com"
    shown = replace(items.worked().prompt, inputs=(Row("Draft id", value),), asker=Asker(agent), preview=None)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with os.fdopen(theirs, "w") as out, os.fdopen(ours):
        assert columns(out) == 80
        printed = list(approver.shown(items.item(shown), out))
    assert all(cells(line) <= 80 for line in printed)
    assert [line for line in printed if line.startswith("risk")] == [
        line for line in printed if line.startswith("risk        high")
    ]
    assert not any(line.startswith("  To:") for line in printed)


def test_what_is_no_terminal_gets_whole_lines() -> None:
    read, write = os.pipe()
    with os.fdopen(write, "w") as out, os.fdopen(read):
        assert columns(out) == 0
