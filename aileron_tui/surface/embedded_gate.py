"""A gate inside this process: on a thread and an event loop of its own, reached over HTTP like any other."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from aileron_tui.core.entry_chain import EntryKind
from aileron_tui.gate.gate import LEDGER_FILE, Gate
from aileron_tui.gate.gate_log import GateLog
from aileron_tui.gate.gate_state import GateSetup
from aileron_tui.gate.server import ListenAddress, opened
from aileron_tui.ledger.store import Ledger, open_ledger, open_reader
from aileron_tui.runtime.gate_discovery import FoundGate, discover
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.key_store import UnlockedKey


class EmbeddedGate:
    """A running gate for as long as the block lasts. What goes wrong while it starts is raised where it is entered."""

    def __init__(self, setup: GateSetup, address: ListenAddress | None = None, journal: GateLog | None = None) -> None:
        self._setup = setup
        self._address = address or ListenAddress(port=0)
        self._journal = journal or GateLog()
        self._started: Future[FoundGate] = Future()
        self._stopping: Future[None] = Future()
        self._ended: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="gate")

    @property
    def found(self) -> FoundGate:
        """Where it is."""
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
        except BaseException as error:  # noqa: BLE001  # it belongs to the thread that waits for it
            outcome: Future[FoundGate] | Future[None] = self._ended if self._started.done() else self._started
            outcome.set_exception(error)
        if not self._ended.done():
            self._ended.set_result(None)

    async def _serve(self) -> None:
        gate, data = Gate(self._setup), self._setup.data
        async with opened(gate, data, self._address, self._journal):
            self._started.set_result(discover(data=data))
            await asyncio.wrap_future(self._stopping)


@contextmanager
def changing_keys(data: Path) -> Iterator[tuple[Ledger, Approvers]]:
    """The ledger of a data folder for a change of keys, beside a gate that may be running, and who may approve now."""
    path = data / LEDGER_FILE
    with open_ledger(path, role="key", guest=True) as ledger, open_reader(path) as reader:
        yield ledger, Approvers.of(reader.key_changes())


@contextmanager
def enrolled(data: Path, key: UnlockedKey) -> Iterator[None]:
    """Lets a key approve on the gate of a data folder until the block ends."""
    with changing_keys(data) as (ledger, approvers):
        ledger.append(EntryKind.KEY_ENROLLED, approvers.enrolment(key.name, key.public))
    try:
        yield
    finally:
        with changing_keys(data) as (ledger, approvers):
            if any(approver.public == key.public for approver in approvers.active):
                ledger.append(EntryKind.KEY_REVOKED, approvers.revocation(key.public.fingerprint))
