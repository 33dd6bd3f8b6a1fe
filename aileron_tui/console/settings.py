"""How the user wants the console to look and behave."""

import os
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from aileron_tui.core.values import dataclass

THEMES: Final = ("aileron-dark", "aileron-light", "aileron-contrast", "aileron-plain")
"""The names of the looks; known here so that they can be listed before any of Textual is loaded."""


def default_theme() -> str:
    """The look where nobody chose one; NO_COLOR is a choice."""
    return "aileron-plain" if os.environ.get("NO_COLOR") else "aileron-dark"


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """Times in seconds unless they say otherwise; 0 turns a thing off."""

    theme: str = "aileron-dark"
    undo_seconds: float = 2.0
    arm_seconds: float = 0.7
    lock_minutes: float = 15.0
    bell: bool = True
    notify: bool = True
    high_risk: str = "confirm"
    keymap: Mapping[str, str] = field(default_factory=dict)
