"""The command palette, from the table of actions. What cannot be done now is listed with the reason.

The palette never answers: Enter there would decide something that its own list covers.
"""

from collections.abc import Iterator
from functools import partial
from typing import Protocol, runtime_checkable

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.screen import Screen

from aileron_tui.console.actions import KeyAction, KeyGroup, KeyScope, display, keys_of, of
from aileron_tui.console.render import MUTED, foreign_line, own


@runtime_checkable
class Scoped(Protocol):
    """A screen whose keys are in the table, and which knows why one of its actions cannot be done now."""

    SCOPE: KeyScope

    def why_not(self, action: str) -> str:
        """The reason, or ""."""


class ActionCommands(Provider):
    """Every action of the screen from which the palette was opened, then what the app offers beside them.

    Both from here, as Textual asks several providers in an order that is another one at each start.
    """

    async def discover(self) -> Hits:
        for action, why in self._actions():
            if action.group is KeyGroup.MOVE:
                continue  # found by name, but not worth a line before anything is typed
            yield DiscoveryHit(self._title(action, why), partial(self._run, action, why), action.label, action.tooltip)
        for title, words, run, _ in self.app.get_system_commands(self.screen):
            yield DiscoveryHit(own(title), run, title, words)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for action, why in self._actions():
            score = max(matcher.match(action.label), matcher.match(action.tooltip) * 0.8)
            if score > 0:
                shown = self._title(action, why)
                yield Hit(score, shown, partial(self._run, action, why), action.label, action.tooltip)
        for title, words, run, _ in self.app.get_system_commands(self.screen):
            score = matcher.match(title)
            if score > 0:
                yield Hit(score, own(title), run, title, words)

    def _actions(self) -> Iterator[tuple[KeyAction, str]]:
        screen = self.screen
        if not isinstance(screen, Scoped):
            return
        for action in of(screen.SCOPE):
            if not action.fixed:
                yield action, _obstacle(screen, action)

    def _title(self, action: KeyAction, why: str) -> Content:
        key = display(keys_of(action, getattr(self.app, "keymap_in_use", None))[0])
        if why:
            return own(action.label, MUTED) + own(f"  {key}", MUTED) + own("  ") + foreign_line(why, MUTED)
        return own(action.label) + own(f"  {key}", MUTED)

    async def _run(self, action: KeyAction, why: str) -> None:
        screen: Screen[object] = self.screen
        if why:
            words = f"{action.label}: {foreign_line(why).plain}"
            self.app.notify(words, timeout=3, markup=False)
        else:
            await screen.run_action(action.method)


def _obstacle(screen: Scoped, action: KeyAction) -> str:
    if action.key_only:
        return "by its key only: the palette never answers"
    return screen.why_not(action.id)
