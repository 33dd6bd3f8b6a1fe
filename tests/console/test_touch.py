"""The touch of a security key in the console: what it signs, and everything that can go wrong on the way."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fido2.hid import CtapHidDevice
from textual.widgets import Input

from aileron_tui.console.app import Console
from aileron_tui.console.screens.lock import LockScreen
from aileron_tui.console.screens.touch import TouchScreen
from aileron_tui.core.decision import Statement, Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.request import Request
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.rule import Rule
from aileron_tui.core.rule_change import RuleChange, made, read_signed_change
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.files.paths import paths
from aileron_tui.signing.approvers import Approver
from aileron_tui.signing.envelope import Envelope, check_signature, opened
from aileron_tui.signing.key_store import for_this_run
from aileron_tui.surface.key_enrolment import changing_keys, enroll_signed, read_approvers
from aileron_tui.surface.security_key_registration import registered
from tests.console.rule_gate import RuleGate, movable, read
from tests.console.rule_gate import opened as opened_sheet
from tests.console.screen_app import async_test, wait_until
from tests.console.scripted_gate import QUICK, ScriptedGate, console, notifications, request, shown
from tests.console.test_lock import Lockable
from tests.software_authenticator import SoftwareAuthenticator, Touch
from tests.surface.test_security_key_touch import PIN, Person

HIGH = Risk(RiskLevel.HIGH, "sends something that cannot be undone")
KEY = replace(QUICK, high_risk="key")


class TouchGate(ScriptedGate):
    """A gate that takes what a security key signed."""

    def __init__(self, *items: Request) -> None:
        super().__init__(*items)
        self.signed: list[Statement] = []

    def statement(
        self, request: Request, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> Statement:
        if self.trouble:
            raise self.trouble
        return request.statement(verdict, reason=reason, edits=edits, surface="console", now=utc_now())

    def decide_signed(self, request: Request, envelope: Envelope, approver: Approver) -> RequestState:
        self.signed.append(opened(envelope, {approver.public.fingerprint: approver}))
        return self.decide(request, self.signed[-1].verdict)


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SoftwareAuthenticator:
    """A security key that is enrolled and plugged in."""
    monkeypatch.setenv("AILERON_TUI_HOME", str(tmp_path / "home"))
    made = SoftwareAuthenticator(pin=PIN)
    monkeypatch.setattr(CtapHidDevice, "list_devices", lambda: iter([made] if made.plugged_in else []))
    key = for_this_run()
    with changing_keys(paths().data) as (ledger, approvers):
        ledger.append(EntryKind.KEY_ENROLLED, approvers.enrolment("default", key.public))
    public = registered("blue", (), Person(PIN)).public
    enroll_signed(paths().data, "blue", public, key, added_on="usb")
    made.pin = ""
    return made


def high(number: int) -> Request:
    return request(number, HIGH)


async def ask(pilot: Any, app: Console) -> TouchScreen:
    await pilot.press("a")
    await wait_until(pilot, lambda: isinstance(app.screen, TouchScreen))
    assert isinstance(app.screen, TouchScreen)
    return app.screen


@async_test
async def test_a_touch_signs_the_approval_and_sends_it(device: SoftwareAuthenticator) -> None:
    gate = TouchGate(high(1))
    async with console(gate, KEY) as (app, pilot):
        await pilot.press("a")
        await wait_until(pilot, lambda: bool(gate.decided))
        assert not isinstance(app.screen, TouchScreen)
    (signed,) = gate.signed
    assert (signed.request, signed.verdict, signed.digest) == ("act-1", Verdict.APPROVE, high(1).digest)
    assert read_approvers(paths().data).security_keys[0].name == "blue"


@async_test
async def test_an_approval_is_held_after_the_touch_and_can_be_undone(device: SoftwareAuthenticator) -> None:
    gate = TouchGate(high(1))
    async with console(gate, replace(KEY, undo_seconds=60.0)) as (app, pilot):
        await pilot.press("a")
        await wait_until(pilot, lambda: app.answers.held_count == 1)
        await pilot.press("u")
        await wait_until(pilot, lambda: app.answers.held_count == 0)
    assert gate.decided == []
    assert device.blinked == 2


@async_test
async def test_the_pin_is_asked_for_and_never_shown(device: SoftwareAuthenticator) -> None:
    device.pin = PIN
    gate = TouchGate(high(1))
    async with console(gate, KEY) as (app, pilot):
        screen = await ask(pilot, app)
        field = screen.query_one(Input)
        await wait_until(pilot, lambda: field.display)
        assert "enter use this PIN" in shown(app)
        await pilot.press("enter")  # an empty PIN is not tried
        await pilot.press(*"0000", "enter")
        await wait_until(pilot, lambda: "Wrong PIN, 7 tries left" in shown(app))
        await wait_until(pilot, lambda: field.display and field.has_focus)
        await pilot.press(*PIN)
        await wait_until(pilot, lambda: field.value == PIN)
        assert PIN not in shown(app)
        await pilot.press("enter")
        await wait_until(pilot, lambda: bool(gate.decided))
    assert device.pin_tries == 8


@async_test
async def test_escape_cancels_while_the_key_blinks(device: SoftwareAuthenticator) -> None:
    device.touch = Touch.NEVER
    gate = TouchGate(high(1))
    async with console(gate, KEY) as (app, pilot):
        await ask(pilot, app)
        await wait_until(pilot, lambda: "Touch your security key now." in shown(app))
        assert "esc cancel" in shown(app)
        assert "enter" not in shown(app)
        await pilot.press("enter")  # does nothing
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(app.screen, TouchScreen))
        await wait_until(pilot, lambda: device.closed == 2)  # the thread has ended and gave the key back
    assert gate.decided == []


@async_test
async def test_escape_cancels_while_the_pin_is_asked_for(device: SoftwareAuthenticator) -> None:
    device.pin = PIN
    gate = TouchGate(high(1))
    async with console(gate, KEY) as (app, pilot):
        screen = await ask(pilot, app)
        await wait_until(pilot, lambda: screen.query_one(Input).display)
        await pilot.press("4", "escape")
        await wait_until(pilot, lambda: not isinstance(app.screen, TouchScreen))
        await wait_until(pilot, lambda: device.closed == 2)
    assert (gate.decided, device.pin_tries) == ([], 8)


CASES = [
    (Touch.UNPLUGGED, "the security key was unplugged"),
    (Touch.REFUSED, "the security key refused"),
]


@pytest.mark.parametrize(("touch", "words"), CASES)
@async_test
async def test_what_goes_wrong_is_said_and_can_be_tried_again(
    device: SoftwareAuthenticator, touch: Touch, words: str
) -> None:
    device.touch = touch
    gate = TouchGate(high(1))
    async with console(gate, KEY) as (app, pilot):
        await ask(pilot, app)
        await wait_until(pilot, lambda: words in shown(app))
        assert "Nothing was signed." in shown(app)
        assert "enter try again" in shown(app)
        assert gate.decided == []
        device.touch, device.plugged_in = Touch.TOUCHED, True
        await pilot.press("enter")
        await wait_until(pilot, lambda: bool(gate.decided))


@async_test
async def test_without_an_enrolled_key_nothing_at_high_risk_can_be_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AILERON_TUI_HOME", str(tmp_path / "home"))
    gate = TouchGate(high(1), request(2))
    async with console(gate, KEY) as (app, pilot):
        await ask(pilot, app)
        await wait_until(pilot, lambda: "no security key is enrolled here" in shown(app))
        assert "security-key add" in shown(app)
        await pilot.press("escape", "n", "a")
        await wait_until(pilot, lambda: bool(gate.decided))
    assert [id_ for id_, *_ in gate.decided] == ["act-2"]


@async_test
async def test_locking_the_console_cancels_the_touch(device: SoftwareAuthenticator) -> None:
    device.touch = Touch.NEVER
    gate = TouchGate(high(1))
    async with console(gate, KEY, keys=Lockable()) as (app, pilot):
        screen = await ask(pilot, app)
        await wait_until(pilot, lambda: "Touch your security key now." in shown(app))
        app.lock()
        await wait_until(pilot, lambda: isinstance(app.screen, LockScreen) and device.closed == 2)
        device.touch = Touch.TOUCHED
        await pilot.press("x", "enter")
        await wait_until(pilot, lambda: app.screen is screen)
        assert "cancelled, because the dialog was covered" in shown(app)
    assert gate.decided == []


@async_test
async def test_a_request_that_changes_during_the_touch_is_not_approved(device: SoftwareAuthenticator) -> None:
    device.touch = Touch.NEVER
    gate = TouchGate(high(1))
    async with console(gate, KEY) as (app, pilot):
        await ask(pilot, app)
        await wait_until(pilot, lambda: "Touch your security key now." in shown(app))
        changed = replace(high(1), digest="sha256:" + "ab" * 32, revision=7)
        gate.tell("updated", changed)
        await wait_until(pilot, lambda: app.board.requests["act-1"].digest == changed.digest)
        device.touch = Touch.TOUCHED
        await wait_until(pilot, lambda: not isinstance(app.screen, TouchScreen))
        assert "the request changed before your answer was sent" in notifications(app)
    assert gate.decided == []


@async_test
async def test_a_source_that_cannot_say_what_to_sign_is_said(device: SoftwareAuthenticator) -> None:
    gate = TouchGate(high(1))
    gate.trouble = AileronError("the gate is away\x1b[2J")
    async with console(gate, KEY) as (app, pilot):
        await ask(pilot, app)
        await wait_until(pilot, lambda: "the gate is away" in shown(app))
        assert "\x1b" not in shown(app)
    assert device.blinked == 1


class TouchRuleGate(RuleGate):
    """A gate that takes rules that a security key signed."""

    def rule_statement(self, rule: Rule) -> RuleChange:
        return made(rule, "sha256:" + "0" * 64, timestamp(utc_now()))

    def make_signed_rule(self, envelope: Envelope) -> None:
        (key,) = read_approvers(paths().data).security_keys
        check_signature(envelope, {key.public.fingerprint: key})
        change = read_signed_change(envelope.payload)
        assert change.rule is not None
        self.make_rule(change.rule)


@async_test
async def test_a_rule_for_high_risk_is_signed_by_a_touch(device: SoftwareAuthenticator) -> None:
    device.touch = Touch.NEVER
    gate = TouchRuleGate(movable(risk=HIGH))
    async with console(gate, KEY) as (app, pilot):
        sheet = await opened_sheet(app, pilot)
        await read(pilot, sheet)
        await pilot.press("y")
        await wait_until(pilot, lambda: "Touch your security key now." in shown(app))
        assert "Make a rule for move-file?" in shown(app)
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.screen is sheet)
        assert gate.made == []
        device.touch = Touch.TOUCHED
        await pilot.pause(0.1)
        await pilot.press("y")
        await wait_until(pilot, lambda: len(gate.made) == 1)


@async_test
async def test_quitting_ends_the_touch(device: SoftwareAuthenticator) -> None:
    device.touch = Touch.NEVER
    gate = TouchGate(high(1))
    async with console(gate, KEY) as (app, pilot):
        await ask(pilot, app)
        await wait_until(pilot, lambda: "Touch your security key now." in shown(app))
        await app.action_quit()
    for _ in range(100):
        if device.closed == 2:
            break
        time.sleep(0.02)
    assert device.closed == 2
    assert gate.decided == []
