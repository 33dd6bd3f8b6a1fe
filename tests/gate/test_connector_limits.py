"""Limits per connector in a gate: long ops, test servers in the prompt, and what is recorded about repeats."""

import asyncio
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.prompt import PreviewResult, read_prompt
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.demo.sample_service import SampleService, ServiceFault
from aileron_tui.demo.service_routes import ServiceRequest, ServiceResponse
from aileron_tui.files.certificate_trust import CertificateTrust
from aileron_tui.files.config import Config, ConnectorSettings
from aileron_tui.gate import decision_handler
from aileron_tui.gate.connector_activity import ConnectorActivity
from aileron_tui.gate.gate import LEDGER_FILE, Gate
from aileron_tui.gate.gate_state import GateSetup
from aileron_tui.gate.installed_bundle import sandbox_settings
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.runtime.request_reader import read_gate_request
from aileron_tui.sandbox.connector_package import PublisherKeyring
from tests.gate import counted_service
from tests.gate.conftest import GateEnv, ask, code, dig, previewed_request, result_of, run_async
from tests.gate.counted_service import CountedService
from tests.gate.gate_process import Agent, Approver, GateProcess
from tests.gate.ruled_gate import call, make_from, waiting

MAIL = "local://aileron/mail"


def configured(env: GateEnv, **settings: Any) -> GateSetup:
    setup = env.setup()
    connectors = dict(setup.config.connectors)
    connectors[MAIL] = replace(connectors[MAIL], **settings)
    return replace(setup, config=replace(setup.config, connectors=connectors))


def test_the_configuration_sets_the_limits() -> None:
    settings = ConnectorSettings(seconds=180, memory_mib=64, body_mib=32)
    made = sandbox_settings(Config(connectors={MAIL: settings}), None, PublisherKeyring())
    limits = made.limits_of(MAIL)
    assert (limits.execute_seconds, limits.memory, limits.response) == (180, 64 << 20, 32 << 20)
    assert limits.preview_seconds == 5
    assert made.limits_of("local://other/one") == made.limits
    assert made.limits.execute_seconds == 30


