"""Security keys that are plugged in: finding them, and what went wrong with one in plain words.

TouchFault
└── TouchCancelled  the person did not want to, or did nothing in time
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from glob import glob
from os import R_OK, W_OK, access
from threading import Event, Timer
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from aileron_tui.core.errors import AileronError
from aileron_tui.files.extras import install_command
from aileron_tui.signing.security_key import RP_ID

if TYPE_CHECKING:
    from fido2.client import ClientError, Fido2Client
    from fido2.ctap import CtapDevice, CtapError

TOUCH_SECONDS: Final = 60.0
"""How long a key blinks before the touch is given up; most keys give up earlier by themselves."""

_PIN: Final = "PIN of the security key"
_RETRY: Final = "Try again."
_WORDS: Final = {
    "PIN_BLOCKED": ("the PIN of this security key is blocked", "It was entered wrongly too often. Reset the key."),
    "PIN_AUTH_BLOCKED": (
        "the PIN was entered wrongly too often",
        "Unplug the security key, plug it in, and try again.",
    ),
    "UV_BLOCKED": ("the security key did not recognise you too often", "Unplug it, plug it in, and use its PIN."),
    "UV_INVALID": ("the security key did not recognise you", _RETRY),
    "OPERATION_DENIED": ("the security key refused", _RETRY),
    "ACTION_TIMEOUT": ("the security key was not touched in time", _RETRY),
    "USER_ACTION_TIMEOUT": ("the security key was not touched in time", _RETRY),
    "KEEPALIVE_CANCEL": ("the security key was not touched in time", _RETRY),
    "UNSUPPORTED_OPTION": ("this security key cannot check who touches it", "Use one with a PIN or a fingerprint."),
    "UNSUPPORTED_ALGORITHM": ("this security key has no algorithm that is accepted here", "Use another one."),
    "KEY_STORE_FULL": ("this security key is full", "Remove something from it with its own program."),
    "NO_CREDENTIALS": ("this security key is not enrolled here", "Plug in one of `aileron-tui key security-key list`."),
    "CREDENTIAL_EXCLUDED": ("this security key is already enrolled here", "Use the one that is enrolled."),
    "PIN_NOT_SET": ("this security key has no PIN", "Set one with its own program or in a browser's settings."),
    "CHANNEL_BUSY": ("another program is using the security key", _RETRY),
}


class TouchFault(AileronError):
    """A security key could not be used."""


class TouchCancelled(TouchFault):
    """Nobody touched the security key, on purpose or not."""


class TouchDialog(Protocol):
    """How a surface speaks with the person while a key is used. Called in the thread that uses the key."""

    def say(self, words: str) -> None:
        """Shows what to do now."""

    def ask_pin(self, words: str) -> str:
        """Asks for the PIN of the key, without echo; "" cancels."""


Devices: TypeAlias = "Callable[[], Iterable[CtapDevice]]"
"""Opens the security keys that are plugged in."""


def check_installed() -> None:
    """Refuses if the library for security keys is not installed."""
    try:
        import fido2  # noqa: F401, PLC0415  # only if a security key is used
    except ImportError:
        hint = f"Install it with `{install_command('page')}`."
        raise TouchFault("security keys need the page extra", "fido2 is not installed", hint) from None


def usb_devices() -> "Iterable[CtapDevice]":
    """Opens the security keys at the USB ports of this machine."""
    from fido2.hid import CtapHidDevice  # noqa: PLC0415

    return CtapHidDevice.list_devices()


@contextmanager
def opened_devices(devices: Devices) -> "Iterator[Sequence[CtapDevice]]":
    """The security keys that are plugged in, at least one, closed when the block ends."""
    from fido2.hid import ConnectionFailure  # noqa: PLC0415

    found: list[CtapDevice] = []
    try:
        try:
            found.extend(devices())
        except (OSError, ValueError, struct.error, ConnectionFailure) as error:
            raise TouchFault("the security key cannot be opened", str(error), _permission_hint() or _RETRY) from None
        if not found:
            hint = _permission_hint() or "Plug it in, and try again."
            raise TouchFault("no security key is plugged in", hint=hint)
        yield found
    finally:
        for device in found:
            with suppress(OSError):
                device.close()


def _permission_hint() -> str:
    """What to do if this user may not open USB devices, as on a Linux without rules for security keys."""
    if any(not access(path, R_OK | W_OK) for path in glob("/dev/hidraw*")):  # noqa: PTH207  # not a folder of ours
        return "Plug it in. If it is, this user may not open it: install your system's udev rules for security keys."
    return ""


def _is_own(rp_id: str, _: str) -> bool:
    """Whether a key is used for us. The library itself accepts only origins of web pages."""
    return rp_id == RP_ID


def client(device: "CtapDevice", origin: str, person: TouchDialog, blinks: "Callable[[], None]") -> "Fido2Client":
    """Speaks with one key. `blinks` is called when it waits to be touched."""
    from fido2.client import DefaultClientDataCollector, Fido2Client, UserInteraction  # noqa: PLC0415
    from fido2.ctap2.base import Ctap2  # noqa: PLC0415
    from fido2.ctap2.pin import ClientPin  # noqa: PLC0415

    class Interaction(UserInteraction):
        """Passes on what the key wants from the person."""

        asked = False

        def prompt_up(self) -> None:
            blinks()

        def request_pin(self, permissions: Any, rp_id: str | None) -> str | None:  # noqa: ARG002
            tries: int = ClientPin(Ctap2(device)).get_pin_retries()[0]
            left = "1 try" if tries == 1 else f"{tries} tries"
            wrong, Interaction.asked = Interaction.asked, True
            return person.ask_pin(f"Wrong PIN, {left} left. {_PIN}" if wrong else _PIN) or None

        def request_uv(self, permissions: Any, rp_id: str | None) -> bool:  # noqa: ARG002
            person.say("Verify yourself on the security key, for example with your finger.")
            return True

    return Fido2Client(device, DefaultClientDataCollector(origin, _is_own), Interaction(), [])


class TouchTimer:
    """Gives up a touch some time after the key began to blink. `cancelled` is set then too."""

    def __init__(self, cancelled: Event, seconds: float = TOUCH_SECONDS) -> None:
        self._cancelled = cancelled
        self._seconds = seconds
        self._timer: Timer | None = None
        self.is_over = False

    def start(self) -> None:
        """Starts to count, once."""
        if self._timer is None:
            self._timer = Timer(self._seconds, self._end)
            self._timer.daemon = True
            self._timer.start()

    def stop(self) -> None:
        """Stops to count."""
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        self.is_over = True
        self._cancelled.set()


@contextmanager
def plain_faults(cancelled: Event, timer: TouchTimer) -> Iterator[None]:
    """Turns everything that can go wrong with a key into a TouchFault with plain words."""
    from fido2.client import ClientError, PinRequiredError  # noqa: PLC0415
    from fido2.ctap import CtapError  # noqa: PLC0415
    from fido2.hid import ConnectionFailure  # noqa: PLC0415

    try:
        yield
    except TouchFault:
        raise
    except (ClientError, CtapError) as error:
        if cancelled.is_set() and not timer.is_over:
            raise TouchCancelled("cancelled") from None
        if isinstance(error, PinRequiredError):
            raise TouchCancelled("no PIN was entered") from None
        raise _plain(error) from None
    except (OSError, struct.error, ConnectionFailure):
        if cancelled.is_set() and not timer.is_over:
            raise TouchCancelled("cancelled") from None
        raise TouchFault("the security key was unplugged", hint="Plug it in, and try again.") from None
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise TouchFault("the security key sent an invalid reply", str(error), "Use another one.") from None
    finally:
        timer.stop()


def is_wrong_pin(error: "ClientError") -> bool:
    """Whether a key refused because of a wrong PIN, and accepts another try."""
    return _code(error) == "PIN_INVALID"


def _plain(error: "ClientError | CtapError") -> TouchFault:
    code = _code(error)
    if code in ("ACTION_TIMEOUT", "USER_ACTION_TIMEOUT", "KEEPALIVE_CANCEL"):
        return TouchCancelled(_WORDS[code][0], hint=_WORDS[code][1])
    if code in _WORDS:
        return TouchFault(_WORDS[code][0], hint=_WORDS[code][1])
    if code == "CONFIGURATION_UNSUPPORTED":
        return TouchFault(_WORDS["PIN_NOT_SET"][0], hint=_WORDS["PIN_NOT_SET"][1])
    return TouchFault("the security key refused", code, _RETRY)


def _code(error: "ClientError | CtapError") -> str:
    """The name of the error code, of the key itself if it gave one."""
    cause = getattr(error, "cause", None)
    code = getattr(cause, "code", None) or error.code
    return str(getattr(code, "name", code))
