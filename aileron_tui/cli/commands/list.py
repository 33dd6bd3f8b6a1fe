"""List the waiting requests, oldest first."""

import argparse
import sys
from collections.abc import Sequence

from aileron_tui.cli import source_options
from aileron_tui.cli.exit_codes import OK
from aileron_tui.cli.output import print_error, print_json, print_lines
from aileron_tui.cli.request_text import list_lines, list_width
from aileron_tui.core.errors import AileronError
from aileron_tui.core.request import Request
from aileron_tui.core.summary import shortened, summary
from aileron_tui.core.times import utc_now
from aileron_tui.files.config import Config
from aileron_tui.surface.source_choice import DaemonChoice, EmbeddedGateChoice, GateChoice, OpencodeChoice, SourceChoice


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    source_options.arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Returns 0, even if nothing is waiting."""
    config, choices = source_options.chosen_sources(options)
    requests = None if source_options.needs_key(options, choices) else _without_key(choices, config)
    if requests is None:
        with source_options.opened(options, config, choices) as sources:
            requests = sources.waiting()
    if options.json:
        print_json({"items": [one.fields | {"summary": [*shortened(summary(one.prompt))]} for one in requests]})
        return OK
    now, width = utc_now(), list_width()
    for request in requests:
        print_lines(*list_lines(request, now, width))
    sys.stderr.write(f"{len(requests)} waiting\n" if requests else "nothing is waiting\n")
    return OK


def _without_key(choices: Sequence[SourceChoice], config: Config) -> tuple[Request, ...] | None:
    """The waiting requests without previews, or None if a gate shows them only to approvers."""
    from aileron_tui.runtime.viewer_client import NoViewers  # noqa: PLC0415  # loads the HTTP client

    source_options.print_notes(choices)
    found: list[Request] = []
    failures: list[AileronError] = []
    for choice in choices:
        try:
            found += _of_choice(choice, config)
        except NoViewers:
            return None
        except AileronError as error:
            failures.append(error)
    if len(failures) == len(choices):
        raise failures[-1]
    for failure in failures:
        print_error(failure)
    sys.stderr.write("note: listed without a key, so previews are left out\n")
    return tuple(sorted(found, key=lambda request: (request.requested_at, request.key)))


def _of_choice(choice: SourceChoice, config: Config) -> Sequence[Request]:
    if choice.kind == "daemon":
        return _of_daemon(choice, config)
    return _of_opencode(choice, config) if choice.kind == "opencode" else _of_gate(choice)


def _of_gate(choice: GateChoice | EmbeddedGateChoice) -> Sequence[Request]:
    from aileron_tui.runtime.viewer_client import ViewerClient  # noqa: PLC0415

    with ViewerClient(choice.find(), name=choice.name) as viewer:
        return viewer.waiting()


def _of_daemon(choice: DaemonChoice, config: Config) -> Sequence[Request]:
    from aileron_tui.runtime.daemon.daemon_summaries import waiting_summaries  # noqa: PLC0415

    return _told(*waiting_summaries(choice.find(), name=choice.name, rules=config.risk))


def _of_opencode(choice: OpencodeChoice, config: Config) -> Sequence[Request]:
    from aileron_tui.runtime.opencode.opencode_summaries import waiting_summaries  # noqa: PLC0415

    return _told(*waiting_summaries(choice.find(), name=choice.name, rules=config.risk))


def _told(requests: Sequence[Request], unreadable: int) -> Sequence[Request]:
    if unreadable:
        sys.stderr.write(f"warning: {unreadable} requests cannot be read\n")
    return requests
