"""What a key of the console is: where it means something, what it does, and when it can be used."""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

from aileron_tui.console.key_reasons import KeyState, always_available
from aileron_tui.core.values import dataclass

Reason: TypeAlias = Callable[[KeyState], str]
"""Why a key cannot be used now, or ""."""


class KeyGroup(StrEnum):
    """What an action is for."""

    ANSWER = "Answer"
    MOVE = "Move"
    LOOK = "Look"
    CONSOLE = "Console"


class KeyScope(StrEnum):
    """Where a key means something."""

    MAIN = "Waiting requests"
    HISTORY = "History"
    RAW = "Raw view"
    HELP = "Help"
    EVERYWHERE = "Everywhere"
    REQUEST_LIST = "List of waiting requests"
    PROMPT = "Prompt"
    QUOTE = "Quoted text in a prompt"
    FILTER = "Filter"
    HISTORY_TABLE = "List of past requests"
    CONFIRM = "Confirmation"
    TYPED_CONFIRM = "Confirmation by typing the name"
    REASON = "Reason for a denial"
    EDIT = "Edit form"
    BATCH = "Marked requests"
    LOCK = "Locked console"
    VAULT = "Passphrase of a vault"
    LOG = "Log"
    EXPORT = "Export"
    FIRST_RUN = "First start"


@dataclass(frozen=True, slots=True)
class KeyAction:
    """One thing a key does.

    - `short` is the label where room is scarce; `rank` orders the footer (0: not in it).
    - `danger` marks what cannot be taken back later.
    - `armed` marks what decides: the key counts only once its prompt has been on screen for a moment.
    - `key_only` marks what the command palette must not do, because Enter never answers.
    - `fixed` keys cannot be changed by the user; `bound` is False if Textual or the screen itself handles the key.
    - `optional` actions are left out of the footer where they cannot be used.
    - `in_help` is False for keys that only repeat others.
    - `runs` is Textual's name of the action, if it is not the last part of the id.
    - `why_unavailable` says why it cannot be used now, "" if it can.
    """

    id: str
    key: str
    label: str
    tooltip: str
    group: KeyGroup
    scopes: tuple[KeyScope, ...] = (KeyScope.MAIN,)
    rank: int = 0
    short: str = ""
    runs: str = ""
    danger: bool = False
    armed: bool = False
    key_only: bool = False
    fixed: bool = False
    bound: bool = True
    priority: bool = False
    optional: bool = False
    in_help: bool = True
    why_unavailable: Reason = always_available

    @property
    def action(self) -> str:
        """Textual's name of the action, with its arguments."""
        return self.runs or self.id.rpartition(".")[2]

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that does it."""
        return tuple(self.key.split(","))

    def why_not(self, state: KeyState) -> str:
        """Why the key does nothing now, or "": it is unavailable, or pressed too early."""
        if why := self.why_unavailable(state):
            return why
        early = state.arming.why_not_armed() if self.armed and state.arming else ""
        return f"not yet: {early}" if early else ""
