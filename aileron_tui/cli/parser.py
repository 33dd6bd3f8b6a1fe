"""The argument parser of the commands."""

import argparse
from typing import NoReturn

from aileron_tui.core.visible_text import inline


class Parser(argparse.ArgumentParser):
    """An argument parser that escapes what it quotes from the command line."""

    def error(self, message: str) -> NoReturn:
        """Prints what is wrong with the command line and exits with 2."""
        super().error(inline(message))
