"""Asks a served gate about tool calls, as the door of an agent does."""

import asyncio
from typing import Any

import httpx

from aileron_tui.core.decision import Verdict
from tests.gate.served_gate import WAITING, ServedGate

PERMISSIONS = "/v1/permissions"


def bash(command: str = "make test", **more: Any) -> dict[str, Any]:
    """A shell command that an agent wants to run."""
    return {"tool": "Bash", "input": {"command": command}, "folder": "/tmp", "session": "s-1", "door": "claude", **more}


def write(path: object, content: str, folder: object, **more: Any) -> dict[str, Any]:
    """A file that an agent wants to write."""
    args = {"file_path": str(path), "content": content}
    return {"tool": "Write", "input": args, "folder": str(folder), "session": "s-1", "door": "claude", **more}


async def ask(served: ServedGate, body: dict[str, Any], wait: int = 0) -> httpx.Response:
    headers = {"Prefer": f"wait={wait}"} if wait else {}
    return await served.agent.post(PERMISSIONS, json=body, headers=headers)


async def asked(served: ServedGate, body: dict[str, Any]) -> dict[str, Any]:
    """The request of a tool call that waits, as approvers get it."""
    response = await ask(served, body)
    assert response.status_code == 202, response.text
    return await shown(served, response.json()["approval_id"])


async def shown(served: ServedGate, id_: str) -> dict[str, Any]:
    item: dict[str, Any] = (await served.approver.get(f"{WAITING}/{id_}")).json()
    return item


async def only_waiting(served: ServedGate) -> dict[str, Any]:
    """The only waiting request, once there is one."""
    for _ in range(500):
        items = (await served.approver.get(WAITING)).json()["items"]
        if items:
            assert len(items) == 1
            found: dict[str, Any] = items[0]
            return found
        await asyncio.sleep(0.01)
    raise AssertionError("nothing waits")


async def decide(served: ServedGate, item: dict[str, Any], verdict: Verdict = Verdict.APPROVE, **more: Any) -> Any:
    body = served.env.decision(item, verdict, **more)
    return await served.approver.post(f"{WAITING}/{item['id']}/decide", json=body)


async def poll(served: ServedGate, id_: str, wait: int = 0) -> httpx.Response:
    headers = {"Prefer": f"wait={wait}"} if wait else {}
    return await served.agent.get(f"{PERMISSIONS}/{id_}", headers=headers)
