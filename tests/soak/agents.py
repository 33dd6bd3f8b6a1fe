"""The agents of a soak: each call is made as an agent makes it, over HTTP, and its end is compared with its case."""

from __future__ import annotations

import http.client
import json
import queue
import random
import threading
import time
from typing import Any, Final

from aileron_tui.core.jsontext import Json
from tests.soak.cases import RULED, SENDS, TOOLS, Case
from tests.soak.journal import RESULT, Call, Journal
from tests.soak.lab import RULED_AGENT, SoakLab

WAIT: Final = 60
"""Seconds that an agent waits for an answer."""

RULED_FILE: Final = "f-1001"
DENIED_FILE: Final = "f-1002"
LARGE_TEXT: Final = 48 * 1024
LARGE_INPUT: Final = 192 * 1024

_RULED_CALLS: Final = threading.Lock()
"""One at a time, because identical calls at the same time are one request."""

_PATH: Final = "/v1/actions/{}/run"


class Connection:
    """One connection of an agent, used for one call and then closed."""

    def __init__(self, lab: SoakLab, agent: str, seconds: float = WAIT + 30.0) -> None:
        self._http = http.client.HTTPConnection(*lab.address, timeout=seconds)
        self._headers = {"Authorization": f"Bearer {lab.tokens[agent]}", "X-Aileron-Agent": "soak"}

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def send(self, method: str, path: str, body: Json = None, wait: int = 0) -> None:
        """Sends a request without reading the reply."""
        headers = dict(self._headers)
        if wait:
            headers["Prefer"] = f"wait={wait}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        self._http.request(method, path, None if body is None else json.dumps(body).encode(), headers)

    def ask(self, method: str, path: str, body: Json = None, wait: int = 0) -> tuple[int, Any]:
        """Returns the status and JSON of the reply."""
        self.send(method, path, body, wait)
        response = self._http.getresponse()
        data = response.read()
        return response.status, json.loads(data) if data else {}


class Unexpected(Exception):
    """A call did not end as its case says."""


