"""Removes service workers of other programs from the page's origin.

While no gate runs, any program on this machine can listen on its port, and have a browser install a service worker
there. The worker would stay, and answer for the page in place of the gate. A browser asks the server for the script of
a worker again whenever a page is opened, without asking the worker itself: it then gets one that removes itself.
"""

from typing import Final

from starlette.responses import Response

from aileron_tui.gate.http_request import Refusal
from aileron_tui.gate.origin_check import HeaderList, single_header

_SCRIPT: Final = b"""\
addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil((async () => {
  await clients.claim();
  await registration.unregister();
  for (const client of await clients.matchAll({ type: "window" })) await client.navigate("/page").catch(() => {});
})()));
"""
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Service-Worker-Allowed": "/",
    "X-Content-Type-Options": "nosniff",
}


def is_worker_script(headers: HeaderList) -> bool:
    """Whether a browser asks for the script of a service worker. The page has none."""
    return single_header(headers, b"service-worker") is not None


def worker_removal(origin: str, headers: HeaderList) -> Response:
    """A service worker that removes itself and opens the page again from the gate."""
    if single_header(headers, b"host") != origin.removeprefix("http://"):
        raise Refusal(403, "forbidden_host", f"the page is only served at {origin}")
    return Response(_SCRIPT, headers=_HEADERS, media_type="text/javascript")
