"""Every key of the console in one table: bindings, footer, help, command palette and docs/keys.md come from it.

An action's id is what a user's keymap names; its method is the `action_…` of the screen that does it.
"""

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Final, NamedTuple

from textual.binding import Binding, BindingType
from textual.keys import KEY_ALIASES, Keys, key_to_character

from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import cells, inline


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


@dataclass(frozen=True, slots=True)
class KeyAction:
    """One thing a key does.

    `short` is the label where room is scarce; `rank` orders the footer (0: not in it). `danger` marks what cannot be
    taken back later; `key_only` what the palette must not do, because Enter never answers. A `fixed` key belongs to
    Textual and cannot be changed.
    """

    id: str
    key: str
    label: str
    tooltip: str
    group: KeyGroup
    scopes: tuple[KeyScope, ...] = (KeyScope.MAIN,)
    rank: int = 0
    short: str = ""
    danger: bool = False
    key_only: bool = False
    fixed: bool = False

    @property
    def method(self) -> str:
        """The name after `action_`."""
        return self.id.rpartition(".")[2]

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that does it."""
        return tuple(self.key.split(","))


_HISTORY: Final = (KeyScope.HISTORY,)
_LISTS: Final = (KeyScope.MAIN, KeyScope.HISTORY)
_ASIDE: Final = (KeyScope.HISTORY, KeyScope.RAW, KeyScope.HELP)

ACTIONS: Final = (
    KeyAction(
        "approve",
        "a",
        "approve",
        "Approve the request that is shown. High risk asks once more.",
        KeyGroup.ANSWER,
        rank=1,
        danger=True,
        key_only=True,
    ),
    KeyAction(
        "deny",
        "d",
        "deny",
        "Deny the request that is shown. Nothing runs.",
        KeyGroup.ANSWER,
        rank=2,
        danger=True,
        key_only=True,
    ),
    KeyAction(
        "deny_reason",
        "D",
        "deny with reason",
        "Deny the request that is shown and tell the agent why.",
        KeyGroup.ANSWER,
        rank=3,
        short="reason",
        danger=True,
    ),
    KeyAction("edit", "e", "edit", "Change the inputs, then approve the edited call.", KeyGroup.ANSWER, rank=4),
    KeyAction("mark", "space", "mark", "Mark the request for a batch, or unmark it.", KeyGroup.ANSWER, rank=5),
    KeyAction(
        "approve_marked",
        "A",
        "approve marked",
        "Review the marked ones, each set to approve.",
        KeyGroup.ANSWER,
        rank=12,
    ),
    KeyAction("deny_marked", "X", "deny marked", "Review the marked ones, each set to deny.", KeyGroup.ANSWER, rank=13),
    KeyAction("undo", "u", "undo", "Take an approval back while it is still held.", KeyGroup.ANSWER, rank=9),
    KeyAction("down", "j,down", "down", "Go to the next one; pgdn and end go further.", KeyGroup.MOVE, _LISTS),
    KeyAction("up", "k,up", "up", "Go to the one before; pgup and home go further.", KeyGroup.MOVE, _LISTS),
    KeyAction("next_pane", "tab", "next pane", "Go to the next pane.", KeyGroup.MOVE, _LISTS),
    KeyAction("focus_prompt", "enter", "read", "Go into the prompt to read it. Enter never answers.", KeyGroup.MOVE),
    KeyAction("history.first", "g,home", "newest", "Go to the newest request.", KeyGroup.MOVE, _HISTORY),
    KeyAction("history.last", "G,end", "oldest", "Go to the oldest request loaded so far.", KeyGroup.MOVE, _HISTORY),
    KeyAction("filter", "/", "filter", "Show only waiting requests that contain these words.", KeyGroup.LOOK, rank=6),
    KeyAction("clear_filter", "escape", "clear filter", "Show all waiting requests again.", KeyGroup.LOOK),
    KeyAction("history", "h", "history", "Everything that was asked, decided and done.", KeyGroup.LOOK, rank=8),
    KeyAction("raw", "v", "raw", "The exact inputs and preview as JSON.", KeyGroup.LOOK, _LISTS, rank=10),
    KeyAction("refresh", "r", "fetch again", "Fetch the preview again.", KeyGroup.LOOK, rank=11),
    KeyAction(
        "log", "l", "log", "What the demo's agent says, or the gate that runs in this window.", KeyGroup.LOOK, rank=8
    ),
    KeyAction(
        "history.search",
        "/",
        "search",
        "Search action, connector, agent, inputs, edits, reason and outcome. `word*` finds beginnings.",
        KeyGroup.LOOK,
        _HISTORY,
        rank=1,
    ),
    KeyAction("history.open", "enter", "detail", "Everything about the request.", KeyGroup.LOOK, _HISTORY, rank=2),
    KeyAction(
        "history.outcome", "o", "outcome", "Show only one outcome, then the next.", KeyGroup.LOOK, _HISTORY, rank=3
    ),
    KeyAction(
        "history.chart",
        "c",
        "chart",
        "Decisions per day, and time to decide.",
        KeyGroup.LOOK,
        _HISTORY,
        rank=5,
    ),
    KeyAction("history.export", "x", "export", "Write what is found to a file.", KeyGroup.LOOK, _HISTORY, rank=4),
    KeyAction("history.reload", "r", "reload", "Load the newest page again.", KeyGroup.LOOK, _HISTORY, rank=9),
    KeyAction(
        "help.search", "/", "search", "Show only keys whose words match.", KeyGroup.LOOK, (KeyScope.HELP,), rank=1
    ),
    KeyAction(
        "copy",
        "y",
        "copy",
        "Copy id and digest; in the raw view, all of it.",
        KeyGroup.LOOK,
        (KeyScope.MAIN, KeyScope.HISTORY, KeyScope.RAW),
        rank=14,
    ),
    KeyAction(
        "help",
        "?,f1",
        "help",
        "Every key, and what it does.",
        KeyGroup.CONSOLE,
        (KeyScope.MAIN, KeyScope.HISTORY, KeyScope.RAW),
        rank=7,
    ),
    KeyAction(
        "vault", "U", "unlock the daemon's vault", "Unlock a daemon's vault with its passphrase.", KeyGroup.CONSOLE
    ),
    KeyAction("lock", "L", "lock", "Lock the console; answers need the passphrase again.", KeyGroup.CONSOLE, rank=15),
    KeyAction("quit", "q", "quit", "Quit. Asks first if something waits.", KeyGroup.CONSOLE, rank=16),
    KeyAction("back", "escape,q", "back", "Close this and go back.", KeyGroup.CONSOLE, _ASIDE, rank=6),
    KeyAction(
        "command_palette",
        "ctrl+p",
        "commands",
        "Find a command by its name.",
        KeyGroup.CONSOLE,
        (KeyScope.MAIN, *_ASIDE),
        fixed=True,
    ),
)

MOUSE: Final = (
    (
        "click a key",
        "Does what the key does, by the same rules; one that brings the window forward does nothing.",
    ),
    ("click a request", "Looks at it; never answers. A list of one line goes to the next request, then to the first."),
    ("click it again", "In the history: opens the detail."),
    ("click the word", "In the sheet of marked requests: switches to approve, deny or leave."),
    ("click ▾ or ▸", "Folds a part of JSON, or unfolds it."),
    ("wheel", "Scrolls what is under the pointer."),
)
"""What the mouse does, and with what."""

ALWAYS: Final = 7
GAP: Final = "  "

# Textual's own names for keys whose Unicode names are long, and how other keys are written for people.
_SIGNS: Final = {"slash": "/", "backslash": "\\", "at": "@", "minus": "-", "plus": "+", "underscore": "_"}
_NAMES: Final = {
    **_SIGNS,
    "escape": "esc",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "backspace": "⌫",
    "delete": "del",
}
_MODIFIERS: Final = ("ctrl", "alt", "shift", "super")
_KNOWN: Final = frozenset({key.value for key in Keys} - {"<any>", "<ignore>"} | {"space"})
_SAME: Final = {alias: key for key, aliases in KEY_ALIASES.items() for alias in aliases}
_TAKEN: Final = {"ctrl+c": "it interrupts", "ctrl+z": "it suspends", "ctrl+p": "it opens the command palette"}
# Keys that are pressed without thinking, to go on or to scroll.
_NEVER_ANSWER: Final = frozenset({"enter", "space", "tab", "up", "down", "pageup", "pagedown", "home", "end"})
_ANSWERING: Final = frozenset({"approve", "deny", "deny_reason"})
_BY_ID: Final = {action.id: action for action in ACTIONS}


FETCHED_ONCE: Final = "its preview was fetched once, before it was asked"
NO_LOCK: Final = "not locked: this key has no passphrase to unlock it with"
NO_LOG: Final = "there is a log only in the demo, and where the gate runs in this window"


class KeymapError(AileronError):
    """A keymap that cannot be used as it is written."""


def of(scope: KeyScope) -> tuple[KeyAction, ...]:
    """The actions that mean something here, in the order of the table."""
    return tuple(action for action in ACTIONS if scope in action.scopes)


def find(id_: str) -> KeyAction:
    """The action with this id; KeymapError names the nearest if there is none."""
    if action := _BY_ID.get(id_):
        return action
    near = get_close_matches(id_, _BY_ID, n=1, cutoff=0.5)
    detail = f'did you mean "{near[0]}"?' if near else ""
    raise KeymapError(f'there is no action "{inline(id_)}"', detail, "docs/keys.md lists every action.")


def bindings(scope: KeyScope) -> list[Binding]:
    """What Textual needs; a user's keymap changes the keys through the ids. Fixed ones are bound by Textual itself."""
    return [
        Binding(
            action.key,
            action.method,
            action.label,
            show=bool(action.rank),
            tooltip=action.tooltip,
            id=action.id,
        )
        for action in of(scope)
        if not action.fixed
    ]


