"""The past as the console asks a gate for it. All of this blocks: call it from a thread."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, TypeAlias

from aileron_tui.console.past import Page, Shown, read_page, shown_in_entries, shown_in_item
from aileron_tui.console.wanted import Query
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.text import clip, inline
from aileron_tui.runtime.errors import NotFound
from aileron_tui.runtime.items import Item

PAGE: Final = 50
MOST: Final = 500

Entries: TypeAlias = Callable[[str], JsonObject]
"""All that the ledger has of one request: `{"entries": [{"kind", "body", …}, …]}`."""


class Archive(Protocol):
    """What the history needs of a gate."""

    def history(self, **filters: str | int | list[str]) -> JsonObject:
        """A page of the past."""

    def item(self, id_: str) -> Item:
        """One request, if the gate still has it at hand."""


def page(source: Archive, query: Query, before: int | None = None, limit: int = PAGE) -> Page:
    """The newest requests that are wanted, or those older than number `before`."""
    place: Query = {} if before is None else {"before": before}
    return read_page(source.history(**query, **place, limit=limit))


def pages(source: Archive, query: Query) -> Iterator[Page]:
    """Everything that is wanted, a large page at a time."""
    before: int | None = None
    while True:
        found = page(source, query, before, MOST)
        yield found
        if found.older is None or not found.requests or found.older == before:
            return
        before = found.older


def sample(source: Archive, days: int) -> Page:
    """The requests of the last days, at most one large page of them: the gate has no sums to ask for."""
    since = datetime.now(UTC) - timedelta(days=days)
    return page(source, {"since": f"{since:%Y-%m-%dT%H:%M:%SZ}"}, limit=MOST)


def look_up(source: Archive, entries: Entries | None, id_: str) -> tuple[Shown, Item | None]:
    """What was shown for a request, from the gate's memory or from the ledger, else where to find it."""
    try:
        item = source.item(id_)
    except NotFound:
        pass
    except AileronError as error:
        return Shown(note=f"What was shown cannot be looked up now: {inline(error.title)}"), None
    else:
        return shown_in_item(item), item
    try:
        if entries is not None:
            return shown_in_entries(entries(id_).get("entries")), None
    except AileronError as error:
        return Shown(note=f"What was shown cannot be looked up now: {inline(error.title)}"), None
    return Shown(note=f"The ledger has what was shown: aileron-tui history show {clip(inline(id_), 80)}"), None
