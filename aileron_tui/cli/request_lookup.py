"""Finding the request that an id on the command line means."""

import time
from typing import TYPE_CHECKING, Final

from aileron_tui.core.errors import AileronError

if TYPE_CHECKING:
    from aileron_tui.core.request import Request
    from aileron_tui.surface.source_connection import OpenSources

ID_HELP: Final = "the request's id, or enough of its start or end"
PREVIEW_SECONDS: Final = 8.0

_POLL_SECONDS: Final = 0.1
_SHORTEST_PART: Final = 4


class NoSuchRequest(AileronError):
    """No waiting request has this id."""


def find_waiting(sources: "OpenSources", id_: str) -> "Request":
    """The waiting request with this id, or the only one whose id starts or ends with this text."""
    waiting = sources.waiting()
    exact = [request for request in waiting if request.id == id_]
    similar = [request for request in waiting if request.id.startswith(id_) or request.id.endswith(id_)]
    # Another source may have invented an id that equals this one, or part of it.
    found = exact if exact and {request.source for request in similar} == {exact[0].source} else similar
    if len(found) == 1 and (exact or len(id_) >= _SHORTEST_PART):
        return found[0]
    if len(similar) > 1:
        source = ", and the source with --source" if len({request.source for request in similar}) > 1 else ""
        raise NoSuchRequest(f"{id_} matches {len(similar)} requests", hint=f"Give more of the id{source}.")
    hint = "It may have been answered already. `aileron-tui list` shows what is waiting."
    raise NoSuchRequest(f"no request {id_} is waiting", hint=hint)


def wait_for_preview(sources: "OpenSources", request: "Request") -> "Request":
    """Waits for the preview of a request; returns the request without it if that takes too long."""
    end = time.monotonic() + PREVIEW_SECONDS
    while request.fetching and request.state.decidable and time.monotonic() < end:
        time.sleep(_POLL_SECONDS)
        request = sources.of(request).item(request.id)
    return request
