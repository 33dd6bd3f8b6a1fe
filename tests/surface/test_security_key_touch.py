"""Signing by touching a security key, and adding one: on a key in software behind the library's device interface."""

import sys
from threading import Event, Timer
from typing import Any

import pytest
from fido2.ctap import CtapDevice
from fido2.hid import CtapHidDevice

from aileron_tui.core.decision import Statement, Verdict, pae
from aileron_tui.files.extras import install_command
from aileron_tui.signing.approvers import Approver
from aileron_tui.signing.assertion import CONSOLE_ORIGIN, check_assertion
from aileron_tui.signing.envelope import check_signature, opened, read_envelope
from aileron_tui.signing.errors import EnvelopeRefused
from aileron_tui.signing.key_store import for_this_run
from aileron_tui.signing.security_key import SecurityKey
from aileron_tui.surface.security_key_device import TouchCancelled, TouchFault, TouchTimer
from aileron_tui.surface.security_key_registration import RegisteredKey, read_registration, registered
from aileron_tui.surface.security_key_touch import TOUCH, Touched, touched
from tests.signing.decisions import statement
from tests.software_authenticator import SoftwareAuthenticator, Touch

PIN = "4711"


class Person:
    """Reads what is said, and enters these PINs one after the other."""

    def __init__(self, *pins: str) -> None:
        self.pins = list(pins)
        self.heard: list[str] = []
        self.asked: list[str] = []

    def say(self, words: str) -> None:
        self.heard.append(words)

    def ask_pin(self, words: str) -> str:
        self.asked.append(words)
        return self.pins.pop(0)


def added(device: SoftwareAuthenticator, name: str = "usb-key", *pins: str) -> Approver:
    found = registered(name, (), Person(*pins), devices=lambda: [device])
    return Approver(name, found.public, "", backup_eligible=found.backup_eligible, added_on="usb")


def touch(
    keys: list[Approver], *devices: SoftwareAuthenticator, person: Person | None = None, cancelled: Event | None = None
) -> Touched:
    return touched(statement(), keys, person or Person(), cancelled=cancelled, devices=lambda: devices)


@pytest.mark.parametrize("algorithm", [-7, -8, -257])
@pytest.mark.parametrize("pin", ["", PIN])
def test_a_touch_signs_exactly_the_statement(algorithm: int, pin: str) -> None:
    device = SoftwareAuthenticator(algorithm=algorithm, pin=pin)
    key, person = added(device, "usb-key", pin), Person(pin)
    signed = touch([key], device, person=person)
    assert signed.approver == key
    assert person.heard[-1] == TOUCH
    assert person.asked == (["PIN of the security key"] if pin else [])
    envelope = read_envelope(signed.envelope.encode())
    assert envelope == signed.envelope
    assert opened(envelope, {key.public.fingerprint: key}) == statement_in(signed)
    assert device.closed == 2


def statement_in(signed: Touched) -> Statement:
    found = statement()
    assert signed.envelope.payload == found.payload()
    return found


def test_the_assertion_says_that_it_was_made_in_a_terminal() -> None:
    device = SoftwareAuthenticator()
    key = added(device)
    signed = touch([key], device).envelope
    assert isinstance(key.public, SecurityKey)
    assert signed.assertion is not None
    checked = check_assertion(key.public, signed.assertion, signed.signature, pae(signed.type, signed.payload))
    assert (checked.origin, checked.counter) == (CONSOLE_ORIGIN, 1)


def test_the_key_that_is_enrolled_is_found_among_several_and_only_it_blinks() -> None:
    stranger, device, old = SoftwareAuthenticator(), SoftwareAuthenticator(), SoftwareAuthenticator(verifies=False)
    key = added(device)
    blinked = device.blinked
    assert touch([added(SoftwareAuthenticator(), "other"), key], stranger, old, device).approver == key
    assert (stranger.blinked, old.blinked, device.blinked) == (0, 0, blinked + 1)


def test_a_wrong_pin_is_asked_again_until_the_key_is_blocked() -> None:
    device = SoftwareAuthenticator(pin=PIN)
    key = added(device, "usb-key", PIN)
    person = Person("0000", PIN)
    assert touch([key], device, person=person).approver == key
    assert person.asked == ["PIN of the security key", "Wrong PIN, 7 tries left. PIN of the security key"]
    device.pin_tries = 1
    with pytest.raises(TouchFault, match="the PIN of this security key is blocked"):
        touch([key], device, person=Person("0000"))


def test_no_pin_cancels() -> None:
    device = SoftwareAuthenticator(pin=PIN)
    key = added(device, "usb-key", PIN)
    with pytest.raises(TouchCancelled, match="no PIN was entered"):
        touch([key], device, person=Person(""))
    assert device.pin_tries == 8


CASES: list[tuple[dict[str, Any], str]] = [
    ({"touch": Touch.REFUSED}, "the security key refused"),
    ({"touch": Touch.UNPLUGGED}, "the security key was unplugged"),
    ({"verifies": False}, "this security key has no PIN"),
    ({"credentials": []}, "this security key is not enrolled here"),
]


