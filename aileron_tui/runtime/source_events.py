"""Reads the events of a gate and checks the requests in them."""

from collections.abc import Iterable, Iterator
from typing import Final

from aileron_tui.core.jsontext import JsonError, JsonLimits, JsonObject, read_object
from aileron_tui.core.request import Request
from aileron_tui.core.values import dataclass
from aileron_tui.runtime.errors import InvalidReply
from aileron_tui.runtime.request_reader import read_gate_request
from aileron_tui.runtime.sse import SseFrame, read_frames

LIMITS: Final = JsonLimits(size=256 * 1024 * 1024, depth=80, count=20_000_000)


@dataclass(frozen=True, slots=True)
class SourceEvent:
    """One event from a source. `name` and `data` are as it was sent; `requests` are the checked requests in it."""

    id: int
    name: str
    data: JsonObject
    requests: tuple[Request, ...] = ()
    source: str = ""

    @property
    def problem(self) -> str | None:
        """Why the source cannot do its work, "" if it can, None if the event does not say. It is foreign text."""
        if self.name not in ("snapshot", "health"):
            return None
        problem = self.data.get("problem")
        return problem if isinstance(problem, str) else ""


def read_events(
    chunks: Iterable[bytes], instance: str = "", limits: JsonLimits = LIMITS, source: str = ""
) -> Iterator[SourceEvent | None]:
    """The events of a stream in order; None for each heartbeat. Unknown events are passed on without requests."""
    for frame in read_frames(chunks, limits.size):
        yield None if frame is None else _read_event(frame, instance, limits, source)


def _read_event(frame: SseFrame, instance: str, limits: JsonLimits, source: str) -> SourceEvent:
    try:
        data = read_object(frame.data, limits)
    except JsonError as error:
        raise InvalidReply("the gate sent an event that cannot be read", str(error)) from None
    requests: tuple[Request, ...] = ()
    if frame.name == "snapshot":
        listed = data.get("items")
        requests = tuple(
            read_gate_request(item, instance, source) for item in (listed if isinstance(listed, list) else ())
        )
    elif frame.name in ("pending", "updated"):
        requests = (read_gate_request(data, instance, source),)
    number = int(frame.id) if frame.id.isascii() and frame.id.isdigit() else 0
    return SourceEvent(number, frame.name, data, requests, source)
