"""A browser and the tabs that the cases use. Whatever a page does that it must not do is noted."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.browser.programs import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

WIDE: Final = (1280, 860)
PHONE: Final = (390, 844)


def _options() -> dict[str, Any]:
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    return {"executable_path": chromium(), "args": [*sandbox, "--disable-dev-shm-usage"]}


@contextmanager
def browser() -> Iterator["Browser"]:
    """Chromium without a window."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # only `make browser` has it

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(**_options())
        try:
            yield started
        finally:
            started.close()


class Tab:
    """A tab, and what went wrong in it: dialogs, errors, messages in the console, requests to elsewhere."""

    def __init__(self, context: "BrowserContext") -> None:
        self.context = context
        self.page: Page = context.new_page()
        self.noted: list[str] = []
        self.page.on("dialog", self._dialog)
        self.page.on("pageerror", lambda error: self.noted.append(f"error: {error}"))
        self.page.on("console", self._message)
        self.page.on("request", self._request)
        self.page.on("popup", lambda _: self.noted.append("popup"))
        self.paths: list[str] = []

    def _dialog(self, dialog: Any) -> None:
        self.noted.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _message(self, message: Any) -> None:
        # A refusal by the gate is an ordinary reply, which Chromium also writes here.
        if message.type in {"error", "warning"} and "Failed to load resource" not in message.text:
            self.noted.append(f"{message.type}: {message.text}")

    def _request(self, request: Any) -> None:
        self.paths.append(request.url)

    def status(self) -> str:
        """What the line above the buttons says."""
        return str(self.page.text_content("#answer-status"))

    def armed(self) -> None:
        """Waits until an approval would count."""
        self.page.wait_for_selector("#approve[data-armed]")

    def can_deny(self) -> None:
        """Waits until a denial would count."""
        self.page.wait_for_selector("#deny[data-armed]")


@contextmanager
def tab(browser: "Browser", size: tuple[int, int] = WIDE, *, dark: bool = False, **options: Any) -> Iterator[Tab]:
    """A tab with nothing kept from others."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
        **options,
    )
    context.set_default_timeout(8000)
    try:
        yield Tab(context)
    finally:
        context.close()


@contextmanager
def tab_without_cookies(browser: "Browser", folder: Path) -> Iterator[Tab]:
    """A tab of a browser of the same kind whose owner has turned cookies off."""
    preferences = folder / "Default" / "Preferences"
    preferences.parent.mkdir(parents=True)
    preferences.write_text('{"profile": {"default_content_setting_values": {"cookies": 2}}}')
    context = browser.browser_type.launch_persistent_context(folder, **_options())
    try:
        yield Tab(context)
    finally:
        context.close()
