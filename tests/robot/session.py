"""One home with a gate and a console in a terminal, in which many cases run one after the other."""

import http.client
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.demo.sample_service import FILES_CREDENTIAL, MAIL_CREDENTIAL, SampleService
from aileron_tui.files.agent_tokens import read_token
from aileron_tui.files.private_files import private_folder
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.signing import key_store
from aileron_tui.surface.agent_changes import add_agent
from aileron_tui.surface.key_enrolment import changing_keys
from tests.e2e.terminal import environment
from tests.robot import bundle
from tests.robot.case import Call, Case
from tests.robot.eyes import Window
from tests.robot.service import Service

_CLEAN_TRIES: Final = 30
OTHER_AGENT: Final = "claude-laptop"
"""The agent besides `default` that the gate knows."""

_CONFIG: Final = """
[policy]
timeout = 300

[console]
undo_seconds = {undo_seconds}
follow = false
lock_minutes = 0
bell = false
notify = false

[connectors."local://robot/store"]
preview_may_post = true

[connectors."local://robot/post"]
preview_may_post = true

[connectors."local://aileron/mail".credential]
env = "TEST_MAIL_TOKEN"

[connectors."local://aileron/files".credential]
env = "TEST_FILES_KEY"
"""


class Session:
    """A gate, a console and a service. `broken` names a build of the gate that is broken on purpose."""

    def __init__(
        self,
        cases: Iterable[Case],
        broken: str = "",
        *,
        samples: bool = False,
        cache: Path | None = None,
        undo_seconds: int = 0,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="robot-")
        self.home = Path(self._folder.name) / "home"
        self.home.mkdir(mode=0o700)
        self.manifests = self.home / "manifests"
        self.service = Service()
        self.mail = SampleService() if samples else None
        self._cases = tuple(cases)
        self._broken = broken
        self._cache = cache
        self._undo_seconds = undo_seconds
        self._tokens: dict[str, str] = {}

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            opened.callback(self._folder.cleanup)
            self._start(opened)
            self._opened = opened.pop_all()
        return self

    def _start(self, opened: ExitStack) -> None:
        opened.enter_context(self.service)
        (self.home / "config.toml").write_text(_CONFIG.replace("{undo_seconds}", str(self._undo_seconds)))
        if self._cache:
            shutil.copytree(self._cache, self.home / "cache")
        if self.mail:
            opened.enter_context(self.mail)
            materialise(self.manifests, self.mail.port)
            (self.manifests / "suite.toml").unlink()
        else:
            self.manifests.mkdir(mode=0o700)
        bundle.write_connectors(self.manifests, self.service.port)
        actions = [action for case in self._cases for action in case.actions]
        bundle.write_actions(self.manifests, [bundle.READING, *actions], self.service.port)
        self._make_key()
        words = ["gate", "--port", "0", "--manifests", str(self.manifests)]
        program = ["-m", "tests.robot.broken_gate", self._broken] if self._broken else ["-m", "aileron_tui"]
        log = opened.enter_context((self.home / "gate.err").open("w"))
        gate = subprocess.Popen(
            [sys.executable, *program, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env=self.environment,
            text=True,
        )
        opened.callback(gate.communicate)
        opened.callback(gate.kill)
        assert gate.stdout is not None
        line = gate.stdout.readline()
        assert line, (self.home / "gate.err").read_text()
        info = json.loads(line)
        self._address = info["url"].removeprefix("http://")
        self.terminal = opened.enter_context(Window([], self.environment, (80, 24)))
        self.terminal.until(lambda text: "No requests waiting" in text or "nothing waiting" in text)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    @property
    def environment(self) -> dict[str, str]:
        """The environment of gate and console."""
        root = str(Path(__file__).resolve().parents[2])
        credentials = {"TEST_MAIL_TOKEN": MAIL_CREDENTIAL, "TEST_FILES_KEY": FILES_CREDENTIAL}
        return environment(self.home, **credentials) | {"PYTHONPATH": root}

    def is_clean(self) -> bool:
        """Whether nothing waits and no dialog is open, so that another case can start."""
        for _ in range(_CLEAN_TRIES):
            text = self.terminal.still(0.05)
            if "nothing waiting" in text and ("· noth" in text or "nothing to answer" in text):
                return True
        return False

    def call(self, call: Call) -> tuple[int, Any]:
        """Makes an agent's call without waiting for its end; the status and the reply."""
        body = f'{{"args": {call.args}}}'.encode()
        return self._send("POST", f"/v1/actions/{call.action}/run", body, call)

    def hold(self, call: Call) -> http.client.HTTPConnection:
        """Makes an agent's call that waits on its connection; closing the connection withdraws it."""
        connection = http.client.HTTPConnection(self._address, timeout=60)
        headers = self._headers(call) | {"Prefer": "wait=60"}
        connection.request("POST", f"/v1/actions/{call.action}/run", f'{{"args": {call.args}}}'.encode(), headers)
        return connection

    def result(self, id_: str, call: Call, seconds: float = 10.0) -> Any:
        """What the agent is told in the end."""
        end = time.monotonic() + seconds
        while True:
            _, reply = self._send("GET", f"/v1/action-approvals/{id_}/result", None, call)
            if reply.get("status") not in {"pending_approval", "running"} or time.monotonic() > end:
                return reply
            time.sleep(0.02)

    def poll(self, id_: str, call: Call) -> tuple[int, Any]:
        """What the agent is told now."""
        return self._send("GET", f"/v1/action-approvals/{id_}/result", None, call)

    def ask(self, body: dict[str, Any]) -> str:
        """Asks about a tool call without waiting; the id of the request."""
        status, reply = self._send("POST", "/v1/permissions", json.dumps(body).encode(), Call("", ""))
        assert status == 202, reply
        return str(reply["approval_id"])

    def permission(self, id_: str) -> Any:
        """The answer to a tool call, as far as there is one."""
        return self._send("GET", f"/v1/permissions/{id_}", None, Call("", ""))[1]

    def install(self, *actions: bundle.Action) -> None:
        """Replaces manifests while the gate runs."""
        bundle.write_actions(self.manifests, actions, self.service.port)

    def _send(self, method: str, path: str, body: bytes | None, call: Call) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(self._address, timeout=60)
        try:
            connection.request(method, path, body, self._headers(call))
            response = connection.getresponse()
            data = response.read()
            return response.status, json.loads(data) if data else {}
        finally:
            connection.close()

    def _headers(self, call: Call) -> dict[str, str]:
        headers = {
            "Authorization": f"Bearer {self._tokens[call.token]}",
            "Content-Type": "application/json",
            "X-Aileron-Agent": call.agent,
            "X-Aileron-Session-Id": call.session,
            "X-Aileron-Folder": call.folder,
        }
        return {name: value for name, value in headers.items() if value}

    def _make_key(self) -> None:
        made = key_store.create(self.home / "keys", "default", None)
        with changing_keys(private_folder(self.home / "data")) as (ledger, approvers):
            ledger.append(EntryKind.KEY_ENROLLED, approvers.enrolment("default", made.public, insecure=made.insecure))
        with key_store.unlock(self.home / "keys", "default", None) as key:
            for name in ("default", OTHER_AGENT):
                self._tokens[name] = read_token(add_agent(self.home / "data" / LEDGER_FILE, name, key))
