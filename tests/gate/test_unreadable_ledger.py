"""A ledger that cannot be read any more: every caller gets a reply that says so, and nothing is accepted."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from aileron_tui.gate.gate import LEDGER_FILE
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import DRAFT, SEND, error_code, served_gate


def _restore_backup(ledger: Path) -> None:
    """Restores an older copy into the same files."""
    copy = ledger.with_name("copy")
    with closing(sqlite3.connect(ledger)) as db, closing(sqlite3.connect(copy)) as old:
        db.backup(old)
    ledger.write_bytes(copy.read_bytes())
    _cut_log(ledger)


def _cut_log(ledger: Path) -> None:
    with ledger.with_name(f"{ledger.name}-wal").open("r+b") as log:
        log.truncate()


def _overwrite(ledger: Path) -> None:
    ledger.write_bytes(b"x" * 4096)
    _cut_log(ledger)


@pytest.mark.parametrize("attack", [_restore_backup, _cut_log, _overwrite])
def test_a_gate_that_cannot_read_its_ledger_replies_and_says_so(env: GateEnv, attack: Callable[[Path], None]) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            assert (await served.agent.post(SEND, json=DRAFT)).status_code == 202
            attack(env.data / LEDGER_FILE)
            other = {"args": {"draft_id": "r-other"}}
            for _ in range(2):
                call = await served.agent.post(SEND, json=other)
                assert (call.status_code, error_code(call)) in {(503, "unavailable"), (503, "not_recorded")}
            for client in (served.agent, served.anonymous, served.approver):
                health = await client.get("/v1/health")
                assert health.status_code == 503
                assert "ledger" in health.json()["reason"]

    run_async(main())
    assert not env.service.sent
