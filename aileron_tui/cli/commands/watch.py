"""Print requests as they arrive, change and end, until interrupted."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from queue import SimpleQueue
from typing import Final, cast

from aileron_tui.cli import source_options
from aileron_tui.cli.exit_codes import FAILED, OK
from aileron_tui.cli.output import print_error, print_json, print_lines, write
from aileron_tui.cli.request_text import list_lines, list_width
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.state_words import STATE_WORDS
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import clip, inline
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.surface.agent_notices import NOTICES
from aileron_tui.surface.operator_key import TemporaryOperatorKey
from aileron_tui.surface.source import Source, SourceSpec
from aileron_tui.surface.source_choice import EmbeddedGateChoice, GateChoice
from aileron_tui.surface.source_listener import Reconnecting, SourceListener, SourceLost

_LONGEST_REASON: Final = 300
_RECONNECTING: Final = Reconnecting(shortest=1.0, longest=1.0, tries=5, resume=True)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    source_options.arguments(parser)
    parser.add_argument("--json", action="store_true", help="print each event as one line of JSON")


def run(options: argparse.Namespace) -> int:
    """Returns 0 if every source closed the connection, 1 if one could no longer be reached."""
    config, choices = source_options.chosen_sources(options)
    gates = [choice for choice in choices if choice.kind != "daemon"]
    if len(gates) == len(choices) and not source_options.needs_key(options, gates) and _serve_viewers(gates):
        source_options.print_notes(choices)
        sys.stderr.write("note: watching without a key, so previews are left out\n")
        specs = [SourceSpec(gate.name, partial(_view, gate)) for gate in gates]
        with for_this_run("viewer") as key:  # listeners need a key; this one is not enrolled and signs nothing
            return _watch(specs, key, as_json=options.json)
    with source_options.opened(options, config, choices) as sources:
        return _watch(sources.specs, sources.key, as_json=options.json)


def _view(gate: GateChoice | EmbeddedGateChoice, _: UnlockedKey) -> Source:
    from aileron_tui.runtime.viewer_client import ViewerClient  # noqa: PLC0415  # loads the HTTP client

    return cast("Source", ViewerClient(gate.find(), name=gate.name))  # a listener only watches


def _serve_viewers(gates: Sequence[GateChoice | EmbeddedGateChoice]) -> bool:
    """Whether these gates show requests without a key; those of an older version do not."""
    from aileron_tui.runtime.viewer_client import NoViewers, ViewerClient  # noqa: PLC0415

    for gate in gates:
        try:
            with ViewerClient(gate.find()) as viewer:
                viewer.open()
        except NoViewers:
            return False
        except AileronError:
            continue  # the listener reports it
    return True


def _watch(specs: Sequence[SourceSpec], signer: UnlockedKey, *, as_json: bool) -> int:
    changed: SimpleQueue[None] = SimpleQueue()
    key = TemporaryOperatorKey(signer)
    listeners = [SourceListener(spec, key, lambda: changed.put(None), _RECONNECTING) for spec in specs]
    for listener in listeners:
        listener.start()
    ended: list[SourceLost] = []
    try:
        while len(ended) < len(listeners):
            changed.get()
            for listener in listeners:
                for report in listener.take_reports():
                    if not isinstance(report, SourceLost):
                        _print_event(report, as_json=as_json)
                        continue
                    _print_lost(listener.name, report)
                    if report.final:
                        ended.append(report)
    finally:
        for listener in listeners:
            listener.stop()
    return FAILED if any(lost.error for lost in ended) else OK


def _print_lost(name: str, lost: SourceLost) -> None:
    if lost.error is None:
        sys.stderr.write(f"{_source(name)} closed the connection\n")
    elif lost.final:
        print_error(lost.error)
    else:
        write(sys.stderr, f"{inline(lost.error.title)}; reconnecting")


def _source(name: str) -> str:
    return name or "the source"


def _print_event(event: SourceEvent, *, as_json: bool) -> None:
    if as_json:
        edits = [request.edit for request in event.requests if request.edit]
        data = event.data | {"edit": edits[0]} if event.name == "updated" and edits else event.data
        fields: JsonObject = {"id": event.id, "event": event.name, "data": data}
        print_json(fields | ({"source": event.source} if event.source else {}), compact=True)
        return
    if event.name == "unreadable":
        sys.stderr.write(f"{_source(event.source)} sent a request that cannot be read\n")
    if event.problem:
        write(sys.stderr, f"{event.source or 'the gate'} is failing: {clip(inline(event.problem), _LONGEST_REASON)}")
    elif event.name == "health":
        write(sys.stderr, f"{event.source or 'the gate'} works again")
    elif event.name in NOTICES and isinstance(agent := event.data.get("agent"), str):
        write(sys.stderr, f"{clip(inline(agent), _LONGEST_REASON)} {NOTICES[event.name].sentence}")
    now, width = utc_now(), list_width()
    for request in event.requests:
        name = f"{inline(request.prompt.action)} {inline(request.id)}"
        if event.data.get("reminder"):
            print_lines(f"still waiting: {name}")
        elif event.name == "updated" and not request.state.decidable:
            edited = ", edited" if request.edited_from else ""
            print_lines(f"{STATE_WORDS[request.state].full_status}{edited}: {name}")
        elif event.name != "updated":
            print_lines(*list_lines(request, now, width))
    sys.stdout.flush()
