"""Everything that the rounds of one worker share: a home, a service, a key, and gates that run one after another."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.gate.gate import LEDGER_FILE, OUTBOX_FILE
from aileron_tui.ledger.open_store import open_ledger
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from tests.chaos.shim import Shim
from tests.chaos.upstream import ChaosUpstream
from tests.gate.gate_harness import CONFIG, ENVIRONMENT
from tests.gate.gate_process import ForkServer, GateAddress, GateProcess

START_SECONDS: Final = 20.0


class Lab:
    """One worker's home and what is around it."""

    def __init__(
        self, root: Path, upstream: ChaosUpstream, fork_server: ForkServer, shim: Shim, key: UnlockedKey
    ) -> None:
        self.home = root / "home"
        self.upstream = upstream
        self.shim = shim
        self.key = key
        self._manifests = materialise(root / "manifests", upstream.port)
        self._fork_server = fork_server

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def ledger(self) -> Path:
        return self.data / LEDGER_FILE

    @property
    def logs_left(self) -> list[str]:
        """The write-ahead logs that are not empty; a clean stop leaves none."""
        paths = [self.data / f"{name}-wal" for name in (LEDGER_FILE, OUTBOX_FILE)]
        return [path.name for path in paths if path.exists() and path.stat().st_size]

    def clear(self, timeout: int) -> None:
        """Deletes the data of the last round; keeps the compiled connectors."""
        self.shim.reset()
        self.upstream.clear()
        shutil.rmtree(self.data, ignore_errors=True)
        (self.home / "log").unlink(missing_ok=True)
        config = self.home / "config.toml"
        config.write_text(CONFIG.format(timeout=timeout), "utf-8")
        config.chmod(0o600)
        with open_ledger(self.ledger, role="test") as ledger:
            ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment("tester", self.key.public))

    def start(self) -> GateProcess:
        """Starts a gate process."""
        return self._fork_server.start(self.home, self._manifests)

    def log(self) -> str:
        """The last lines of the log that are not about single HTTP requests."""
        path = self.home / "log"
        lines = path.read_text("utf-8", "replace").splitlines() if path.exists() else []
        return "\n".join([line for line in lines if " http " not in line][-25:])


class RunningGate:
    """The gate of a round, which may be killed and started again."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.process: GateProcess | None = None
        self.address: GateAddress | None = None
        self.starts = 0

    def start(self) -> bool:
        """Starts the gate; returns whether it serves."""
        process = self._lab.start()
        try:
            address = process.ready(START_SECONDS)
        except AssertionError:
            process.kill()
            return False
        if address is None:
            process.wait()
            return False
        self.process, self.address = process, address
        self.starts += 1
        return True

    @property
    def alive(self) -> bool:
        """Whether the process exists."""
        if self.process is None:
            return False
        try:
            os.kill(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def kill(self) -> None:
        """Kills the process with `kill -9`."""
        self.address = None
        if self.process is not None:
            self.process.kill()
            self.process = None

    def signal(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.signal(number)

    def terminate(self, seconds: float) -> bool:
        """Sends SIGTERM; returns whether the process ended in time, and kills it if not."""
        self.address = None
        if self.process is None:
            return True
        self.process.signal(signal.SIGTERM)
        try:
            self.process.wait(seconds)
        except AssertionError:
            self.kill()
            return False
        self.process = None
        return True

    def descriptors(self) -> int:
        """The number of its open descriptors."""
        return sum(1 for _ in Path(f"/proc/{self.process.pid}/fd").iterdir()) if self.process else 0

    def memory(self) -> int:
        """Its resident memory in bytes."""
        return self.process.memory() if self.process else 0


@contextmanager
def chaos_lab(root: Path, cache: Path, library: Path | None) -> Iterator[Lab]:
    """Yields a lab in a new folder. `cache` has the compiled connectors."""
    home = root / "home"
    home.mkdir(0o700, parents=True)
    shutil.copytree(cache, home / "cache")
    shim = Shim(library, root / "control", home)
    with (
        ChaosUpstream() as upstream,
        ForkServer({**ENVIRONMENT, **shim.environment}) as fork_server,
        for_this_run("tester") as key,
    ):
        assert isinstance(upstream, ChaosUpstream)
        yield Lab(root, upstream, fork_server, shim, key)
    shim.close()


def wait_for(condition: object, seconds: float) -> bool:
    """Waits until a condition is true; returns False if it does not become true in time."""
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
