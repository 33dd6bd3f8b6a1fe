"""A home for a gate that runs as a process of its own, and what its approver sends."""

import base64
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.runtime.request_reader import read_gate_request
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.session_proof import session_proof
from benchmarks._bare_wasmtime import TOKEN
from benchmarks._http_connection import Connection

WATCH: Final = "/v1/action-approvals/watch?surface=console"
# At high risk the preview is fetched again when the answer comes, which the bare side does not do.
CONFIG: Final = """
[policy]
asks_per_10_minutes = 0

[connectors."local://aileron/mail".credential]
env = "BENCH_TOKEN"

[[risk]]
level = "normal"
"""


def make_home(folder: Path, key: UnlockedKey) -> Path:
    """A home whose ledger has this key."""
    home = folder / "home"
    home.mkdir(0o700)
    (home / "config.toml").write_text(CONFIG)
    (home / "config.toml").chmod(0o600)
    with SqliteLedger(home / "data" / "ledger.db", role="bench") as ledger:
        ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment("bench", key.public))
    return home


def gate_command(bundle: Path) -> tuple[str, ...]:
    """What to run after the name of the interpreter."""
    return ("-m", "aileron_tui", "gate", "--port", "0", "--manifests", str(bundle))


def gate_environment(home: Path) -> dict[str, str]:
    """The environment of a gate with this home."""
    return {**os.environ, "AILERON_TUI_HOME": str(home), "BENCH_TOKEN": TOKEN}


async def open_session(port: int, instance: str, key: UnlockedKey) -> str:
    """The token of a new session of the approver."""
    approver = Connection(port)
    asked = await approver.ask("POST", "/v1/approver/challenge", b"{}")
    proof = key.sign(session_proof(asked["challenge"], instance, asked["ledger"]))
    opening = {"challenge": asked["challenge"], "keyid": key.public.fingerprint}
    body = json.dumps({**opening, "signature": base64.b64encode(proof).decode()}).encode()
    token = str((await approver.ask("POST", "/v1/approver/session", body))["token"])
    approver.close()
    return token


def decision(item: Any, verdict: Verdict, key: UnlockedKey) -> bytes:
    """The body of a signed decision."""
    statement = read_gate_request(item).statement(verdict, surface="console", now=datetime.now(UTC))
    return json.dumps({"approved": verdict is Verdict.APPROVE, "envelope": sign(statement, key).fields()}).encode()
