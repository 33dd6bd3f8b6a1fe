"""Settings and their changes as text for the terminal."""

import difflib
import sys
import time
from collections.abc import Iterable
from typing import Final

from aileron_tui.cli.confirmation import SHOWN_SECONDS
from aileron_tui.cli.output import write
from aileron_tui.core.visible_text import inline, visible
from aileron_tui.doors.settings_findings import Finding, SettingsFault
from aileron_tui.signing.terminal_input import ask_line

_CONTEXT: Final = 3
_MOST_LINES: Final = 3000


def tell(*lines: str) -> None:
    """Writes lines, whose foreign text was made visible, beside the questions."""
    write(sys.stderr, *lines)


def diff_lines(name: str, before: str | None, after: str | None) -> list[str]:
    """The difference between two texts of a file, with foreign text made visible."""
    old, new = (before or "").splitlines(), (after or "").splitlines()
    if max(len(old), len(new)) > _MOST_LINES:
        detail = f"it has more than {_MOST_LINES:,} lines"
        raise SettingsFault(f"cannot show what would change in {name}", detail, "Nothing was changed.")
    lines = difflib.unified_diff(
        old,
        new,
        fromfile=name if before is not None else "(no file)",
        tofile=name if after is not None else "(no file)",
        lineterm="",
        n=_CONTEXT,
    )
    return [f"{line[:1]}{_indented(line[1:])}" for line in lines]


def finding_lines(findings: Iterable[Finding]) -> list[str]:
    """What weakens the gate, with how to fix it."""
    return [line for found in findings for line in (f"! {inline(found.words)}", f"    → {inline(found.fix)}")]


def said_yes(question: str) -> bool:
    """Asks a question. Anything but yes, and keys typed before it, count as no."""
    time.sleep(SHOWN_SECONDS)
    return ask_line(f"{question} [y/N]").lower() in ("y", "yes")


def _indented(line: str) -> str:
    """A line whose indentation is kept as it is."""
    text = line.lstrip(" ")
    return " " * (len(line) - len(text)) + visible(text)
