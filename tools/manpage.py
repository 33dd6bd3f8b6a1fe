"""Writes share/man/man1/aileron-tui.1 from the parsers of the commands. Run it as `python -m tools.manpage`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from aileron_tui import __version__
from aileron_tui.cli.commands.completion.command_table import Argument, CommandHelp, read_table
from aileron_tui.cli.examples import EXAMPLES

PAGE: Final = Path(__file__).resolve().parent.parent / "share" / "man" / "man1" / "aileron-tui.1"

_PROGRAM: Final = "aileron-tui"
_ABOUT: Final = (
    "A terminal console where a person approves or denies what AI agents are about to do, and the gate behind it."
    " Without a command it opens the console: on the daemon or gate that is named, else on the configured sources,"
    " else on the daemon or gate that runs here, else with a gate of its own."
)
_EXIT_CODES: Final = (
    ("0", "It worked."),
    ("1", "It failed; standard error says why."),
    ("2", "The command line is wrong."),
    ("3", "The call was denied."),
    ("4", "Nobody answered in time."),
    ("5", "There is no such request, or it changed or was answered already."),
    ("6", "Nobody knows whether the call took effect."),
    ("75", "It has not ended yet; ask again."),
    ("130", "It was interrupted with ctrl+c."),
)
_ENVIRONMENT: Final = (
    ("AILERON_TUI_HOME", "The folder for configuration, data, keys and cache."),
    ("AILERON_API_URL", "The address of an Aileron daemon."),
    ("AILERON_TOKEN", "The token for that daemon."),
    ("NO_COLOR", "Use no colours."),
)


def page() -> str:
    """The whole manual page."""
    return "".join(_lines())


def _lines() -> Iterator[str]:
    console, *commands = read_table()
    yield f'.TH AILERON\\-TUI 1 "" "aileron\\-tui {__version__}" "User Commands"\n'
    yield f".SH NAME\n{_text(_PROGRAM)} \\- approve or deny what AI agents are about to do\n"
    yield f".SH SYNOPSIS\n.B {_text(_PROGRAM)}\n[\\fIoptions\\fR]\n.br\n.B {_text(_PROGRAM)}\n\\fICOMMAND\\fR ...\n"
    yield f".SH DESCRIPTION\n{_text(_ABOUT)}\n"
    yield ".SH OPTIONS\n"
    yield from _arguments(console)
    yield ".SH COMMANDS\n"
    for command in commands:
        yield f".SS {_text(' '.join(command.words))}\n{_text(_sentence(command))}\n"
        yield from _arguments(command)
    yield ".SH EXIT STATUS\n"
    yield from (_item(code, meaning) for code, meaning in _EXIT_CODES)
    yield ".SH ENVIRONMENT\n"
    yield from (_item(name, meaning) for name, meaning in _ENVIRONMENT)
    yield ".SH EXAMPLES\n"
    for rows in EXAMPLES.values():
        yield from (_item(line, f"{meaning[:1].upper()}{meaning[1:]}.") for line, meaning in rows)


def _sentence(command: CommandHelp) -> str:
    words = command.description or command.help
    return words if words.endswith(".") else f"{words[:1].upper()}{words[1:]}."


def _arguments(command: CommandHelp) -> Iterator[str]:
    for argument in command.arguments:
        if "--help" not in argument.names:
            yield f".TP\n{_heading(argument)}\n{_text(argument.help)}\n"


def _heading(argument: Argument) -> str:
    names = ", ".join(f"\\fB{_text(name)}\\fR" for name in argument.names)
    value = f"\\fI{_text(argument.value)}\\fR" if argument.value else ""
    return f"{names} {value}".strip()


def _item(term: str, words: str) -> str:
    return f".TP\n\\fB{_text(term)}\\fR\n{_text(words)}\n"


def _text(words: str) -> str:
    """Text that troff prints as it is: no escapes, no requests at the start of a line, and real hyphens."""
    shown = words.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    shown = "".join(each if each.isascii() else f"\\[u{ord(each):04X}]" for each in shown)
    return f"\\&{shown}" if shown.startswith(".") else shown


def main() -> int:
    """Writes the page."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
