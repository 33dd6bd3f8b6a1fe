"""The vaults of the sources: which are locked, as far as it is known, and the way to unlock one."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.timer import Timer

from aileron_tui.console.timers import call_after
from aileron_tui.core.errors import AileronError
from aileron_tui.core.outcomes import UNDER_WAY
from aileron_tui.runtime.vault import VaultState
from aileron_tui.surface.board import Tone
from aileron_tui.surface.source_listener import ConnectionState

if TYPE_CHECKING:
    from aileron_tui.console.app import Console
    from aileron_tui.runtime.source_events import SourceEvent

_LOOK_EVERY: Final = 5.0
_NOTHING: Final = {
    VaultState.MISSING: "it has no vault yet: there is nothing to unlock",
    VaultState.UNLOCKED: "the vault is unlocked already",
}


class VaultUnlocking:
    """Asked for in threads: after connecting, when a request says that it waits for something, and while locked."""

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._known: dict[str, VaultState] = {}
        self._asking: set[str] = set()
        self._again: Timer | None = None

    @property
    def locked(self) -> list[str]:
        """The sources whose vault is locked."""
        return [
            name
            for name, link in self._console.links.items()
            if link.status.state is ConnectionState.LIVE and self._known.get(name) is VaultState.LOCKED
        ]

    def heard(self, name: str, happenings: "Iterable[SourceEvent]") -> None:
        """News of a source, which may tell of a request that cannot go on."""
        if any(item.state in UNDER_WAY and item.reason for happening in happenings for item in happening.items):
            self.ask(name)

    def ask(self, name: str) -> None:
        """Asks a source, unless that is under way."""
        source = self._console.links[name].source
        if source is not None and name not in self._asking:
            self._asking.add(name)
            self._console.run_worker(
                partial(self._ask, name), thread=True, group="vaults", exit_on_error=False, description="ask"
            )

    def _ask(self, name: str) -> None:
        source = self._console.links[name].source
        found: VaultState | None = None
        try:
            if source is not None:
                found = source.vault()
        except AileronError:
            pass  # what is known stays; if the source is in trouble, its link says so
        finally:
            self._console.call_from_thread(self._told, name, found)

    def _told(self, name: str, found: VaultState | None) -> None:
        self._asking.discard(name)
        if found is not None:
            changed = found is not self._known.get(name, VaultState.NONE)
            self._known[name] = found
            if changed:
                self._console.redraw()
        if self._again:
            self._again.stop()
        # Somebody may unlock it elsewhere.
        self._again = call_after(self._console, _LOOK_EVERY, self._look_again) if self.locked else None

    def _look_again(self) -> None:
        for name in self.locked:
            self.ask(name)

    def wanted(self) -> str | None:
        """Whose vault to unlock: that of the request which is shown, else the first that is locked."""
        item, locked = self._console.board.current, self.locked
        if item is not None and item.source in locked:
            return item.source
        return locked[0] if locked else None

    def obstacle(self) -> str:
        """Why nothing can be unlocked, or ""."""
        if self._console.read_only:
            return "this console only reads"
        if self.wanted() is not None:
            return ""
        item = self._console.board.current
        name = item.source if item else next(iter(self._console.links))
        return _NOTHING.get(self._known.get(name, VaultState.NONE), "there is no vault to unlock")

    def open(self) -> None:
        """Asks for the passphrase."""
        from aileron_tui.console.screens.vault import VaultScreen  # noqa: PLC0415  # screens load when opened

        name, why = self.wanted(), self.obstacle()
        if why or name is None:
            self._console.hint(why)
            if item := self._console.board.current:
                self.ask(item.source)  # what is known may be old
            return
        link = self._console.links[name]
        shown = name if self._console.several else link.kind and f"the {link.kind}"
        self._console.push_screen(VaultScreen(shown, partial(self._unlock, name)), partial(self._opened, name))

    def _unlock(self, name: str, passphrase: bytearray) -> None:
        source = self._console.links[name].source
        if source is None:
            raise AileronError("not connected: nothing was sent")
        source.unlock_vault(passphrase)

    def _opened(self, name: str, unlocked: bool | None) -> None:
        if unlocked:
            self._console.hint("the vault is unlocked", Tone.GOOD)
            self.ask(name)
