"""Attacks on the page from a browser: wrong Host, rebinding, other origins, forms, frames, other methods."""

import asyncio
import base64
import hashlib
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from aileron_tui.gate.gate_connection import _peeked_owner
from tests.gate.conftest import GateEnv, run_async
from tests.page.served_page import ServedPage, Tab, exchange, read_reply, served_page

if TYPE_CHECKING:
    from aileron_tui.gate.http_app import GateApp

DATA = ("/page/waiting", "/page/history", "/page/events")


def test_only_this_page_is_heard(env: GateEnv) -> None:
    """Each header is wrong once, for a tab that has everything else: nothing is shown, and nothing is decided."""

    async def scenario() -> None:
        async with served_page(env) as page:
            item = await page.ask()
            await _check_reads(page, item["id"])
            await _check_denials(page, item)
            assert await page.state(item) == "pending"

    run_async(scenario())


async def _check_reads(page: ServedPage, id_: str) -> None:
    port = page.served.port
    hosts = ("127.0.0.1", "[::1]", "localhost.", "LOCALHOST", "evil.example", "localhost:1", "localhost@evil.example")
    for path in ("/page", *DATA, f"/page/requests/{id_}"):
        for host in (*(f"{name}:{port}" for name in hosts), "localhost", "", "localhost:80"):
            refused = await page.tab.get(path, host=host)
            assert (refused.status, refused.code) == (403, "forbidden_host"), (path, host)
    for path in (*DATA, f"/page/requests/{id_}"):
        for origin in ("http://evil.example", "null", f"http://127.0.0.1:{port}", f"https://localhost:{port}"):
            assert (await page.tab.get(path, origin=origin)).code == "forbidden_origin", origin
        for site in ("cross-site", "same-site", "none", "x"):
            assert (await page.tab.get(path, sec_fetch_site=site)).code == "forbidden_origin", site


async def _check_denials(page: ServedPage, item: dict[str, str]) -> None:
    path, body = f"/page/requests/{item['id']}/deny", {"digest": item["digest"], "reason": ""}
    port = page.served.port
    wrong: tuple[tuple[str, str, str | None], ...] = (
        ("host", "forbidden_host", f"127.0.0.1:{port}"),
        ("host", "forbidden_host", f"attacker.example:{port}"),
        ("content_type", "unsupported_media_type", "text/plain"),
        ("content_type", "unsupported_media_type", "application/x-www-form-urlencoded"),
        ("content_type", "unsupported_media_type", "multipart/form-data; boundary=x"),
        ("content_type", "unsupported_media_type", None),
        ("origin", "forbidden_origin", None),
        ("origin", "forbidden_origin", "null"),
        ("origin", "forbidden_origin", f"http://localhost:{port + 1}"),
        ("origin", "forbidden_origin", f"http://127.0.0.1:{port}"),
        ("origin", "forbidden_origin", "http://localhost"),
        ("sec_fetch_site", "forbidden_origin", "cross-site"),
        ("sec_fetch_site", "forbidden_origin", "same-site"),
        ("sec_fetch_site", "forbidden_origin", "none"),
        ("cookie", "no_cookie", None),
        ("x_aileron_tab", "no_tab", None),
    )
    for header, code, value in wrong:
        refused = await page.tab.post(path, body, **{header: value})
        assert refused.code == code, (header, value)


def test_the_checks_are_made_in_order(env: GateEnv) -> None:
    """Host before the content type, then Origin, then Sec-Fetch-Site, then the session."""

    async def scenario() -> None:
        async with served_page(env) as page:
            wrong = {
                "host": "evil.example",
                "content_type": "text/plain",
                "origin": "http://evil.example",
                "sec_fetch_site": "cross-site",
                "cookie": "",
            }
            codes = ("forbidden_host", "unsupported_media_type", "forbidden_origin", "forbidden_origin", "no_cookie")
            names = list(wrong)
            for index, code in enumerate(codes):
                changes = {name: wrong[name] for name in names[index:]}
                refused = await page.tab.post("/page/requests/act-1/deny", {"digest": "", "reason": ""}, **changes)
                assert refused.code == code, changes

    run_async(scenario())


def test_a_page_that_rebinds_its_name_to_this_machine_gets_nothing(env: GateEnv) -> None:
    """After rebinding, the browser calls it the same origin; only Host tells."""

    async def scenario() -> None:
        async with served_page(env) as page:
            name = f"rebound.example:{page.served.port}"
            code = (await page.code())["code"]
            for method, path, body in (
                ("GET", "/page", None),
                ("POST", "/page/session", {"code": code}),
                ("GET", "/page/waiting", None),
            ):
                refused = await page.tab.send(method, path, body, host=name, origin=f"http://{name}")
                assert refused.code == "forbidden_host"
            assert (await Tab(page.served.port).open(code)).status == 200, "the code was not used up"

    run_async(scenario())


