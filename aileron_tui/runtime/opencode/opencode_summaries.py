"""The waiting requests of opencode in brief, for a surface without a key: it can neither record nor answer them."""

from collections.abc import Sequence
from dataclasses import replace

from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskRule
from aileron_tui.core.times import utc_now
from aileron_tui.runtime.daemon.tracker import Tracker
from aileron_tui.runtime.opencode.list_reader import OpencodeReader, check_listed
from aileron_tui.runtime.opencode.opencode_client import OpencodeClient
from aileron_tui.runtime.opencode.opencode_server import OpencodeServer


def waiting_summaries(
    server: OpencodeServer, *, name: str = "", rules: Sequence[RiskRule] = ()
) -> tuple[list[Request], int]:
    """The waiting requests without what opencode tells about them, and the number of those that cannot be read."""
    client = OpencodeClient(server)
    try:
        reader = OpencodeReader(client, server, Tracker(), name=name, rules=rules, clock=utc_now, head=str)
        values = client.waiting()
        check_listed(values)
        requests, unreadable = reader.read_all(values)
    finally:
        client.close()
    return [_without_preview(request) for request in requests], unreadable


def _without_preview(request: Request) -> Request:
    fields = {name: value for name, value in request.fields.items() if name != "request"}
    return replace(request, prompt=replace(request.prompt, preview=None), fields=fields)
