"""A gate as a process of its own, started fast and often: a nursery has imported everything and forks each one.

The child runs the real command; what a test adds to it is only the point at which it kills itself.
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
from aileron_tui.runtime.request_reader import read_item
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.session_proof import session_proof

ROOT: Final = Path(__file__).resolve().parents[2]
PATIENCE: Final = 30.0
COMPILING: Final = 150.0

_PR_SET_PDEATHSIG: Final = 1


class Dead(Exception):
    """The gate was gone before it answered."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a gate is and how its agents get in."""

    host: str
    port: int
    instance: str
    token: str


class Process:
    """One life of a gate. Its end is noticed at once: the pipe it writes to has no other writer."""

    def __init__(self, pid: int, output: int) -> None:
        self.pid = pid
        self._output = output
        self._dead = False

    def ready(self) -> Place | None:
        """Where it is, as soon as it says so; None if it died first."""
        line = b""
        while not line.endswith(b"\n"):
            chunk = self._read(COMPILING)
            if not chunk:
                return None
            line += chunk
        said = json.loads(line)
        host, port = said["url"].removeprefix("http://").split(":")
        try:
            token = Path(said["agent_token_file"]).read_text("ascii").strip()
        except FileNotFoundError:  # it was stopped meanwhile
            return None
        return Place(host, int(port), said["instance"], token)

    def kill(self) -> None:
        """`kill -9`, and waits until it is gone."""
        self.signal(signal.SIGKILL)
        self.wait()

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal, unless it is gone."""
        if not self._dead:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return

    def wait(self, seconds: float = PATIENCE) -> None:
        """Waits until it is gone."""
        deadline = time.monotonic() + seconds
        while not self._dead:
            self._read(max(0.0, deadline - time.monotonic()))

    def memory(self) -> int:
        """Its resident memory in bytes."""
        pages = Path(f"/proc/{self.pid}/statm").read_text("ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def _read(self, seconds: float) -> bytes:
        if self._dead:
            return b""
        if not select.select([self._output], [], [], seconds)[0]:
            raise AssertionError("the gate neither spoke nor ended")
        chunk = os.read(self._output, 65536)
        if not chunk:
            self._dead = True
            os.close(self._output)
        return chunk


class Nursery:
    """Starts gates. All of them end with it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._line, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.gate.process", str(theirs.fileno())],
                cwd=ROOT,
                env={**os.environ, **environment},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def start(self, home: Path, manifests: Path, kill: str = "") -> Process:
        """A gate of this home. `kill` names the point of its own death, as `Point` reads it."""
        order = {"home": str(home), "words": ["gate", "--port", "0", "--manifests", str(manifests)], "kill": kill}
        mine, theirs = os.pipe()
        log = os.open(home / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            socket.send_fds(self._line, [json.dumps(order).encode()], [theirs, log])
        finally:
            os.close(theirs)
            os.close(log)
        return Process(int(self._line.recv(64)), mine)

    def close(self) -> None:
        """Ends it and every gate that it started."""
        self._line.close()
        self._process.wait(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Point:
    """The point at which a gate kills itself: before or after the n-th call of something it does.

    Written as `ledger:op.executed:before:1`, where the second part is a kind of entry or `*`; or with `outbox` or
    `sandbox` and the name of a method.
    """

    where: str
    what: str
    phase: str
    number: int

    @classmethod
    def read(cls, text: str) -> Point:
        where, what, phase, number = text.split(":")
        return cls(where, what, phase, int(number))

    def install(self) -> None:
        """Lays the point into this process."""
        from aileron_tui.ledger.sqlite.results import SqliteResults  # noqa: PLC0415
        from aileron_tui.ledger.sqlite.writer import SqliteLedger  # noqa: PLC0415
        from aileron_tui.sandbox.sandbox import Sandbox  # noqa: PLC0415

        owner: type
        owner, name = {
            "ledger": (SqliteLedger, "append_all"),
            "outbox": (SqliteResults, self.what),
            "sandbox": (Sandbox, self.what),
        }[self.where]
        met = 0
        original: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(original)
        def watched(this: Any, *values: Any) -> Any:
            nonlocal met
            hit = self.where != "ledger" or self.what == "*" or any(draft.kind == self.what for draft in values[0])
            met += hit
            due = hit and met == self.number
            if due and self.phase == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = original(this, *values)
            if due:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        setattr(owner, name, watched)


class Caller:
    """One connection to a gate."""

    def __init__(self, place: Place, token: str = "") -> None:
        self.place = place
        self.token = token
        self._connection = http.client.HTTPConnection(place.host, place.port, timeout=PATIENCE)

    def ask(
        self, method: str, path: str, body: Json = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Status and JSON of an answer, or Dead."""
        self.send(method, path, body, headers)
        try:
            response = self._connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise Dead(f"{method} {path}") from error
        return response.status, json.loads(data) if data else {}

    def send(self, method: str, path: str, body: Json, headers: Mapping[str, str] | None) -> None:
        """Asks, without waiting for the answer."""
        sent = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            sent["Content-Type"] = "application/json"
        try:
            self._connection.request(method, path, content, sent)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise Dead(f"{method} {path}") from error

    def hang_up(self) -> None:
        """Closes the connection, whatever it waits for."""
        self._connection.close()


class Agent(Caller):
    """An agent with a name of its own."""

    def __init__(self, place: Place, name: str) -> None:
        super().__init__(place, place.token)
        self._name = {"X-Aileron-Agent": name}

    def run(self, action: str, args: JsonObject) -> tuple[int, Any]:
        return self.ask("POST", f"/v1/actions/{action}/run", {"args": args}, self._name)

    def send_run(self, action: str, args: JsonObject, wait: int) -> None:
        """Calls and does not read the answer, which may take that many seconds."""
        self.send("POST", f"/v1/actions/{action}/run", {"args": args}, {**self._name, "Prefer": f"wait={wait}"})

    def result(self, id_: str) -> tuple[int, Any]:
        return self.ask("GET", f"/v1/action-approvals/{id_}/result")


class Approver(Caller):
    """The holder of an enrolled key."""

    def __init__(self, place: Place, key: UnlockedKey) -> None:
        super().__init__(place)
        self._key = key
        asked = self.ask("POST", "/v1/approver/challenge", {})[1]
        challenge = asked["challenge"]
        proof = b64encode(key.sign(session_proof(challenge, place.instance, asked["ledger"]))).decode()
        body: JsonObject = {"challenge": challenge, "keyid": key.public.fingerprint, "signature": proof}
        status, said = self.ask("POST", "/v1/approver/session", body)
        assert status == 200, said
        self.token = said["token"]

    def waiting(self) -> list[Any]:
        items: list[Any] = self.ask("GET", "/v1/action-approvals")[1]["items"]
        return items

    def item(self, id_: str) -> Any:
        """A request once its preview is there."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            status, item = self.ask("GET", f"/v1/action-approvals/{id_}")
            assert status == 200, item
            if item["preview_state"] != "fetching":
                return item
            time.sleep(0.002)
        raise AssertionError(f"the preview of {id_} did not come")

    def decide(self, item: Any, verdict: Verdict) -> tuple[int, Any]:
        return self.ask("POST", f"/v1/action-approvals/{item['id']}/decide", decision(item, verdict, self._key))


def decision(item: Any, verdict: Verdict, key: UnlockedKey) -> JsonObject:
    """The signed answer to what an item shows."""
    statement = read_item(item).statement(verdict, surface="console", now=datetime.now(UTC))
    return {"approved": verdict is Verdict.APPROVE, "envelope": sign(statement, key).fields()}


def _nurse(line: socket.socket) -> None:
    from aileron_tui.cli import main  # noqa: PLC0415  # what every child needs
    from aileron_tui.cli.commands import gate  # noqa: PLC0415

    del gate
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead are not waited for
    while True:
        message, descriptors, _, _ = socket.recv_fds(line, 65536, 2)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            _live(json.loads(message), descriptors, main)
        for descriptor in descriptors:
            os.close(descriptor)
        line.send(str(pid).encode())


def _live(order: Any, descriptors: list[int], main: Callable[[list[str]], int]) -> NoReturn:
    """What a child does: nothing but the command, after laying the point of its death."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for descriptor, standard in zip(descriptors, (1, 2), strict=True):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    # New ones: the old ones remember what kind of file they were on.
    sys.stdout, sys.stderr = os.fdopen(1, "w", encoding="utf-8"), os.fdopen(2, "w", encoding="utf-8", buffering=1)
    os.environ["AILERON_TUI_HOME"] = order["home"]
    if order["kill"]:
        Point.read(order["kill"]).install()
    code = 1
    try:
        code = main(order["words"])
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _nurse(socket.socket(fileno=int(sys.argv[1])))
