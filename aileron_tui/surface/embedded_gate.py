"""A gate inside this process, with its own thread and event loop. It is reached over HTTP like any other gate."""

import asyncio
import io
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.files.config import Config
from aileron_tui.files.paths import bundled, paths
from aileron_tui.files.private_files import private_folder
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.gate_log import GateLog
from aileron_tui.gate.gate_state import GateSetup
from aileron_tui.gate.http_app import Doors
from aileron_tui.gate.page_port import MakePage
from aileron_tui.gate.server import GateStartError, ListenAddress, started_gate
from aileron_tui.runtime.gate_discovery import FoundGate, discover
from aileron_tui.sandbox.connector_package import load_keyring
from aileron_tui.surface.gate_channels import gate_channels

_LOG_LINES: Final = 2000


class EmbeddedGate:
    """A gate that runs until the block ends. Startup errors are raised on entering the block.

    With `alerts`, it uses the notifications and the webhook of its configuration.
    """

    def __init__(  # noqa: PLR0913  # all but the first are optional
        self,
        setup: GateSetup,
        address: ListenAddress | None = None,
        journal: GateLog | None = None,
        doors: Doors | None = None,
        page: MakePage | None = None,
        *,
        alerts: bool = False,
    ) -> None:
        self._setup = setup
        self._alerts = alerts
        self._doors = doors
        self._page = page
        self._address = address or ListenAddress(port=0)
        self._journal = journal or GateLog()
        self._started: Future[FoundGate] = Future()
        self._stopping: Future[None] = Future()
        self._ended: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="gate")

    @property
    def found(self) -> FoundGate:
        """The gate's address."""
        return self._started.result()

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._started.result()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        if error is None:
            self._ended.result()

    def _stop(self) -> None:
        if not self._stopping.done():
            self._stopping.set_result(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001  # raised in the thread that waits for the gate
            outcome: Future[FoundGate] | Future[None] = self._ended if self._started.done() else self._started
            outcome.set_exception(error)
        if not self._ended.done():
            self._ended.set_result(None)

    async def _serve(self) -> None:
        gate, data = Gate(self._setup), self._setup.data
        if self._alerts:
            gate.use_channels(gate_channels(gate, self._setup.config))
        async with started_gate(gate, data, self._address, self._journal, self._doors, self._page):
            self._started.set_result(discover(data=data))
            await asyncio.wrap_future(self._stopping)


@dataclass(frozen=True, slots=True)
class StartedGate:
    """A running embedded gate: how to find it, and the last lines of its log."""

    find: Callable[[], FoundGate]
    log_lines: Callable[[], Sequence[str]]


@contextmanager
def start_embedded_gate(
    config: Config, manifests: Sequence[Path] = (), doors: Doors | None = None, page: MakePage | None = None
) -> Iterator[StartedGate]:
    """Runs a gate on the data of this home, on the usual port if it is free."""
    setup = gate_setup(config, manifests)
    log = _LastLines()
    with ExitStack() as stack:
        try:
            gate = stack.enter_context(EmbeddedGate(setup, ListenAddress(), GateLog(log), doors, page, alerts=True))
        except GateStartError:
            # Another program uses the usual port. Agents find the gate through its file anyway.
            free = ListenAddress(port=0)
            gate = stack.enter_context(EmbeddedGate(setup, free, GateLog(log), doors, page, alerts=True))
        yield StartedGate(lambda: gate.found, log.lines)


def gate_setup(config: Config, manifests: Sequence[Path] = ()) -> GateSetup:
    """The setup of a gate on the data of this home; without a folder it serves what is installed, or the samples."""
    here, (folder, *more) = paths(), manifests or (bundled("manifests"),)
    for each in (folder, *more):
        if not each.is_dir():
            raise AileronError(f"no such folder: {each}", hint="Choose another one with --manifests.")
    data, cache = private_folder(here.data), private_folder(here.cache)
    return GateSetup(
        data,
        folder,
        config,
        cache,
        keyring=load_keyring(here.keyring),
        packages=not manifests,
        more_manifests=tuple(more),
        keyring_file=here.keyring,
    )


class _LastLines(io.StringIO):
    """A stream that keeps only the last lines written to it."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: deque[str] = deque(maxlen=_LOG_LINES)

    def write(self, text: str) -> int:
        """Keeps one line. The log writes whole lines."""
        self._lines.append(text.rstrip("\n"))
        return len(text)

    def lines(self) -> Sequence[str]:
        """The last lines."""
        return tuple(self._lines)
