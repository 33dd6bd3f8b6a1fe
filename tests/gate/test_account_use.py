"""Accounts in a running gate: what lacks one waits, the prompt names it, and another account is another prompt."""

import asyncio
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from aileron_tui.accounts.secret_document import SecretDocument
from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.core.binding_change import Binding, new_binding_id
from aileron_tui.core.connector import read_connector
from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.package_grant import connector_grant
from aileron_tui.core.prompt import lines, read_prompt
from aileron_tui.demo.sample_service import MAIL_CREDENTIAL
from aileron_tui.files.config import ActionSettings, ConnectorSettings
from aileron_tui.gate.gate import LEDGER_FILE, Gate
from aileron_tui.surface import binding_changes
from tests.gate.conftest import GateEnv, ask, code, dig, previewed_request, result_of, run_async
from tests.gate.ruled_gate import call, is_asked, make_from, verified, waiting

MAIL = "local://aileron/mail"
NEW_MAIL = {"to": "team@example.com", "subject": "Weekly recap", "body": "Text"}


class AccountGate:
    """A gate whose mail connector has no credential in the configuration."""

    def __init__(self, env: GateEnv) -> None:
        self.env = env
        self.stores = SecretStores(env.data)
        self.stores.vault.create_or_open([env.key])
        self.connectors: dict[str, ConnectorSettings] = {}
        self.actions: dict[str, ActionSettings] = {}
        manifest = env.manifests / "connectors" / "mail" / "manifest.toml"
        connector = read_connector(manifest.read_bytes(), "manifest.toml").value
        assert connector
        self.granted = connector_grant(connector, "", "")

    @asynccontextmanager
    async def gate(self, *, unlocked: bool = True) -> Any:
        setup = self.env.setup()
        connectors = {name: found for name, found in setup.config.connectors.items() if name != MAIL}
        config = replace(setup.config, connectors=connectors | self.connectors, actions=self.actions)
        gate = Gate(replace(setup, config=config))
        await gate.start()
        if unlocked:
            gate.accounts.vault.unlock(self.stores.vault.open_with(self.env.key))
        try:
            yield gate
        finally:
            await gate.stop()

    def bind(self, account: str = "default", token: str = MAIL_CREDENTIAL) -> Binding:
        """Signs in to an account, as `bind` does, beside the running gate."""
        asked = self.granted.credential
        assert asked
        about = (asked.scopes, asked.addresses, "aileron-samples")
        binding = Binding(new_binding_id(), MAIL, "oauth2", account, *about, hosts=self.granted.hosts)
        document = SecretDocument({"kind": "oauth2", "access_token": token, "refresh_token": "", "expires_at": None})
        binding_changes.bind(self.env.data / LEDGER_FILE, self.stores, binding, document, self.env.key)
        return binding

    def unbind(self, binding: Binding) -> None:
        binding_changes.unbind(self.env.data / LEDGER_FILE, self.stores, binding, self.env.key)


@pytest.fixture
def accounts(env: GateEnv) -> AccountGate:
    return AccountGate(env)


async def changed(gate: Gate, id_: str, true: Callable[[JsonObject], bool]) -> JsonObject:
    """Returns a request once its prompt is as it should be and its preview was fetched."""
    for _ in range(3000):
        item = gate.find_request(id_)
        if item and item["preview_state"] != "fetching" and true(item):
            return item
        await asyncio.sleep(0.01)
    raise AssertionError("the prompt did not change")


def account_of(item: JsonObject) -> str:
    return read_prompt(item["prompt"]).connector.account


def has_account(name: str) -> Callable[[JsonObject], bool]:
    return lambda item: account_of(item) == name


def test_a_call_without_an_account_waits_until_somebody_signs_in(accounts: AccountGate) -> None:
    async def work() -> None:
        async with accounts.gate() as gate:
            id_ = await waiting(gate)
            lacking = await previewed_request(gate, id_)
            prompt = read_prompt(lacking["prompt"])
            assert prompt.warnings == (f"{MAIL} needs an account: run `aileron-tui bind {MAIL}`",)
            assert prompt.connector.account == ""
            refused = await gate.decide(id_, accounts.env.decision(lacking))
            assert code(refused) == "ACCOUNT_NEEDED"
            assert "needs an account" in dig(refused.body, "error", "message")
            accounts.bind("work")
            bound = await changed(gate, id_, has_account("work"))
            assert read_prompt(bound["prompt"]).warnings == ()
            assert "unavailable" not in dig(bound, "preview")
            assert code(await gate.decide(id_, accounts.env.decision(lacking))) == "PROMPT_CHANGED"
            assert (await gate.decide(id_, accounts.env.decision(bound))).status == 200
            assert (await result_of(gate, id_))["status"] == "completed"

    run_async(work())
    verified(accounts.env)


