"""A running gate uses what is installed, notices every change of it, and loads nothing that nobody approved."""

import asyncio
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.files.config import ConnectorSettings, CredentialSource
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.gate_state import GateSetup
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.surface.package_changes import record_declined
from tests.gate.conftest import GateEnv, ask, code, dig, previewed_request, result_of, run_async
from tests.packages.made_packages import ACTIONS, AUTHORITY, FIRST, NEW_ACTION, SECOND, MadeFrom, made_release
from tests.packages.package_home import PackageHome


class PackageGate:
    """A gate environment whose gate uses installed packages."""

    def __init__(self, env: GateEnv) -> None:
        self.env = env
        self.home = PackageHome(env.data, key=env.key)

    def release(self, version: str) -> Path:
        folder = self.env.folder / version
        made_from = MadeFrom(service=f"127.0.0.1:{self.env.service.port}")
        return folder if folder.exists() else made_release(version, made_from).write_bundle(folder)

    def setup(self) -> GateSetup:
        setup = self.env.setup()
        connectors = {**setup.config.connectors, AUTHORITY: ConnectorSettings(CredentialSource(env="TEST_MAIL_TOKEN"))}
        config = replace(setup.config, connectors=connectors)
        return replace(setup, config=config, keyring=self.home.keyring, packages=True)

    @asynccontextmanager
    async def gate(self) -> Any:
        gate = Gate(self.setup())
        await gate.start()
        try:
            yield gate
        finally:
            await gate.stop()


@pytest.fixture
def packages(env: GateEnv) -> PackageGate:
    return PackageGate(env)


def names(gate: Gate) -> set[str]:
    return {dig(item, "name") for item in dig(gate.actions(), "items")}


async def until(true: Callable[[], bool]) -> None:
    for _ in range(3000):
        if true():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


def test_a_gate_follows_what_is_installed(packages: PackageGate) -> None:
    async def work() -> None:
        async with packages.gate() as gate:
            assert "move-file" in names(gate), "without a package, the samples are used"
            packages.home.add(packages.release(FIRST))
            await until(lambda: names(gate) == set(ACTIONS))
            listed = await ask(gate, "list-drafts", limit=5)
            assert listed.status == 200

            asked = await ask(gate, "send-draft")
            id_ = str(asked.body["approval_id"])
            old = await previewed_request(gate, id_)
            assert dig(old, "prompt", "connector", "trust") == f"signed by {AUTHORITY}"
            packages.home.add(packages.release(SECOND), name="mail")
            await until(lambda: dig(gate.find_request(id_), "revision") > old["revision"])
            late = await gate.decide(id_, packages.env.decision(old))
            assert (late.status, code(late)) == (409, "PROMPT_CHANGED")
            assert names(gate) == {*ACTIONS, NEW_ACTION}

            packages.home.remove("mail")
            result = await result_of(gate, id_)
            assert dig(result, "failure", "error", "class") == "withdrawn", "the sample of that name is not meant"
            assert not names(gate), "the samples are not used any more"

    run_async(work())


def test_a_request_of_a_removed_package_is_withdrawn(packages: PackageGate) -> None:
    made_from = MadeFrom(service=f"127.0.0.1:{packages.env.service.port}")
    archives = made_release(FIRST, made_from).write_archives(packages.env.folder / "archives")
    packages.home.add(*sorted(archives.iterdir()))

    async def work() -> None:
        async with packages.gate() as gate:
            asked = await ask(gate, "send-draft")
            packages.home.remove("send-draft")
            result = await result_of(gate, str(asked.body["approval_id"]))
            assert dig(result, "failure", "error", "class") == "withdrawn"
            assert "its action was removed" in dig(result, "failure", "error", "message")
            assert names(gate) == set(ACTIONS) - {"send-draft"}

    run_async(work())


def test_what_is_removed_cannot_be_called_or_approved_any_more(packages: PackageGate) -> None:
    made_from = MadeFrom(service=f"127.0.0.1:{packages.env.service.port}")
    archives = made_release(FIRST, made_from).write_archives(packages.env.folder / "archives")
    packages.home.add(*sorted(archives.iterdir()))

    async def work() -> None:
        async with packages.gate() as gate:
            asked = await ask(gate, "send-draft")
            item = await previewed_request(gate, str(asked.body["approval_id"]))
            packages.home.remove("send-draft")
            late = await gate.decide(str(item["id"]), packages.env.decision(item))
            assert late.status == 409
            assert not packages.env.service.sent
            packages.home.remove("list-drafts")
            assert (await ask(gate, "list-drafts", limit=5)).status == 404, "at once, not after the next reload"

    run_async(work())


def test_declining_reloads_nothing(packages: PackageGate) -> None:
    packages.home.add(packages.release(FIRST))

    async def work() -> None:
        async with packages.gate() as gate:
            (proposal,) = packages.home.proposals(packages.release(SECOND), name="mail")
            record_declined(packages.home.ledger, [proposal.reference], proposal.grant.source)
            assert (await ask(gate, "list-drafts", limit=5)).status == 200
            await asyncio.sleep(2.5)

    run_async(work())
    with open_reader(packages.home.ledger) as reader:
        kinds = [entry.kind for entry in reader.entries()]
    assert EntryKind.PACKAGE_DECLINED in kinds
    assert EntryKind.CONFIG_CHANGED not in kinds


def test_bytes_that_change_in_the_store_are_not_used(packages: PackageGate) -> None:
    async def work() -> None:
        packages.home.add(packages.release(FIRST))
        async with packages.gate() as gate:
            assert names(gate) == set(ACTIONS)
            (action,) = packages.home.store.root.glob("sha256/*/actions/send-draft.md")
            action.write_bytes(action.read_bytes().replace(b"required = true", b"required = false"))
            await until(lambda: not names(gate))
            (error,) = dig(gate.actions(), "load_errors")
            assert "the action send-draft was changed after it was approved" in error["message"]
            reply = await ask(gate, "send-draft")
            assert reply.status == 404
            assert not packages.env.service.sent

    run_async(work())


def test_an_entry_that_nobody_signed_installs_nothing(packages: PackageGate, monkeypatch: pytest.MonkeyPatch) -> None:
    (proposal,) = packages.home.proposals(packages.release(FIRST))
    packages.home.store.put(proposal.grant, proposal.content)
    with monkeypatch.context() as patch, SqliteLedger(packages.home.ledger) as ledger:
        patch.setattr("aileron_tui.ledger.entry_rules.admit", lambda *_: None)
        ledger.append(EntryKind.PACKAGE_ADDED, {"id": "pkg-" + "0" * 32, "packages": [proposal.grant.fields()]})

    async def work() -> None:
        async with packages.gate() as gate:
            assert "list-drafts" in names(gate), "the samples have it too"
            assert "move-file" in names(gate), "so these are the samples"

    run_async(work())
