"""What a key of the console does, where it works, and when it can be used."""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

from aileron_tui.console.key_reasons import KeyState, always_available
from aileron_tui.core.values import dataclass

Reason: TypeAlias = Callable[[KeyState], str]
"""Returns why a key cannot be used now, "" if it can."""


class KeyGroup(StrEnum):
    """Groups of actions in the help."""

    ANSWER = "Answer"
    MOVE = "Move"
    LOOK = "View"
    CONSOLE = "Console"


class KeyScope(StrEnum):
    """The screens and widgets in which a key works, with their headings in the help."""

    MAIN = "Waiting requests"
    HISTORY = "History"
    RAW = "Raw view"
    BODY = "Text on the full screen"
    RULES = "Rules in force"
    HELP = "Help"
    EVERYWHERE = "Everywhere"
    REQUEST_LIST = "List of waiting requests"
    PROMPT = "Prompt"
    QUOTE = "Quoted text in a prompt"
    FILTER = "Filter"
    HISTORY_TABLE = "List of past requests"
    CONFIRM = "Confirmation"
    TYPED_CONFIRM = "Typed confirmation"
    TOUCH = "Touch of a security key"
    REASON = "Denial reason"
    EDIT = "Edit form"
    BATCH = "Marked requests"
    RULE = "New rule"
    KEY_CONFIRM = "Confirmation with the passphrase"
    LOCK = "Locked console"
    VAULT = "Vault passphrase"
    LOG = "Log"
    EXPORT = "Export"
    FIRST_RUN = "First run"


@dataclass(frozen=True, slots=True)
class KeyAction:
    """An action of the console, and the key that runs it.

    - `short` is the label for narrow screens; `rank` is the order in the footer (0: not shown there).
    - `danger` marks actions that cannot be undone later.
    - `armed` marks actions that decide: the key counts only once its prompt has been on screen for a moment.
    - `keeps_armed` marks other actions that do not disarm an answer: they decide nothing and move nothing on screen.
    - `key_only` marks actions that the command palette must not run, because Enter never answers.
    - `fixed` keys cannot be changed by the user; `bound` is False if Textual or the screen itself handles the key.
    - `optional` actions are left out of the footer where they cannot be used.
    - `in_help` is False for keys that the help does not list.
    - `runs` is Textual's name for the action if it differs from the last part of the id.
    - `why_unavailable` returns why the action cannot be used now, "" if it can.
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
    keeps_armed: bool = False
    key_only: bool = False
    fixed: bool = False
    bound: bool = True
    priority: bool = False
    optional: bool = False
    in_help: bool = True
    why_unavailable: Reason = always_available

    @property
    def action(self) -> str:
        """Textual's name for the action, with its arguments."""
        return self.runs or self.id.rpartition(".")[2]

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that runs the action."""
        return tuple(self.key.split(","))

    def why_not(self, state: KeyState) -> str:
        """Why the key does nothing now (it is unavailable or pressed too early), "" if it works."""
        if why := self.why_unavailable(state):
            return why
        early = state.arming.why_not_armed() if self.armed and state.arming else ""
        return f"not yet: {early}" if early else ""
