"""The live stream of a tab: only ids and states, until the session or the gate ends; and who reads what."""

import asyncio
import json
from typing import Any

from tests.gate.conftest import GateEnv, run_async
from tests.page.served_page import ServedPage, Tab, served_page


class Stream:
    """The events that a tab gets."""

    def __init__(self, tab: Tab) -> None:
        self._tab = tab

    async def __aenter__(self) -> "Stream":
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._tab.port)
        lines = (
            "GET /page/events HTTP/1.1",
            f"Host: localhost:{self._tab.port}",
            f"X-Aileron-Tab: {self._tab.token}",
            f"Cookie: {self._tab.cookie}",
            "Sec-Fetch-Site: same-origin",
        )
        self._writer.write("\r\n".join((*lines, "", "")).encode())
        head = await asyncio.wait_for(self._reader.readuntil(b"\r\n\r\n"), 10)
        assert b" 200 " in head.partition(b"\r\n")[0]
        assert b"content-security-policy: default-src 'none'" in head.lower()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def next(self, name: str) -> Any:
        """The data of the next event with this name."""
        while True:
            frame = (await asyncio.wait_for(self._reader.readuntil(b"\n\n"), 10)).decode()
            found = dict(line.partition(": ")[::2] for line in frame.splitlines() if ": " in line)
            if found.get("event") == name:
                return json.loads(found["data"])


def test_a_tab_is_told_what_changes_but_not_what_it_says(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page, Stream(page.tab) as stream:
            assert await stream.next("waiting") == {}
            item = await page.ask()
            arrived = await stream.next("waiting")
            assert arrived["id"] == item["id"]
            assert set(arrived) <= {"id", "state", "digest", "approved", "surface", "by", "readers"}
            await page.tab.post(f"/page/requests/{item['id']}/deny", {"digest": item["digest"], "reason": "no"})
            resolved = await stream.next("resolved")
            assert (resolved["id"], resolved["approved"], resolved["surface"]) == (item["id"], False, "page")

    run_async(scenario())


def test_the_stream_ends_with_the_session(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page, Stream(page.tab) as stream:
            await stream.next("waiting")
            assert (await page.tab.send("DELETE", "/page/session")).status == 204
            await page.ask()
            assert await stream.next("ended") == {}

    run_async(scenario())


def test_other_tabs_and_consoles_see_who_reads_a_request(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            item = await page.ask()
            second = await page.other_tab()
            assert "Being read" not in (await second.get(f"/page/requests/{item['id']}")).text
            presence = {"awake": True, "reading": item["id"]}
            assert (await page.tab.post("/page/presence", presence)).status == 204
            for path in (f"/page/requests/{item['id']}", "/page/waiting"):
                assert "another page (tester)" in (await second.get(path)).text
                assert "another page" not in (await page.tab.get(path)).text, "not to the reader"
            await _check_console(page, item["id"])
            await page.tab.send("DELETE", "/page/session")
            assert "another page" not in (await second.get(f"/page/requests/{item['id']}")).text

    run_async(scenario())


async def _check_console(page: ServedPage, id_: str) -> None:
    body = {"surface": "console", "awake": True, "reading": id_}
    assert (await page.served.approver.post("/v1/approver/presence", json=body)).status_code == 204
    assert "the console (tester)" in (await page.tab.get(f"/page/requests/{id_}")).text