def keymap(overrides: Mapping[str, str]) -> dict[str, str]:
    """A user's keys by action id, checked: actions and keys exist, no key does two things in one place.

    Several keys for an action are written with commas: `down = "j,n"`.
    """
    checked: dict[str, str] = {}
    for id_, written in overrides.items():
        action = find(id_)
        if action.fixed:
            raise KeymapError(f'the key of "{id_}" cannot be changed', f"it is {display(action.key)}")
        checked[id_] = ",".join(_key(action, key.strip()) for key in written.split(","))
    for scope in KeyScope:
        _check_clashes(scope, checked)
    return checked


def keys_of(action: KeyAction, overrides: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The keys of an action under a checked keymap."""
    written = (overrides or {}).get(action.id)
    return action.keys if written is None else tuple(written.split(","))


def at(scope: KeyScope, key: str, overrides: Mapping[str, str] | None = None) -> KeyAction | None:
    """What a key does here; `?` and `question_mark` are the same key."""
    wanted = _plain(key)
    for action in of(scope):
        if any(_plain(one) == wanted for one in keys_of(action, overrides)):
            return action
    return None


def display(key: str) -> str:
    """A key as people know it: `?`, `esc`, `^p`."""
    *modifiers, last = key.split("+") if len(key) > 1 else [key]
    name = _NAMES.get(last) or (key_to_character(last) if last not in _KNOWN else None) or last
    return "".join("^" if modifier == "ctrl" else f"{modifier}+" for modifier in modifiers) + name


class KeyHint(NamedTuple):
    """A key at the bottom of a screen, its label, which is empty where room is scarce, and what both do."""

    key: str
    label: str
    does: str

    @property
    def text(self) -> str:
        """Key and label, as shown."""
        return f"{self.key} {self.label}" if self.label else self.key


def offered(bound: Iterable[BindingType]) -> tuple[KeyHint, ...]:
    """The keys of a dialog that are worth a line, from what it binds."""
    return tuple(
        KeyHint(binding.key_display or display(binding.key.split(",")[0]), binding.description, binding.action)
        for binding in bound
        if isinstance(binding, Binding) and binding.show
    )


def hints(
    scope: KeyScope, width: int, overrides: Mapping[str, str] | None = None, *, leave_out: Collection[str] = ()
) -> tuple[KeyHint, ...]:
    """The footer for this width, without the ids to leave out; its parts stand `GAP` apart.

    The keys that must always be there come first, bare if need be. Then labels are added by rank as far as they fit,
    short ones before long ones, and then the other keys while there is room.
    """
    wanted = (action for action in of(scope) if action.rank and action.id not in leave_out)
    ranked = sorted(wanted, key=lambda action: action.rank)
    bare = [KeyHint(display(keys_of(action, overrides)[0]), "", action.method) for action in ranked]
    first = [place for place, action in enumerate(ranked) if action.rank <= ALWAYS]
    while len(first) > 1 and not _fits([bare[place] for place in first], width):
        first.pop(-2)
    chosen = [bare[place] for place in first]
    short, long = [ranked[at].short or ranked[at].label for at in first], [ranked[at].label for at in first]
    for labels in (short, long):
        for place, label in enumerate(labels):
            better = chosen[place]._replace(label=label)
            if not _fits([*chosen[:place], better, *chosen[place + 1 :]], width):
                break
            chosen[place] = better
    if [hint.label for hint in chosen] == long:
        for place in range(len(chosen), len(ranked)):
            more = bare[place]._replace(label=ranked[place].label)
            if not _fits([*chosen, more], width):
                break
            # Help stays last, where people look for it.
            chosen.insert(-1, more)
    return tuple(chosen)


def hint_line(scope: KeyScope, width: int, overrides: Mapping[str, str] | None = None) -> str:
    """The footer as plain text."""
    return GAP.join(hint.text for hint in hints(scope, width, overrides))


def _fits(chosen: Iterable[KeyHint], width: int) -> bool:
    return cells(GAP.join(hint.text for hint in chosen)) <= width


def _key(action: KeyAction, written: str) -> str:
    """One key of a keymap in the form that Textual reports it."""
    *modifiers, last = written.split("+") if len(written) > 1 else [written]
    if len(last) == 1:
        known = last.isprintable() and last != " "
    else:
        known = last in _KNOWN | _SIGNS.keys() or key_to_character(last) is not None
    if not known or not set(modifiers) <= set(_MODIFIERS):
        near = get_close_matches(written, _KNOWN, n=1)
        detail = f'did you mean "{near[0]}"?' if near else 'such as "a", "ctrl+y", "f5" or "comma"'
        raise KeymapError(f'"{inline(written)}", for {action.id}, is not a key', detail)
    key = _SAME.get(written, written)
    if key in _TAKEN:
        raise KeymapError(f'"{key}" cannot be used for {action.id}', _TAKEN[key])
    if action.id in _ANSWERING and key in _NEVER_ANSWER:
        raise KeymapError(f'"{key}" cannot be used for {action.id}', "keys that people press to go on never answer")
    return key


def _check_clashes(scope: KeyScope, overrides: Mapping[str, str]) -> None:
    owners: dict[str, KeyAction] = {}
    for action in of(scope):
        for key in keys_of(action, overrides):
            other = owners.setdefault(_plain(key), action)
            if other is action:
                continue
            mine, theirs = (other, action) if other.id in overrides else (action, other)
            hint = f'Give "{theirs.id}" another key too, or choose one that is free.'
            detail = f"{scope}: it is the key of {theirs.id} ({theirs.label})"
            raise KeymapError(f'"{display(key)}", for {mine.id}, is taken', detail, hint)


def _plain(key: str) -> str:
    """The same key written in the same way: `?` is `question_mark`."""
    return _SIGNS.get(key) or key_to_character(key) or key
