"""The names of keys: as Textual reports them, as users write them in a keymap, and as the console shows them."""

from typing import Final

from textual.keys import KEY_ALIASES, Keys, key_to_character

MODIFIERS: Final = frozenset({"ctrl", "alt", "shift", "super"})
KNOWN: Final = frozenset({key.value for key in Keys} - {"<any>", "<ignore>"} | {"space"})
"""Textual's names for keys that are not characters."""

# Textual's own names for keys whose Unicode names are long.
_CHARACTERS: Final = {"slash": "/", "backslash": "\\", "at": "@", "minus": "-", "plus": "+", "underscore": "_"}
_DISPLAYED: Final = {
    **_CHARACTERS,
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
_ALIASES: Final = {alias: key for key, aliases in KEY_ALIASES.items() for alias in aliases}


def display(key: str) -> str:
    """A key as it is shown: `?`, `esc`, `^p`."""
    modifiers, last = split(key)
    name = _DISPLAYED.get(last) or (key_to_character(last) if last not in KNOWN else None) or last
    return "".join("^" if modifier == "ctrl" else f"{modifier}+" for modifier in modifiers) + name


def split(key: str) -> tuple[list[str], str]:
    """The modifiers of a key, and the key without them."""
    *modifiers, last = key.split("+") if len(key) > 1 else [key]
    return modifiers, last


def is_key(name: str) -> bool:
    """Whether Textual knows a key with this name."""
    modifiers, last = split(name)
    if not set(modifiers) <= MODIFIERS:
        return False
    if len(last) == 1:
        return last.isprintable() and last != " "
    return last in KNOWN | _CHARACTERS.keys() or key_to_character(last) is not None


def reported(name: str) -> str:
    """The name under which Textual reports a key: `ctrl+m` is `enter`."""
    return _ALIASES.get(name, name)


def same_form(key: str) -> str:
    """The same form for all names of a key: `question_mark` becomes `?`."""
    return _CHARACTERS.get(key) or key_to_character(key) or key
