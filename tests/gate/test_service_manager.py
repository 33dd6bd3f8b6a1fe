"""What a service manager is told, on a socket like that of systemd."""

import asyncio
import io
import os
import secrets
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aileron_tui.gate.gate import Gate
from aileron_tui.gate.gate_log import GateLog
from aileron_tui.gate.server import ListenAddress, run
from aileron_tui.gate.service_manager import READY, ServiceManager, service_manager
from tests.gate.conftest import GateEnv, run_async


class Listener:
    """The socket of a service manager."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f"\0{address[1:]}" if address.startswith("@") else address)
        self._socket.setblocking(False)

    def messages(self) -> list[str]:
        found: list[str] = []
        try:
            while True:
                found.append(self._socket.recv(4096).decode())
        except BlockingIOError:
            return found

    def close(self) -> None:
        self._socket.close()


ABSTRACT = pytest.param("abstract", marks=pytest.mark.skipif(sys.platform != "linux", reason="only on Linux"))


@pytest.fixture(params=["path", ABSTRACT])
def listener(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    is_path = request.param == "path"
    listener = Listener(str(tmp_path / "n") if is_path else f"@aileron-test-{secrets.token_hex(8)}")
    yield listener
    listener.close()


def test_a_gate_says_that_it_is_ready_alive_and_stopping(env: GateEnv, listener: Listener) -> None:
    environment = {"NOTIFY_SOCKET": listener.address, "WATCHDOG_USEC": "20000", "WATCHDOG_PID": str(os.getpid())}
    heard: list[str] = []

    async def main() -> None:
        ready = io.StringIO()
        gate = asyncio.create_task(
            run(
                Gate(env.setup()),
                env.data,
                ListenAddress(port=0),
                output=ready,
                gate_log=GateLog(),
                manager=service_manager(environment),
            )
        )
        while heard.count("WATCHDOG=1") < 3:
            assert not gate.done(), gate.exception()
            await asyncio.sleep(0.01)
            new = listener.messages()
            assert ready.getvalue() or not new, "it says that it is ready before the line that says so"
            heard.extend(new)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(gate, 60)
        heard.extend(listener.messages())

    run_async(main())
    assert heard[0].startswith("READY=1\nSTATUS=at http://127.0.0.1:")
    assert heard[-1] == "STOPPING=1"
    assert set(heard[1:-1]) == {"WATCHDOG=1"}
    assert environment == {}


@pytest.mark.parametrize(
    ("changes", "alive"),
    [({}, True), ({"WATCHDOG_PID": "1"}, False), ({"WATCHDOG_USEC": "soon"}, False), ({"WATCHDOG_USEC": ""}, False)],
)
def test_it_reports_only_if_it_is_asked_to(listener: Listener, changes: dict[str, str], *, alive: bool) -> None:
    environment = {"NOTIFY_SOCKET": listener.address, "WATCHDOG_USEC": "1000000"} | changes
    manager = service_manager(environment)

    async def main() -> None:
        task = asyncio.create_task(manager.report_alive())
        await asyncio.sleep(0)
        assert task.done() is not alive
        task.cancel()

    run_async(main())
    assert listener.messages() == (["WATCHDOG=1"] if alive else [])


@pytest.mark.parametrize("address", ["", "@", "relative", "vsock:2:1234", "/nowhere/at/all", "/" + "long" * 100])
def test_without_a_service_manager_nothing_happens(address: str) -> None:
    service_manager({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "1"} if address else {}).tell(READY)
    ServiceManager().tell(READY)
