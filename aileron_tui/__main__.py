"""Lets `python -m aileron_tui` do what the `aileron-tui` command does."""

import sys

from aileron_tui.cli import main

if __name__ == "__main__":
    sys.exit(main())
