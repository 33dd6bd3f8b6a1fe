"""A request as a gate would send it, and a gate that is only a function."""

import json
from collections.abc import Callable
from typing import Any

import httpx

from aileron_tui.core.prompt import Asker, ConnectorRef, PreviewResult, Prompt
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import Risk, RiskLevel

INSTANCE = "gate-0123456789abcdef"
LEDGER = "sha256:" + "1" * 64
URL = "http://127.0.0.1:8722"
HEAD = "sha256:" + "ee" * 32


def prompt(**changes: Any) -> Prompt:
    """The worked example."""
    fields: dict[str, Any] = {
        "kind": "action",
        "action": "send-draft",
        "connector": ConnectorRef("local://aileron/mail", "0.1.0", "sha256:" + "c0" * 32, "unsigned"),
        "args": {"draft_id": "r-12345"},
        "inputs": (Row("Draft id", "r-12345"),),
        "preview": PreviewResult((Row("To", "team@example.com"), Row("Body", "one\ntwo", multiline=True))),
        "asker": Asker("claude", "s-1", "/src"),
        "risk": Risk(RiskLevel.HIGH, "it sends"),
    }
    return Prompt(**fields | changes)


def item(shown: Prompt | None = None, **changes: Any) -> dict[str, Any]:
    """The request as JSON."""
    shown = shown or prompt()
    fields: dict[str, Any] = {
        "id": "act-20260512T101530-9f1c2ab34d5e6f70",
        "kind": "action",
        "action_name": shown.action,
        "args": shown.args,
        "requested_at": "2026-05-12T10:15:30.000000Z",
        "expires_at": "2026-05-12T10:20:30.000000Z",
        "state": "pending",
        "revision": 1,
        "preview_state": "ready",
        "digest": shown.digest,
        "prompt": shown.fields(),
        "instance": INSTANCE,
        "head": HEAD,
    }
    return json.loads(json.dumps(fields | changes))  # type: ignore[no-any-return]  # what goes in comes out


class FakeGate:
    """Answers by a function and remembers what it was asked."""

    def __init__(self, answer: Callable[[httpx.Request], httpx.Response]) -> None:
        self.answer = answer
        self.asked: list[httpx.Request] = []
        self.sessions = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if request.url.path == "/v1/health":
            return httpx.Response(200, json={"status": "ok", "service": "aileron", "instance": INSTANCE})
        if request.url.path == "/v1/approver/challenge":
            return httpx.Response(200, json={"challenge": "c-1", "instance": INSTANCE, "ledger": LEDGER})
        if request.url.path == "/v1/approver/session" and request.method == "POST":
            self.sessions += 1
            return httpx.Response(200, json={"token": f"t-{self.sessions}", "expires_at": "2026-05-12T10:25:30Z"})
        if request.url.path == "/v1/approver/session":
            return httpx.Response(204)
        return self.answer(request)

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self)

    @property
    def last(self) -> httpx.Request:
        """The last request that was not part of coming and going."""
        return [one for one in self.asked if "/approver/" not in one.url.path][-1]
