"""Opening the console: what is loaded before its frame is shown, and what holds if nobody says anything."""

import argparse
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from aileron_tui.cli.commands import console
from aileron_tui.console import settings, themes
from aileron_tui.console.settings import ConsoleSettings
from aileron_tui.files.config import Config

LATER = (
    "httpx",
    "cryptography",
    "argparse",
    "aileron_tui.core.action",
    "aileron_tui.core.prompt",
    "aileron_tui.files.config_reader",
    "aileron_tui.runtime.gate_client",
    "aileron_tui.console.command_palette",
    "aileron_tui.console.screens.confirm",
    "aileron_tui.console.screens.edit",
    "aileron_tui.console.widgets.prompt_view",
)


def test_the_frame_is_shown_before_anything_heavy_is_loaded() -> None:
    program = (
        "import sys, aileron_tui.cli.commands.console, aileron_tui.console.app, aileron_tui.surface.operator_key; "
        f"print(*[name for name in {LATER} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_no_words_no_file_and_no_parser_mean_the_same() -> None:
    parser = argparse.ArgumentParser()
    console.arguments(parser)
    assert vars(parser.parse_args([])) == asdict(console.DEFAULTS)
    assert ConsoleSettings() == console._settings("aileron-dark", Config())


def test_the_looks_have_the_names_that_are_offered() -> None:
    assert tuple(theme.name for theme in themes.THEMES) == settings.THEMES


def test_standalone_and_manifests_both_ask_for_an_embedded_gate() -> None:
    options = console.ConsoleOptions
    assert not console._source_options(console.DEFAULTS).embedded
    assert console._source_options(options(standalone=True)).embedded
    assert console._source_options(options(manifests=[Path("x")])).embedded
