"""Connecting to the sources that were chosen."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.files.config import Config
from aileron_tui.files.paths import paths
from aileron_tui.ledger.file_names import DAEMONS
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.surface.source import SourceSpec
from aileron_tui.surface.source_choice import DaemonChoice, EmbeddedGateChoice, GateChoice, OpencodeChoice, SourceChoice

if TYPE_CHECKING:
    from aileron_tui.core.request import Request
    from aileron_tui.runtime.daemon.daemon_discovery import Daemon
    from aileron_tui.runtime.daemon.tracker import Tracker
    from aileron_tui.surface.source import Connect, Source


def daemon_ledger_folder(name: str, daemon: "Daemon") -> Path:
    """The folder of our own ledger about a daemon. Without a name it is named after the daemon's address.

    The daemon of this home has a new address each time it starts, so its folder has a fixed name. The name of a source
    has no colon, so it is never an address.
    """
    from aileron_tui.core.address import read_address  # noqa: PLC0415  # not needed before the first frame

    address = read_address(daemon.url)
    unnamed = "daemon" if daemon.file is not None else f"{address.host}:{address.port}"
    return paths().data / DAEMONS / (name or unnamed)


def source_specs(
    choices: Sequence[SourceChoice], config: Config, *, surface: str, at_exit: ExitStack | None = None
) -> list[SourceSpec]:
    """The sources to listen to. With `at_exit`, the key is temporary and is revoked in our ledgers when that closes."""
    return [
        SourceSpec(choice.name, connection(choice, config, surface=surface, at_exit=at_exit), choice.kind)
        for choice in choices
    ]


def connection(choice: SourceChoice, config: Config, *, surface: str, at_exit: ExitStack | None = None) -> "Connect":
    """A function that connects to a source with a key. What is known about a daemon is kept between connections."""
    if choice.kind == "daemon":
        return _DaemonConnection(choice, config, surface, at_exit)
    if choice.kind == "opencode":
        return _OpencodeConnection(choice, config, surface, at_exit)
    return _GateConnection(choice, surface)


@dataclass(frozen=True, slots=True)
class _GateConnection:
    """Connects to a gate."""

    choice: GateChoice | EmbeddedGateChoice
    surface: str

    def __call__(self, key: UnlockedKey) -> "Source":
        from aileron_tui.runtime.gate_client import ApproverClient  # noqa: PLC0415  # loads the HTTP client
        from aileron_tui.runtime.known_gates import remember  # noqa: PLC0415
        from aileron_tui.surface.account_unlocking import data_key_here  # noqa: PLC0415

        found = self.choice.find()
        # The gate of this home is identified by its private file, any other by what it said at the first connection.
        unknown = None if found.instance else remember
        data_key = data_key_here if found.instance else None
        return ApproverClient(
            found, key, surface=self.surface, name=self.choice.name, check_gate=unknown, data_key=data_key
        )


@dataclass(slots=True)
class _DaemonConnection:
    """Connects to a daemon, and keeps what is known about it between connections."""

    choice: DaemonChoice
    config: Config
    surface: str
    at_exit: ExitStack | None
    _tracker: "Tracker | None" = None

    def __call__(self, key: UnlockedKey) -> "Source":
        from aileron_tui.runtime.daemon.daemon_ledger import DaemonLedger  # noqa: PLC0415
        from aileron_tui.runtime.daemon.daemon_source import DaemonSource  # noqa: PLC0415
        from aileron_tui.runtime.daemon.tracker import Tracker  # noqa: PLC0415

        daemon, name = self.choice.find(), self.choice.name
        folder = daemon_ledger_folder(name, daemon)
        tracker, first = self._tracker or Tracker(), self._tracker is None
        source = DaemonSource(
            daemon, key, folder, name=name, rules=self.config.risk, surface=self.surface, tracker=tracker
        )
        self._tracker = tracker
        if self.at_exit is not None and first:
            self.at_exit.callback(lambda: DaemonLedger(folder, key, temporary=True).close())
        return source


@dataclass(slots=True)
class _OpencodeConnection:
    """Connects to an opencode server, and keeps what is known about it between connections."""

    choice: OpencodeChoice
    config: Config
    surface: str
    at_exit: ExitStack | None
    _tracker: "Tracker | None" = None

    def __call__(self, key: UnlockedKey) -> "Source":
        from aileron_tui.runtime.daemon.daemon_ledger import DaemonLedger  # noqa: PLC0415
        from aileron_tui.runtime.daemon.tracker import Tracker  # noqa: PLC0415
        from aileron_tui.runtime.opencode.opencode_source import OpencodeSource  # noqa: PLC0415

        server, name = self.choice.find(), self.choice.name
        folder = paths().data / DAEMONS / name
        tracker, first = self._tracker or Tracker(), self._tracker is None
        source = OpencodeSource(
            server, key, folder, name=name, rules=self.config.risk, surface=self.surface, tracker=tracker
        )
        self._tracker = tracker
        if self.at_exit is not None and first:
            self.at_exit.callback(lambda: DaemonLedger(folder, key, temporary=True).close())
        return source


class OpenSources:
    """Several sources as one, for commands. Each is opened when first used. If one fails, the others still work."""

    def __init__(
        self, connections: "dict[str, Connect]", key: UnlockedKey, report: Callable[[AileronError], None]
    ) -> None:
        self.key = key
        self._connections = connections
        self._report = report
        self._open: dict[str, Source] = {}

    @property
    def specs(self) -> list[SourceSpec]:
        """The sources to listen to."""
        return [SourceSpec(name, connect) for name, connect in self._connections.items()]

    def named(self, name: str) -> "Source":
        """One of the sources, connected."""
        if name not in self._open:
            self._open[name] = self._connections[name](self.key)
        return self._open[name]

    def of(self, request: "Request") -> "Source":
        """The source of a request."""
        return self.named(request.source)

    def waiting(self) -> "tuple[Request, ...]":
        """The waiting requests of all sources, oldest first."""
        found = self._each(lambda source: source.waiting())
        return tuple(sorted(found, key=lambda request: (request.requested_at, request.key)))

    def find(self, id_: str) -> "Request":
        """The request with this full id, waiting or not; raises the last error if no source has it."""
        found = list(self._each(lambda source: (source.item(id_),)))
        return found[0]

    def _each(self, ask: "Callable[[Source], tuple[Request, ...]]") -> "Iterator[Request]":
        failures: list[AileronError] = []
        for name in self._connections:
            try:
                yield from ask(self.named(name))
            except AileronError as error:
                failures.append(error)
        if len(failures) == len(self._connections):
            raise failures[-1]
        for failure in failures:
            self._report(failure)

    def close(self) -> None:
        """Closes all connections."""
        for source in self._open.values():
            with suppress(AileronError):
                source.close()
        self._open.clear()
