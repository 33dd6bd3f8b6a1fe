"""Reads server-sent events from bytes. Lines are split at newlines only."""

from collections.abc import Iterable, Iterator
from typing import NoReturn

from aileron_tui.core.values import dataclass
from aileron_tui.runtime.errors import InvalidReply


@dataclass(frozen=True, slots=True)
class SseFrame:
    """One event as it was sent."""

    id: str
    name: str
    data: str


def read_frames(chunks: Iterable[bytes], longest: int) -> Iterator[SseFrame | None]:
    """The events of a stream in order; None for each comment, which servers send as a heartbeat."""
    id_, event = "", "message"
    data: list[str] = []
    size = 0
    for line in _lines(chunks, longest):
        if not line:
            if data:
                yield SseFrame(id_, event, "\n".join(data))
            id_, event, data, size = "", "message", [], 0
            continue
        if line.startswith(b":"):
            yield None
            continue
        size += len(line)
        if size > longest:
            _refuse(longest)
        name, _, value = line.partition(b":")
        try:
            text = value.removeprefix(b" ").decode("utf-8")
            key = name.decode("ascii")
        except UnicodeDecodeError:
            raise InvalidReply("received an event that is not text") from None
        match key:
            case "id":
                id_ = text
            case "event":
                event = text
            case "data":
                data.append(text)


def _lines(chunks: Iterable[bytes], longest: int) -> Iterator[bytes]:
    rest = bytearray()
    for chunk in chunks:
        *whole, tail = chunk.split(b"\n")
        for part in whole:
            yield bytes(rest + part).removesuffix(b"\r")
            rest.clear()
        rest += tail
        if len(rest) > longest:
            _refuse(longest)


def _refuse(longest: int) -> NoReturn:
    raise InvalidReply("received an event that is too large", f"more than {longest:,} bytes")
