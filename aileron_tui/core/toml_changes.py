"""What `setup` changes in settings that are TOML, and how that is taken back. Each change sets a table or a key."""

from collections.abc import Sequence

from aileron_tui.core.settings_changes import Change, Changed, Undone, Wanted, same
from aileron_tui.core.toml_edit import put, remove, value_at


def apply(text: str, wanted: Sequence[Wanted]) -> Changed:
    """Makes the changes that are still missing."""
    changes: list[Change] = []
    for want in wanted:
        found = value_at(text, want.path)
        if same(found, want.value):
            continue
        kept = next((depth for depth in range(len(want.path), 0, -1) if _is_there(text, want.path[:depth])), 0)
        changes.append(Change(want, kept, found is not None, found))
        text = put(text, want.path, want.value)
    return Changed(text, tuple(changes))


def undo(text: str, changes: Sequence[Change]) -> Undone:
    """Takes changes back, the last one first. A value that is no longer the one that was set is left alone."""
    left: list[Change] = []
    for change in reversed(changes):
        path = change.wanted.path
        if not same(value_at(text, path), change.wanted.value):
            left.append(change)
        else:
            text = put(text, path, change.before) if change.had else remove(text, path)
    return Undone(text, tuple(reversed(left)))


def _is_there(text: str, path: tuple[str, ...]) -> bool:
    return value_at(text, path) is not None
