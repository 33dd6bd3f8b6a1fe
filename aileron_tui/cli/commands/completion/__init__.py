"""Print the completion script of a shell: commands, options and their choices.

bash: source <(aileron-tui completion bash); zsh: the same, after compinit; fish: aileron-tui completion fish | source.
"""

import argparse
import sys

from aileron_tui.cli.exit_codes import OK


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell that completes")


def run(options: argparse.Namespace) -> int:
    """Returns 0."""
    from aileron_tui.cli.commands.completion.command_table import read_table  # noqa: PLC0415  # loads every command
    from aileron_tui.cli.commands.completion.shell_scripts import script  # noqa: PLC0415

    sys.stdout.write(script(options.shell, read_table()))
    return OK
