"""Events of a gate as they come over the wire (SSE), read from bytes: text is split at newlines and nowhere else."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from aileron_tui.core.jsontext import JsonError, JsonObject, Limits, read_object
from aileron_tui.runtime.errors import Untrustworthy
from aileron_tui.runtime.items import Item, read_item

LIMITS: Final = Limits(size=256 * 1024 * 1024, depth=80, count=20_000_000)


@dataclass(frozen=True, slots=True)
class Happening:
    """One event. `name` and `data` are the gate's; `items` are the requests in it, checked."""

    id: int
    name: str
    data: JsonObject
    items: tuple[Item, ...] = ()


def read_events(chunks: Iterable[bytes], instance: str = "", limits: Limits = LIMITS) -> Iterator[Happening | None]:
    """The events of a stream in order; None for each heartbeat. Unknown events pass through unread."""
    fields: dict[str, str] = {}
    for line in _lines(chunks, limits.size):
        if not line:
            if "data" in fields:
                yield _happening(fields, instance, limits)
            fields = {}
            continue
        if line.startswith(b":"):
            yield None
            continue
        name, _, value = line.partition(b":")
        try:
            text = value.removeprefix(b" ").decode("utf-8")
            key = name.decode("ascii")
        except UnicodeDecodeError:
            raise Untrustworthy("the gate sent an event that is not text") from None
        fields[key] = f"{fields['data']}\n{text}" if key == "data" and key in fields else text


def _lines(chunks: Iterable[bytes], longest: int) -> Iterator[bytes]:
    rest: list[bytes] = []
    size = 0
    for chunk in chunks:
        *whole, tail = chunk.split(b"\n")
        for part in whole:
            yield b"".join((*rest, part)).removesuffix(b"\r")
            rest, size = [], 0
        rest.append(tail)
        size += len(tail)
        if size > longest:
            raise Untrustworthy("the gate sent an event that is too large", f"more than {longest:,} bytes")


def _happening(fields: dict[str, str], instance: str, limits: Limits) -> Happening:
    name, number = fields.get("event", "message"), fields.get("id", "")
    try:
        data = read_object(fields["data"], limits)
    except JsonError as error:
        raise Untrustworthy("the gate sent an event that cannot be read", str(error)) from None
    items: tuple[Item, ...] = ()
    if name == "snapshot":
        listed = data.get("items")
        items = tuple(read_item(item, instance) for item in (listed if isinstance(listed, list) else ()))
    elif name in ("pending", "updated"):
        items = (read_item(data, instance),)
    return Happening(int(number) if number.isascii() and number.isdigit() else 0, name, data, items)
