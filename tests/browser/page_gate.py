"""A gate with its page in this process, an agent that asks, and an operator at the terminal who opens the page."""

import base64
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.files.config import Config, Policy
from aileron_tui.files.private_files import private_folder
from aileron_tui.gate.gate_state import GateSetup
from aileron_tui.gate.server import ListenAddress
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.full_check import audit
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.page.offer import make_page
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.signing.recorded_signers import RecordedSigners
from aileron_tui.signing.security_key import SecurityKey
from aileron_tui.surface.agent_changes import add_agent
from aileron_tui.surface.embedded_gate import EmbeddedGate
from aileron_tui.surface.key_enrolment import enroll_signed, enrolled, revoke_signed


@dataclass
class PageGate:
    """A gate that can be stopped and started again at the same port."""

    root: Path
    key: UnlockedKey
    token: str
    port: int = 0
    _stack: ExitStack = field(default_factory=ExitStack)

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def origin(self) -> str:
        return f"http://localhost:{self.port}"

    def start(self) -> None:
        setup = GateSetup(
            self.data, self.root / "manifests", Config(Policy(timeout=120, asks_per_10_minutes=0)), self.root / "cache"
        )
        address = ListenAddress(port=self.port)
        gate = self._stack.enter_context(EmbeddedGate(setup, address, page=make_page))
        self.approver = self._stack.enter_context(ApproverClient(gate.found, self.key))
        self.agent = self._stack.enter_context(
            httpx.Client(base_url=gate.found.url, headers={"Authorization": f"Bearer {self.token}"})
        )
        self.port = httpx.URL(gate.found.url).port or 0

    def stop(self) -> None:
        self._stack.close()

    # the operator at the terminal

    def code(self, **enrolment: str) -> JsonObject:
        """A code that opens the page, or one to enrol a passkey under a name."""
        purpose = "enroll" if enrolment else "open"
        return self.approver._ask("POST", "/v1/page/codes", {"purpose": purpose, **enrolment})

    def url(self) -> str:
        return str(self.code()["url"])

    def accept(self, enrolment: str, name: str) -> None:
        """Signs for what was registered on the page, as `key security-key add` does."""
        found: dict[str, Any] = self.approver._ask("GET", f"/v1/page/enrolments/{enrolment}")
        assert found["status"] == "registered", found
        credential, spki = (base64.b64decode(found[part]) for part in ("credential", "spki"))
        public = SecurityKey(credential, found["algorithm"], spki)
        eligible = bool(found["backup_eligible"])
        enroll_signed(self.data, name, public, self.key, backup_eligible=eligible, added_on="page")

    def remove(self, name: str) -> None:
        """Revokes a passkey."""
        revoke_signed(self.data, name, self.key)

    # the agent

    def ask(self, command: str = "make test", **more: Any) -> str:
        """Asks about a shell command; returns the id of the request."""
        body = {"tool": "Bash", "input": {"command": command}, "folder": "/tmp", "session": "s-1", "door": "claude"}
        reply = self.agent.post("/v1/permissions", json=body | more)
        assert reply.status_code == 202, reply.text
        return str(reply.json()["approval_id"])

    def told(self, id_: str) -> dict[str, Any]:
        """What the agent is told about its call."""
        reply: dict[str, Any] = self.agent.get(f"/v1/permissions/{id_}").json()
        return reply

    # the ledger

    def record(self, id_: str) -> HistoryRecord:
        with open_reader(self.data / FILE) as reader:
            found = reader.find(id_)
        assert found is not None
        return found

    def entries(self, id_: str) -> list[tuple[str, JsonObject]]:
        with open_reader(self.data / FILE) as reader:
            return [(entry.kind, entry.body) for entry in reader.of_request(id_)]

    def problem(self) -> str:
        """What `history verify` finds, "" if nothing."""
        with open_reader(self.data / FILE) as reader:
            fault = audit(reader, RecordedSigners()).fault
        return str(fault) if fault else ""


@contextmanager
def page_gate(root: Path) -> Iterator[PageGate]:
    """A running gate with one agent and one key."""
    with ExitStack() as stack:
        key = stack.enter_context(for_this_run("operator"))
        (root / "manifests").mkdir(parents=True)
        data = private_folder(root / "data")
        private_folder(root / "cache")
        stack.enter_context(enrolled(data, key))
        token = add_agent(data / FILE, "laptop-claude", key).read_text().strip()
        gate = PageGate(root, key, token)
        gate.start()
        stack.callback(gate.stop)
        yield gate
