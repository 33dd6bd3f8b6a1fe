"""Unlocking the vault of a daemon from the console."""

import gc
from dataclasses import replace
from typing import Any

import pytest
from textual.widgets import Input
from textual.worker import Worker

from aileron_tui.console.screens.vault import VaultScreen
from aileron_tui.core.errors import AileronError
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.vault import VaultState
from tests.console.screen_app import SIZES, async_test, lines, wait_until
from tests.console.scripted_gate import ScriptedGate, console, notifications, request, shown

LOCKED = "approved; the daemon's vault is locked; press U in the console to unlock it"


def daemon(name: str = "", *numbers: int, vault: VaultState = VaultState.LOCKED) -> ScriptedGate:
    made = ScriptedGate(*map(request, numbers), name=name)
    made.vault_state = vault
    return made


@pytest.mark.parametrize("size", SIZES)
def test_a_wrong_passphrase_is_said_and_the_right_one_unlocks(size: tuple[int, int]) -> None:
    @async_test
    async def run() -> None:
        work = daemon("", 1)
        async with console(work, size=size) as (app, pilot):
            await wait_until(pilot, lambda: app.vaults.locked == [""])
            await pilot.press("U")
            await wait_until(pilot, lambda: isinstance(app.screen, VaultScreen))
            await pilot.press(*"wrong")
            await wait_until(pilot, lambda: "•••••" in shown(app))
            assert "wrong" not in shown(app)
            await pilot.press("enter")
            await wait_until(pilot, lambda: "that is not the passphrase" in shown(app))
            assert isinstance(app.screen, VaultScreen)
            assert app.screen.query_one(Input).value == ""
            assert all(len(line) <= size[0] for line in lines(app))
            await pilot.press(*"open sesame", "enter")
            await wait_until(pilot, lambda: not isinstance(app.screen, VaultScreen))
            assert "the vault is unlocked" in notifications(app)
            await wait_until(pilot, lambda: app.vaults.locked == [])
            await wait_until(pilot, lambda: "vault locked" not in shown(app))
        assert [bytes(tried) for tried in work.tried] == [bytes(5), bytes(11)]
        assert work.decided == []

    run()


@async_test
async def test_the_passphrase_is_in_no_worker_and_no_message() -> None:
    work = daemon("", 1)
    async with console(work) as (app, pilot):
        await wait_until(pilot, lambda: app.vaults.locked == [""])
        await pilot.press("U")
        await wait_until(pilot, lambda: isinstance(app.screen, VaultScreen))
        workers: list[str] = []
        original = app.screen.run_worker

        def spy(*args: Any, **more: Any) -> Worker[Any]:
            worker: Worker[Any] = original(*args, **more)
            workers.append(f"{worker!r} {worker.name} {worker.description}")
            return worker

        app.screen.run_worker = spy  # type: ignore[method-assign]  # watched
        await pilot.press(*"hunter2", "enter")
        await wait_until(pilot, lambda: "that is not the passphrase" in shown(app))
        assert workers
        assert not [words for words in workers if "hunter2" in words]
        assert "hunter2" not in notifications(app) + shown(app)
    gc.collect()
    assert bytes(work.tried[0]) == bytes(7)


@async_test
async def test_escape_leaves_it_locked() -> None:
    work = daemon("", 1)
    async with console(work) as (app, pilot):
        await wait_until(pilot, lambda: app.vaults.locked == [""])
        await pilot.press("U", *"open", "escape")
        await pilot.pause(0.1)
        assert not isinstance(app.screen, VaultScreen)
    assert work.tried == []


@pytest.mark.parametrize(
    ("vault", "words"),
    [
        (VaultState.NONE, "there is no vault to unlock"),
        (VaultState.MISSING, "the daemon has no vault yet"),
        (VaultState.UNLOCKED, "already unlocked"),
    ],
)
def test_where_there_is_nothing_to_unlock_it_is_said(vault: VaultState, words: str) -> None:
    @async_test
    async def run() -> None:
        async with console(daemon("", 1, vault=vault)) as (app, pilot):
            await wait_until(pilot, lambda: words in app.vaults.problem())
            await pilot.press("U")
            await wait_until(pilot, lambda: words in notifications(app))
            assert not isinstance(app.screen, VaultScreen)
            assert "vault locked" not in shown(app)

    run()


@async_test
async def test_it_is_the_vault_of_the_request_that_is_shown() -> None:
    work, home = daemon("work", 1), daemon("home", 2)
    async with console([work, home]) as (app, pilot):
        await wait_until(pilot, lambda: set(app.vaults.locked) == {"work", "home"})
        assert "vault locked" in shown(app)
        app.board.selected = "home act-2"
        app.redraw()
        await pilot.press("U")
        await wait_until(pilot, lambda: isinstance(app.screen, VaultScreen))
        await wait_until(pilot, lambda: "The passphrase is sent only to home." in shown(app))
        await pilot.press(*"open sesame", "enter")
        await wait_until(pilot, lambda: app.vaults.locked == ["work"])
        assert app.vaults.to_unlock() == "work"
    assert work.tried == []


@async_test
async def test_a_call_that_waits_for_the_vault_says_so_and_goes_on() -> None:
    work = daemon("", 1, vault=VaultState.UNLOCKED)
    async with console(work) as (app, pilot):
        await wait_until(pilot, lambda: "already" in app.vaults.problem())
        app.board.record_answer(request(1))
        work.vault_state = VaultState.LOCKED
        waiting = replace(request(1), state=RequestState.RUNNING, reason=LOCKED)
        work.tell("updated", waiting)
        await wait_until(pilot, lambda: LOCKED in shown(app))
        await wait_until(pilot, lambda: app.vaults.locked == [""])
        await pilot.press("U")
        await wait_until(pilot, lambda: isinstance(app.screen, VaultScreen))
        await pilot.press(*"open sesame", "enter")
        await wait_until(pilot, lambda: app.vaults.locked == [])
        work.tell("updated", replace(waiting, state=RequestState.EXECUTED, reason=""))
        await wait_until(pilot, lambda: app.board.pill("act-1").words == "done ✓")


@async_test
async def test_a_console_that_only_reads_unlocks_nothing() -> None:
    work = daemon("", 1)
    async with console(work, read_only=True) as (app, pilot):
        await wait_until(pilot, lambda: app.vaults.locked == [""])
        await pilot.press("U")
        await wait_until(pilot, lambda: "read-only" in notifications(app))
        assert not isinstance(app.screen, VaultScreen)


@async_test
async def test_a_vault_that_cannot_be_asked_hinders_nothing() -> None:
    class Odd(ScriptedGate):
        def vault(self) -> VaultState:
            raise AileronError("HTTP 500")

    odd = Odd(request(1))
    async with console(odd) as (app, pilot):
        await pilot.press("a")
        await wait_until(pilot, lambda: len(odd.decided) == 1)
        assert app.vaults.locked == []