def test_the_environment_sets_proxy_and_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("https_proxy", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("SSL_CERT_FILE", "/company.pem")
    made = sandbox_settings(Config(), None, PublisherKeyring())
    proxy = made.proxies.proxy()
    assert proxy is not None
    assert (proxy.name, made.trust) == ("proxy.example:3128", CertificateTrust("/company.pem"))


def test_an_op_may_take_as_long_as_its_connector_is_allowed(env: GateEnv) -> None:
    """The general limit is far too short for it. The agent polls meanwhile, and is told that it runs."""
    env.limits = replace(env.limits, op_seconds=0.2)
    env.service.slow_seconds = 1.5

    async def work() -> None:
        gate = Gate(configured(env, seconds=60))
        await gate.start()
        try:
            accepted = await ask(gate)
            item = await previewed_request(gate, str(accepted.body["approval_id"]))
            env.service.faults["r-12345"] = ServiceFault.SLOW
            assert (await gate.decide(str(item["id"]), env.decision(item))).status == 200
            assert (await gate.result(str(item["id"]), agent="agent-1")).body["status"] == "running"
            assert (await result_of(gate, str(item["id"])))["status"] == "completed"
        finally:
            await gate.stop()

    run_async(work())
    assert len(env.service.sent) == 1


def test_a_connector_is_busy_for_as_long_as_its_op_may_take(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[float] = []
    begin = ConnectorActivity.begin

    def noted(activity: ConnectorActivity, names: frozenset[str], seconds: float) -> None:
        begun.append(seconds)
        begin(activity, names, seconds)

    monkeypatch.setattr(ConnectorActivity, "begin", noted)

    async def work() -> None:
        gate = Gate(configured(env, seconds=120))
        await gate.start()
        try:
            assert (await ask(gate, "get-draft", draft_id="r-12345")).status == 200
            assert (await ask(gate, "get-file", file_id="f-1001")).status == 200
        finally:
            await gate.stop()

    run_async(work())
    assert begun == [120, 30]


def test_an_approval_does_not_wait_for_minutes_and_is_not_put_off_for_ever(
    env: GateEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decision_handler, "_LONGEST_WAIT_FOR_OPS", 0.3)
    slow = "r-18220"
    env.service.faults[slow] = ServiceFault.SLOW
    env.service.slow_seconds = 2.0

    async def work() -> None:
        gate = Gate(configured(env, seconds=120))
        await gate.start()
        try:
            accepted = await ask(gate)
            item = await previewed_request(gate, str(accepted.body["approval_id"]))
            before = len(env.service.calls)
            first = asyncio.create_task(ask(gate, "get-draft", draft_id=slow))
            while len(env.service.calls) == before:
                await asyncio.sleep(0.01)
            assert code(await gate.decide(str(item["id"]), env.decision(item))) == "CONNECTOR_BUSY"
            second = asyncio.create_task(ask(gate, "get-draft", draft_id="r-12345"))
            await first
            await asyncio.sleep(0.2)
            assert not second.done()
            assert (await gate.decide(str(item["id"]), env.decision(item))).status == 200
            assert (await result_of(gate, str(item["id"])))["status"] == "completed"
            assert not second.done()
            second.cancel()
        finally:
            await gate.stop()

    run_async(work())


def test_a_connector_is_kept_free_only_for_a_while() -> None:
    async def work() -> None:
        released: list[bool] = []
        activity = ConnectorActivity(lambda: released.append(True))
        activity.begin({MAIL}, 100)
        tasks = [asyncio.create_task(activity.keep_free({MAIL}, 0.05)) for _ in range(3)]
        await asyncio.sleep(0.1)
        assert activity.is_reserved({MAIL})
        activity.end({MAIL})
        await asyncio.gather(*tasks)
        assert not activity.is_reserved({MAIL})
        assert released == [True]

    run_async(work())


def test_every_prompt_warns_about_a_test_server(env: GateEnv, caplog: pytest.LogCaptureFixture) -> None:
    host = f"127.0.0.1:{env.service.port}"
    server = f"http://localhost:{env.service.port}"
    warning = f"test setup: {MAIL} asks {server} instead of {host}; any credential goes there too"

    async def work() -> None:
        gate = Gate(configured(env, upstream={host: server}))
        with caplog.at_level(logging.INFO):
            await gate.start()
        try:
            accepted = await ask(gate)
            item = await previewed_request(gate, str(accepted.body["approval_id"]))
            prompt = read_prompt(item["prompt"])
            assert prompt.warnings == (warning,)
            assert replace(prompt, warnings=()).digest != prompt.digest
            assert [caution.text for caution in read_gate_request(item).cautions] == [warning]
            assert (await gate.decide(str(item["id"]), env.decision(item))).status == 200
            assert (await result_of(gate, str(item["id"])))["status"] == "completed"
        finally:
            await gate.stop()

    run_async(work())
    assert warning in caplog.text
    with open_reader(env.data / LEDGER_FILE) as reader:
        made = next(entry for entry in reader.entries() if entry.kind == EntryKind.REQUESTED)
    assert made.body["warning"] == "1 in the prompt"


def test_no_rule_allows_a_call_that_a_test_server_answers(env: GateEnv) -> None:
    host, server = f"127.0.0.1:{env.service.port}", f"http://localhost:{env.service.port}"

    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate))
            assert (await call(gate)).status == 200
        gate = Gate(configured(env, upstream={host: server}))
        await gate.start()
        try:
            assert (await ask(gate)).status == 202
        finally:
            await gate.stop()

    run_async(work())
    assert len(env.service.sent) == 1


class BusyService(SampleService):
    """Asks to wait before the first request of each method is sent again."""

    def __init__(self) -> None:
        super().__init__()
        self._refused: set[str] = set()

    def serve(self, request: ServiceRequest, target: str, credentials: dict[str, str]) -> ServiceResponse | None:
        """Serves every request but the first of each method."""
        if request.method not in self._refused:
            self._refused.add(request.method)
            return ServiceResponse(503, b"{}", {"Retry-After": "0"})
        return super().serve(request, target, credentials)


