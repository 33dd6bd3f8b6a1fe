"""The user's own keys, from `[console.keys]` of the configuration."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from aileron_tui.console.key_actions import KeyAction, KeyScope
from aileron_tui.console.key_names import KNOWN, display, is_key, reported, same_form
from aileron_tui.console.key_table import BY_ID, keys_of, of
from aileron_tui.core.errors import AileronError
from aileron_tui.core.visible_text import inline

_RESERVED: Final = {"ctrl+c": "it interrupts", "ctrl+z": "it suspends", "ctrl+p": "it opens the command palette"}
# Keys that people press without thinking to continue or to scroll.
_NEVER_ANSWER: Final = frozenset({"enter", "space", "tab", "up", "down", "pageup", "pagedown", "home", "end"})


class KeymapError(AileronError):
    """The user's keymap is invalid."""


def checked_keymap(overrides: Mapping[str, str]) -> dict[str, str]:
    """A user's keys by action id. Raises KeymapError if an action or key is unknown, or if a key would do two things.

    Several keys for an action are separated by commas: `down = "j,n"`.
    """
    checked: dict[str, str] = {}
    for id_, written in overrides.items():
        action = _find(id_)
        if action.fixed:
            raise KeymapError(f'the key of "{id_}" cannot be changed', f"it is always {display(action.key)}")
        checked[id_] = ",".join(_key(action, key.strip()) for key in written.split(","))
    for scope in KeyScope:
        _check_clashes(scope, checked)
    return checked


def _find(id_: str) -> KeyAction:
    if action := BY_ID.get(id_):
        return action
    near = get_close_matches(id_, [id_ for id_, action in BY_ID.items() if not action.fixed], n=1, cutoff=0.5)
    detail = f'did you mean "{near[0]}"?' if near else ""
    raise KeymapError(f'unknown action "{inline(id_)}"', detail, "docs/keys.md lists every action.")


def _key(action: KeyAction, written: str) -> str:
    """One key of a keymap, by the name under which Textual reports it."""
    if not is_key(written):
        near = get_close_matches(written, KNOWN, n=1)
        detail = f'did you mean "{near[0]}"?' if near else 'examples of keys: "a", "ctrl+y", "f5", "comma"'
        raise KeymapError(f'"{inline(written)}" is not a key (for {action.id})', detail)
    key = reported(written)
    if key in _RESERVED:
        raise KeymapError(f'"{key}" cannot be used for {action.id}', _RESERVED[key])
    if action.armed and key in _NEVER_ANSWER:
        raise KeymapError(
            f'"{key}" cannot be used for {action.id}',
            "keys that people press to continue or scroll never answer",
        )
    return key


def _check_clashes(scope: KeyScope, overrides: Mapping[str, str]) -> None:
    owners: dict[str, KeyAction] = {}
    for action in of(scope):
        for key in keys_of(action, overrides):
            other = owners.setdefault(same_form(key), action)
            if other is action:
                continue
            mine, theirs = (other, action) if other.id in overrides else (action, other)
            hint = f'Give "{theirs.id}" another key too, or choose a free one.'
            if theirs.fixed:
                hint = "Choose a free key."
            detail = f"{scope}: it is the key of {theirs.id} ({theirs.label})"
            raise KeymapError(f'"{display(key)}" is already taken (for {mine.id})', detail, hint)