def test_what_needs_no_approval_waits_too_and_can_be_denied_or_run(accounts: AccountGate) -> None:
    async def work() -> None:
        async with accounts.gate() as gate:
            denied = await ask(gate, "list-drafts", limit=1)
            assert denied.status == 202
            id_ = str(denied.body["approval_id"])
            item = await previewed_request(gate, id_)
            assert "needs an account" in read_prompt(item["prompt"]).warnings[0]
            assert (await gate.decide(id_, accounts.env.decision(item, Verdict.DENY))).status == 200
            asked = await ask(gate, "list-drafts", limit=2)
            accounts.bind()
            item = await changed(gate, str(asked.body["approval_id"]), has_account("default"))
            assert (await gate.decide(str(item["id"]), accounts.env.decision(item))).status == 200
            assert (await result_of(gate, str(item["id"])))["status"] == "completed"
            assert (await ask(gate, "list-drafts", limit=3)).status == 200

    run_async(work())


def test_another_account_is_another_prompt(accounts: AccountGate) -> None:
    async def work() -> None:
        async with accounts.gate() as gate:
            work_account = accounts.bind("work")
            id_ = await waiting(gate)
            shown = await previewed_request(gate, id_)
            assert account_of(shown) == "work"
            assert any("account work" in line for line in lines(read_prompt(shown["prompt"])))
            accounts.unbind(work_account)
            accounts.bind("home")
            refused = await gate.decide(id_, accounts.env.decision(shown))
            assert code(refused) in ("PROMPT_PENDING", "PROMPT_CHANGED")
            other = await changed(gate, id_, has_account("home"))
            assert other["digest"] != shown["digest"]
            assert code(await gate.decide(id_, accounts.env.decision(shown))) == "PROMPT_CHANGED"
            assert (await gate.decide(id_, accounts.env.decision(other))).status == 200

    run_async(work())


def test_signing_in_again_to_the_same_account_keeps_the_prompt(accounts: AccountGate) -> None:
    async def work() -> None:
        async with accounts.gate() as gate:
            first = accounts.bind("work", token="expired-token")
            id_ = await waiting(gate)
            shown = await previewed_request(gate, id_)
            assert "unavailable" in dig(shown, "preview")
            accounts.unbind(first)
            await changed(gate, id_, has_account(""))
            accounts.bind("work")
            again = await changed(gate, id_, has_account("work"))
            assert "unavailable" not in dig(again, "preview")

    run_async(work())


def test_several_accounts_are_never_guessed_and_the_configuration_chooses(accounts: AccountGate) -> None:
    accounts.bind("work")
    accounts.bind("home")

    async def without() -> None:
        async with accounts.gate() as gate:
            item = await previewed_request(gate, await waiting(gate))
            assert "has several accounts (home, work)" in read_prompt(item["prompt"]).warnings[0]
            assert code(await gate.decide(str(item["id"]), accounts.env.decision(item))) == "ACCOUNT_NEEDED"

    async def chosen() -> None:
        async with accounts.gate() as gate:
            item = await previewed_request(gate, await waiting(gate))
            assert account_of(item) == "home"
            other = await ask(gate, "list-drafts", limit=1)
            assert other.status == 200, "the connector's account"

    run_async(without())
    accounts.connectors = {MAIL: ConnectorSettings(account="work")}
    accounts.actions = {"send-draft": ActionSettings(account="home")}
    run_async(chosen())


def test_a_rule_for_a_call_does_not_match_with_another_account(accounts: AccountGate) -> None:
    async def work() -> None:
        async with accounts.gate() as gate:
            home = accounts.bind("home")
            await make_from(accounts.env, gate, await waiting(gate, "draft-mail", **NEW_MAIL))
            assert (await call(gate, "draft-mail", **NEW_MAIL)).body["status"] == "completed"
            accounts.unbind(home)
            assert is_asked(await call(gate, "draft-mail", **NEW_MAIL))
            accounts.bind("work")
            assert is_asked(await call(gate, "draft-mail", **NEW_MAIL))

    run_async(work())


def test_locked_accounts_are_said_and_previews_come_once_they_are_unlocked(accounts: AccountGate) -> None:
    accounts.bind("work")

    async def work() -> None:
        async with accounts.gate(unlocked=False) as gate:
            id_ = await waiting(gate)
            item = await previewed_request(gate, id_)
            assert "the accounts are locked: open the console" in str(dig(item, "preview", "unavailable"))
            reply = await ask(gate, "list-drafts", limit=1)
            assert reply.status == 412
            assert dig(reply.body, "error", "details", "required") == "vault.passphrase"
            gate.accounts.vault.unlock(accounts.stores.vault.open_with(accounts.env.key))
            gate.accounts_unlocked("tester")
            await changed(gate, id_, lambda item: "unavailable" not in dig(item, "preview"))
            assert (await ask(gate, "list-drafts", limit=2)).status == 200

    run_async(work())
