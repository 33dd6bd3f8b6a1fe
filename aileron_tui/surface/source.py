"""What the console needs of a source: a gate here or elsewhere and a daemon are the same to it."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeAlias

from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.signing.key_store import UnlockedKey

if TYPE_CHECKING:
    from aileron_tui.core.request import Request
    from aileron_tui.runtime.source_events import SourceEvent
    from aileron_tui.runtime.vault import VaultState


class Source(Protocol):
    """Where requests come from, blocking; the console calls it from threads only."""

    @property
    def name(self) -> str:
        """What the operator calls it; "" where there is only one."""

    @property
    def instance(self) -> str:
        """Which run of the gate or daemon this is."""

    def watch(self, after: int = 0) -> Iterator["SourceEvent | None"]:
        """Every change as it comes; None for each sign of life."""

    def waiting(self) -> tuple["Request", ...]:
        """What waits, oldest first."""

    def item(self, id_: str) -> "Request":
        """One request as it is now."""

    def refresh(self, id_: str, edits: JsonObject | None = None) -> "Request":
        """One request with its preview fetched again, or as it would be with edited inputs."""

    def decide(
        self, item: "Request", verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> RequestState:
        """Answers exactly what the item shows."""

    def history(self, **filters: str | int | list[str]) -> JsonObject:
        """A page of the past."""

    def past(self, id_: str) -> JsonObject:
        """Everything the ledger has of one request."""

    def vault(self) -> "VaultState":
        """Whether it can reach its credentials."""

    def unlock_vault(self, passphrase: bytearray) -> None:
        """Opens its vault, or raises an AileronError."""

    def close(self) -> None:
        """Hangs up."""


Connect: TypeAlias = Callable[[UnlockedKey], Source]
"""Finds the source anew and opens a connection to it."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A source to listen to. `label` says what kind it is, in our own words: `daemon` or `gate`."""

    name: str
    connect: Connect
    label: str = ""


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
