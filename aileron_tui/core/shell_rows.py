"""Rows for a shell command: its parts, and what a reader easily overlooks."""

from collections.abc import Iterator
from typing import Final

from aileron_tui.core.program_risk import variables_set
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.shell_parts import ShellParts

_MOST_LISTED: Final = 50
_LONGEST_PART: Final = 200


def shell_rows(command: ShellParts) -> Iterator[Row]:
    """Rows that this program adds below the command. A part is one line, so that it cannot look like several."""
    parts = command.parts
    if len(parts) > 1:
        lines = [
            f"{number}. {'inside: ' if part.is_nested else ''}{_one_line(part.text)}"
            for number, part in enumerate(parts[:_MOST_LISTED], start=1)
        ]
        if len(parts) > _MOST_LISTED:
            lines.append(f"… and {len(parts) - _MOST_LISTED:,} more")
        yield Row(f"{len(parts):,} parts", "\n".join(lines), multiline=True)
    if command.has_heredoc:
        yield Row("Heredoc", "lines of the command are the input of a program")
    names = dict.fromkeys(
        name for part in parts for name in (*(one for one, _ in part.assignments), *variables_set(part.words))
    )
    if names:
        yield _list("Sets", names)
    redirections = dict.fromkeys(
        f"{one.operator} {one.target.text}{'' if one.target.is_known else '…'}".strip()
        for part in parts
        for one in part.redirections
        if one.operator != "<<"
    )
    if redirections:
        yield _list("Redirects", redirections)


def _list(label: str, values: dict[str, None]) -> Row:
    text = ", ".join(_one_line(value) for value in list(values)[:_MOST_LISTED])
    return Row(label, text if len(values) <= _MOST_LISTED else f"{text} and {len(values) - _MOST_LISTED:,} more")


def _one_line(text: str) -> str:
    line = text.replace("\n", " ⏎ ")
    return line if len(line) <= _LONGEST_PART else f"{line[:_LONGEST_PART]}…"


def written_targets(command: ShellParts) -> tuple[str, ...]:
    """The files that redirections of a command write to, as far as they are known."""
    found = (
        one.target.text
        for part in command.parts
        for one in part.redirections
        if one.writes and one.target.is_known and one.target.text and not one.target.text.startswith("/dev/")
    )
    return tuple(dict.fromkeys(found))
