"""Connectors are compiled when they are first called: the gate is ready before, and says what calls wait for."""

import asyncio
import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.sandbox import connector_call
from aileron_tui.sandbox.compile_cache import CompileCache
from aileron_tui.sandbox.module_compiler import CannotCompile, CompiledCode, ModuleCompiler
from tests.gate.conftest import GateEnv, ask, dig, previewed_request, result_of, run_async
from tests.gate.served_gate import DRAFT, SEND, served_gate


class SlowCompiler:
    """Compiles when it is told to. The native code comes from the cache of the test run."""

    def __init__(self, cache: Path) -> None:
        self.may_end = threading.Event()
        self.why_not = ""
        self.compiled: list[int] = []
        self._code = {path.name[:64]: path.read_bytes() for path in cache.glob("*.cwasm")}

    def compile(self, wasm: bytes) -> CompiledCode:
        self.compiled.append(len(wasm))
        assert self.may_end.wait(60)
        if self.why_not:
            raise CannotCompile(self.why_not, may_pass=True)
        return CompiledCode(None, self._code[hashlib.sha256(wasm).hexdigest()])


@pytest.fixture
def compiler(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowCompiler]:
    """A machine on which nothing was compiled before."""
    slow = SlowCompiler(env.cache)
    monkeypatch.setattr(connector_call, "_engines", [])
    monkeypatch.setattr(CompileCache, "load", lambda *_: None)
    monkeypatch.setattr(CompileCache, "store", lambda *_: None)
    monkeypatch.setattr(ModuleCompiler, "compile", lambda _, wasm: slow.compile(wasm))
    yield slow
    slow.may_end.set()


def test_the_gate_starts_without_compiling_and_compiles_only_what_is_called(
    env: GateEnv, compiler: SlowCompiler
) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            assert len(dig(gate.actions(), "items")) == 12
            assert not compiler.compiled
            id_ = str((await ask(gate)).body["approval_id"])
            compiler.may_end.set()
            assert dig(await previewed_request(gate, id_), "preview", "fields")
            assert len(compiler.compiled) == 1

    run_async(work())


def test_a_request_says_that_it_waits_for_a_compilation(env: GateEnv, compiler: SlowCompiler) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            ids = [str((await ask(gate, draft_id=f"r-{n}")).body["approval_id"]) for n in range(40)]
            item: JsonObject = {}
            while not item.get("compiling_since"):
                await asyncio.sleep(0.01)
                item = gate.find_request(ids[0]) or {}
            assert item["preview_state"] == "fetching"
            assert gate.doing.startswith("compiling the connector mail, ")
            refused = await gate.decide(ids[0], env.decision(item))
            assert dig(refused.body, "error", "code") == "PREVIEW_PENDING"
            compiler.may_end.set()
            for id_ in ids:
                assert "compiling_since" not in await previewed_request(gate, id_)
            assert len(compiler.compiled) == 1
            assert not gate.doing

    run_async(work())


def test_the_health_of_a_gate_says_what_it_does(env: GateEnv, compiler: SlowCompiler) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            assert (await served.agent.post(SEND, json=DRAFT)).status_code == 202
            health: JsonObject = {}
            while "doing" not in health:
                await asyncio.sleep(0.01)
                health = (await served.anonymous.get("/v1/health")).json()
            assert str(health["doing"]).startswith("compiling the connector mail, ")
            assert health["status"] == "ok"
            compiler.may_end.set()
            while "doing" in (await served.anonymous.get("/v1/health")).json():
                await asyncio.sleep(0.01)

    run_async(main())


def test_a_compilation_that_fails_is_told_and_nothing_is_run(env: GateEnv, compiler: SlowCompiler) -> None:
    compiler.why_not = "the process that compiled it was ended by signal 9"
    compiler.may_end.set()

    async def work() -> None:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await previewed_request(gate, id_)
            why = "Preview unavailable: the connector is not ready: the process that compiled it was ended by signal 9"
            assert dig(item, "preview", "unavailable") == why
            assert (await gate.decide(id_, env.decision(item))).status == 200
            failed = await result_of(gate, id_)
            assert dig(failed, "failure", "error", "class") == "resource_limit_exceeded"
            assert dig(failed, "failure", "error", "retriable") is True
            assert dig(failed, "failure", "error", "message").startswith("nothing was run")
            ungated = await ask(gate, "list-drafts", limit=1)
            assert dig(ungated.body, "error", "class") == "resource_limit_exceeded"
            assert len(compiler.compiled) == 1
        assert not env.service.sent

    run_async(work())


def test_the_gate_stops_while_it_compiles(
    env: GateEnv, compiler: SlowCompiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ModuleCompiler, "end_processes", lambda _: compiler.may_end.set())
    compiler.why_not = "the process that compiled it was ended by signal 9"

    async def work() -> None:
        async with env.gate() as gate:
            await ask(gate)
            while not compiler.compiled:
                await asyncio.sleep(0.01)
        assert compiler.may_end.is_set()

    run_async(work())
