"""A gate on a temporary folder, with the sample suite, the sample service and one enrolled key."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from aileron_tui.core.decision import Statement, Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import Asker, read_prompt
from aileron_tui.core.risk import RiskRule
from aileron_tui.core.times import timestamp
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.demo.sample_service import FILES_CREDENTIAL, MAIL_CREDENTIAL, SampleService
from aileron_tui.files.config import Config, ConnectorSettings, CredentialSource, LedgerConfig, MetricsConfig, Policy
from aileron_tui.gate.gate import LEDGER_FILE, Gate
from aileron_tui.gate.gate_state import GateLimits, GateSetup
from aileron_tui.gate.replies import Reply
from aileron_tui.ledger.open_store import open_ledger
from aileron_tui.runtime.request_reader import read_gate_request
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from tests.compiled import shared_cache

T = TypeVar("T")

ASKER = Asker("test agent", "s-1", "/home/me")


def run_async(work: Awaitable[T]) -> T:
    """Runs a coroutine to completion on a new event loop."""

    async def main() -> T:
        return await asyncio.wait_for(work, 60)

    return asyncio.run(main())


@dataclass
class GateEnv:
    """Everything a gate test needs."""

    service: SampleService
    folder: Path
    manifests: Path
    cache: Path
    key: UnlockedKey
    policy: Policy = field(default_factory=Policy)
    limits: GateLimits = field(default_factory=GateLimits)
    risk: tuple[RiskRule, ...] = ()
    metrics: bool = False
    keep: str = ""

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def setup(self) -> GateSetup:
        connectors = {
            "local://aileron/mail": ConnectorSettings(CredentialSource(env="TEST_MAIL_TOKEN")),
            "local://aileron/files": ConnectorSettings(CredentialSource(env="TEST_FILES_KEY")),
        }
        metrics, ledger = MetricsConfig(enabled=self.metrics), LedgerConfig(self.keep)
        config = Config(self.policy, self.risk, connectors, metrics=metrics, ledger=ledger)
        return GateSetup(self.data, self.manifests, config, self.cache, self.limits)

    @asynccontextmanager
    async def gate(self, **options: Any) -> AsyncIterator[Gate]:
        """A running gate."""
        gate = Gate(self.setup(), **options)
        await gate.start()
        try:
            yield gate
        finally:
            await gate.stop()

    def statement(self, item: JsonObject, verdict: Verdict = Verdict.APPROVE, **changes: Any) -> Statement:
        """Returns the statement that an approver signs for a request."""
        now = datetime.now(UTC)
        prompt = read_prompt(item["prompt"])
        fields: dict[str, Any] = {
            "request": item["id"],
            "instance": item["instance"],
            "action": prompt.action,
            "connector": prompt.connector.hash,
            "digest": prompt.digest,
            "verdict": verdict,
            "edits": None,
            "reason": "",
            "surface": "console",
            "time": timestamp(now),
            "expires": timestamp(now + timedelta(minutes=2)),
            "nonce": secrets.token_hex(16),
            "head": item["head"],
        }
        return Statement(**fields | changes)

    def extension(self, item: JsonObject, key: UnlockedKey | None = None, **changes: Any) -> JsonObject:
        """Returns the body of a signed extension."""
        extension = read_gate_request(item).extension(surface="console", now=datetime.now(UTC))
        return {"envelope": sign(replace(extension, **changes), key or self.key).fields()}

    def decision(self, item: JsonObject, verdict: Verdict = Verdict.APPROVE, **changes: Any) -> JsonObject:
        """Returns the body of a signed decision."""
        statement = self.statement(item, verdict, **changes)
        body: JsonObject = {"approved": verdict is Verdict.APPROVE, "envelope": sign(statement, self.key).fields()}
        if statement.reason:
            body["reason"] = statement.reason
        if statement.edits is not None:
            body["edited_payload"] = statement.edits
        return body


def dig(value: Any, *path: str) -> Any:
    """Returns the value at a path in JSON."""
    for key in path:
        value = value[key]
    return value


def code(reply: Reply) -> Any:
    """Returns the code of an error reply."""
    return dig(reply.body, "error", "code")


async def ask(gate: Gate, action: str = "send-draft", wait: float | None = None, **args: Any) -> Reply:
    """Calls an action as an agent."""
    return await gate.call(action, args or {"draft_id": "r-12345"}, ASKER, agent="agent-1", wait=wait)


async def previewed_request(gate: Gate, id_: str) -> JsonObject:
    """Returns a request once its preview has been fetched."""
    for _ in range(1000):
        item = gate.find_request(id_)
        assert item is not None
        if item["preview_state"] != "fetching":
            return item
        await asyncio.sleep(0.01)
    raise AssertionError("the preview was not fetched")


async def result_of(gate: Gate, id_: str) -> JsonObject:
    """Returns the agent's result once the request has ended."""
    for _ in range(1000):
        reply = await gate.result(id_, agent="agent-1")
        if reply.body.get("status") not in ("pending_approval", "running"):
            return reply.body
        await asyncio.sleep(0.01)
    raise AssertionError("the request did not end")


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One compile cache for the whole run."""
    return shared_cache(tmp_path_factory)


@pytest.fixture
def service() -> Iterator[SampleService]:
    with SampleService() as running:
        yield running


@pytest.fixture
def env(tmp_path: Path, compiled: Path, service: SampleService, monkeypatch: pytest.MonkeyPatch) -> Iterator[GateEnv]:
    monkeypatch.setenv("TEST_MAIL_TOKEN", MAIL_CREDENTIAL)
    monkeypatch.setenv("TEST_FILES_KEY", FILES_CREDENTIAL)
    manifests = materialise(tmp_path / "manifests", service.port)
    with for_this_run("tester") as key:
        env = GateEnv(service, tmp_path, manifests, compiled, key)
        with open_ledger(env.data / LEDGER_FILE, role="test") as ledger:
            ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment("tester", key.public))
        yield env
