"""A touch through the packets of a USB key: the library's own transport, with a key in software at its end."""

from threading import Event, Timer

import pytest

from aileron_tui.signing.approvers import Approver
from aileron_tui.signing.envelope import check_signature
from aileron_tui.surface.security_key_device import TouchCancelled, TouchFault
from aileron_tui.surface.security_key_registration import registered
from aileron_tui.surface.security_key_touch import touched
from tests.signing.decisions import statement
from tests.software_authenticator import SoftwareAuthenticator, Touch
from tests.software_usb_key import plugged_in
from tests.surface.test_security_key_touch import PIN, Person


def added(device: SoftwareAuthenticator) -> Approver:
    found = registered("blue", (), Person(device.pin), devices=lambda: plugged_in(device))
    return Approver("blue", found.public, "", added_on="usb")


@pytest.mark.parametrize("pin", ["", PIN])
def test_a_key_is_added_and_touched(pin: str) -> None:
    device, stranger = SoftwareAuthenticator(pin=pin, algorithm=-257), SoftwareAuthenticator()
    key = added(device)
    signed = touched(statement(), [key], Person(pin), devices=lambda: plugged_in(stranger, device))
    assert check_signature(signed.envelope, {key.public.fingerprint: key}) == key
    assert (device.closed, stranger.closed) == (2, 1)


class Leaver(Person):
    """Cancels soon after the key began to wait for a touch."""

    def __init__(self) -> None:
        super().__init__()
        self.cancelled = Event()

    def say(self, words: str) -> None:
        super().say(words)
        if len(self.heard) == 2:
            Timer(0.1, self.cancelled.set).start()


def test_a_touch_is_cancelled_on_the_key_itself() -> None:
    device = SoftwareAuthenticator()
    key, person = added(device), Leaver()
    device.touch = Touch.NEVER
    with pytest.raises(TouchCancelled, match="cancelled"):
        touched(statement(), [key], person, cancelled=person.cancelled, devices=lambda: plugged_in(device))
    assert person.heard == ["Verify yourself on the security key, for example with your finger.", person.heard[-1]]
    device.touch = Touch.TOUCHED
    assert touched(statement(), [key], Person(), devices=lambda: plugged_in(device)).approver == key


def test_a_key_that_is_unplugged_while_it_blinks_is_said() -> None:
    device = SoftwareAuthenticator()
    key = added(device)
    device.touch = Touch.UNPLUGGED
    with pytest.raises(TouchFault, match="the security key was unplugged"):
        touched(statement(), [key], Person(), devices=lambda: plugged_in(device))
