"""What the program needs of the database that keeps its ledgers, and the one place that chooses it.

Everything outside `ledger/` uses these protocols and the functions that open them. A second database implements the
protocols, passes `tests/ledger/store_contract.py`, and is chosen here. The database is imported when it is opened: the
console paints its first frame without it.

    LedgerView     what can be read
    LedgerReader   a LedgerView with a connection of its own
    Ledger         the writer
    ResultStore    results that agents have not fetched yet
    IdSet          ids that do not fit into memory
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol, Self

from aileron_tui.core.entry_chain import Entry, EntryKind
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.times import utc_now
from aileron_tui.core.values import dataclass
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.history_filter import ALL, PAGE, HistoryFilter
from aileron_tui.ledger.request_standing import RequestStanding

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


def open_ledger(  # noqa: PLR0913  # every option has a default that suits a gate
    path: Path,
    *,
    role: str = "gate",
    guest: bool = False,
    shared: bool = False,
    wait: float = LOCK_SECONDS,
    clock: Callable[[], datetime] = utc_now,
) -> Ledger:
    """Opens a ledger for writing, and creates it if there is none.

    A gate is the only writer while it runs. A `guest` may record key and configuration changes beside it. A `shared`
    ledger has any number of writers.
    """
    from aileron_tui.ledger.sqlite.writer import SqliteLedger  # noqa: PLC0415  # the database is loaded when needed

    return SqliteLedger(path, role=role, guest=guest, shared=shared, wait=wait, clock=clock)


def open_reader(path: Path, *, foreign: bool = False) -> LedgerReader:
    """Opens a ledger for reading. A `foreign` one may belong to anybody and be readable by others."""
    from aileron_tui.ledger.sqlite.reader import SqliteReader  # noqa: PLC0415  # the database is loaded when needed

    return SqliteReader(path, foreign=foreign)


def open_results(path: Path) -> ResultStore:
    """Opens the results of a gate, and creates the file if there is none."""
    from aileron_tui.ledger.sqlite.results import SqliteResults  # noqa: PLC0415  # the database is loaded when needed

    return SqliteResults(path)


def open_id_set() -> IdSet:
    """An empty set of ids."""
    from aileron_tui.ledger.sqlite.ended_requests import EndedRequests  # noqa: PLC0415  # the database is loaded when needed

    return EndedRequests()


def is_ledger(path: Path) -> bool:
    """Whether a file is a ledger, and not for example an export of one."""
    from aileron_tui.ledger.sqlite.connection import is_database  # noqa: PLC0415  # the database is loaded when needed

    return is_database(path)


def set_aside(path: Path, *, wait: float = LOCK_SECONDS, clock: Callable[[], datetime] = utc_now) -> Path:
    """Moves a ledger that cannot be used into a folder beside it and begins a new one; returns the folder."""
    from aileron_tui.ledger.sqlite import writer  # noqa: PLC0415  # the database is loaded when needed

    return writer.set_aside(path, wait=wait, clock=clock)
