"""Opening the page: codes that work once, and sessions that need the cookie and the token of the tab."""

import asyncio
import hashlib

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.gate.http_limits import HttpLimits
from aileron_tui.gate.http_request import Refusal
from aileron_tui.ledger.open_store import open_ledger
from aileron_tui.page.sessions import CODE_SECONDS, PageSessions
from aileron_tui.signing.approvers import Approver, Approvers
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import error_code
from tests.page.served_page import Tab, served_page


def test_a_code_opens_the_page_once_and_using_it_again_closes_what_it_opened(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            code = (await page.code())["code"]
            first, thief = Tab(page.served.port), Tab(page.served.port)
            assert (await first.open(code)).status == 200
            assert (await first.get("/page/waiting")).status == 200
            again = await thief.open(code)
            assert (again.status, again.code) == (403, "used_code")
            assert "stop the gate" in again.message
            assert (await first.get("/page/waiting")).code == "session_ended"
            assert (await thief.open(code)).code == "unknown_code"
            assert (await page.tab.get("/page/waiting")).status == 200, "other sessions go on"

    run_async(scenario())


def test_the_code_is_only_in_the_fragment_and_is_not_logged(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            found = await page.code()
            before, _, fragment = found["url"].partition("#")
            assert before == f"http://localhost:{page.served.port}/page"
            assert fragment == f"code={found['code']}"
            tab = Tab(page.served.port)
            await tab.open(found["code"])
            await tab.get("/page/waiting")
            log = page.served.log.getvalue()
            for secret in (found["code"], tab.token, tab.cookie.partition("=")[2]):
                assert secret
                assert secret not in log
            assert "GET /page/waiting 200" in log

    run_async(scenario())


def test_only_who_has_an_unused_code_can_clear_what_the_browser_keeps(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            code = (await page.code())["code"]
            path = f"/page/clear/{hashlib.sha256(code.encode()).hexdigest()}"
            tab = Tab(page.served.port)
            cleared = await tab.get(path, sec_fetch_site="cross-site")
            assert (cleared.status, cleared.headers["clear-site-data"]) == (200, '"cache", "storage"')
            assert cleared.headers["cross-origin-resource-policy"] == "cross-origin"
            assert (await tab.get(path, host="evil.example")).status == 403
            await tab.open(code)
            for again in (path, "/page/clear/0", f"/page/clear/{code}"):
                refused = await tab.get(again)
                assert refused.status == 404
                assert "clear-site-data" not in refused.headers

    run_async(scenario())


def test_a_browser_that_has_a_service_worker_at_the_page_gets_one_that_removes_itself(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            for path in ("/sw.js", "/page/sw.js", "/"):
                reply = await Tab(page.served.port).get(path, service_worker="script")
                assert reply.status == 200
                assert reply.headers["content-type"].startswith("text/javascript")
                assert "unregister()" in reply.text
            other = await Tab(page.served.port).get("/sw.js", service_worker="script", host="evil.example")
            assert other.status == 403

    run_async(scenario())


def test_the_cookie_alone_opens_nothing_and_neither_does_the_token(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            item = await page.ask()
            for path in ("/page/waiting", f"/page/requests/{item['id']}", "/page/history", "/page/events"):
                assert (await page.tab.copy(token="").get(path)).code == "no_tab"
                no_cookie = await page.tab.copy(cookie="").get(path)
                assert (no_cookie.status, no_cookie.code) == (401, "no_cookie")
                assert "allow cookies" in no_cookie.message
            other = await page.other_tab()
            crossed = await page.tab.copy(cookie=other.cookie).get("/page/waiting")
            assert (crossed.status, crossed.code) == (401, "wrong_cookie")
            name, _, value = page.tab.cookie.partition("=")
            # A server on another port can add a cookie with this name, which must not keep the operator out.
            twice = await page.tab.copy(cookie=f"{name}=x; {name}={value}").get("/page/waiting")
            assert twice.status == 200
            assert (await page.tab.copy(cookie=f"{name}=x; {name}=y").get("/page/waiting")).code == "wrong_cookie"
            deny = {"digest": item["digest"], "reason": ""}
            for bad in (page.tab.copy(token=""), page.tab.copy(cookie=""), page.tab.copy(cookie=other.cookie)):
                assert (await bad.post(f"/page/requests/{item['id']}/deny", deny)).status == 401
            assert await page.state(item) == "pending"

    run_async(scenario())


def test_the_cookie_is_kept_from_scripts_and_other_sites(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            reply = await Tab(page.served.port).open((await page.code())["code"])
            cookie = reply.headers["set-cookie"]
            assert cookie.startswith(f"aileron_page_{page.served.port}=")
            assert cookie.partition("; ")[2] == "Path=/page; HttpOnly; SameSite=Strict"

    run_async(scenario())


def test_a_second_tab_of_the_same_browser_does_not_end_the_first(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            second = Tab(page.served.port, cookie=page.tab.cookie)
            assert (await second.open((await page.code())["code"])).status == 200
            assert second.cookie == page.tab.cookie
            assert second.token != page.tab.token
            for tab in (page.tab, second):
                assert (await tab.get("/page/waiting")).status == 200

    run_async(scenario())


def test_a_cookie_that_another_local_server_planted_is_replaced(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            planted = f"aileron_page_{page.served.port}=planted"
            tab = Tab(page.served.port, cookie=planted)
            await tab.open((await page.code())["code"])
            assert tab.cookie != planted
            assert (await tab.copy(cookie=planted).get("/page/waiting")).code == "wrong_cookie"

    run_async(scenario())


def test_a_closed_session_stays_closed(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            assert (await page.tab.send("DELETE", "/page/session")).status == 204
            ended = await page.tab.get("/page/waiting")
            assert (ended.status, ended.code) == (401, "session_ended")
            assert "aileron-tui page" in ended.message

    run_async(scenario())


def test_an_old_tab_is_told_that_the_gate_was_restarted(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            old = page.tab
        async with served_page(env) as page:
            tab = old.copy(port=page.served.port, cookie=page.tab.cookie)
            for reply in (await tab.get("/page/waiting"), await tab.post("/page/requests/act-1/deny", {"digest": ""})):
                assert (reply.status, reply.code) == (401, "gate_restarted")
                assert "restarted" in reply.message

    run_async(scenario())


def test_a_revoked_key_ends_what_it_opened_and_its_codes(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            code = (await page.code())["code"]
            await asyncio.to_thread(_revoke, env, page.served.gate.approvers())
            assert (await page.tab.get("/page/waiting")).code == "session_ended"
            assert (await Tab(page.served.port).open(code)).code == "revoked_key"

    run_async(scenario())


def _revoke(env: GateEnv, approvers: Approvers) -> None:
    with open_ledger(env.data / LEDGER_FILE, role="test", guest=True) as ledger:
        ledger.append(EntryKind.KEY_REVOKED, approvers.revocation("tester"))


def test_agents_can_neither_get_a_code_nor_use_the_page(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            asked = await page.served.agent.post("/v1/page/codes", json={"purpose": "open"})
            assert (asked.status_code, error_code(asked)) == (403, "forbidden")
            anonymous = await page.served.anonymous.post("/v1/page/codes", json={"purpose": "open"})
            assert anonymous.status_code == 401
            bearer = f"Bearer {page.served.token}"
            for path in ("/page", "/page/waiting", "/page/history", "/page/events"):
                for tab in (Tab(page.served.port), page.tab):
                    refused = await tab.get(path, authorization=bearer)
                    assert (refused.status, refused.code) == (403, "forbidden")
            as_tab = Tab(page.served.port, token=page.served.token, cookie=page.tab.cookie)
            assert (await as_tab.get("/page/waiting")).code == "session_ended"
            approver = page.served.approver.headers["Authorization"].removeprefix("Bearer ")
            assert (await as_tab.copy(token=approver).get("/page/waiting")).code == "session_ended"

    run_async(scenario())


def test_a_token_of_a_tab_is_no_session_of_the_api(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            headers = {"Authorization": f"Bearer {page.tab.token}"}
            for path in ("/v1/action-approvals", "/v1/history", "/v1/actions"):
                reply = await page.served.anonymous.get(path, headers=headers)
                assert reply.status_code == 401

    run_async(scenario())


def test_a_code_needs_a_valid_purpose(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            for body in (
                {},
                {"purpose": "x"},
                {"purpose": "enroll"},
                {"purpose": "open", "name": "n"},
                {"purpose": "open", "name": {}},
                {"x": "1"},
            ):
                reply = await page.served.approver.post("/v1/page/codes", json=body)
                assert (reply.status_code, error_code(reply)) == (400, "invalid_body")

    run_async(scenario())


def test_codes_and_sessions_end_in_time(env: GateEnv) -> None:
    now = 1000.0
    keyid = env.key.public.fingerprint
    approvers = Approvers({keyid: Approver("tester", env.key.public, "")})
    sessions = PageSessions("gate-1", lambda: approvers, lambda: now, HttpLimits())
    late, _ = sessions.issue(keyid, "tester")
    now += CODE_SECONDS
    with pytest.raises(Refusal, match="expired"):
        sessions.open(late, [])
    code, _ = sessions.issue(keyid, "tester")
    session, tab, cookie = sessions.open(code, [])
    for _ in range(100):
        now += 599
        if now >= 1000 + CODE_SECONDS + 8 * 3600:
            break
        assert sessions.find(tab, [cookie]) is session
    with pytest.raises(Refusal, match="has ended"):
        sessions.find(tab, [cookie])
    idle, _ = sessions.issue(keyid, "tester")
    _, tab, cookie = sessions.open(idle, [])
    now += 601
    with pytest.raises(Refusal, match="has ended"):
        sessions.find(tab, [cookie])
