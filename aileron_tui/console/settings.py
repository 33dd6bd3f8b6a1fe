"""The settings of the console."""

import os
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from aileron_tui.core.alert_routing import AlertOrder
from aileron_tui.core.values import dataclass

THEMES: Final = ("aileron-dark", "aileron-light", "aileron-contrast", "aileron-plain")
"""The names of the themes, so that they can be listed before Textual is loaded."""


def default_theme() -> str:
    """The theme if the user has not chosen one: without colours if NO_COLOR is set."""
    return "aileron-plain" if os.environ.get("NO_COLOR") else "aileron-dark"


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """How the console looks and behaves. A time of 0 turns the feature off."""

    theme: str = "aileron-dark"
    undo_seconds: float = 2.0
    arm_seconds: float = 0.7
    lock_minutes: float = 15.0
    bell: bool = True
    notify: bool = True
    follow: bool = True
    fastest_reading: float = 100.0  # characters a second
    high_risk: str = "confirm"
    keymap: Mapping[str, str] = field(default_factory=dict)
    alert_order: AlertOrder = AlertOrder()