def test_repeats_are_logged_and_recorded(env: GateEnv, caplog: pytest.LogCaptureFixture) -> None:
    """The preview only reads, so it is repeated. To send is not idempotent, so it is not."""
    with BusyService() as service:
        env.manifests = materialise(env.folder / "busy", service.port)
        words = f"retried once: 127.0.0.1:{service.port} asked to wait 0 s"

        async def work() -> None:
            async with env.gate() as gate:
                with caplog.at_level(logging.INFO):
                    accepted = await ask(gate)
                    item = await previewed_request(gate, str(accepted.body["approval_id"]))
                assert read_prompt(item["prompt"]).preview != PreviewResult()
                assert (await gate.decide(str(item["id"]), env.decision(item))).status == 200
                assert dig(await result_of(gate, str(item["id"])), "failure", "error", "class") == "outcome_unknown"

        run_async(work())
    assert f"preview of send-draft: {words}" in caplog.text
    assert not service.sent
    with open_reader(env.data / LEDGER_FILE) as reader:
        bodies = [entry.body for entry in reader.entries() if entry.kind == EntryKind.PREVIEWED]
    assert bodies[0]["retried"] == words
    assert "retried" not in bodies[-1]


def test_a_misspelled_connector_is_an_error_with_a_folder_of_manifests_too(
    env: GateEnv, caplog: pytest.LogCaptureFixture
) -> None:
    setup = env.setup()
    connectors = {**setup.config.connectors, "local://aileron/mial": ConnectorSettings(seconds=9)}

    async def work() -> None:
        gate = Gate(replace(setup, config=replace(setup.config, connectors=connectors)))
        await gate.start()
        await gate.stop()

    run_async(work())
    assert "the configuration has an unknown name" in caplog.text
    assert f'Did you mean "{MAIL}"?' in caplog.text


@pytest.mark.slow
def test_sigterm_ends_a_gate_in_the_middle_of_a_long_op(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ops get half a minute to end. What still runs then is recorded as interrupted, and the process ends well."""
    home = env.folder / "home"
    home.mkdir(mode=0o700)
    env.data.rename(home / "data")
    shutil.copytree(env.cache, home / "cache")
    settings = f'[connectors."{MAIL}"]\nseconds = 180\ncredential = {{ env = "TEST_MAIL_TOKEN" }}\n'
    (home / "config.toml").write_text(settings)
    (home / "config.toml").chmod(0o600)
    environment = {**os.environ, "AILERON_TUI_HOME": str(home)}
    monkeypatch.setattr(counted_service, "MAX_HOLD_SECONDS", 150.0)
    service = CountedService()
    with service:
        service.hold("POST", done=False)
        manifests = materialise(env.folder / "held", service.port)
        words = [sys.executable, "-m", "aileron_tui", "gate", "--port", "0", "--manifests", str(manifests)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment, stdin=subprocess.DEVNULL)
        assert process.stdout is not None
        gate = GateProcess(process.pid, os.dup(process.stdout.fileno()))
        process.stdout.close()
        try:
            address = gate.ready()
            assert address is not None
            agent, approver = Agent(address, "agent"), Approver(address, env.key)
            id_ = agent.run("send-draft", {"draft_id": "r-12345"})[1]["approval_id"]
            assert approver.decide(approver.previewed_request(id_), Verdict.APPROVE)[0] == 200
            assert service.reached.wait(10)
            assert agent.result(id_)[1]["status"] == "running"
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
            assert 30 < time.monotonic() - began < 55
        finally:
            process.kill()
            process.wait()
            gate.wait()
            agent.close()
            approver.close()
            service.release()
    with open_reader(home / "data" / LEDGER_FILE) as reader:
        kinds = [entry.kind for entry in reader.entries() if entry.request == id_]
    assert kinds[-1] == EntryKind.INTERRUPTED
