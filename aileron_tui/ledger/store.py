"""What the program needs from the database that keeps its ledgers.

Everything outside `ledger/` uses these protocols and opens them with `ledger/open_store.py`. A second database
implements the protocols, passes `tests/ledger/store_contract.py`, and is chosen there.

    LedgerView     what can be read
    LedgerReader   a LedgerView with a connection of its own
    Ledger         the writer
    ResultStore    results that agents have not fetched yet
    IdSet          ids that do not fit into memory
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from pathlib import Path
from typing import Final, Protocol, Self

from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.history_filter import ALL, PAGE, HistoryFilter
from aileron_tui.ledger.request_status import RequestStanding

LARGEST_ENTRY: Final = 4 * 1024 * 1024
LOCK_SECONDS: Final = 2.0
"""How long to wait for another process that holds the ledger."""

Stored = tuple[int, bytes, bytes]
"""An entry as it is stored: its number, its bytes and its hash."""


@dataclass(frozen=True, slots=True)
class EntryDraft:
    """A fact that is not yet in the ledger."""

    kind: EntryKind
    body: JsonObject = field(default_factory=dict)
    request: str = ""


@dataclass(frozen=True, slots=True)
class StoredResult:
    """How a request ended, as its agent is told."""

    request: str
    body: JsonObject
    delivered: bool = False


class RequestLookup(Protocol):
    """What must be known of a ledger to decide whether an entry may follow."""

    def standing(self, request: str) -> RequestStanding | None:
        """The state of a request, or None if it was never made."""

    def position(self, digest: str, oldest: int, before: int) -> int | None:
        """The number of the entry with this hash, `oldest` included and `before` not, or None."""


class LedgerView(RequestLookup, Protocol):
    """What can be read from a ledger. Use it from one thread at a time."""

    @property
    def path(self) -> Path:
        """Where the ledger is."""

    def head(self) -> Head:
        """The last entry."""

    def rows(self, after: int = 0) -> Iterator[Stored]:
        """Every entry after a number as it is stored, in order, a few at a time."""

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Every entry after a number, in order."""

    def newest_entries(self, connector: str = "", text: str = "") -> Iterator[Entry]:
        """Entries, newest first.

        May leave out those of requests for other connectors than `connector`, and those that do not have the ASCII
        `text` in their bytes. The caller still has to look at what comes.
        """

    def entry(self, seq: int) -> Entry | None:
        """One entry."""

    def of_request(self, request: str) -> tuple[Entry, ...]:
        """Every entry about a request, in order."""

    def unfinished(self, most: int) -> tuple[str, ...]:
        """Requests of daemons that were approved and whose end is not known, newest first."""

    def key_changes(self) -> tuple[Entry, ...]:
        """Every entry that changes who may approve, in order."""

    def last_key_change(self) -> int:
        """The number of the last entry that changed who may approve, or 0."""

    def nonce_used(self, nonce: str) -> bool:
        """Whether a recorded decision has this nonce."""

    def page(
        self, wanted: HistoryFilter = ALL, *, before: int | None = None, limit: int = PAGE
    ) -> tuple[HistoryRecord, ...]:
        """The newest requests that match, or those older than the one with number `before`."""

    def every(self, wanted: HistoryFilter = ALL) -> Iterator[HistoryRecord]:
        """All requests that match, newest first."""

    def find(self, request: str) -> HistoryRecord | None:
        """The request with this id."""

    def shown(self, request: str) -> tuple[int, str] | None:
        """Only what verification compares: the entry that made the request, and its outcome."""


class LedgerReader(LedgerView, Protocol):
    """A read-only view with a connection of its own. It neither blocks the writer nor waits for it."""

    def __enter__(self) -> Self:
        """Opens nothing more."""

    def __exit__(self, *_: object) -> None:
        """Closes it."""

    def close(self) -> None:
        """Ends the connection."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Everything read inside sees the ledger at the same moment."""

    def noted(self) -> Head | None:
        """The head that was noted beside the ledger when it was last written."""

    def indexed(self) -> bool:
        """Whether history and search were made by this version of the program."""

    def check_storage(self) -> str:
        """What the database finds wrong with its own file, or ""."""


class Ledger(Protocol):
    """The writer. Safe to use from several threads; what it has acknowledged is on the disk."""

    @property
    def path(self) -> Path:
        """Where the ledger is."""

    def __enter__(self) -> Self:
        """Opens nothing more."""

    def __exit__(self, *_: object) -> None:
        """Closes it."""

    @property
    def head(self) -> Head:
        """The last entry that is on the disk, not one that another thread is about to record."""

    def append(self, kind: EntryKind, body: JsonObject, request: str = "") -> Head:
        """Records one fact; when this returns it is on the disk."""

    def append_all(self, drafts: Sequence[EntryDraft]) -> Head:
        """Records several facts in order, all or none."""

    def append_given(self, choose: Callable[[LedgerView], Sequence[EntryDraft]]) -> Head:
        """Records what is chosen after a look at the ledger; nothing can come between the look and the record."""

    def rebuild_index(self) -> None:
        """Builds everything that is derived from the entries again."""

    def close(self) -> None:
        """Ends writing; another process may take over. Closing twice does no harm."""


class ResultStore(Protocol):
    """Results that agents have not fetched yet. They survive a restart. Safe to use from several threads."""

    def put(self, result: StoredResult, call: str, ended: str) -> None:
        """Keeps a result; the first one for a request stays."""

    def find(self, request: str) -> StoredResult | None:
        """The result of a request."""

    def undelivered(self, call: str) -> StoredResult | None:
        """The newest result that this call has not been given yet."""

    def deliver(self, request: str) -> bool:
        """Marks a result as delivered; False if it was delivered before."""

    def forget(self, delivered: str, uncollected: str) -> None:
        """Deletes results of requests that ended before these times: delivered ones, and ones nobody fetched."""

    def close(self) -> None:
        """Ends the connection."""


class IdSet(Protocol):
    """A set of ids that takes the same memory however large it is."""

    def add(self, request: str) -> None:
        """Adds an id; adding it twice does no harm."""

    def __contains__(self, request: str) -> bool:
        """Whether an id was added."""

    def close(self) -> None:
        """Deletes everything."""
