"""The home of a soak: the sample service, a real gate process and an approver's key."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.demo.sample_service import FILES_CREDENTIAL, MAIL_CREDENTIAL, SampleService
from aileron_tui.demo.service_routes import ServiceRequest, ServiceResponse
from aileron_tui.files.agent_tokens import read_token
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.ledger.open_store import open_ledger
from aileron_tui.runtime.gate_discovery import FoundGate, discover
from aileron_tui.signing import key_store
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.surface.agent_changes import add_agent

START_SECONDS: Final = 150.0
STOP_SECONDS: Final = 20.0
RULED_AGENT: Final = "ruled"

_KEY: Final = "operator"
_CONFIG: Final = """
[policy]
timeout = {timeout}
[console]
bell = false
notify = false
lock_minutes = 0
[connectors."local://aileron/mail".credential]
env = "SOAK_MAIL"
[connectors."local://aileron/files".credential]
env = "SOAK_FILES"
"""


class SoakService(SampleService):
    """A service that counts everything that took effect: sends by draft or subject, and changes of files."""

    def __init__(self) -> None:
        super().__init__()
        self.effects: Counter[str] = Counter()
        self._counting = threading.Lock()

    def serve(self, request: ServiceRequest, target: str, credentials: dict[str, str]) -> ServiceResponse | None:
        """Serves a request, and counts it on arrival unless it only reads."""
        if request.method != "GET":
            with self._counting:
                self.effects[_effect(request)] += 1
        return super().serve(request, target, credentials)

    def new_draft(self, text: str) -> str:
        """Creates a draft; returns its id."""
        raw = f"To: team@example.com\r\nSubject: soak\r\n\r\n{text}"
        return str(self.mailbox.create_draft(base64.urlsafe_b64encode(raw.encode()).decode())["id"])


def _effect(request: ServiceRequest) -> str:
    match request.method, request.segments[4:]:
        case "POST", ("drafts", "send"):
            return str(json.loads(request.body)["id"])
        case "POST", ("messages", "send"):
            mail = base64.urlsafe_b64decode(json.loads(request.body)["raw"] + "==").decode()
            subject = next(line for line in mail.split("\r\n") if line.startswith("Subject: "))
            return subject.removeprefix("Subject: ")
    return f"{request.method} {request.segments[-1]}"


class SoakLab:
    """The gate and what is around it."""

    def __init__(self, root: Path, service: SoakService, key: UnlockedKey, *, timeout: int, agents: int) -> None:
        self.home = root / "home"
        self.service = service
        self.key = key
        self.timeout = timeout
        self.environment = {
            **os.environ,
            "AILERON_TUI_HOME": str(self.home),
            "SOAK_MAIL": MAIL_CREDENTIAL,
            "SOAK_FILES": FILES_CREDENTIAL,
        }
        self._manifests = materialise(root / "manifests", service.port)
        config = self.home / "config.toml"
        config.write_text(_CONFIG.format(timeout=timeout), "utf-8")
        config.chmod(0o600)
        with open_ledger(self.ledger, role="test") as ledger:
            ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment(_KEY, key.public))
        names = [RULED_AGENT, *(f"agent-{number}" for number in range(1, agents + 1))]
        self.tokens = {name: read_token(add_agent(self.ledger, name, key)) for name in names}
        self.process = self._start()
        self.found: FoundGate = discover(data=self.data)

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def ledger(self) -> Path:
        return self.data / LEDGER_FILE

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the gate."""
        host, _, port = self.found.url.removeprefix("http://").partition(":")
        return host, int(port)

    def log(self) -> str:
        """The last lines of the gate's log that are not about single HTTP requests."""
        lines = (self.home / "log").read_text("utf-8", "replace").splitlines()
        return "\n".join([line for line in lines if " http " not in line][-25:])

    def _start(self) -> subprocess.Popen[bytes]:
        """Starts the gate in a session of its own, so that ctrl+c reaches only the soak, and waits until it serves."""
        words = [sys.executable, "-m", "aileron_tui", "gate", "--port", "0", "--manifests", str(self._manifests)]
        with (self.home / "log").open("ab") as log:
            process = subprocess.Popen(
                words,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        assert process.stdout
        killer = threading.Timer(START_SECONDS, process.kill)
        killer.start()
        line = process.stdout.readline()
        killer.cancel()
        if not line:
            process.wait()
            raise RuntimeError(f"the gate does not start:\n{self.log()}")
        return process

    def stop(self) -> int | None:
        """Sends SIGTERM; returns the exit code, or None if the gate had to be killed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        finally:
            self.close()

    def close(self) -> None:
        """Ends the gate in any case."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


@contextmanager
def soak_lab(root: Path, cache: Path | None, *, timeout: int, agents: int) -> Iterator[SoakLab]:
    """Yields a lab with a running gate in a folder. `cache` may have the compiled connectors."""
    home = root / "home"
    home.mkdir(0o700, parents=True)
    if cache is not None:
        shutil.copytree(cache, home / "cache")
    key_store.create(home / "keys", _KEY, None)
    with SoakService() as service, key_store.unlock(home / "keys", _KEY, None) as key:
        assert isinstance(service, SoakService)
        lab = SoakLab(root, service, key, timeout=timeout, agents=agents)
        try:
            yield lab
        finally:
            lab.close()
