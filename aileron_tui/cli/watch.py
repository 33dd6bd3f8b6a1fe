"""Show requests as they come and go, until interrupted."""

import argparse
import sys
import time
from datetime import UTC, datetime
from typing import Final

from aileron_tui.cli import OK, approver
from aileron_tui.core.states import State
from aileron_tui.core.text import inline
from aileron_tui.runtime.client import ApproverClient
from aileron_tui.runtime.errors import NoGate, Unanswered
from aileron_tui.runtime.feed import Happening

_PAUSE: Final = 1.0
_TRIES: Final = 5
_OUTCOMES: Final = {
    State.APPROVED: "approved",
    State.RUNNING: "running…",
    State.EXECUTED: "done ✓",
    State.FAILED: "failed ✗",
    State.DENIED: "denied",
    State.EXPIRED: "nobody answered",
    State.WITHDRAWN: "withdrawn, the agent went away",
    State.INTERRUPTED: "interrupted, it may have taken effect",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    approver.arguments(parser)
    parser.add_argument("--json", action="store_true", help="each event as one line of JSON")


def run(options: argparse.Namespace) -> int:
    """0 when the gate ends; a lost connection is taken up again where it broke."""
    with approver.approver(options) as client:
        last, tries = 0, 0
        while True:
            try:
                for happening in client.watch(last):
                    tries = 0
                    if happening is not None:
                        last = happening.id
                        _tell(happening, as_json=options.json)
                return _ended(client)
            except Unanswered as error:
                tries += 1
                if tries == _TRIES:
                    raise
                sys.stderr.write(f"{inline(error.title)}; trying again\n")
                time.sleep(_PAUSE)


def _ended(client: ApproverClient) -> int:
    """The stream ended in good order: the gate stopped, or wants us to come again."""
    try:
        client.status()
    except (NoGate, Unanswered):
        sys.stderr.write("the gate stopped\n")
    else:
        sys.stderr.write("the gate ended the watch\n")
    return OK


def _tell(happening: Happening, *, as_json: bool) -> None:
    if as_json:
        approver.say_json({"id": happening.id, "event": happening.name, "data": happening.data}, lines=True)
        return
    now, width = datetime.now(UTC), approver.width()
    for item in happening.items:
        if happening.data.get("reminder"):
            approver.say(f"still waiting: {inline(item.prompt.action)} {inline(item.id)}")
        elif happening.name == "updated" and not item.state.decidable:
            approver.say(f"{_OUTCOMES[item.state]}: {inline(item.prompt.action)} {inline(item.id)}")
        elif happening.name != "updated":
            approver.say(*approver.row(item, now, width))
    sys.stdout.flush()
