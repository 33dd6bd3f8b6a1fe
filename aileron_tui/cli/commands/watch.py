"""Show requests as they come and go, until interrupted."""

import argparse
import queue
import sys
import threading
import time
from datetime import UTC, datetime
from typing import Final

from aileron_tui.cli import FAILED, OK, approver_session
from aileron_tui.cli.output import write
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.runtime.errors import NoGate, NoReply
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.surface.source_connection import Sources

_PAUSE: Final = 1.0
_TRIES: Final = 5
_OUTCOMES: Final = {
    RequestState.APPROVED: "approved",
    RequestState.RUNNING: "running…",
    RequestState.EXECUTED: "done ✓",
    RequestState.FAILED: "failed ✗",
    RequestState.DENIED: "denied",
    RequestState.EXPIRED: "nobody answered",
    RequestState.WITHDRAWN: "withdrawn, the agent went away",
    RequestState.INTERRUPTED: "interrupted, it may have taken effect",
}


@dataclass(frozen=True, slots=True)
class _Silent:
    """A source that is not listened to any more, and why, if that is a failure."""

    name: str
    error: AileronError | None = None


_News = queue.SimpleQueue[SourceEvent | _Silent]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    approver_session.arguments(parser)
    parser.add_argument("--json", action="store_true", help="each event as one line of JSON")


def run(options: argparse.Namespace) -> int:
    """0 when every source ended in good order; a lost connection is taken up again."""
    with approver_session.approver(options) as sources:
        news: _News = queue.SimpleQueue()
        for name in sources.names:
            threading.Thread(target=_listen, args=(sources, name, news), name="watch", daemon=True).start()
        silent: list[_Silent] = []
        while len(silent) < len(sources.names):
            heard = news.get()
            if isinstance(heard, _Silent):
                silent.append(heard)
                if heard.error is not None:
                    approver_session.complain(heard.error)
            else:
                _tell(heard, as_json=options.json)
    return FAILED if any(ended.error for ended in silent) else OK


def _listen(sources: Sources, name: str, news: _News) -> None:
    """In a thread of its own: one source until it ends, or until it cannot be reached any more."""
    last, tries = 0, 0
    while True:
        try:
            for event in sources.at(name).watch(last):
                tries = 0
                if event is not None:
                    last = event.id
                    news.put(event)
            sys.stderr.write(f"{_whose(name)}ended the watch\n")
            news.put(_Silent(name))
            return
        except (NoReply, NoGate) as error:
            sources.hang_up(name)
            tries += 1
            if tries == _TRIES:
                news.put(_Silent(name, error))
                return
            write(sys.stderr, f"{inline(error.title)}; trying again")
            time.sleep(_PAUSE)
        except AileronError as error:
            news.put(_Silent(name, error))
            return


def _whose(name: str) -> str:
    return f"{name} " if name else "the gate "


def _tell(event: SourceEvent, *, as_json: bool) -> None:
    if as_json:
        edits = [item.edit for item in event.requests if item.edit]
        data = event.data | {"edit": edits[0]} if event.name == "updated" and edits else event.data
        fields: JsonObject = {"id": event.id, "event": event.name, "data": data}
        approver_session.say_json(fields | ({"source": event.source} if event.source else {}), lines=True)
        return
    if event.name == "unreadable":
        sys.stderr.write(f"{_whose(event.source)}sent something that cannot be read\n")
    now, width = datetime.now(UTC), approver_session.width()
    for item in event.requests:
        if event.data.get("reminder"):
            approver_session.say(f"still waiting: {inline(item.prompt.action)} {inline(item.id)}")
        elif event.name == "updated" and not item.state.decidable:
            edited = ", edited" if item.edited_from else ""
            approver_session.say(f"{_OUTCOMES[item.state]}{edited}: {inline(item.prompt.action)} {inline(item.id)}")
        elif event.name != "updated":
            approver_session.say(*approver_session.row(item, now, width))
    sys.stdout.flush()
