"""**Deny** in a notification, from the channel of a gate to its ledger."""

from dataclasses import replace
from typing import Any

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.surface.gate_channels import gate_channels
from tests.gate.alerted_gate import FAST, kinds, setup_with, started, until
from tests.gate.conftest import GateEnv, ask, previewed_request, run_async


@pytest.mark.parametrize("waits", [True, False])
def test_deny_in_a_notification_ends_the_request_that_waits(env: GateEnv, waits: bool) -> None:
    async def work() -> None:
        setup = setup_with(env, replace(FAST, order=("notification",)))
        gate = await started(setup)
        try:
            channel: Any
            (channel,) = gate_channels(gate, setup.config)
            id_ = str((await ask(gate)).body["approval_id"])
            await previewed_request(gate, id_)
            if not waits:
                await gate.deny_from(id_, "page")
            await channel._deny(id_)
            await until(lambda: EntryKind.DENIED_UNSIGNED in kinds(env, id_))
            with open_reader(env.data / "ledger.db") as reader:
                denials: list[Any] = [e.body for e in reader.of_request(id_) if e.kind == EntryKind.DENIED_UNSIGNED]
            assert [denial["surface"] for denial in denials] == ["notification" if waits else "page"]
            assert denials[0]["session"] == gate.instance
            await channel._deny("act-unknown")
            await channel.close()
        finally:
            await gate.stop()

    run_async(work())
