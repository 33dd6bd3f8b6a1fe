"""Every command with its options, read from the parsers: for completion scripts and the manual page."""

import argparse
from collections.abc import Iterator
from importlib import import_module
from typing import Final

from aileron_tui.cli.commands import COMMANDS
from aileron_tui.cli.parser import Parser
from aileron_tui.core.values import dataclass

_PROGRAM: Final = "aileron-tui"
_CONSOLE: Final = "console"
_PATHS: Final = ("FILE", "DIR", "FOLDER", "PATH", "SOURCE")


@dataclass(frozen=True, slots=True)
class Argument:
    """An option (with its names), or what follows the options (without)."""

    names: tuple[str, ...]
    value: str
    """The placeholder of its value, "" if it has none."""
    choices: tuple[str, ...]
    help: str

    @property
    def is_path(self) -> bool:
        """Whether its value is a file or a folder."""
        return any(word in self.value for word in _PATHS)


@dataclass(frozen=True, slots=True)
class CommandHelp:
    """A command: its words after the name of the program, its help, its arguments, and its subcommands by name."""

    words: tuple[str, ...]
    help: str
    description: str
    arguments: tuple[Argument, ...]
    subcommands: tuple[tuple[str, str], ...]

    @property
    def options(self) -> tuple[Argument, ...]:
        """The arguments that have names."""
        return tuple(argument for argument in self.arguments if argument.names)

    @property
    def takes_path(self) -> bool:
        """Whether a file or a folder may follow."""
        return any(argument.is_path for argument in self.arguments if not argument.names)


def read_table() -> tuple[CommandHelp, ...]:
    """All commands, each before its subcommands. The first is the console, which has no word."""
    return tuple(_read_all())


def command_parser(command: str) -> Parser:
    """The parser of a command, as the command line makes it."""
    module = import_module(f"aileron_tui.cli.commands.{command.replace('-', '_')}")
    parser = Parser(_PROGRAM if command == _CONSOLE else f"{_PROGRAM} {command}", description=module.__doc__)
    module.arguments(parser)
    return parser


def _read_all() -> Iterator[CommandHelp]:
    yield _command((), "open the console", command_parser(_CONSOLE), tuple(COMMANDS.items()))
    for name, words in COMMANDS.items():
        yield from _with_subcommands((name,), words, command_parser(name))


def _with_subcommands(words: tuple[str, ...], help_: str, parser: argparse.ArgumentParser) -> Iterator[CommandHelp]:
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    helps = {choice.dest: choice.help or "" for group in groups for choice in group._choices_actions}
    yield _command(words, help_, parser, tuple(helps.items()))
    for group in groups:
        for name, sub in group.choices.items():
            yield from _with_subcommands((*words, name), helps.get(name, ""), sub)


def _command(
    words: tuple[str, ...], help_: str, parser: argparse.ArgumentParser, subcommands: tuple[tuple[str, str], ...]
) -> CommandHelp:
    found = (action for action in parser._actions if not isinstance(action, argparse._SubParsersAction))
    arguments = tuple(_argument(action) for action in found if action.help != argparse.SUPPRESS)
    description = " ".join((parser.description or "").split())
    return CommandHelp(words, help_, description, arguments, subcommands)


def _argument(action: argparse.Action) -> Argument:
    choices = tuple(str(choice) for choice in action.choices or ())
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    value = "" if action.nargs == 0 else metavar or (f"{{{','.join(choices)}}}" if choices else action.dest.upper())
    help_ = (action.help or "").replace("%%", "%")
    return Argument(tuple(action.option_strings), value, choices, " ".join(help_.split()))
