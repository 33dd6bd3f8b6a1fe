"""The keys at the bottom of a screen, chosen to fit its width."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from aileron_tui.console.key_actions import KeyAction, KeyScope
from aileron_tui.console.key_names import display
from aileron_tui.console.key_table import BY_ID, keys_of, of
from aileron_tui.core.visible_text import cells

GAP: Final = "  "

_ALWAYS_SHOWN: Final = 7


class KeyHint(NamedTuple):
    """A key, its label (empty if there is no room) and the Textual action it runs."""

    key: str
    label: str
    action: str

    @property
    def text(self) -> str:
        """Key and label, as shown."""
        return f"{self.key} {self.label}" if self.label else self.key


def hint(id_: str, overrides: Mapping[str, str] | None = None, *, label: str = "") -> KeyHint:
    """The hint for an action; `label` replaces the label from the key table."""
    return _hint(BY_ID[id_], overrides, label or BY_ID[id_].label)


def _hint(action: KeyAction, overrides: Mapping[str, str] | None, label: str) -> KeyHint:
    key = keys_of(action, overrides)[0]
    # Dialogs have room to write out `ctrl+s`.
    return KeyHint(key if action.fixed and "+" in key else display(key), label, action.action)


def dialog_hints(scope: KeyScope) -> tuple[KeyHint, ...]:
    """The keys at the bottom of a dialog, ordered by rank."""
    ranked = sorted((action for action in of(scope) if action.rank), key=lambda action: action.rank)
    return tuple(_hint(action, None, action.label) for action in ranked)


def footer(
    scope: KeyScope, width: int, overrides: Mapping[str, str] | None = None, *, leave_out: Collection[str] = ()
) -> tuple[KeyHint, ...]:
    """The keys that fit in this width, separated by `GAP`; the ids in `leave_out` are not shown.

    The most important keys are always shown, without labels if there is no room. Labels are added by rank while they
    fit, first short ones, then long ones; the remaining keys follow.
    """
    wanted = (action for action in of(scope) if action.rank and action.id not in leave_out)
    ranked = sorted(wanted, key=lambda action: action.rank)
    bare = [_hint(action, overrides, "") for action in ranked]
    first = [place for place, action in enumerate(ranked) if action.rank <= _ALWAYS_SHOWN]
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


def footer_text(scope: KeyScope, width: int, overrides: Mapping[str, str] | None = None) -> str:
    """The footer as plain text."""
    return GAP.join(hint.text for hint in footer(scope, width, overrides))


def _fits(chosen: Iterable[KeyHint], width: int) -> bool:
    return cells(GAP.join(hint.text for hint in chosen)) <= width
