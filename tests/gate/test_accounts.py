"""The accounts of a gate: locked until an approver unlocks them from the same machine."""

import asyncio
import base64
import os

import httpx
import pytest

from aileron_tui.accounts.errors import AccountsLocked
from aileron_tui.accounts.secret_document import SecretDocument
from aileron_tui.accounts.vault import DataKey, Vault
from aileron_tui.core.binding_change import new_binding_id
from aileron_tui.gate.http_app import GateApp
from aileron_tui.gate.origin_check import OriginCheck
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.runtime.gate_discovery import discover
from aileron_tui.runtime.viewer_client import ViewerClient
from aileron_tui.signing.key_store import UnlockedKey
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import prove, served_gate, session
from tests.gate.test_viewers import scope, short_env

UNLOCK = "/v1/accounts/unlock"
REF = new_binding_id()
DOCUMENT = SecretDocument({"kind": "api_key", "key": "canary-55aa"})


def make_vault(env: GateEnv) -> bytes:
    """An encrypted file with a secret; returns its data key."""
    vault = Vault(env.data)
    vault.create_or_open([env.key])
    vault.write(REF, DOCUMENT)
    return bytes(vault.open_with(env.key).reveal())


def body(key: bytes) -> dict[str, str]:
    return {"key": base64.b64encode(key).decode()}


def test_an_approver_unlocks_the_accounts(env: GateEnv, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    key = make_vault(env)

    async def scenario() -> None:
        async with served_gate(env) as served:
            vault = served.gate.accounts.vault
            with pytest.raises(AccountsLocked):
                vault.read(REF)
            assert (await prove(served.approver, env.key)).json()["accounts"] == "locked"
            for caller in (served.agent, served.anonymous):
                assert (await caller.post(UNLOCK, json=body(key))).status_code in (401, 403)
            for wrong in ({"key": "x"}, {"key": 7}, {}, body(b"short"), body(key) | {"more": 1}):
                assert (await served.approver.post(UNLOCK, json=wrong)).status_code == 400
            refused = await served.approver.post(UNLOCK, json=body(os.urandom(32)))
            assert (refused.status_code, refused.json()["error"]["code"]) == (409, "not_unlocked")
            assert bool(vault.locked)
            assert (await served.approver.post(UNLOCK, json=body(key))).status_code == 204
            assert vault.read(REF) == DOCUMENT
            assert (await prove(served.approver, env.key)).json()["accounts"] == "unlocked"
            assert (await served.approver.get("/v1/status")).json()["accounts"] == "unlocked"
            shown = served.log.getvalue() + caplog.text
            assert "the accounts were unlocked with the key" in shown
            assert base64.b64encode(key).decode() not in shown

    run_async(scenario())


def test_wrong_keys_are_limited(env: GateEnv) -> None:
    make_vault(env)

    async def scenario() -> None:
        async with served_gate(env) as served:
            for _ in range(1000):
                reply = await served.approver.post(UNLOCK, json=body(os.urandom(32)))
                if reply.status_code == 429:
                    return
            raise AssertionError("a key can be guessed at any rate")

    run_async(scenario())


def test_another_machine_cannot_unlock(env: GateEnv) -> None:
    key = make_vault(env)

    async def scenario() -> None:
        async with served_gate(env) as served:
            app = GateApp(served.gate, OriginCheck("127.0.0.1", served.port))
            for host, status in (("192.0.2.7", 403), ("127.0.0.1", 204)):
                assert bool(served.gate.accounts.vault.locked)
                transport = httpx.ASGITransport(app, client=(host, 1234))
                async with httpx.AsyncClient(transport=transport, base_url=served.url) as other:
                    other.headers["Authorization"] = f"Bearer {await session(other, env.key)}"
                    assert (await other.post(UNLOCK, json=body(key))).status_code == status

    run_async(scenario())


__all__ = ["short_env"]


def test_whoever_answers_requests_unlocks_the_accounts(short_env: GateEnv) -> None:  # the fixture
    env = short_env
    make_vault(env)

    def opened(key: UnlockedKey) -> DataKey | None:
        return Vault(env.data).open_with(key)

    def use() -> list[str]:
        found, seen = discover(data=env.data), []
        for data_key in (None, opened):
            with ApproverClient(found, env.key, data_key=data_key) as client:
                client.waiting()
            with ViewerClient(found) as viewer:
                viewer.open()
                seen.append(viewer.accounts)
        return seen

    async def main() -> None:
        async with scope(env) as on:
            assert await asyncio.to_thread(use) == ["locked", "unlocked"]
            assert on.gate.accounts.vault.read(REF) == DOCUMENT

    run_async(main())
