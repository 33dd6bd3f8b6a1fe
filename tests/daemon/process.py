"""A fake daemon for a test: a process with its own home that can be started and stopped again and again."""

from __future__ import annotations

import http.client
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.daemon.control import HEADER, PATH
from tests.daemon.gotext import Object
from tests.daemon.records import STATE, WITNESS, read_lines

ROOT: Final = Path(__file__).resolve().parents[2]
PATIENCE: Final = 20.0
ONCE: Final = frozenset({"drop_events", "decide_error", "hang_up", "lose_reply", "answers"})
"""Switches that belong to one life: a count that was used up must not come back with a restart."""


class FakeDaemon:
    """A daemon on a home. Starts at once; use it in a `with`, at whose end nothing of it runs any more."""

    def __init__(
        self, home: Path, *, seed: Any = None, dev_seed: Any = None, bind: str = "127.0.0.1:0", **switches: Any
    ) -> None:
        self.home = home
        self.url = ""
        self.token = ""
        self.pid = 0
        self._control = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._switches: Object = {}
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.start(seed=seed, dev_seed=dev_seed, bind=bind, **switches)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        return host, int(port)

    @property
    def file(self) -> Path:
        """Its `daemon.json`."""
        return self.home / STATE / "daemon.json"

    @property
    def headers(self) -> dict[str, str]:
        """What a holder of the master token sends."""
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def environment(self) -> dict[str, str]:
        """What a client needs to find it by its file."""
        return {"HOME": str(self.home)}

    # Life

    def start(
        self, *, seed: Any = None, dev_seed: Any = None, bind: str = "127.0.0.1:0", token: str = "", **switches: Any
    ) -> None:
        """A new life on the same home: new port, new token. Switches stay as they were, but for those given."""
        assert self._process is None, "it runs"
        turned = json.dumps(self._switches | switches)
        self._remember(switches)
        words = ["--home", str(self.home), "--bind", bind, "--token", token, "--switches", turned]
        for flag, content in (("--seed", seed), ("--dev-seed-approvals", dev_seed)):
            if content is not None:
                path = self.home / f"{flag.strip('-')}.json"
                path.write_text(json.dumps(content))
                words += [flag, str(path)]
        with (self.home / "log").open("ab") as log:
            # Its input is a pipe that nobody else holds: it ends with this process, whatever ends this process.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.daemon", "--until-eof", *words],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        said = json.loads(self._ready())
        self.url, self.token, self.pid = said["url"], said["token"], said["pid"]
        self._control = said["control"]

    def stop(self) -> None:
        """A clean stop: `daemon.json` goes away."""
        if self._process is not None:
            self._process.terminate()
            self._gone()

    def end(self) -> None:
        """SIGTERM, without waiting: it listens no more, and streams go on for as long as the switch `linger` says."""
        assert self._process is not None
        self._process.terminate()

    def kill(self) -> None:
        """`kill -9`: `daemon.json` stays and lies."""
        if self._process is not None:
            self._process.kill()
            self._gone()

    def restart(
        self, *, clean: bool = True, same_port: bool = False, same_token: bool = False, **switches: Any
    ) -> None:
        """Down and up again; unless said otherwise with another port and token."""
        bind = self.url.removeprefix("http://") if same_port else "127.0.0.1:0"
        token = self.token if same_token else ""
        if clean:
            self.stop()
        else:
            self.kill()
        self.start(bind=bind, token=token, **switches)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    # Turning it

    def register(self, kind: str = "action", **fields: Any) -> str:
        """One request; gives its id. Fields not given are those of the sample of its kind."""
        return self.register_many(1, kind, **fields)[0]

    def register_many(self, count: int, kind: str = "action", *, burst: bool = False, **fields: Any) -> list[str]:
        """Several alike, oldest first; in a burst the streams cannot keep up with them."""
        ids: list[str] = self.control("register", kind=kind, count=count, burst=burst, **fields)
        return ids

    def switch(self, **changes: Any) -> None:
        """Turns switches; they stay turned over a restart, but for counts and laid answers."""
        self.control("switch", **changes)
        self._remember(changes)

    def reset(self) -> None:
        """All switches as at first."""
        self.control("reset")
        self._switches = {}

    def resolve(
        self,
        id_: str,
        *,
        approved: bool = True,
        reason: str = "",
        payload: Object | None = None,
        silently: bool = False,
    ) -> None:
        """Somebody else decides; silently without telling the streams."""
        self.control("resolve", id_=id_, approved=approved, reason=reason, payload=payload, silently=silently)

    def forget(self, *ids: str) -> None:
        """Requests are gone without a trace and without an event; all of them if none is named."""
        self.control("forget", ids=list(ids))

    def finish(self, id_: str, outcome: str = "completed", **said: Any) -> None:
        """Ends a run; `said` are result, failure or error_message."""
        self.control("finish", id_=id_, outcome=outcome, **said)

    def event(self, name: str, data: Object) -> None:
        """Sends an event of any name to all streams."""
        self.control("event", name=name, data=data)

    def frame(self, text: str) -> None:
        """Sends any text to all streams."""
        self.control("frame", text=text)

    def disconnect(self, *, clean: bool = False) -> int:
        """Ends all streams, cut off or cleanly; gives how many there were."""
        count: int = self.control("disconnect", clean=clean)
        return count

    def session(self, id_: str, agent: str = "claude", working_dir: str = "/src", **more: Any) -> None:
        """One session more."""
        started = "2026-05-12T12:10:00+02:00"
        self.control("session", id=id_, started_at=started, agent=agent, working_dir=working_dir, **more)

    def action(self, **action: Any) -> None:
        """Adds an action in the API's JSON; `label` and `multiline` of its inputs are used for `input_fields`."""
        self.control("action", **action)

    def caveat(self, session: str = "s-1", capabilities: tuple[str, ...] = ("actions:list", "approvals:poll")) -> str:
        """The token of a session's agent."""
        token: str = self.control("caveat", session=session, capabilities=list(capabilities))
        return token

    # Looking at it

    def pending(self) -> list[str]:
        """Ids of what waits, oldest first."""
        ids: list[str] = self.control("pending")
        return ids

    def entry(self, id_: str) -> Object:
        """Everything the daemon knows about a request."""
        entry: Object = self.control("entry", id_=id_)
        return entry

    def decisions(self, id_: str | None = None) -> list[Object]:
        """Each decide call in order, of one request or of all: id, body (text as it came), said (the body read,
        or None), applied, status. Includes those before a restart."""
        found = [dict(line) for line in self._witnessed("decision", id_)]
        for one in found:
            try:
                one["said"] = json.loads(one["body"])
            except ValueError:
                one["said"] = None
        return found

    def effects(self, id_: str | None = None) -> list[Object]:
        """Each thing that happened because of an approval: id, kind, and args (what took effect) or, for a shell,
        decision. Includes those before a restart."""
        return self._witnessed("effect", id_)

    def headers_sent(self) -> list[Object]:
        """The headers that agents gave with their http requests, in order."""
        return [line["headers"] for line in self._witnessed("headers", None)]

    def counters(self) -> dict[str, int]:
        """watchers (open streams), streams (ever opened), dropped (events nobody or somebody did not get), unlocks."""
        found: dict[str, int] = self.control("counters")
        return found

    def asked(self, route: str = "") -> list[Object]:
        """Every API request of this life in order, or those of a route: method, target, route."""
        found: list[Object] = self.control("asked")
        return [one for one in found if not route or one["route"] == route]

    def forget_asked(self) -> None:
        """Begins a new list of requests: a test that polls a long one spends seconds on it."""
        self.control("forget_asked")

    def wait_for_watchers(self, count: int = 1) -> None:
        """Until exactly so many streams are open."""
        self.wait_until(lambda: self.counters()["watchers"] == count)

    @staticmethod
    def wait_until(true: Callable[[], bool]) -> None:
        """Until something holds."""
        deadline = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < deadline, "it never came true"
            time.sleep(0.005)

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """The API with the master token; `body` is JSON, or bytes as they are. Gives status and JSON, or text."""
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection = http.client.HTTPConnection(*self.address, timeout=PATIENCE)
        try:
            connection.request(method, path, content, {**self.headers, **(headers or {})})
            response = connection.getresponse()
            data = response.read()
        finally:
            connection.close()
        if response.headers.get_content_type() == "application/json" and data:
            return response.status, json.loads(data)
        return response.status, data.decode("utf-8", "replace")

    def decide(self, id_: str, **body: Any) -> tuple[int, Any]:
        """A decision over the API, as any client sends it."""
        return self.ask("POST", f"/v1/action-approvals/{id_}/decide", body)

    def result(self, id_: str) -> Any:
        """The result that the agent gets."""
        return self.ask("GET", f"/v1/action-approvals/{id_}/result")[1]

    def items(self) -> list[Any]:
        """The list over the API."""
        items: list[Any] = self.ask("GET", "/v1/action-approvals")[1]["items"]
        return items

    def control(self, do: str, **order: Any) -> Any:
        """The side door: see `control.py`."""
        assert self._process is not None, "it does not run"
        status, said = self.ask("POST", PATH, {"do": do, **order}, {HEADER: self._control})
        assert status == 200, said
        return said["done"]

    def _remember(self, switches: Object) -> None:
        self._switches |= {name: value for name, value in switches.items() if name not in ONCE}

    def _witnessed(self, what: str, id_: str | None) -> list[Object]:
        lines = read_lines(self.home / WITNESS)
        return [line for line in lines if line["what"] == what and id_ in (None, line["id"])]

    def _ready(self) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        output = self._process.stdout.fileno()
        line = b""
        while not line.endswith(b"\n"):
            chunk = os.read(output, 4096) if select.select([output], [], [], PATIENCE)[0] else b""
            if not chunk:
                self.kill()
                raise AssertionError(f"the daemon did not start: {(self.home / 'log').read_text()}")
            line += chunk
        return line

    def _gone(self) -> None:
        assert self._process is not None
        self._process.communicate(timeout=PATIENCE)
        self._process = None
