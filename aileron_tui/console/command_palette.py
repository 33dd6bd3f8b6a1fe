"""The command palette, filled from the key table. Commands that cannot be used now are listed with the reason.

The palette never answers: Enter there would decide on a request that the palette covers.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final, Protocol, runtime_checkable

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.screen import Screen

from aileron_tui.console.key_actions import KeyAction, KeyGroup, KeyScope
from aileron_tui.console.key_names import display
from aileron_tui.console.key_reasons import KeyState
from aileron_tui.console.key_table import keys_of, of
from aileron_tui.console.render import MUTED, foreign_line, trusted

_ANSWERS_BY_KEY_ONLY: Final = "press its key: the palette never answers"


@runtime_checkable
class Scoped(Protocol):
    """A screen with keys of its own that knows which of them can be used now."""

    SCOPE: KeyScope

    @property
    def key_state(self) -> KeyState:
        """What decides which keys can be used now."""


class ActionCommands(Provider):
    """Every action of the screen below the palette, then the app's other commands.

    One provider for both, because Textual asks several providers in a random order.
    """

    async def discover(self) -> Hits:
        for action, why in self._actions():
            if action.group is KeyGroup.MOVE:
                continue  # found by name, but not listed before anything is typed
            yield DiscoveryHit(self._title(action, why), partial(self._run, action, why), action.label, action.tooltip)
        for title, words, run, _ in self.app.get_system_commands(self.screen):
            yield DiscoveryHit(trusted(title), run, title, words)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for action, why in self._actions():
            score = max(matcher.match(action.label), matcher.match(action.tooltip) * 0.8)
            if score > 0:
                shown = self._title(action, why)
                yield Hit(score, shown, partial(self._run, action, why), action.label, action.tooltip)
        for title, words, run, _ in self.app.get_system_commands(self.screen):
            score = max(matcher.match(title), matcher.match(words) * 0.8)
            if score > 0:
                yield Hit(score, trusted(title), run, title, words)

    def _actions(self) -> Iterator[tuple[KeyAction, str]]:
        screen = self.screen
        if not isinstance(screen, Scoped):
            return
        state = screen.key_state
        for action in of(screen.SCOPE):
            if not action.fixed:
                yield action, _ANSWERS_BY_KEY_ONLY if action.key_only else action.why_unavailable(state)

    def _title(self, action: KeyAction, why: str) -> Content:
        key = display(keys_of(action, getattr(self.app, "keymap_in_use", None))[0])
        if why:
            return trusted(action.label, MUTED) + trusted(f"  {key}", MUTED) + trusted("  ") + foreign_line(why, MUTED)
        return trusted(action.label) + trusted(f"  {key}", MUTED)

    async def _run(self, action: KeyAction, why: str) -> None:
        screen: Screen[object] = self.screen
        if why:
            words = f"{action.label}: {foreign_line(why).plain}"
            self.app.notify(words, timeout=3, markup=False)
        else:
            await screen.run_action(action.action)