@pytest.mark.parametrize(("changes", "words"), CASES)
def test_whatever_goes_wrong_is_said_in_a_sentence(changes: dict[str, Any], words: str) -> None:
    device = SoftwareAuthenticator()
    key = added(device)
    for name, value in changes.items():
        setattr(device, name, value)
    with pytest.raises(TouchFault) as caught:
        touch([key], device)
    assert caught.value.title == words
    assert caught.value.hint
    assert device.closed == 2


def test_nothing_plugged_in_and_nothing_enrolled_are_said() -> None:
    device = SoftwareAuthenticator()
    key = added(device)
    with pytest.raises(TouchFault, match="no security key is plugged in"):
        touch([key])
    own = for_this_run()
    with pytest.raises(TouchFault, match="no security key is enrolled here"):
        touch([Approver("default", own.public, "")], device)


def test_a_key_that_is_unplugged_before_it_is_asked_is_said() -> None:
    device = SoftwareAuthenticator()
    key = added(device)
    device.plugged_in = False
    with pytest.raises(TouchFault, match="the security key was unplugged"):
        touch([key], device)


def test_devices_that_cannot_be_opened_are_said() -> None:
    def refuses() -> list[CtapDevice]:
        raise PermissionError(13, "Permission denied")

    key = added(SoftwareAuthenticator())
    with pytest.raises(TouchFault, match="the security key cannot be opened"):
        touched(statement(), [key], Person(), devices=refuses)


def test_a_touch_can_be_cancelled_while_the_key_blinks() -> None:
    device = SoftwareAuthenticator()
    key, cancelled = added(device), Event()
    device.touch = Touch.NEVER
    Timer(0.05, cancelled.set).start()
    with pytest.raises(TouchCancelled, match="cancelled"):
        touch([key], device, cancelled=cancelled)


def test_a_touch_is_given_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    device = SoftwareAuthenticator()
    key = added(device)
    device.touch = Touch.NEVER
    monkeypatch.setattr(TouchTimer.__init__, "__defaults__", (0.05,))
    with pytest.raises(TouchCancelled, match="the security key was not touched in time"):
        touch([key], device)


def test_a_key_that_signs_without_checking_its_user_is_refused() -> None:
    device = SoftwareAuthenticator()
    key = added(device)

    class Careless(SoftwareAuthenticator):
        def _flags(self, *, verified: bool, present: bool = True) -> int:
            return super()._flags(verified=False, present=present)

    careless = Careless(credentials=device.credentials)
    with pytest.raises(EnvelopeRefused, match="decision refused"):
        touch([key], careless)


def test_a_key_cannot_be_added_twice_nor_beside_another() -> None:
    device = SoftwareAuthenticator()
    key = added(device)
    with pytest.raises(TouchFault, match="this security key is already enrolled here"):
        registered("again", (key,), Person(), devices=lambda: [device])
    with pytest.raises(TouchFault, match="it is not certain which security key you mean"):
        registered("again", (), Person(), devices=lambda: [device, SoftwareAuthenticator()])
    assert len(device.credentials) == 1


@pytest.mark.parametrize(
    ("flags", "words"),
    [(0x41, "did not check who touched it"), (0x44, "did not check who touched it"), (0x55, "contradicts itself")],
)
def test_a_registration_with_wrong_flags_is_refused(flags: int, words: str) -> None:
    made = SoftwareAuthenticator().registration(b"x" * 32, flags=flags)
    with pytest.raises(TouchFault, match=words):
        read_registration(made.authenticator_data)


def test_a_registration_is_read_as_the_browser_sends_it() -> None:
    device = SoftwareAuthenticator(backup_eligible=True, backed_up=True, counts=False)
    made = device.registration(b"x" * 32)
    expected = SecurityKey(made.credential.id, -7, made.credential.spki)
    assert read_registration(made.authenticator_data) == RegisteredKey(expected, True)
    other = device.registration(b"x" * 32, rp_id="example.com")
    for data in (other.authenticator_data, made.authenticator_data[:-1], made.authenticator_data[:37], b""):
        with pytest.raises(TouchFault):
            read_registration(data)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    key = added(SoftwareAuthenticator())
    monkeypatch.setitem(sys.modules, "fido2", None)
    with pytest.raises(TouchFault) as caught:
        touched(statement(), [key], Person())
    assert install_command("page") in caught.value.hint


def test_the_usb_ports_are_asked_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    device = SoftwareAuthenticator()
    key = added(device)
    monkeypatch.setattr(CtapHidDevice, "list_devices", lambda: iter([device]))
    signed = touched(statement(), [key], Person())
    assert check_signature(signed.envelope, {key.public.fingerprint: key}) == key


def test_verdict_is_inside_what_is_signed() -> None:
    device = SoftwareAuthenticator()
    key = added(device)
    signed = touch([key], device)
    assert opened(signed.envelope, {key.public.fingerprint: key}).verdict is Verdict.APPROVE
