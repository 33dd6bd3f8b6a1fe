"""Ask about one waiting request at a time. Works over ssh, in any terminal, and with a screen reader."""

import argparse
import os
import signal
import sys
from contextlib import suppress
from types import FrameType

from aileron_tui.cli import source_options
from aileron_tui.cli.exit_codes import INTERRUPTED
from aileron_tui.cli.question import QuestionSettings
from aileron_tui.cli.question_loop import SURFACE, QuestionLoop
from aileron_tui.cli.question_terminal import TerminalGone, no_terminal, open_terminal, style_for
from aileron_tui.core.visible_text import inline
from aileron_tui.signing import key_store
from aileron_tui.signing.secret_memory import protect_process
from aileron_tui.surface.operator_key import stored_key
from aileron_tui.surface.source_connection import source_specs


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--once", action="store_true", help="ask about one request and end")
    parser.add_argument(
        "--plain",
        action="store_true",
        help="read whole lines and draw nothing, for screen readers and simple terminals",
    )
    source_options.arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Returns 0 after quitting.

    With --once: 0 if denied, or approved and done; 1 if not answered or failed; 5 if answered elsewhere; 6 if the
    outcome is unknown; 75 if still running.
    """
    if not sys.stdin.isatty():
        raise no_terminal("standard input is not a terminal")
    config, choices = source_options.chosen_sources(options)
    protect_process()
    source_options.print_notes(choices)
    for choice in choices:
        if choice.kind == "embedded":
            choice.find()  # no gate is running
    settings = QuestionSettings(
        config.policy.high_risk, config.console.lock_minutes, config.console.bell, once=options.once
    )
    style = style_for(os.environ, plain=options.plain)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    with stored_key(options.key or "") as key, open_terminal(style) as terminal:
        if key.insecure:
            terminal.write(f"Warning: the key {inline(key.name)} is {key_store.INSECURE}.")
        loop = QuestionLoop(source_specs(choices, config, surface=SURFACE), key, terminal, settings)
        signal.signal(signal.SIGCONT, lambda *_: loop.resumed())
        try:
            return loop.run()
        except KeyboardInterrupt:
            with suppress(TerminalGone):
                terminal.write("Stopped. What was not answered is still waiting.")
            return INTERRUPTED


def _end(number: int, _: FrameType | None) -> None:
    """Ends the program so that the terminal is restored."""
    raise SystemExit(128 + number)
