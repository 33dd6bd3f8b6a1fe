"""Who is at which surface, and who reads what."""

import asyncio
import contextlib
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.gate import presence as presence_module
from aileron_tui.gate.presence import Presence
from tests.gate.conftest import GateEnv
from tests.gate.served_gate import DRAFT, SEND, WAITING, ServedGate, served_gate
from tests.gate.test_event_stream import watching


def test_a_surface_is_there_while_somebody_awake_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence_module, "GRACE_SECONDS", 0.02)
    changes: list[dict[str, str]] = []

    async def main() -> None:
        presence = Presence(lambda *_: None)
        presence.changed = lambda: changes.append(dict(presence.absent))
        assert presence.absent["console"] == "no console is open"
        with presence.watching("session", "tester", "console"):
            presence.report("session", "tester", "console", awake=True)
            assert "console" not in presence.absent
            presence.report("session", "tester", "console", awake=False)
            assert presence.absent["console"] == "nobody is at the console"
            presence.report("session", "tester", "console", awake=True)
        assert "console" not in presence.absent  # a lost connection is not a closed console yet
        await asyncio.sleep(0.05)
        assert presence.absent["console"] == "no console is open"
        assert [("console" in absent) for absent in changes] == [False, True, False, True]

    asyncio.run(main())


def test_a_report_without_a_watch_counts_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence_module, "REPORT_SECONDS", 0.03)
    events: list[tuple[str, JsonObject]] = []

    async def main() -> None:
        presence = Presence(lambda name, data: events.append((name, data)))
        presence.report("tab", "laptop", "page", awake=True, reading="act-1")
        assert presence.readers() == {"act-1": [{"surface": "page", "name": "laptop"}]}
        await asyncio.sleep(0.06)
        assert presence.absent["page"] == "no page is open"
        assert presence.readers() == {}

    asyncio.run(main())
    reader = {"surface": "page", "name": "laptop"}
    assert events == [
        ("reading", {"id": "act-1", "readers": [reader]}),
        ("reading", {"id": "act-1", "readers": []}),
    ]


def test_watchers_are_told_who_reads_a_request(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            id_ = (await served.agent.post(SEND, json=DRAFT)).json()["approval_id"]
            async with watching(served) as stream:
                await stream.event()
                await report(served, reading=id_)
                assert await reading(stream) == {"id": id_, "readers": [{"surface": "console", "name": "tester"}]}
            async with watching(served) as stream:
                snapshot = (await stream.event())[2]
                assert snapshot["readers"] == {id_: [{"surface": "console", "name": "tester"}]}
                await report(served, reading=None)
                assert await reading(stream) == {"id": id_, "readers": []}
                await report(served, reading="act-unknown")
                assert served.gate.presence.readers() == {}

    asyncio.run(main())


@pytest.mark.parametrize(
    "body",
    [
        {"awake": True},
        {"surface": "console"},
        {"surface": "console", "awake": 1},
        {"surface": "Console!", "awake": True},
        {"surface": "console", "awake": True, "reading": 7},
        {"surface": "console", "awake": True, "more": 1},
    ],
)
def test_a_bad_report_is_refused(env: GateEnv, body: dict[str, Any]) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            assert (await served.approver.post("/v1/approver/presence", json=body)).status_code == 400
            assert served.gate.presence.absent["console"]

    asyncio.run(main())


def test_agents_cannot_report(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            body = {"surface": "console", "awake": True, "reading": None}
            assert (await served.agent.post("/v1/approver/presence", json=body)).status_code == 403
            assert (await served.anonymous.post("/v1/approver/presence", json=body)).status_code == 401
            assert served.gate.presence.absent["console"]

    asyncio.run(main())


def test_a_closed_session_is_gone_at_once(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            await report(served, reading=None)
            assert "console" not in served.gate.presence.absent
            await served.approver.delete("/v1/approver/session")
            assert served.gate.presence.absent["console"]

    asyncio.run(main())


async def report(served: ServedGate, *, reading: str | None, awake: bool = True) -> None:
    body = {"surface": "console", "awake": awake, "reading": reading}
    assert (await served.approver.post("/v1/approver/presence", json=body)).status_code == 204


async def reading(stream: Any) -> Any:
    with contextlib.suppress(StopAsyncIteration):
        while True:
            _, name, data = await stream.event()
            if name == "reading":
                return data
    raise AssertionError("nobody was told")


def test_who_was_first_is_told(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            id_ = (await served.agent.post(SEND, json=DRAFT)).json()["approval_id"]
            async with watching(served) as stream:
                await stream.event()
                item = await served.previewed_request(id_)
                body = env.decision(item, Verdict.DENY)
                assert (await served.approver.post(f"{WAITING}/{id_}/decide", json=body)).status_code == 200
                while (event := await stream.event())[1] != "resolved":
                    pass
                assert (event[2]["surface"], event[2]["by"]) == ("console", "tester")

    asyncio.run(main())
