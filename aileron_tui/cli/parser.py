"""The argument parser of the commands."""

import argparse
from typing import NoReturn

from aileron_tui.core.visible_text import inline


class Parser(argparse.ArgumentParser):
    """An argument parser that escapes what it quotes from the command line, and ends its help with examples."""

    def error(self, message: str) -> NoReturn:
        """Prints what is wrong with the command line and exits with 2."""
        super().error(inline(message))

    def format_help(self) -> str:
        """The help, and then examples, which must not be wrapped."""
        from aileron_tui.cli.examples import epilog  # noqa: PLC0415  # only for help

        return super().format_help() + epilog(self.prog.partition(" ")[2])
