"""Runs gates as separate processes, started quickly by a fork server that has already imported everything.

Each child runs the real command; tests only add the point at which it kills itself.
"""

from __future__ import annotations

import ctypes
import functools
import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NoReturn, Self

from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.runtime.request_reader import read_gate_request
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.session_proof import session_proof

ROOT: Final = Path(__file__).resolve().parents[2]
TIMEOUT: Final = 30.0
START_TIMEOUT: Final = 150.0

_PR_SET_PDEATHSIG: Final = 1


class GateDied(Exception):
    """The gate died before it responded."""


@dataclass(frozen=True, slots=True)
class GateAddress:
    """The address of a gate and the token for its agents."""

    host: str
    port: int
    instance: str
    token: str


class GateProcess:
    """One gate process. Its end is noticed at once, because it is the only writer of its pipe."""

    def __init__(self, pid: int, output: int) -> None:
        self.pid = pid
        self._output = output
        self._dead = False

    def ready(self, seconds: float = START_TIMEOUT) -> GateAddress | None:
        """Waits for the address of the gate; returns None if it died first."""
        line = b""
        while not line.endswith(b"\n"):
            chunk = self._read(seconds)
            if not chunk:
                return None
            line += chunk
        info = json.loads(line)
        host, port = info["url"].removeprefix("http://").split(":")
        try:
            token = Path(info["agent_token_file"]).read_text("ascii").strip()
        except FileNotFoundError:  # it was stopped in the meantime
            return None
        return GateAddress(host, int(port), info["instance"], token)

    def kill(self) -> None:
        """Kills the gate with `kill -9` and waits for its end."""
        self.signal(signal.SIGKILL)
        self.wait()

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal, unless the gate has ended."""
        if not self._dead:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return

    def wait(self, seconds: float = TIMEOUT) -> None:
        """Waits for the end of the gate."""
        deadline = time.monotonic() + seconds
        while not self._dead:
            self._read(max(0.0, deadline - time.monotonic()))

    def memory(self) -> int:
        """Returns its resident memory in bytes."""
        pages = Path(f"/proc/{self.pid}/statm").read_text("ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def _read(self, seconds: float) -> bytes:
        if self._dead:
            return b""
        if not select.select([self._output], [], [], seconds)[0]:
            raise AssertionError("the gate neither wrote output nor ended")
        chunk = os.read(self._output, 65536)
        if not chunk:
            self._dead = True
            os.close(self._output)
        return chunk


class ForkServer:
    """Starts gates. All of them end with the fork server."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.gate.gate_process", str(theirs.fileno())],
                cwd=ROOT,
                env={**os.environ, **environment},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def start(self, home: Path, manifests: Path, kill: str = "") -> GateProcess:
        """Starts a gate on this home; `kill` is a `CrashPoint` at which it kills itself."""
        command = {"home": str(home), "words": ["gate", "--port", "0", "--manifests", str(manifests)], "kill": kill}
        mine, theirs = os.pipe()
        log = os.open(home / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            socket.send_fds(self._control, [json.dumps(command).encode()], [theirs, log])
        finally:
            os.close(theirs)
            os.close(log)
        return GateProcess(int(self._control.recv(64)), mine)

    def close(self) -> None:
        """Stops the fork server and all gates it started."""
        self._control.close()
        self._process.wait(TIMEOUT)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """The point at which a gate kills itself: before or after the n-th call of a method.

    Written as `ledger:op.executed:before:1`, where the second part is an entry kind or `*`, or with `outbox` or
    `sandbox` and a method name.
    """

    where: str
    what: str
    phase: str
    number: int

    @classmethod
    def read(cls, text: str) -> CrashPoint:
        where, what, phase, number = text.split(":")
        return cls(where, what, phase, int(number))

    def install(self) -> None:
        """Installs the crash point in this process."""
        from aileron_tui.ledger.sqlite.result_store import SqliteResults  # noqa: PLC0415
        from aileron_tui.ledger.sqlite.writer import SqliteLedger  # noqa: PLC0415
        from aileron_tui.sandbox.sandbox import Sandbox  # noqa: PLC0415

        owner: type
        owner, name = {
            "ledger": (SqliteLedger, "append_all"),
            "outbox": (SqliteResults, self.what),
            "sandbox": (Sandbox, self.what),
        }[self.where]
        hits = 0
        original: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(original)
        def crashing(this: Any, *values: Any) -> Any:
            nonlocal hits
            hit = self.where != "ledger" or self.what == "*" or any(draft.kind == self.what for draft in values[0])
            hits += hit
            due = hit and hits == self.number
            if due and self.phase == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = original(this, *values)
            if due:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        setattr(owner, name, crashing)


class Client:
    """One connection to a gate."""

    def __init__(self, address: GateAddress, token: str = "") -> None:
        self.address = address
        self.token = token
        self._connection = http.client.HTTPConnection(address.host, address.port, timeout=TIMEOUT)

    def ask(
        self, method: str, path: str, body: Json = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Returns the status and JSON of a response; raises GateDied."""
        self.send(method, path, body, headers)
        try:
            response = self._connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise GateDied(f"{method} {path}") from error
        return response.status, json.loads(data) if data else {}

    def send(self, method: str, path: str, body: Json, headers: Mapping[str, str] | None) -> None:
        """Sends a request without waiting for the response."""
        sent = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            sent["Content-Type"] = "application/json"
        try:
            self._connection.request(method, path, content, sent)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise GateDied(f"{method} {path}") from error

    def close(self) -> None:
        """Closes the connection, even while waiting for a response."""
        self._connection.close()


class Agent(Client):
    """A client with the agent token and an agent name."""

    def __init__(self, address: GateAddress, name: str) -> None:
        super().__init__(address, address.token)
        self._name = {"X-Aileron-Agent": name}

    def run(self, action: str, args: JsonObject) -> tuple[int, Any]:
        return self.ask("POST", f"/v1/actions/{action}/run", {"args": args}, self._name)

    def send_run(self, action: str, args: JsonObject, wait: int) -> None:
        """Calls an action with `Prefer: wait`, without reading the response."""
        self.send("POST", f"/v1/actions/{action}/run", {"args": args}, {**self._name, "Prefer": f"wait={wait}"})

    def result(self, id_: str) -> tuple[int, Any]:
        return self.ask("GET", f"/v1/action-approvals/{id_}/result")


class Approver(Client):
    """A client with an approver session."""

    def __init__(self, address: GateAddress, key: UnlockedKey) -> None:
        super().__init__(address)
        self._key = key
        asked = self.ask("POST", "/v1/approver/challenge", {})[1]
        challenge = asked["challenge"]
        proof = b64encode(key.sign(session_proof(challenge, address.instance, asked["ledger"]))).decode()
        body: JsonObject = {"challenge": challenge, "keyid": key.public.fingerprint, "signature": proof}
        status, reply = self.ask("POST", "/v1/approver/session", body)
        assert status == 200, reply
        self.token = reply["token"]

    def waiting(self) -> list[Any]:
        items: list[Any] = self.ask("GET", "/v1/action-approvals")[1]["items"]
        return items

    def previewed_request(self, id_: str) -> Any:
        """Returns a request once its preview has been fetched."""
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            status, item = self.ask("GET", f"/v1/action-approvals/{id_}")
            assert status == 200, item
            if item["preview_state"] != "fetching":
                return item
            time.sleep(0.002)
        raise AssertionError(f"the preview of {id_} was not fetched")

    def decide(self, item: Any, verdict: Verdict) -> tuple[int, Any]:
        return self.ask("POST", f"/v1/action-approvals/{item['id']}/decide", decision(item, verdict, self._key))

    def extend(self, item: Any) -> tuple[int, Any]:
        extension = read_gate_request(item).extension(surface="console", now=datetime.now(UTC))
        body: JsonObject = {"envelope": sign(extension, self._key).fields()}
        return self.ask("POST", f"/v1/action-approvals/{item['id']}/extend", body)


def decision(item: Any, verdict: Verdict, key: UnlockedKey) -> JsonObject:
    """Returns the body of a signed decision."""
    statement = read_gate_request(item).statement(verdict, surface="console", now=datetime.now(UTC))
    return {"approved": verdict is Verdict.APPROVE, "envelope": sign(statement, key).fields()}


def _serve_forks(control: socket.socket) -> None:
    from aileron_tui.cli import main  # noqa: PLC0415  # imported once for all children
    from aileron_tui.cli.commands import gate  # noqa: PLC0415

    del gate
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are not waited for
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 65536, 2)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            _run_child(json.loads(message), descriptors, main)
        for descriptor in descriptors:
            os.close(descriptor)
        control.send(str(pid).encode())


def _run_child(command: Any, descriptors: list[int], main: Callable[[list[str]], int]) -> NoReturn:
    """Runs the command in a child process, after installing its crash point."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for descriptor, standard in zip(descriptors, (1, 2), strict=True):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    # New objects, because the old ones have cached the type of their file.
    sys.stdout, sys.stderr = os.fdopen(1, "w", encoding="utf-8"), os.fdopen(2, "w", encoding="utf-8", buffering=1)
    os.environ["AILERON_TUI_HOME"] = command["home"]
    if command["kill"]:
        CrashPoint.read(command["kill"]).install()
    code = 1
    try:
        code = main(command["words"])
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve_forks(socket.socket(fileno=int(sys.argv[1])))
