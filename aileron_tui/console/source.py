"""What the console needs of a gate: the client of one elsewhere and of one in this process are the same to it."""

from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.states import State
from aileron_tui.runtime.feed import Happening
from aileron_tui.runtime.items import Item
from aileron_tui.signing.keys import UnlockedKey


class Source(Protocol):
    """A gate, blocking; the console calls it from threads only."""

    @property
    def instance(self) -> str:
        """Which run of the gate this is."""

    def watch(self, after: int = 0) -> Iterator[Happening | None]:
        """Every change as it comes; None for each sign of life."""

    def item(self, id_: str) -> Item:
        """One request as it is now."""

    def refresh(self, id_: str, edits: JsonObject | None = None) -> Item:
        """One request with its preview fetched again, or as it would be with edited inputs."""

    def decide(self, item: Item, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None) -> State:
        """Answers exactly what the item shows."""

    def history(self, **filters: str | int | list[str]) -> JsonObject:
        """A page of the past."""

    def past(self, id_: str) -> JsonObject:
        """Everything the ledger has of one request."""

    def close(self) -> None:
        """Hangs up."""


class Current:
    """The past of whichever gate is connected now; a screen that stays open outlives connections."""

    def __init__(self, now: Callable[[], Source | None]) -> None:
        self._now = now

    def history(self, **filters: str | int | list[str]) -> JsonObject:
        """A page of the past."""
        return self._source().history(**filters)

    def item(self, id_: str) -> Item:
        """One request as it is now."""
        return self._source().item(id_)

    def past(self, id_: str) -> JsonObject:
        """Everything the ledger has of one request."""
        return self._source().past(id_)

    def _source(self) -> Source:
        source = self._now()
        if source is None:
            raise AileronError("not connected", hint="It is tried again by itself.")
        return source


Connect: TypeAlias = Callable[[UnlockedKey], Source]
"""Finds the gate anew and opens a connection to it."""


class Keyholder(Protocol):
    """The operator's key: unlocked while the console may answer, wiped when it is locked."""

    name: str
    insecure: bool

    @property
    def lockable(self) -> bool:
        """Whether it could be unlocked again."""

    @property
    def key(self) -> UnlockedKey | None:
        """The key, or None while it is locked."""

    def unlock(self, passphrase: bytearray) -> None:
        """Unlocks it, or raises an AileronError."""

    def lock(self) -> None:
        """Wipes it."""
