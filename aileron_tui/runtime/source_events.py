"""Reads the events of a gate and checks the requests in them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, read_object
from aileron_tui.core.request import Request
from aileron_tui.core.surface_words import FirstAnswer, Reader
from aileron_tui.core.values import dataclass
from aileron_tui.runtime.errors import InvalidReply
from aileron_tui.runtime.request_reader import read_gate_request
from aileron_tui.runtime.sse import SseFrame, read_frames

_MOST_READERS: Final = 20
_LONGEST_NAME: Final = 200

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
    def about(self) -> str:
        """The id of the request that an event without a request is about, "" if it has none."""
        return _text(self.data.get("id"))

    @property
    def readers(self) -> Mapping[str, tuple[Reader, ...]] | None:
        """Who reads which request, by its id, or None if the event does not say.

        A snapshot has all readers, and only a gate that decides whom to alert sends them. The other event is about one
        request.
        """
        found = self.data.get("readers")
        if self.name == "snapshot" and isinstance(found, dict):
            return {id_: _readers(listed) for id_, listed in found.items()}
        return {self.about: _readers(found)} if self.name == "reading" else None

    @property
    def alerted(self) -> str:
        """The surface that is alerted to the request, "" if the event is not an alert."""
        return _text(self.data.get("surface")) if self.name == "alert" else ""

    @property
    def first_answer(self) -> FirstAnswer | None:
        """Where and by whom the request was answered, None if the event does not say."""
        approved, surface = self.data.get("approved"), _text(self.data.get("surface"))
        if self.name != "resolved" or not isinstance(approved, bool) or not surface:
            return None
        return FirstAnswer(approved, surface, _text(self.data.get("by")))

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


def _readers(value: Json) -> tuple[Reader, ...]:
    listed = [item for item in value[:_MOST_READERS] if isinstance(item, dict)] if isinstance(value, list) else []
    return tuple(Reader(_text(item.get("surface")), _text(item.get("name"))) for item in listed)


def _text(value: Json) -> str:
    return value[:_LONGEST_NAME] if isinstance(value, str) else ""
