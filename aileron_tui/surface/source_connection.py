"""Opening the sources that were chosen, each as often as it has to be found anew."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.files.config import Config
from aileron_tui.files.paths import paths
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.surface.source_choice import Chosen, DaemonChoice, GateChoice, InsideChoice

if TYPE_CHECKING:
    from aileron_tui.core.request import Request
    from aileron_tui.runtime.daemon.tracker import Tracker
    from aileron_tui.surface.source import Connect, Source


def record_folder(name: str) -> Path:
    """Where our own record of a daemon is kept."""
    from aileron_tui.ledger.connection import DAEMONS  # noqa: PLC0415  # brings the database, which is not needed to paint

    return paths().data / DAEMONS / (name or "daemon")


def connecting(choice: Chosen, config: Config, *, surface: str, leaving: ExitStack | None = None) -> "Connect":
    """How a source is reached with a key. What is known of a daemon outlives its connections.

    With `leaving` the key is only for this run: our record says that it decides no more when that is closed.
    """
    if choice.kind == "daemon":
        return _DaemonConnection(choice, config, surface, leaving)
    return _GateConnection(choice, surface)


@dataclass(frozen=True, slots=True)
class _GateConnection:
    choice: GateChoice | InsideChoice
    surface: str

    def __call__(self, key: UnlockedKey) -> "Source":
        from aileron_tui.runtime.gate_client import ApproverClient  # noqa: PLC0415  # the HTTP client is not needed to paint
        from aileron_tui.runtime.known_gates import remember  # noqa: PLC0415

        found = self.choice.find()
        # A gate of this home is known by the private file it wrote; any other by what it was when it was first met.
        strange = None if found.instance else remember
        return ApproverClient(found, key, surface=self.surface, name=self.choice.name, check_gate=strange)


@dataclass(slots=True)
class _DaemonConnection:
    choice: DaemonChoice
    config: Config
    surface: str
    leaving: ExitStack | None
    _tracker: "Tracker | None" = None

    def __call__(self, key: UnlockedKey) -> "Source":
        from aileron_tui.runtime.daemon.daemon_ledger import DaemonLedger  # noqa: PLC0415
        from aileron_tui.runtime.daemon.daemon_source import DaemonSource  # noqa: PLC0415
        from aileron_tui.runtime.daemon.tracker import Tracker  # noqa: PLC0415

        folder, name = record_folder(self.choice.name), self.choice.name
        tracker, first = self._tracker or Tracker(), self._tracker is None
        source = DaemonSource(
            self.choice.find(), key, folder, name=name, rules=self.config.risk, surface=self.surface, tracker=tracker
        )
        self._tracker = tracker
        if self.leaving is not None and first:
            self.leaving.callback(lambda: DaemonLedger(folder, key, temporary=True).close())
        return source


class Sources:
    """Several sources as one, for commands: opened when needed, and the trouble of one does not hide another."""

    def __init__(
        self, connects: "dict[str, Connect]", key: UnlockedKey, complain: Callable[[AileronError], None]
    ) -> None:
        self._connects = connects
        self.key = key
        self._complain = complain
        self._opened: dict[str, Source] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """What the sources are called."""
        return tuple(self._connects)

    def at(self, name: str) -> "Source":
        """One of them, open."""
        if name not in self._opened:
            self._opened[name] = self._connects[name](self.key)
        return self._opened[name]

    def of(self, item: "Request") -> "Source":
        """The source of a request."""
        return self.at(item.source)

    def hang_up(self, name: str) -> None:
        """Forgets a connection that broke; the next use finds the source anew."""
        source = self._opened.pop(name, None)
        if source is not None:
            with suppress(AileronError):
                source.close()

    def waiting(self) -> "tuple[Request, ...]":
        """What waits at all of them, oldest first."""
        return tuple(
            sorted(self._each(lambda source: source.waiting()), key=lambda item: (item.requested_at, item.key))
        )

    def find(self, id_: str) -> "Request":
        """A request by its whole id, waiting or not; the trouble of the last source if none has it."""
        found = list(self._each(lambda source: (source.item(id_),)))
        return found[0]

    def _each(self, ask: "Callable[[Source], tuple[Request, ...]]") -> "Iterator[Request]":
        failures: list[AileronError] = []
        for name in self._connects:
            try:
                yield from ask(self.at(name))
            except AileronError as error:
                failures.append(error)
        if len(failures) == len(self._connects):
            raise failures[-1]
        for failure in failures:
            self._complain(failure)

    def close(self) -> None:
        """Hangs up everywhere."""
        for name in tuple(self._opened):
            self.hang_up(name)
