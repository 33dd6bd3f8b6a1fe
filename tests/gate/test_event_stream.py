"""Watching: framing, heartbeat, resuming, and the end of watchers who may not or do not look any more."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import EntryKind
from aileron_tui.gate.http_limits import HttpLimits
from aileron_tui.ledger.store import open_ledger
from tests.gate.conftest import Bench, until
from tests.gate.house import DRAFT, SEND, WAITING, House, error_code, house, session

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
async def watching(at: House, **headers: str) -> AsyncIterator[Stream]:
    async with at.approver.stream("GET", WATCH, headers={k.replace("_", "-"): v for k, v in headers.items()}) as answer:
        assert answer.status_code == 200
        yield Stream(answer)


def test_a_watcher_sees_everything_in_order(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench) as at, watching(at) as stream:
            assert stream.response.headers["content-type"].startswith("text/event-stream")
            assert stream.response.headers["x-accel-buffering"] == "no"
            assert (await stream.event())[1:] == ("snapshot", {"items": []})
            id_ = (await at.agent.post(SEND, json=DRAFT)).json()["approval_id"]
            first = await stream.event()
            assert (first[1], first[2]["id"], first[2]["preview_state"]) == ("pending", id_, "fetching")
            second = await stream.event()
            assert (second[1], second[2]["preview_state"]) == ("updated", "ready")
            assert second[0] == first[0] + 1
            body = bench.answer(second[2], Verdict.DENY, reason="two\nlines\u2028three")
            assert (await at.approver.post(f"{WAITING}/{id_}/decide", json=body)).status_code == 200
            seen = dict([(await stream.event())[1:] for _ in range(2)])
            assert seen["resolved"]["approved"] is False
            assert seen["resolved"]["reason"] == "two\nlines\u2028three"
            assert seen["updated"]["state"] == "denied"

    until(main())


def test_a_watcher_who_lost_the_line_goes_on_from_there(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench) as at:
            async with watching(at) as stream:
                await stream.event()
                id_ = (await at.agent.post(SEND, json=DRAFT)).json()["approval_id"]
                last = (await stream.event())[0]
            await at.item(id_)
            async with watching(at, Last_Event_ID=str(last)) as stream:
                number, name, item = await stream.event()
                assert (number, name, item["preview_state"]) == (last + 1, "updated", "ready")
            for odd in ("999999999", "-1", "x", "9" * 40):
                async with watching(at, Last_Event_ID=odd) as stream:
                    assert (await stream.event())[1] == "snapshot"

    until(main())


def test_silence_is_filled_with_heartbeats(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench, HttpLimits(heartbeat_seconds=0.05)) as at, watching(at) as stream:
            assert b"snapshot" in await stream.frame()
            assert [await stream.frame() for _ in range(3)] == [b": heartbeat"] * 3

    until(main())


def test_a_session_that_ends_ends_the_watch(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench, HttpLimits(heartbeat_seconds=0.05)) as at, watching(at) as stream:
            await stream.frame()
            assert (await at.approver.delete("/v1/approver/session")).status_code == 204
            assert await until_end(stream) <= {b": heartbeat"}

    until(main())


def test_nothing_more_is_told_to_a_revoked_key(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench) as at, watching(at) as stream:
            await stream.frame()
            await asyncio.to_thread(revoke, bench)
            await at.agent.post(SEND, json=DRAFT)
            assert await until_end(stream) == set()
            assert (await at.approver.get(WAITING)).status_code == 401

    until(main())


def revoke(bench: Bench) -> None:
    """As `key revoke` does beside a running gate."""
    with open_ledger(bench.data / "ledger.db", role="test", guest=True) as ledger:
        body = {"name": "tester", "fingerprint": bench.key.public.fingerprint}
        ledger.append(EntryKind.KEY_REVOKED, {**body})


async def until_end(stream: Stream) -> set[bytes]:
    frames = set()
    while frame := await stream.frame():
        frames.add(frame)
    return frames


def test_a_watcher_who_does_not_read_is_cut_off(bench: Bench) -> None:
    """And can come back: what it missed is still known."""

    async def main() -> None:
        async with house(bench, HttpLimits(heartbeat_seconds=0.01, send_seconds=0.3)) as at:
            authorization = at.approver.headers["Authorization"]
            reader, writer = await asyncio.open_connection("127.0.0.1", at.port, limit=1024)
            writer.write(
                f"GET {WATCH} HTTP/1.1\r\nHost: 127.0.0.1:{at.port}\r\nAuthorization: {authorization}\r\n\r\n".encode()
            )
            await reader.readline()
            before = open_files()
            big = {"note": "x" * 1_000_000}
            for _ in range(20):
                at.gate.feed.publish("test", {**big})
            for _ in range(300):
                if not at.gate.feed.watched and open_files() < before:
                    break
                await asyncio.sleep(0.02)
            assert not at.gate.feed.watched
            # Its connection is gone too, though it never read what was still to be sent.
            assert open_files() < before
            received = 0
            with suppress(ConnectionResetError):
                while chunk := await asyncio.wait_for(reader.read(65_536), 5):
                    received += len(chunk)
            assert received < 20_000_000
            writer.close()

    until(main())


def open_files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def test_watchers_are_counted(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench, HttpLimits(watchers=1)) as at:
            async with watching(at) as stream:
                await stream.frame()
                answer = await at.approver.get(WATCH)
                assert (answer.status_code, error_code(answer)) == (429, "too_many_watchers")
            for _ in range(100):
                if not at.gate.feed.watched:
                    break
                await asyncio.sleep(0.01)
            async with watching(at) as stream:
                assert b"snapshot" in await stream.frame()

    until(main())


def test_a_surface_says_its_name(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench) as at:
            for odd in ("A", "x" * 33, "a b", ""):
                assert (await at.approver.get(WATCH, params={"surface": odd})).status_code == 400

    until(main())


def test_twenty_watch_at_once(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench) as at:
            token = await session(at.stranger, bench.key)
            ready = asyncio.Semaphore(0)

            async def one() -> list[str]:
                headers = {"Authorization": f"Bearer {token}"}
                async with at.stranger.stream("GET", WATCH, headers=headers) as answer:
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
                asked.append((await at.agent.post(SEND, json=body)).json()["approval_id"])
            assert await asyncio.gather(*watchers) == [asked] * 20

    until(main())