class AgentWorker(threading.Thread):
    """Makes one call after another from a queue, until it finds None there."""

    def __init__(self, lab: SoakLab, journal: Journal, calls: queue.Queue[Call | None], seed: int) -> None:
        super().__init__(name=f"agent worker {seed}", daemon=True)
        self._lab = lab
        self._journal = journal
        self._calls = calls
        self._random = random.Random(seed)

    def run(self) -> None:
        while (call := self._calls.get()) is not None:
            self._journal.count(call.case)
            call.began = time.monotonic()
            try:
                call.ended = self._make(call)
            except (Unexpected, OSError, http.client.HTTPException, ValueError, KeyError) as error:
                self._journal.violation(f"a call that should be “{call.case}” ({call.marker}): {error!r}")
            self._lab.service.mailbox.delete_draft(call.marker)  # if it was not sent, so that the list does not grow
            if call.case in SENDS | {Case.DENIED, Case.TOOL_APPROVED, Case.TOOL_DENIED, Case.HOOK} and call.decided_at:
                self._journal.measured(RESULT, call.decided_at)

    def _make(self, call: Call) -> str:
        if call.case is Case.UNGATED:
            return self._ungated(call)
        if call.case in RULED:
            return self._ruled(call)
        if call.case is Case.HOOK:
            return self._hook(call)
        if call.case in TOOLS:
            return self._tool(call)
        if call.case is Case.LEFT:
            return self._left(call)
        with Connection(self._lab, call.agent, self._lab.timeout + WAIT + 30.0) as connection:
            return self._gated(call, connection)

    def _gated(self, call: Call, connection: Connection) -> str:
        name, body = self._action(call)
        held = call.case in (Case.APPROVED, Case.DENIED) and self._random.random() < 0.5
        if held:
            call.may_decide.set()
            status, reply = connection.ask("POST", _PATH.format(name), body, WAIT)
            return self._expect(call, status, reply)
        status, reply = connection.ask("POST", _PATH.format(name), body)
        if status != 202:
            raise Unexpected(f"{status} {reply}")
        call.id = str(reply["approval_id"])
        result = f"/v1/action-approvals/{call.id}/result"
        if call.case is Case.JOINED:
            status, reply = connection.ask("POST", _PATH.format(name), body)
            if (status, reply.get("approval_id")) != (202, call.id):
                raise Unexpected(f"the same call again gets {status} {reply}, not {call.id}")
        if call.case is Case.WITHDRAWN:
            time.sleep(self._random.uniform(0.0, 0.5))
            status, reply = connection.ask("DELETE", f"/v1/action-approvals/{call.id}")
            if status != 204:
                raise Unexpected(f"{status} {reply}")
        call.may_decide.set()
        wait = self._lab.timeout + WAIT if call.case is Case.EXPIRED else WAIT
        return self._expect(call, *connection.ask("GET", result, wait=wait))

    def _action(self, call: Call) -> tuple[str, Json]:
        if call.case is Case.LARGE_CALL:
            text = "A line of a long mail, as long as lines are.\n" * (LARGE_INPUT // 45)
            return "send-mail", {"args": {"to": "team@example.com", "subject": call.marker, "body": text}}
        return "send-draft", {"args": {"draft_id": call.marker}}

    def _expect(self, call: Call, status: int, reply: Any) -> str:
        """Checks the end of a call; returns what the agent was told."""
        told = str(reply.get("status"))
        if told == "failed":
            told = str(reply["failure"]["error"]["class"])
        wanted = {
            Case.DENIED: "denied",
            Case.EXPIRED: "approval_timeout",
            Case.WITHDRAWN: "withdrawn",
            Case.RULE_DENIED: "denied",
        }.get(call.case, "completed")
        if status != 200 or told != wanted:
            raise Unexpected(f"expected {wanted}, got {status} {str(reply)[:300]}")
        return told

    def _ungated(self, call: Call) -> str:
        reads: tuple[tuple[str, dict[str, Json]], ...] = (
            ("list-drafts", {"limit": 20}),
            ("get-file", {"file_id": RULED_FILE}),
        )
        name, args = self._random.choice(reads)
        with Connection(self._lab, call.agent) as connection:
            status, reply = connection.ask("POST", _PATH.format(name), {"args": args})
        if status != 200 or "result" not in reply:
            raise Unexpected(f"{status} {str(reply)[:300]}")
        self._journal.ran(str(reply["audit_id"]).removeprefix("audit-"))
        return "completed"

    def _ruled(self, call: Call) -> str:
        name, args = ruled_call(call.case)
        with _RULED_CALLS, Connection(self._lab, RULED_AGENT) as connection:
            status, reply = connection.ask("POST", _PATH.format(name), {"args": args}, WAIT)
        return self._expect(call, status, reply)

    def _left(self, call: Call) -> str:
        """Calls, waits until the operator has the request, and disconnects."""
        with Connection(self._lab, call.agent) as connection:
            connection.send("POST", _PATH.format("send-draft"), {"args": {"draft_id": call.marker}}, WAIT)
            if not call.pending.wait(WAIT):
                raise Unexpected("the operator never got the request")
        return "left"

    def _tool(self, call: Call) -> str:
        body: Json = {
            "tool": "Bash",
            "input": {"command": f"make {call.marker}"},
            "session": f"{call.agent}-session",
            "call_id": call.marker,
        }
        call.may_decide.set()
        with Connection(self._lab, call.agent) as connection:
            status, reply = connection.ask("POST", "/v1/permissions", body, WAIT)
            wanted = "allowed" if call.case is Case.TOOL_APPROVED else "denied"
            if (status, reply.get("status")) != (200, wanted):
                raise Unexpected(f"expected {wanted}, got {status} {str(reply)[:300]}")
            call.id = str(reply["approval_id"])
            if wanted == "allowed":
                status, reply = connection.ask("POST", f"/v1/permissions/{call.id}/outcome", {"status": "executed"})
                if status != 200:
                    raise Unexpected(f"the outcome gets {status} {reply}")
        return wanted

    def _hook(self, call: Call) -> str:
        event: dict[str, Json] = {
            "session_id": f"{call.agent}-hooks",
            "cwd": "/tmp",
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": f"make {call.marker}"},
            "tool_use_id": call.marker,
        }
        call.may_decide.set()
        with Connection(self._lab, call.agent) as connection:
            status, reply = connection.ask("POST", f"/hooks/claude?timeout={WAIT}", event)
            said = reply.get("hookSpecificOutput", {}).get("permissionDecision")
            if (status, said) != (200, "allow"):
                raise Unexpected(f"expected allow, got {status} {str(reply)[:300]}")
            after = event | {"hook_event_name": "PostToolUse", "tool_response": {"stdout": ""}}
            status, reply = connection.ask("POST", f"/hooks/claude?timeout={WAIT}", after)
            if (status, reply) != (200, {}):
                raise Unexpected(f"the outcome gets {status} {reply}")
        return "allowed"


def ruled_call(case: Case) -> tuple[str, dict[str, Json]]:
    """The action and the inputs that a rule answers."""
    if case is Case.RULE_DENIED:
        return "delete-file", {"file_id": DENIED_FILE}
    return "rename-file", {"file_id": RULED_FILE, "name": "Quarterly report.pdf"}
