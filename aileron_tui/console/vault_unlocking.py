"""The vaults of the sources: checks which are locked, and unlocks them."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.outcomes import UNDER_WAY
from aileron_tui.runtime.vault import VaultState
from aileron_tui.surface.board import Tone
from aileron_tui.surface.held_approval import Stoppable
from aileron_tui.surface.source_listener import ConnectionState

if TYPE_CHECKING:
    from aileron_tui.console.port import ConsolePort, Dialogs
    from aileron_tui.runtime.source_events import SourceEvent

_CHECK_SECONDS: Final = 5.0
_PROBLEMS: Final = {
    VaultState.MISSING: "the daemon has no vault yet",
    VaultState.UNLOCKED: "the vault is already unlocked",
}


class VaultUnlocking:
    """Checks vaults in threads: after connecting, when an approved request is stuck, and while a vault is locked."""

    def __init__(self, port: "ConsolePort", dialogs: "Dialogs") -> None:
        self._port = port
        self._dialogs = dialogs
        self._states: dict[str, VaultState] = {}
        self._checking: set[str] = set()
        self._next_check: Stoppable | None = None

    @property
    def locked(self) -> list[str]:
        """The connected sources whose vault is locked."""
        return [
            name
            for name, status in self._port.statuses.items()
            if status.state is ConnectionState.LIVE and self._states.get(name) is VaultState.LOCKED
        ]

    def events_received(self, name: str, events: "Iterable[SourceEvent]") -> None:
        """Checks the vault of a source if one of its approved requests is stuck."""
        if any(request.state in UNDER_WAY and request.reason for event in events for request in event.requests):
            self.check(name)

    def check(self, name: str) -> None:
        """Asks a source for the state of its vault, unless a check is already running."""
        if self._port.source(name) is not None and name not in self._checking:
            self._checking.add(name)
            self._port.run_blocking("vaults", name, partial(self._check, name))

    def _check(self, name: str) -> None:
        source = self._port.source(name)
        found: VaultState | None = None
        try:
            if source is not None:
                found = source.vault()
        except AileronError:
            pass  # the last known state stays; if the connection is lost, its status says so
        finally:
            self._port.report(self._checked, name, found)

    def _checked(self, name: str, found: VaultState | None) -> None:
        self._checking.discard(name)
        if found is not None:
            changed = found is not self._states.get(name, VaultState.NONE)
            self._states[name] = found
            if changed:
                self._port.redraw()
        if self._next_check:
            self._next_check.stop()
        # The vault may be unlocked elsewhere.
        self._next_check = self._port.call_after(_CHECK_SECONDS, self._check_locked) if self.locked else None

    def _check_locked(self) -> None:
        for name in self.locked:
            self.check(name)

    def to_unlock(self) -> str | None:
        """The source whose vault to unlock: the selected request's if locked, else the first locked one."""
        request, locked = self._port.board.current, self.locked
        if request is not None and request.source in locked:
            return request.source
        return locked[0] if locked else None

    def problem(self) -> str:
        """Why no vault can be unlocked, "" if one can."""
        if self._port.read_only:
            return "this console is read-only"
        if self.to_unlock() is not None:
            return ""
        request = self._port.board.current
        name = request.source if request else next(iter(self._port.statuses))
        return _PROBLEMS.get(self._states.get(name, VaultState.NONE), "there is no vault to unlock")

    def open(self) -> None:
        """Asks for the passphrase of a locked vault, or says why there is nothing to unlock."""
        name, problem = self.to_unlock(), self.problem()
        if problem or name is None:
            self._port.show_message(problem)
            if request := self._port.board.current:
                self.check(request.source)  # the known state may be old
            return
        label = self._port.source_label(name)
        shown = name if len(self._port.statuses) > 1 else label and f"the {label}"
        self._dialogs.ask_vault_passphrase(shown, partial(self._unlock, name), partial(self._unlocked, name))

    def _unlock(self, name: str, passphrase: bytearray) -> None:
        source = self._port.source(name)
        if source is None:
            raise AileronError("not connected: nothing was sent")
        source.unlock_vault(passphrase)

    def _unlocked(self, name: str, unlocked: bool | None) -> None:
        if unlocked:
            self._port.show_message("the vault is unlocked", Tone.GOOD)
            self.check(name)
