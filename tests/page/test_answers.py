"""Answering on the page: with a passkey, or a denial without a signature; and every attack on either."""

import asyncio
from typing import Any

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.page.base64url import from_base64url, to_base64url
from aileron_tui.signing.security_key import SecurityKey
from aileron_tui.surface.key_enrolment import enroll_signed, revoke_signed
from tests.gate.conftest import GateEnv, run_async
from tests.ledger.scenes import check
from tests.page.served_page import PageReply, ServedPage, Tab, served_page
from tests.software_authenticator import SignedAssertion, SoftwareAuthenticator


async def enrolled(page: ServedPage, authenticator: SoftwareAuthenticator, name: str = "passkey") -> SecurityKey:
    """A passkey that may approve at this gate."""
    credential = authenticator.credential()
    public = SecurityKey(credential.id, credential.algorithm, credential.spki)
    env = page.served.env
    await asyncio.to_thread(enroll_signed, env.data, name, public, env.key, added_on="page")
    return public


def signed(page: ServedPage, authenticator: SoftwareAuthenticator, reply: PageReply, **options: Any) -> SignedAssertion:
    """What a browser makes of a challenge."""
    assert reply.status == 200, reply.text
    options = {"origin": page.tab.origin} | options
    return authenticator.assertion(from_base64url(reply.json()["publicKey"]["challenge"]), **options)


async def answer(
    page: ServedPage, item: dict[str, Any], attempt: PageReply, assertion: Any, tab: Tab | None = None
) -> PageReply:
    """Sends an assertion."""
    body = {"attempt": attempt.json()["attempt"], "assertion": assertion}
    return await (tab or page.tab).post(f"/page/requests/{item['id']}/answer", body)


def entries(env: GateEnv, kind: EntryKind) -> list[Any]:
    with open_reader(env.data / LEDGER_FILE) as reader:
        return [entry.body for entry in reader.entries() if entry.kind == kind]


def check_verifies(env: GateEnv) -> None:
    """The history verifies offline, with every signature in it."""
    assert check(env.data / LEDGER_FILE, noted=True).fault is None


