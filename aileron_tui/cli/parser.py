"""The argument parser of all commands."""

import argparse
from typing import NoReturn

from aileron_tui.core.visible_text import inline


class Parser(argparse.ArgumentParser):
    """An argument parser that makes what it repeats of the command line visible."""

    def error(self, message: str) -> NoReturn:
        """Says what is wrong with the command line and exits with 2."""
        super().error(inline(message))
