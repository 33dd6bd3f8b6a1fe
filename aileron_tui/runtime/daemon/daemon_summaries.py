"""The waiting requests of a daemon in brief, for a surface without a key: it can neither record nor answer them."""

from collections.abc import Sequence
from dataclasses import replace

from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskRule
from aileron_tui.core.times import utc_now
from aileron_tui.runtime.daemon.daemon_client import DaemonClient
from aileron_tui.runtime.daemon.daemon_discovery import Daemon
from aileron_tui.runtime.daemon.list_reader import ListReader
from aileron_tui.runtime.daemon.tracker import Tracker


def waiting_summaries(daemon: Daemon, *, name: str = "", rules: Sequence[RiskRule] = ()) -> tuple[list[Request], int]:
    """The waiting requests without their previews, oldest first, and the number of those that cannot be read."""
    client = DaemonClient(daemon)
    try:
        reader = ListReader(client, daemon, Tracker(), name=name, rules=rules, clock=utc_now, head=str)
        requests, unreadable = reader.read_all(client.waiting())
    finally:
        client.close()
    return [_without_preview(request) for request in requests], unreadable


def _without_preview(request: Request) -> Request:
    fields = {name: value for name, value in request.fields.items() if name != "preview"}
    return replace(request, prompt=replace(request.prompt, preview=None), fields=fields)
