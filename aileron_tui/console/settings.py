"""How the user wants the console to behave."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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
