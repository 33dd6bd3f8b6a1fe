"""Registering a passkey on the page: what is kept, who may ask for it, and what is refused."""

import asyncio
import base64
from typing import Any

from aileron_tui.page.base64url import from_base64url
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import session
from tests.page.served_page import PageReply, ServedPage, Tab, served_page
from tests.page.test_answers import enrolled
from tests.software_authenticator import SoftwareAuthenticator


async def enrolling(page: ServedPage, name: str = "phone") -> tuple[Tab, str]:
    """A tab that registers a passkey, and the id of the enrolment."""
    found = await page.code(purpose="enroll", name=name)
    tab = Tab(page.served.port)
    reply = await tab.open(found["code"])
    assert (reply.json()["purpose"], reply.json()["name"]) == ("enroll", name)
    return tab, found["enrolment"]


async def registered(tab: Tab, authenticator: SoftwareAuthenticator, **options: Any) -> PageReply:
    asked = await tab.post("/page/enrolment/options")
    assert asked.status == 200, asked.text
    challenge = from_base64url(asked.json()["publicKey"]["challenge"])
    made = authenticator.registration(challenge, **({"origin": tab.origin} | options))
    return await tab.post("/page/enrolment", made.json())


def test_a_passkey_is_registered_and_the_command_gets_its_public_part(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            tab, id_ = await enrolling(page)
            path = f"/v1/page/enrolments/{id_}"
            assert (await page.served.approver.get(path)).json() == {"status": "waiting", "name": "phone"}
            waiting = asyncio.create_task(page.served.approver.get(path, headers={"Prefer": "wait=20"}))
            options = (await tab.post("/page/enrolment/options")).json()["publicKey"]
            assert options["rp"]["id"] == "localhost"
            assert options["attestation"] == "none"
            assert options["authenticatorSelection"]["userVerification"] == "required"
            authenticator = SoftwareAuthenticator(backup_eligible=True, backed_up=True)
            done = await registered(tab, authenticator)
            assert (done.status, done.json()["status"]) == (200, "registered")
            found = (await waiting).json()
            credential = authenticator.credentials[-1]
            assert found["status"] == "registered"
            assert base64.b64decode(found["credential"]) == credential.id
            assert base64.b64decode(found["spki"]) == credential.spki
            assert (found["algorithm"], found["backup_eligible"]) == (-7, True)
            assert not page.served.gate.approvers().security_keys, "only an approver's signature enrols it"
            again = await tab.post("/page/enrolment/options")
            assert (again.status, again.code) == (409, "registered")

    run_async(scenario())


def test_what_a_thief_of_the_code_registered_ends_when_the_operator_uses_the_code(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            found = await page.code(purpose="enroll", name="phone")
            path = f"/v1/page/enrolments/{found['enrolment']}"
            thief, operator = Tab(page.served.port), Tab(page.served.port)
            await thief.open(found["code"])
            assert (await registered(thief, SoftwareAuthenticator())).status == 200
            assert (await operator.open(found["code"])).code == "used_code"
            told = (await page.served.approver.get(path)).json()
            assert told["status"] == "ended"
            assert "used twice" in told["reason"]

    run_async(scenario())


def test_a_code_that_is_used_twice_ends_an_enrolment_that_waits(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            found = await page.code(purpose="enroll", name="phone")
            path = f"/v1/page/enrolments/{found['enrolment']}"
            waiting = asyncio.create_task(page.served.approver.get(path, headers={"Prefer": "wait=20"}))
            first, second = Tab(page.served.port), Tab(page.served.port)
            await first.open(found["code"])
            await second.open(found["code"])
            assert (await asyncio.wait_for(waiting, 5)).json()["status"] == "ended"

    run_async(scenario())


def test_a_tab_that_registers_sees_nothing_and_another_tab_cannot_register(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            item = await page.ask()
            tab, id_ = await enrolling(page)
            for path in ("/page/waiting", f"/page/requests/{item['id']}", "/page/history", "/page/events"):
                assert (await tab.get(path)).code == "forbidden"
            denied = await tab.post(f"/page/requests/{item['id']}/deny", {"digest": item["digest"], "reason": ""})
            assert denied.code == "forbidden"
            for path in ("/page/enrolment/options", "/page/enrolment"):
                assert (await page.tab.post(path)).code == "forbidden"
            agent = await page.served.agent.get(f"/v1/page/enrolments/{id_}")
            assert agent.status_code == 403
            missing = await page.served.approver.get("/v1/page/enrolments/enrol-0000")
            assert missing.status_code == 404

    run_async(scenario())


def test_foreign_registrations_are_refused(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            tab, id_ = await enrolling(page)
            port = page.served.port
            for options in (
                {"origin": f"http://localhost:{port + 1}"},
                {"origin": "https://localhost"},
                {"rp_id": "evil.example"},
                {"flags": 0x01},
                {"flags": 0x04},
                {"flags": 0x15},
            ):
                refused = await registered(tab, SoftwareAuthenticator(), **options)
                assert refused.status == 403, (options, refused.text)
            made = SoftwareAuthenticator().registration(b"x" * 32, origin=tab.origin).json()
            assert (await tab.post("/page/enrolment", made)).code == "unknown_attempt"
            await tab.post("/page/enrolment/options")
            assert (await tab.post("/page/enrolment", made)).code == "foreign_credential"
            for garbage in (
                {},
                {"type": "public-key"},
                made | {"response": {"attestationObject": "AA", "clientDataJSON": "e30"}},
            ):
                await tab.post("/page/enrolment/options")
                assert (await tab.post("/page/enrolment", garbage)).status in (400, 403)
            authenticator = SoftwareAuthenticator()
            await enrolled(page, authenticator)
            excluded = (await tab.post("/page/enrolment/options")).json()["publicKey"]["excludeCredentials"]
            assert [from_base64url(one["id"]) for one in excluded] == [authenticator.credentials[0].id]
            found = (await page.served.approver.get(f"/v1/page/enrolments/{id_}")).json()
            assert found["status"] == "waiting"

    run_async(scenario())


def test_an_enrolment_belongs_to_the_key_that_began_it(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            _, id_ = await enrolling(page)
            same = page.served.anonymous
            same.headers["Authorization"] = f"Bearer {await session(same, env.key)}"
            assert (await same.get(f"/v1/page/enrolments/{id_}")).status_code == 200

    run_async(scenario())