def test_a_passkey_approves_what_is_shown_and_the_history_says_which_one(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            authenticator = SoftwareAuthenticator()
            public = await enrolled(page, authenticator)
            item = await page.ask()
            asked = await page.challenge(item)
            options = asked.json()["publicKey"]
            assert options["rpId"] == "localhost"
            assert options["userVerification"] == "required"
            assert options["allowCredentials"] == [{"type": "public-key", "id": to_base64url(public.credential)}]
            done = await answer(page, item, asked, signed(page, authenticator, asked).json())
            assert (done.status, done.json()) == (200, {"status": "approved", "message": "Approved."})
            assert (await page.served.result(item["id"]))["status"] == "completed"
            detail = await page.tab.get(f"/page/history/{item['id']}")
            assert public.fingerprint in detail.text
            assert "signed" in detail.text

    run_async(scenario())
    check_verifies(env)


def test_without_a_passkey_the_page_denies_and_never_approves(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            item = await page.ask()
            refused = await page.challenge(item)
            assert (refused.status, refused.code) == (403, "no_passkey")
            prompt = await page.tab.get(f"/page/requests/{item['id']}")
            assert "key security-key add" in prompt.text
            path, body = f"/page/requests/{item['id']}/deny", {"digest": item["digest"], "reason": "wrong draft"}
            denied = await page.tab.post(path, body)
            assert (denied.status, denied.json()["status"]) == (200, "denied")
            assert (await page.served.result(item["id"]))["status"] == "denied"
            again = await page.tab.post(path, body)
            assert (again.status, again.code) == (409, "INVALID_STATE")
            detail = await page.tab.get(f"/page/history/{item['id']}")
            assert "without a signature" in detail.text

    run_async(scenario())
    (recorded,) = entries(env, EntryKind.DENIED_UNSIGNED)
    assert recorded["surface"] == "page"
    assert recorded["session"].startswith("page-")
    assert recorded["opened_by"] == env.key.public.fingerprint
    assert recorded["reason"] == "wrong draft"
    assert not entries(env, EntryKind.DECIDED)
    check_verifies(env)


def test_no_answer_for_what_was_not_shown(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            authenticator = SoftwareAuthenticator()
            await enrolled(page, authenticator)
            item, other = await page.ask(), await page.ask({"draft_id": "19df4136f28569d2"})
            stale = await page.challenge(item, digest=other["digest"])
            assert (stale.status, stale.code) == (409, "PROMPT_CHANGED")
            denied = await page.tab.post(f"/page/requests/{item['id']}/deny", {"digest": other["digest"], "reason": ""})
            assert (denied.status, denied.code) == (409, "PROMPT_CHANGED")
            assert (await page.challenge(item, verdict="maybe")).code == "invalid_body"
            assert (await page.challenge(item, reason="an approval has no reason")).code == "invalid_body"
            assert (await page.challenge(item | {"id": "act-unknown"})).code == "not_found"
            asked = await page.challenge(item)
            crossed = await answer(page, other, asked, signed(page, authenticator, asked).json())
            assert (crossed.status, crossed.code) == (403, "unknown_attempt")
            assert [await page.state(one) for one in (item, other)] == ["pending", "pending"]

    run_async(scenario())


def test_an_attempt_is_for_one_tab_and_one_answer(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            authenticator = SoftwareAuthenticator()
            await enrolled(page, authenticator)
            item, other = await page.ask(), await page.ask({"draft_id": "19df4136f28569d2"})
            asked = await page.challenge(item)
            assertion = signed(page, authenticator, asked).json()
            stolen = await answer(page, item, asked, assertion, await page.other_tab())
            assert (stolen.status, stolen.code) == (403, "unknown_attempt")
            assert (await answer(page, item, asked, assertion)).status == 200
            replayed = await answer(page, item, asked, assertion)
            assert (replayed.status, replayed.code) == (403, "unknown_attempt")
            fresh = await page.challenge(other)
            reused = await answer(page, other, fresh, assertion)
            assert (reused.status, reused.code) == (403, "bad_signature")
            assert await page.state(other) == "pending"

    run_async(scenario())


def test_a_denial_cannot_be_turned_into_an_approval(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            authenticator = SoftwareAuthenticator()
            await enrolled(page, authenticator)
            item = await page.ask()
            deny, approve = await page.challenge(item, Verdict.DENY, reason="no"), await page.challenge(item)
            crossed = await answer(page, item, approve, signed(page, authenticator, deny).json())
            assert (crossed.status, crossed.code) == (403, "bad_signature")
            again = await page.challenge(item, Verdict.DENY, reason="no")
            done = await answer(page, item, again, signed(page, authenticator, again).json())
            assert (done.status, done.json()["status"]) == (200, "denied")
            assert (await page.served.result(item["id"]))["status"] == "denied"

    run_async(scenario())


def test_foreign_assertions_are_refused(env: GateEnv) -> None:
    """Another origin or port, another site, a frame, another purpose, no touch, no PIN, an unknown or removed key."""

    async def scenario() -> None:
        async with served_page(env) as page:
            authenticator, stranger = SoftwareAuthenticator(), SoftwareAuthenticator()
            public = await enrolled(page, authenticator)
            stranger.credential()
            item = await page.ask()
            port = page.served.port
            wrong: tuple[dict[str, Any], ...] = (
                {"origin": f"http://localhost:{port + 1}"},
                {"origin": f"http://127.0.0.1:{port}"},
                {"origin": "https://localhost"},
                {"origin": "http://evil.example"},
                {"rp_id": "evil.example"},
                {"client": {"type": "webauthn.create"}},
                {"client": {"cross_origin": True}},
                {"flags": 0x04},
                {"flags": 0x01},
                {"flags": 0x15},
                {"client_data": b"{}"},
            )
            for options in wrong:
                asked = await page.challenge(item)
                refused = await answer(page, item, asked, signed(page, authenticator, asked, **options).json())
                assert refused.status == 403, (options, refused.text)
            asked = await page.challenge(item)
            unknown = await answer(page, item, asked, signed(page, stranger, asked).json())
            assert (unknown.status, unknown.code) == (403, "unknown_key")
            for garbage in (
                None,
                {},
                [],
                "x",
                {"type": "public-key"},
                signed(page, authenticator, asked).json() | {"rawId": "=="},
            ):
                asked = await page.challenge(item)
                assert (await answer(page, item, asked, garbage)).code == "invalid_body"
            asked = await page.challenge(item)
            await asyncio.to_thread(revoke_signed, env.data, public.fingerprint, env.key)
            removed = await answer(page, item, asked, signed(page, authenticator, asked).json())
            assert (removed.status, removed.code) == (403, "revoked_key")
            assert (await page.challenge(item)).code == "no_passkey"
            assert await page.state(item) == "pending"

    run_async(scenario())


def test_a_cloned_key_is_found_by_its_counter(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            authenticator = SoftwareAuthenticator()
            await enrolled(page, authenticator)
            clone = authenticator.clone()
            item, other = await page.ask(), await page.ask({"draft_id": "19df4136f28569d2"})
            asked = await page.challenge(item)
            assert (await answer(page, item, asked, signed(page, authenticator, asked).json())).status == 200
            asked = await page.challenge(other)
            refused = await answer(page, other, asked, signed(page, clone, asked).json())
            assert refused.status == 403
            assert "copied" in refused.message
            assert await page.state(other) == "pending"

    run_async(scenario())


def test_the_first_answer_wins_in_two_browsers(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            authenticator = SoftwareAuthenticator(counts=False)
            await enrolled(page, authenticator)
            second = await page.other_tab()
            item = await page.ask()
            attempts = [await page.challenge(item), await page.challenge(item, tab=second)]
            assertions = [signed(page, authenticator, asked).json() for asked in attempts]
            replies = await asyncio.gather(
                answer(page, item, attempts[0], assertions[0]), answer(page, item, attempts[1], assertions[1], second)
            )
            assert sorted(reply.status for reply in replies) == [200, 409]
            late = next(reply for reply in replies if reply.status == 409)
            assert late.code == "INVALID_STATE"
            after = await page.challenge(item, tab=second)
            assert (after.status, after.code) == (409, "INVALID_STATE")

    run_async(scenario())
    assert len(entries(env, EntryKind.DECIDED)) == 1
