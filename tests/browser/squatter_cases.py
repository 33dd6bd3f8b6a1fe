"""Another program that listened at the port of the page while no gate was there, and left something in the browser."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from aileron_tui.cli.page_opening import open_in_browser
from aileron_tui.files.paths import HOME_VARIABLE
from tests.browser.opened_page import Tab, tab
from tests.browser.page_gate import PageGate

if TYPE_CHECKING:
    import pytest
    from playwright.sync_api import Browser

FOREIGN = b"<title>foreign</title>"
WORKER = b"""
addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  if (event.request.mode === "navigate") {
    event.respondWith(new Response("<title>foreign</title>", { headers: { "Content-Type": "text/html" } }));
  }
});
"""
INSTALLS = b"""<script>
navigator.serviceWorker.register("/worker.js").then(() => navigator.serviceWorker.ready)
  .then(() => { document.title = "done"; });
</script>"""


class Squatter(BaseHTTPRequestHandler):
    """Installs a service worker, and has its page kept for a year."""

    def do_GET(self) -> None:  # its name in the library
        found = {"/worker.js": (WORKER, "text/javascript"), "/install": (INSTALLS, "text/html")}
        body, media_type = found.get(self.path, (FOREIGN, "text/html"))
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "public, max-age=31536000, immutable")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def squatted(gate: PageGate) -> Iterator[str]:
    """Stops the gate, and has another program listen in its place during the block."""
    gate.stop()
    with ThreadingHTTPServer(("127.0.0.1", gate.port), Squatter) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield gate.origin
        server.shutdown()
    gate.start()


def opened_by_the_command(found: Tab, gate: PageGate) -> None:
    """Opens the page through the private file, as `aileron-tui page` does."""

    def opens(address: str) -> bool:
        found.page.goto(Path(unquote(urlsplit(address).path)).as_uri())
        found.page.wait_for_url(f"{gate.origin}/page**")
        return True

    assert open_in_browser(gate.url(), opens, lambda _: None)


def test_a_service_worker_of_another_program_does_not_answer_for_the_page(
    chromium: "Browser", gate: PageGate, tmp_path: Path, monkeypatch: "pytest.MonkeyPatch"
) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "files"))
    with tab(chromium) as found:
        with squatted(gate) as origin:
            found.page.goto(f"{origin}/install")
            found.page.wait_for_function("document.title === 'done'")
        opened_by_the_command(found, gate)
        found.page.wait_for_selector("#list .empty")


def test_a_cached_page_of_another_program_is_not_shown_later(
    chromium: "Browser", gate: PageGate, tmp_path: Path, monkeypatch: "pytest.MonkeyPatch"
) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "files"))
    with tab(chromium) as found:
        with squatted(gate) as origin:
            found.page.goto(f"{origin}/page")
        opened_by_the_command(found, gate)
        found.page.wait_for_selector("#list .empty")
        found.page.goto("about:blank")
        found.page.goto(f"{gate.origin}/page")
        assert found.page.title().startswith("Aileron")


def test_a_tab_can_be_loaded_again_after_the_page_was_opened_in_another_one(
    chromium: "Browser", gate: PageGate, tmp_path: Path, monkeypatch: "pytest.MonkeyPatch"
) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "files"))
    with tab(chromium) as first:
        first.page.goto(gate.url())
        first.page.wait_for_selector("#list .empty")
        opened_by_the_command(Tab(first.context), gate)
        first.page.reload()
        first.page.wait_for_selector("#list .empty")
