"""A gate with recorded channels, and what its ledger and its watchers say about alerts."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from aileron_tui.core.alerts import Alert
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.files.config import SurfacesConfig
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.gate_state import GateSetup
from aileron_tui.ledger.open_store import open_reader
from tests.gate.conftest import GateEnv

FAST: Final = SurfacesConfig(share=1)


class RecordedChannel:
    """A channel that remembers what it was sent."""

    def __init__(self, name: str = "notification", why: str = "") -> None:
        self.name = name
        self.why = why
        self.alerts: list[Alert] = []
        self.cleared: list[str] = []
        self.closed = False
        self.fails = False

    async def unavailable(self) -> str:
        if self.fails:
            raise RuntimeError("broken")
        return self.why

    async def alert(self, alert: Alert) -> None:
        if self.fails:
            raise RuntimeError("broken")
        self.alerts.append(alert)

    async def clear(self, id_: str) -> None:
        self.cleared.append(id_)

    async def close(self) -> None:
        self.closed = True


def setup_with(env: GateEnv, surfaces: SurfacesConfig) -> GateSetup:
    """The setup of a gate with these settings."""
    setup = env.setup()
    return replace(setup, config=replace(setup.config, surfaces=surfaces))


async def until(holds: Callable[[], object], seconds: float = 5.0) -> None:
    """Waits until something holds."""
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.01)


def steps(env: GateEnv, id_: str) -> list[tuple[str, str, str]]:
    """What the ledger says about the alerts of a request: from, to, reason."""
    with open_reader(env.data / "ledger.db") as reader:
        entries = reader.of_request(id_)
    found: list[tuple[str, str, str]] = []
    for entry in entries:
        body: Any = entry.body
        if entry.kind == EntryKind.SHOWN and "alerted" in body:
            found.append(("", body["alerted"], body.get("alert_reason", "")))
        if entry.kind == EntryKind.FELL_BACK:
            found.append((body["from"], body["to"], body["reason"]))
    return found


def kinds(env: GateEnv, id_: str) -> list[str]:
    """The kinds of the entries of a request."""
    with open_reader(env.data / "ledger.db") as reader:
        return [entry.kind for entry in reader.of_request(id_)]


async def started(setup: GateSetup, *channels: RecordedChannel) -> Gate:
    """A running gate with channels."""
    gate = Gate(setup)
    gate.use_channels(channels)
    gate.serve_page("http://localhost:1")
    await gate.start()
    return gate
