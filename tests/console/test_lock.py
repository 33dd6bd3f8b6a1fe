"""The locked console: it rings and counts on, and shows and answers nothing."""

import threading
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from aileron_tui.console.app import Console
from aileron_tui.console.screens.lock import LockScreen, PassphraseConfirmScreen
from aileron_tui.core.decision import Verdict
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.states import RequestState
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.surface.board import Tone
from tests.console.screen_app import async_test, wait_until
from tests.console.scripted_gate import QUICK, ScriptedGate, console, notifications, request, shown

SIZES = [(120, 36), (40, 15)]


class Lockable:
    """A key that can be wiped and made anew."""

    name, insecure, lockable = "default", False, True

    def __init__(self) -> None:
        self.key: UnlockedKey | None = for_this_run()

    def unlock(self, passphrase: bytearray) -> None:
        self.key = for_this_run()

    def lock(self) -> None:
        self.key = None


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the console writes to the terminal besides the screen, and `bell` for each bell."""
    found: list[str] = []
    monkeypatch.setattr(Console, "write_sequence", lambda _, sequence: found.append(sequence))
    monkeypatch.setattr(Console, "bell", lambda _: found.append("bell"))
    return found


async def read(app: Console, pilot: Pilot[None]) -> None:
    """Reads the request to its end."""
    while "● ready" not in shown(app):
        await pilot.press("enter")
        await pilot.pause(0.05)


def count_on(app: Console) -> str:
    assert isinstance(app.screen, LockScreen)
    return str(app.screen.query_one(".waiting", Static).render())


class Insecure(Lockable):
    """A key without a passphrase, which is read when it is first needed."""

    insecure, lockable = True, False

    def __init__(self, happened: list[str]) -> None:
        self._happened = happened

    @property
    def key(self) -> UnlockedKey | None:
        if threading.current_thread() is not threading.main_thread():  # in which the test looks at it too
            self._happened.append("key")
        return for_this_run()

    @key.setter
    def key(self, key: UnlockedKey | None) -> None:
        raise AssertionError("an insecure key is never wiped")


@async_test
async def test_the_process_is_protected_before_a_key_without_a_passphrase_is_read() -> None:
    happened: list[str] = []
    keys = Insecure(happened)
    async with console(ScriptedGate(request(1)), keys=keys, before_secrets=lambda: happened.append("protected")):
        assert happened[0] == "protected"
        assert "key" in happened


@async_test
async def test_the_process_is_protected_before_a_passphrase_can_be_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []
    show, keys = Console._show_lock, Lockable()
    keys.lock()

    def show_lock(app: Console, question: str) -> None:
        happened.append("lock")
        show(app, question)

    monkeypatch.setattr(Console, "_show_lock", show_lock)
    async with console(ScriptedGate(), keys=keys, before_secrets=lambda: happened.append("protected")) as (app, pilot):
        await wait_until(pilot, lambda: isinstance(app.screen, LockScreen))
        assert happened[:2] == ["protected", "lock"]


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_a_locked_console_rings_counts_and_shows_nothing(size: tuple[int, int], written: list[str]) -> None:
    gate = ScriptedGate(request(1))
    async with console(gate, replace(QUICK, bell=True, notify=True), size, keys=Lockable()) as (app, pilot):
        await pilot.press("L")
        await wait_until(pilot, lambda: isinstance(app.screen, LockScreen))
        assert count_on(app) == "1 request is waiting"
        written.clear()
        gate.tell("pending", request(2), request(3))
        await wait_until(pilot, lambda: count_on(app) == "3 requests are waiting")
        assert "bell" in written
        assert any("(3) aileron" in text for text in written)
        assert any("2 requests are waiting" in text for text in written)
        gate.tell(
            "updated", *(replace(request(number), state=RequestState.EXPIRED, revision=5) for number in (1, 2, 3))
        )
        await wait_until(pilot, lambda: count_on(app) == "nothing is waiting")
        assert "3 requests" not in shown(app)
        assert "act-on" not in shown(app)
        assert "r-1" not in shown(app)
        assert not any("act-on" in text for text in written)


@async_test
async def test_nothing_can_be_answered_and_no_message_is_shown_while_locked() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate, replace(QUICK, undo_seconds=60.0), keys=Lockable()) as (app, pilot):
        await pilot.press("a", "L")
        await wait_until(pilot, lambda: isinstance(app.screen, LockScreen))
        assert notifications(app) == "undone: the held approval was not sent"
        assert app.answers.held_count == 0
        app.show_message("Body: the salaries", Tone.WARN)
        await pilot.press("a", "d")
        await pilot.pause(0.1)
        assert "salaries" not in notifications(app)
    assert gate.decided == []


@async_test
async def test_a_connection_lost_while_locked_is_said() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate, keys=Lockable()) as (app, pilot):
        await pilot.press("L")
        await wait_until(pilot, lambda: isinstance(app.screen, LockScreen))
        gate.hang_up()
        await wait_until(pilot, lambda: "1 waiting when the connection was lost at" in count_on(app))
        assert "Unlock to reconnect." in count_on(app)


@async_test
async def test_unlocking_connects_again_with_the_new_key_and_answers_count_again() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate, keys=Lockable()) as (app, pilot):
        await pilot.press("L")
        await wait_until(pilot, lambda: isinstance(app.screen, LockScreen))
        gate.tell("pending", request(2))
        await wait_until(pilot, lambda: count_on(app) == "2 requests are waiting")
        await pilot.press(*"anything", "enter")
        await wait_until(pilot, lambda: not isinstance(app.screen, LockScreen))
        gate.hang_up()
        gate.down = False
        await wait_until(pilot, lambda: gate.connections == 2)
        await wait_until(pilot, lambda: not app.sources.trouble)
        await wait_until(pilot, lambda: app.board.waiting_count == 2)
        await pilot.press("d")
        await wait_until(pilot, lambda: len(gate.decided) == 1)
    assert gate.decided[0][:2] == ("act-1", Verdict.DENY)


@async_test
async def test_a_console_that_was_never_unlocked_claims_no_count() -> None:
    keys: Any = Lockable()
    keys.lock()
    async with console(ScriptedGate(request(1)), keys=keys) as (app, pilot):
        await wait_until(pilot, lambda: isinstance(app.screen, LockScreen))
        assert count_on(app) == ""
        assert app.screen.query_one(".dialog").styles.border_top[0] == "round"
        await pilot.press("ctrl+c")
        await wait_until(pilot, lambda: not app.is_running)


@async_test
async def test_quitting_says_that_an_approval_is_held() -> None:
    gate = ScriptedGate(request(1), request(2))
    async with console(gate, replace(QUICK, undo_seconds=60.0)) as (app, pilot):
        await wait_until(pilot, lambda: "ready for your answer" in shown(app))
        await pilot.press("a", "q")
        await wait_until(pilot, lambda: "1 approval is held and not sent yet. Quit anyway?" in shown(app))
        assert "not sent." in shown(app)
        await pilot.press("n", "u", "q")
        await wait_until(pilot, lambda: "2 requests are waiting. Quit anyway?" in shown(app))
        await pilot.press("y")
        await wait_until(pilot, lambda: not app.is_running)
    assert gate.decided == []


@pytest.mark.parametrize("key", ["ctrl+c", "ctrl+q"])
@pytest.mark.parametrize("first", ["j", "h", "D"])
@async_test
async def test_ctrl_c_asks_like_q_and_the_second_one_quits(first: str, key: str) -> None:
    """On the main screen, on another one, and in a dialog."""
    gate = ScriptedGate(request(1))
    async with console(gate) as (app, pilot):
        await pilot.press(first)
        await pilot.pause(0.1)
        below = app.screen
        await pilot.press(key)
        await wait_until(pilot, lambda: "1 request is waiting. Quit anyway?" in shown(app))
        await pilot.press("n")
        await wait_until(pilot, lambda: app.screen is below)
        await pilot.press(key)
        await wait_until(pilot, lambda: "Quit anyway?" in shown(app))
        await pilot.press(key)
        await wait_until(pilot, lambda: not app.is_running)
    assert gate.decided == []


@async_test
async def test_ctrl_c_quits_at_once_when_nothing_waits() -> None:
    async with console(ScriptedGate()) as (app, pilot):
        await pilot.press("ctrl+c")
        await wait_until(pilot, lambda: not app.is_running)


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_an_approval_with_the_passphrase_can_be_cancelled(size: tuple[int, int]) -> None:
    gate, high = ScriptedGate(request(1, Risk(RiskLevel.HIGH, "may send"))), replace(QUICK, high_risk="passphrase")
    async with console(gate, high, size, keys=Lockable()) as (app, pilot):
        await read(app, pilot)
        await pilot.press("a")
        await wait_until(pilot, lambda: isinstance(app.screen, PassphraseConfirmScreen))
        assert "esc cancel" in shown(app)
        await pilot.press(*"secret", "escape")
        await wait_until(pilot, lambda: app.screen is app._main)
        assert not app.is_locked
        await pilot.press("d")
        await wait_until(pilot, lambda: gate.decided == [("act-1", Verdict.DENY, "", None)])


@async_test
async def test_a_passphrase_that_is_checked_after_it_was_cancelled_confirms_nothing() -> None:
    class Slow(Lockable):
        let, checked = threading.Event(), threading.Event()

        def unlock(self, passphrase: bytearray) -> None:
            assert self.let.wait(20)
            self.checked.set()

    gate, keys = ScriptedGate(request(1, Risk(RiskLevel.HIGH, "may send"))), Slow()
    async with console(gate, replace(QUICK, high_risk="passphrase"), keys=keys) as (app, pilot):
        await pilot.press("a")
        await wait_until(pilot, lambda: isinstance(app.screen, PassphraseConfirmScreen))
        await pilot.press(*"secret", "enter")
        await wait_until(pilot, lambda: "unlocking" in shown(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.screen is app._main)
        keys.let.set()
        await wait_until(pilot, keys.checked.is_set)
        await app.workers.wait_for_complete()
        assert gate.decided == []
        assert app.answers.held_count == 0


@async_test
async def test_a_locked_console_cannot_be_unlocked_by_cancelling() -> None:
    async with console(ScriptedGate(request(1)), keys=Lockable()) as (app, pilot):
        await pilot.press("L")
        await wait_until(pilot, lambda: isinstance(app.screen, LockScreen))
        await pilot.press("escape")
        assert isinstance(app.screen, LockScreen)
        assert app.is_locked
