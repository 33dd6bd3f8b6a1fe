"""A gate process under real faults: files that cannot grow, no file descriptors, a ledger that is taken away."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.cli import main
from aileron_tui.core.decision import Verdict
from aileron_tui.core.states import RequestState
from aileron_tui.gate.gate import LEDGER_FILE
from tests.gate.disk_state import checked_disk_state
from tests.gate.gate_harness import GateHarness, Plan, gate_harness, wait_until
from tests.gate.gate_process import Agent, GateAddress, GateDied, GateProcess

pytestmark = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs the limits of another process")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Iterator[GateHarness]:
    root = tmp_path_factory.mktemp("faults")
    (root / "home").mkdir(0o700)
    shutil.copytree(compiled, root / "home" / "cache")
    with gate_harness(root) as harness:
        yield harness


@pytest.fixture
def harness(shared: GateHarness) -> GateHarness:
    shared.clear()
    return shared


@contextmanager
def limited(process: GateProcess, which: int, soft: int) -> Iterator[None]:
    """Lowers a limit of a running process."""
    before = resource.prlimit(process.pid, which)
    resource.prlimit(process.pid, which, (soft, before[1]))
    try:
        yield
    finally:
        resource.prlimit(process.pid, which, before)


def health(harness: GateHarness, address: GateAddress) -> tuple[int, Any]:
    return harness.agent(address).ask("GET", "/v1/health")


@contextmanager
def surviving(harness: GateHarness, plan: Plan) -> Iterator[GateProcess]:
    """Runs a gate that must not die before the end of the block."""
    done = False
    with harness.gate(plan) as process:
        yield process
        done = True
    assert done, (harness.home / "log").read_text("utf-8")[-6000:]


def started(process: GateProcess) -> GateAddress:
    address = process.ready()
    assert address is not None
    return address


def test_files_that_cannot_grow_after_the_effect(harness: GateHarness) -> None:
    """The op runs, and then nothing can be written until the limit is lifted."""
    draft = harness.draft()
    with surviving(harness, Plan("full disk")) as process:
        address = started(process)
        harness.service.hold("POST", done=True)
        agent, approver = harness.agent(address), harness.approver(address)
        id_ = harness.call(agent, draft)

        harness.decide(approver, id_, Verdict.APPROVE)
        assert harness.service.reached.wait(10)
        with limited(process, resource.RLIMIT_FSIZE, 0):
            harness.service.release()
            wait_until(lambda: health(harness, address)[0] == 503)
            status, poll = agent.result(id_)
            assert (status, poll["status"]) == (200, "running")
            assert "the op ran" in poll.get("message", "the op ran")
            status, body = agent.run("send-draft", {"draft_id": "another"})
            assert (status, body["error"]["code"]) == (503, "not_recorded")
            assert health(harness, address)[1]["status"] == "failing"
        wait_until(lambda: health(harness, address)[0] == 200)
        harness.wait_for_result(agent, id_)
        assert harness.observed.ended[id_]["status"] == "completed"
    assert harness.disk_state.requests[id_].state is RequestState.EXECUTED


def test_a_ledger_that_is_taken_away_stops_everything_until_it_is_back(harness: GateHarness) -> None:
    draft = harness.draft()
    ledger = harness.data / LEDGER_FILE
    with surviving(harness, Plan("unlinked ledger")) as process:
        address = started(process)
        agent, approver = harness.agent(address), harness.approver(address)
        id_ = harness.call(agent, draft)
        item = approver.previewed_request(id_)
        ledger.rename(ledger.with_name("hidden"))

        status, body = approver.decide(item, Verdict.APPROVE)
        assert (status, body["error"]["code"]) == (503, "not_recorded")
        assert agent.run("send-draft", {"draft_id": "another"})[0] == 503
        status, body = health(harness, address)
        assert (status, body["status"]) == (503, "failing")
        assert "removed" in body["reason"]
        assert not harness.service.arrived[draft]
        ledger.with_name("hidden").rename(ledger)
        wait_until(lambda: health(harness, address)[0] == 200)
        harness.decide(approver, id_, Verdict.APPROVE)
        harness.wait_for_result(agent, id_)


def test_no_file_descriptors_are_survived(harness: GateHarness) -> None:
    draft = harness.draft()
    with surviving(harness, Plan("no descriptors")) as process:
        address = started(process)
        agent = harness.agent(address)
        id_ = harness.call(agent, draft)
        used = len(os.listdir(f"/proc/{process.pid}/fd"))  # noqa: PTH208  # only the number
        with limited(process, resource.RLIMIT_NOFILE, used):
            for _ in range(3):
                with suppress(OSError, GateDied, socket.timeout):
                    socket.create_connection((address.host, address.port), 0.5).close()
        wait_until(lambda: health(harness, address)[0] == 200)
        assert harness.call(harness.agent(address), draft) == id_


@pytest.mark.parametrize("held", ["POST", ""], ids=["an upstream that does not answer", "a full disk"])
def test_sigterm_ends_it(harness: GateHarness, held: str) -> None:
    draft = harness.draft()
    with surviving(harness, Plan("stop")) as process:
        address = started(process)
        if held:
            harness.service.hold(held, done=False)
        agent = harness.agent(address)
        id_ = harness.call(agent, draft)
        waiting = Agent(address, "agent")
        waiting.send_run("send-draft", {"draft_id": draft}, wait=30)
        before = time.monotonic()
        if held:
            harness.decide(harness.approver(address), id_, Verdict.APPROVE)
            assert harness.service.reached.wait(10)
            process.signal(signal.SIGTERM)
            time.sleep(0.5)
            process.signal(signal.SIGTERM)
        else:
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            process.signal(signal.SIGTERM)
        process.wait(30)
        assert time.monotonic() - before < 30
        waiting.close()


def test_a_clean_stop_leaves_nothing_in_the_logs(harness: GateHarness) -> None:
    draft = harness.draft()
    with surviving(harness, Plan("clean stop")) as process:
        address = started(process)
        harness.play(address, draft, Plan("clean stop"))
        process.signal(signal.SIGTERM)
        process.wait(30)
        left = [path.name for path in harness.data.iterdir() if path.name.endswith(("-wal", "-shm"))]
        assert left == []
    checked_disk_state(harness.data)


def test_verify_does_not_call_another_file_good_while_a_gate_runs(
    harness: GateHarness, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AILERON_TUI_HOME", str(harness.home))
    with surviving(harness, Plan("replaced ledger")) as process:
        started(process)
        assert main(["history", "verify"]) == 0
        hidden = harness.home / "hidden"
        hidden.mkdir()
        for path in harness.data.glob("ledger*"):
            path.rename(hidden / path.name)
        assert main(["history", "verify"]) == 1
        said = capsys.readouterr()
        assert f"process {process.pid}" in said.err
        for path in hidden.iterdir():
            path.rename(harness.data / path.name)
        hidden.rmdir()
        assert main(["history", "verify"]) == 0
