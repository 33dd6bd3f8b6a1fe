"""The notification service of the desktop, through `desktop-notifier`. Only this module uses that library.

The library trusts the owner of the bus name `org.freedesktop.Notifications`, and ignores what other programs on the bus
send. The owner, and so any program of the user that can take the name, can press the buttons; none of them approves.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from aileron_tui.alerts.notification_text import NotificationText
from aileron_tui.core.errors import AileronError

if TYPE_CHECKING:
    from desktop_notifier import DesktopNotifier

_NAME: Final = "aileron-tui"
_DISCONNECT_SECONDS: Final = 1.0
NO_EXTRA: Final = "the notifications extra is not installed"


class NoDesktop(AileronError):
    """There is nothing that shows notifications; the title says why in one line."""


class Desktop:
    """A connection to the notification service. Use it in one event loop only. Its calls may hang: limit them."""

    def __init__(self) -> None:
        self._notifier: DesktopNotifier | None = None
        self._numbers: dict[str, int] = {}
        self.buttons = False

    async def connect(self) -> None:
        """Connects, if it is not connected; raises NoDesktop."""
        try:
            from desktop_notifier import Capability  # noqa: PLC0415  # slow

            self._notifier = self._notifier or _made()
            capabilities = await self._notifier.get_capabilities()
        except Exception as error:  # noqa: BLE001  # the library passes on whatever the bus or its own code raises
            raise NoDesktop(_reason(error)) from None
        if Capability.TITLE not in capabilities:
            raise NoDesktop("this system shows no notifications of programs that are not apps")
        self.buttons = Capability.BUTTONS in capabilities

    async def show(
        self,
        text: NotificationText,
        buttons: Mapping[str, Callable[[], None]],
        clicked: Callable[[], None] | None = None,
    ) -> str:
        """Shows a notification and returns its id; `clicked` is for a click outside the buttons. Raises NoDesktop."""
        from desktop_notifier import Button  # noqa: PLC0415

        await self.connect()
        notifier = self._notifier
        sent: list[bool] = []
        made = [Button(title, pressed) for title, pressed in buttons.items()] if self.buttons else []
        id_ = await notifier.send(  # type: ignore[union-attr]  # `connect` has made it
            text.title, text.body, buttons=made, on_clicked=clicked, on_dispatched=lambda: sent.append(True)
        )
        if not sent:  # the library only logs why
            raise NoDesktop("the notification service did not take a notification")
        numbers = getattr(self._backend, "_platform_to_interface_notification_identifier", None)
        if numbers is not None and id_ in numbers.inverse:
            self._numbers[id_] = numbers.inverse[id_]
        return id_

    async def withdraw(self, id_: str) -> None:
        """Removes a notification, if it is still there; raises NoDesktop."""
        if self._notifier is None:
            return
        try:
            await self._notifier.clear(id_)
        except KeyError:  # it was closed or pressed, and some servers leave it on screen when it was pressed
            await self._close(self._numbers.pop(id_, 0))
        except Exception as error:  # noqa: BLE001  # the library passes on whatever the bus or its own code raises
            raise NoDesktop(_reason(error)) from None
        self._numbers.pop(id_, None)

    async def disconnect(self) -> None:
        """Ends the connection. The library has no call for this."""
        bus, self._notifier = getattr(self._backend, "bus", None), None
        self._numbers.clear()
        if bus is not None and bus.connected:
            bus.disconnect()
            with suppress(Exception):  # how the connection ended does not matter
                await asyncio.wait_for(bus.wait_for_disconnect(), _DISCONNECT_SECONDS)

    @property
    def _backend(self) -> Any:
        """The library's own connection, for the two things that it has no call for."""
        return getattr(self._notifier, "_backend", None)

    async def _close(self, number: int) -> None:
        interface = getattr(self._backend, "interface", None)
        if number and interface is not None:
            with suppress(Exception):  # a service answers with an error if it is not there any more
                await interface.call_close_notification(number)


def missing_library() -> str:
    """Why notifications need something that is not installed, "" if they do not."""
    return "" if find_spec("desktop_notifier") else NO_EXTRA


def _reason(error: Exception) -> str:
    """What is missing, by the error of the library."""
    kind = type(error).__name__
    if kind == "InvalidAddressError" or isinstance(error, KeyError):
        return "there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set or not valid"
    if isinstance(error, OSError):
        return f"cannot connect to the session bus ({(error.strerror or kind).lower()})"
    if kind == "DBusError":
        return "no notification service runs on the session bus"
    return f"the notification service cannot be used ({kind})"


def _made() -> "DesktopNotifier":
    from desktop_notifier import DesktopNotifier  # noqa: PLC0415

    for library in ("desktop_notifier", "dbus_fast"):  # their log has the content of notifications
        log = logging.getLogger(library)
        log.propagate = False
        log.addHandler(logging.NullHandler())
    return DesktopNotifier(_NAME, app_icon=None)
