"""Watching: framing, heartbeat, resuming, and ending watchers that lose access or stop reading."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.gate.http_limits import HttpLimits
from aileron_tui.ledger.open_store import open_ledger
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import DRAFT, SEND, WAITING, ServedGate, error_code, served_gate, session

WATCH = f"{WAITING}/watch"


class Stream:
    """Frames of a watch, one at a time, as the bytes they are."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._chunks = response.aiter_raw()
        self._rest = b""

    async def frame(self) -> bytes:
        """The next frame without its empty line; b"" at the end of the stream."""
        while b"\n\n" not in self._rest:
            try:
                self._rest += await asyncio.wait_for(anext(self._chunks), 10)
            except StopAsyncIteration:
                return b""
        found, _, self._rest = self._rest.partition(b"\n\n")
        return found

    async def event(self) -> tuple[int, str, dict[str, Any]]:
        """The next event, which has exactly three lines."""
        number, name, data = (await self.frame()).split(b"\n")
        assert number.startswith(b"id: ")
        assert name.startswith(b"event: ")
        assert data.startswith(b"data: ")
        return int(number[4:]), name[7:].decode(), json.loads(data[6:])


@asynccontextmanager
async def watching(served: ServedGate, **headers: str) -> AsyncIterator[Stream]:
    async with served.approver.stream(
        "GET", WATCH, headers={k.replace("_", "-"): v for k, v in headers.items()}
    ) as answer:
        assert answer.status_code == 200
        yield Stream(answer)


def test_a_watcher_sees_everything_in_order(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served, watching(served) as stream:
            assert stream.response.headers["content-type"].startswith("text/event-stream")
            assert stream.response.headers["x-accel-buffering"] == "no"
            assert (await stream.event())[1:] == ("snapshot", {"items": [], "readers": {}})
            id_ = (await served.agent.post(SEND, json=DRAFT)).json()["approval_id"]
            first = await stream.event()
            assert (first[1], first[2]["id"], first[2]["preview_state"]) == ("pending", id_, "fetching")
            second = await stream.event()
            assert (second[1], second[2]["preview_state"]) == ("updated", "ready")
            assert second[0] == first[0] + 1
            body = env.decision(second[2], Verdict.DENY, reason="two\nlines\u2028three")
            assert (await served.approver.post(f"{WAITING}/{id_}/decide", json=body)).status_code == 200
            seen = dict([(await stream.event())[1:] for _ in range(2)])
            assert seen["resolved"]["approved"] is False
            assert seen["resolved"]["reason"] == "two\nlines\u2028three"
            assert seen["updated"]["state"] == "denied"

    run_async(main())


def test_a_watcher_can_resume_after_a_lost_connection(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            async with watching(served) as stream:
                await stream.event()
                id_ = (await served.agent.post(SEND, json=DRAFT)).json()["approval_id"]
                last = (await stream.event())[0]
            await served.previewed_request(id_)
            async with watching(served, Last_Event_ID=str(last)) as stream:
                number, name, item = await stream.event()
                assert (number, name, item["preview_state"]) == (last + 1, "updated", "ready")
            for odd in ("999999999", "-1", "x", "9" * 40):
                async with watching(served, Last_Event_ID=odd) as stream:
                    assert (await stream.event())[1] == "snapshot"

    run_async(main())


def test_heartbeats_are_sent_while_idle(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, HttpLimits(heartbeat_seconds=0.05)) as served, watching(served) as stream:
            assert b"snapshot" in await stream.frame()
            assert [await stream.frame() for _ in range(3)] == [b": heartbeat"] * 3

    run_async(main())


def test_the_stream_ends_with_its_session(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, HttpLimits(heartbeat_seconds=0.05)) as served, watching(served) as stream:
            await stream.frame()
            assert (await served.approver.delete("/v1/approver/session")).status_code == 204
            assert await until_end(stream) <= {b": heartbeat"}

    run_async(main())


def test_a_revoked_key_receives_no_more_events(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served, watching(served) as stream:
            await stream.frame()
            await asyncio.to_thread(revoke, env)
            await served.agent.post(SEND, json=DRAFT)
            assert await until_end(stream) == set()
            assert (await served.approver.get(WAITING)).status_code == 401

    run_async(main())


def revoke(env: GateEnv) -> None:
    """As `key revoke` does beside a running gate."""
    with open_ledger(env.data / "ledger.db", role="test", guest=True) as ledger:
        body = {"name": "tester", "fingerprint": env.key.public.fingerprint}
        ledger.append(EntryKind.KEY_REVOKED, {**body})


async def until_end(stream: Stream) -> set[bytes]:
    frames = set()
    while frame := await stream.frame():
        frames.add(frame)
    return frames


def test_a_watcher_that_does_not_read_is_cut_off(env: GateEnv) -> None:
    """And can come back: what it missed is still known."""

    async def main() -> None:
        async with served_gate(env, HttpLimits(heartbeat_seconds=0.01, send_seconds=0.3)) as served:
            authorization = served.approver.headers["Authorization"]
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port, limit=1024)
            headers = f"Host: 127.0.0.1:{served.port}\r\nAuthorization: {authorization}\r\n"
            writer.write(f"GET {WATCH} HTTP/1.1\r\n{headers}\r\n".encode())
            await reader.readline()
            before = open_files()
            big = {"note": "x" * 1_000_000}
            for _ in range(20):
                served.gate.feed.publish("test", {**big})
            for _ in range(300):
                if not served.gate.feed.watched and open_files() < before:
                    break
                await asyncio.sleep(0.02)
            assert not served.gate.feed.watched
            # Its connection is gone too, though it never read what was still to be sent.
            assert open_files() < before
            received = 0
            with suppress(ConnectionResetError):
                while chunk := await asyncio.wait_for(reader.read(65_536), 5):
                    received += len(chunk)
            assert received < 20_000_000
            writer.close()

    run_async(main())


def open_files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def test_watchers_are_limited(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, HttpLimits(watchers=1)) as served:
            async with watching(served) as stream:
                await stream.frame()
                answer = await served.approver.get(WATCH)
                assert (answer.status_code, error_code(answer)) == (429, "too_many_watchers")
            for _ in range(100):
                if not served.gate.feed.watched:
                    break
                await asyncio.sleep(0.01)
            async with watching(served) as stream:
                assert b"snapshot" in await stream.frame()

    run_async(main())


def test_a_surface_gives_its_name(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            for odd in ("A", "x" * 33, "a b", ""):
                assert (await served.approver.get(WATCH, params={"surface": odd})).status_code == 400

    run_async(main())


def test_twenty_watch_at_once(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            token = await session(served.anonymous, env.key)
            ready = asyncio.Semaphore(0)

            async def one() -> list[str]:
                headers = {"Authorization": f"Bearer {token}"}
                async with served.anonymous.stream("GET", WATCH, headers=headers) as answer:
                    stream = Stream(answer)
                    assert (await stream.event())[1] == "snapshot"
                    ready.release()
                    ids: list[str] = []
                    while len(ids) < 5:
                        _, name, data = await stream.event()
                        if name == "pending":
                            ids.append(data["id"])
                    return ids

            watchers = [asyncio.create_task(one()) for _ in range(20)]
            for _ in watchers:
                await ready.acquire()
            asked = []
            for number in range(5):
                body = {"args": {"draft_id": f"r-{number}"}}
                asked.append((await served.agent.post(SEND, json=body)).json()["approval_id"])
            assert await asyncio.gather(*watchers) == [asked] * 20

    run_async(main())