def test_headers_that_come_twice_are_refused(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            own = f"localhost:{page.served.port}"
            head = [f"Host: {own}", f"X-Aileron-Tab: {page.tab.token}", f"Cookie: {page.tab.cookie}"]
            for line in ("Origin: http://evil.example", "Sec-Fetch-Site: cross-site", "X-Aileron-Tab: other"):
                first = {"Origin": f"Origin: http://{own}", "Sec-Fetch-Site": "Sec-Fetch-Site: same-origin"}
                twice = [*head, line, *filter(None, [first.get(line.partition(":")[0])])]
                text = "\r\n".join(["GET /page/waiting HTTP/1.1", *twice, "Connection: close", "", ""])
                reply = read_reply(await exchange("127.0.0.1", page.served.port, text.encode()))
                assert (reply.status, reply.code) == (400, "invalid_request")

    run_async(scenario())


@pytest.mark.parametrize(
    ("path", "methods"),
    [("/page", ("POST", "PUT", "DELETE")), ("/page/waiting", ("POST", "DELETE")), ("/page/session", ("GET", "PATCH"))],
)
def test_other_methods_and_preflights_are_refused(env: GateEnv, path: str, methods: tuple[str, ...]) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            for method in methods:
                assert (await page.tab.send(method, path, None if method == "GET" else {})).status == 405
            preflight = await Tab(page.served.port).send(
                "OPTIONS", path, origin="http://evil.example", access_control_request_method="POST"
            )
            assert preflight.status == 403
            assert not [name for name in preflight.headers if name.startswith("access-control")]

    run_async(scenario())


def test_every_response_forbids_frames_and_loads_nothing(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            item = await page.ask()
            for reply in (
                await Tab(page.served.port).get("/page", sec_fetch_site="none"),
                await page.tab.get("/page/waiting"),
                await page.tab.get(f"/page/requests/{item['id']}"),
                await page.tab.get("/page/history"),
                await page.tab.get("/page/waiting", host="evil.example"),
                await page.tab.get("/page/nothing"),
                await page.tab.post("/page/session", {"code": "x"}),
            ):
                headers, policy = reply.headers, reply.headers["content-security-policy"]
                assert policy.startswith("default-src 'none'")
                for part in ("frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"):
                    assert part in policy
                assert "unsafe" not in policy
                assert "*" not in policy
                assert headers["x-frame-options"] == "DENY"
                assert headers["x-content-type-options"] == "nosniff"
                assert headers["referrer-policy"] == "no-referrer"
                assert headers["cache-control"] == "no-store"
                assert headers["cross-origin-opener-policy"] == "same-origin"
                assert headers["cross-origin-resource-policy"] == "same-origin"

    run_async(scenario())


def test_the_page_cannot_be_loaded_into_another_one(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            tab = Tab(page.served.port)
            for mode, target in (
                ("navigate", "iframe"),
                ("no-cors", "script"),
                ("cors", "empty"),
                ("navigate", "object"),
            ):
                refused = await tab.get(
                    "/page", sec_fetch_mode=mode, sec_fetch_dest=target, sec_fetch_site="cross-site"
                )
                assert refused.code == "forbidden_origin", (mode, target)
            opened = await tab.get(
                "/page", sec_fetch_mode="navigate", sec_fetch_dest="document", sec_fetch_site="cross-site"
            )
            assert opened.status == 200, "the private file that opens the page is another site"

    run_async(scenario())


def test_the_shell_has_no_data_and_only_its_own_script_and_style(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            item = await page.ask()
            shell = await page.tab.get("/page", sec_fetch_site="none")
            for secret in (item["id"], item["digest"], page.tab.token, page.served.gate.instance, "tester"):
                assert secret not in shell.text
            policy = shell.headers["content-security-policy"]
            for tag in ("script", "style"):
                found = re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", shell.text, re.DOTALL)
                assert len(found) == 1, tag
                digest = base64.b64encode(hashlib.sha256(found[0].encode()).digest()).decode()
                assert f"{tag}-src 'sha256-{digest}'" in policy
            assert not re.search(
                r"\bon\w+=|javascript:|style=|<link|<iframe|src=|https?://(?!www\.w3\.org)",
                shell.text.partition("<script")[0],
            )

    run_async(scenario())


def test_an_agent_cannot_hide_behind_the_header_of_a_tab() -> None:
    """Whose connection it is decides how fast it is read."""
    app = cast("GateApp", SimpleNamespace(owner_of_token=lambda token: f"owner of {token}"))
    lines = ["GET / HTTP/1.1", "X-Aileron-Tab: tab", "Authorization: Bearer agent"]
    for head in (lines, [lines[0], *reversed(lines[1:])]):
        assert _peeked_owner(app, "\r\n".join(head).encode()) == "owner of agent"
    assert _peeked_owner(app, "\r\n".join(lines[:2]).encode()) == "owner of tab"


def test_a_flood_of_codes_is_slowed_down(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            tab = Tab(page.served.port)
            replies = await asyncio.gather(*(tab.post("/page/session", {"code": f"x{number}"}) for number in range(80)))
            assert {reply.status for reply in replies} == {403, 429}
            assert (await page.tab.get("/page/waiting")).status == 200
            assert (await tab.open((await page.code())["code"])).status == 200, "a right code is never too many"

    run_async(scenario())
