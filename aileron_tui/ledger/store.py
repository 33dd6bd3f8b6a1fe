"""The interface to the database that stores the ledgers.

Everything outside `ledger/` uses these protocols and opens them with `ledger/open_store.py`. Another database would
implement the protocols, pass `tests/ledger/store_contract.py`, and be chosen in `ledger/open_store.py`.

    LedgerView     what can be read
    LedgerReader   a LedgerView with a connection of its own
    Ledger         the writer
    ResultStore    results that agents have not fetched yet
    IdSet          a set of ids that may not fit into memory
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from datetime import datetime
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
from aileron_tui.ledger.rule_calls import CallFilter, RecordedCall, RuleUse

LARGEST_ENTRY: Final = 4 * 1024 * 1024
LOCK_SECONDS: Final = 2.0
"""How long to wait for another process that holds the ledger."""

Stored = tuple[int, bytes, bytes]
"""An entry as it is stored: its number, its bytes and its hash."""


@dataclass(frozen=True, slots=True)
class EntryDraft:
    """An entry that is not in the ledger yet, so it has no number or time."""

    kind: EntryKind
    body: JsonObject = field(default_factory=dict)
    request: str = ""


@dataclass(frozen=True, slots=True)
class ReductionStep:
    """What a part of a reduction removed: bodies of so many requests and entries, and their bytes.

    `next` is the number to go on after, 0 if everything was looked at.
    """

    requests: int
    entries: int
    bytes: int
    next: int


@dataclass(frozen=True, slots=True)
class StoredResult:
    """How a request ended, as it is reported to the agent."""

    request: str
    body: JsonObject
    delivered: bool = False


class RequestLookup(Protocol):
    """What the checks need from a ledger to decide whether an entry may be appended."""

    def standing(self, request: str) -> RequestStanding | None:
        """The state of a request, or None if it was never made."""

    def position(self, digest: str, oldest: int, before: int) -> int | None:
        """The number of the entry with this hash, or None. Searches from `oldest` up to but not including `before`."""

    def entry(self, seq: int) -> Entry | None:
        """The entry with this number, or None."""

    def extensions(self, request: str) -> tuple[Entry, ...]:
        """Every entry that extended the deadline of a request, in order."""

    def agent_changes(self) -> tuple[Entry, ...]:
        """Every entry that adds, rotates or revokes an agent, in order."""

    def key_changes(self) -> tuple[Entry, ...]:
        """Every entry that changes who may approve, in order."""

    def package_changes(self) -> tuple[Entry, ...]:
        """Every entry that adds, removes or declines packages, in order."""

    def binding_changes(self) -> tuple[Entry, ...]:
        """Every entry that makes, ends or declines a binding, in order."""

    def publisher_changes(self) -> tuple[Entry, ...]:
        """Every entry that changes the trusted publishers, in order."""

    def counter(self, keyid: str) -> int:
        """The last counter of a security key in this ledger, 0 if it has none."""

    def rule_changes(self, id_: str = "", after: int = 0) -> tuple[Entry, ...]:
        """Every entry after number `after` that makes or ends a rule, or this rule, in order."""


class LedgerView(RequestLookup, Protocol):
    """What can be read from a ledger. Use it from one thread at a time."""

    @property
    def path(self) -> Path:
        """The path of the ledger's file."""

    def head(self) -> Head:
        """The number and hash of the last entry."""

    def rows(self, after: int = 0) -> Iterator[Stored]:
        """Yields every stored entry after number `after`, in order, a few at a time."""

    def hashes(self, after: int, last: int) -> Iterator[tuple[int, str]]:
        """Yields the number and the stored hash of every entry after number `after` up to number `last`, in order."""

    def change_numbers(self) -> tuple[int, ...]:
        """The numbers of all entries that change keys, agents, rules, packages or publishers, in order."""

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Yields every entry after number `after`, in order."""

    def newest_entries(self, connector: str = "", text: str = "") -> Iterator[Entry]:
        """Yields entries, newest first.

        May leave out entries of requests for connectors other than `connector`, and entries whose bytes do not contain
        the ASCII `text`. The caller must still check each entry.
        """

    def of_request(self, request: str) -> tuple[Entry, ...]:
        """Every entry about a request, in order."""

    def recorded_call(self, request: str, largest: int) -> tuple[Entry, ...]:
        """The entries with the inputs and the kept previews of a request, in order, without those that are larger.

        `largest` is a number of bytes. There may be other entries among them.
        """

    def unfinished(self, most: int) -> tuple[str, ...]:
        """The ids of daemons' requests that were approved and whose end is not known, newest first."""

    def last_key_change(self) -> int:
        """The number of the last entry that changed who may approve, or 0."""

    def last_agent_change(self) -> int:
        """The number of the last entry that added, rotated or revoked an agent, or 0."""

    def last_rule_change(self) -> int:
        """The number of the last entry that made or ended a rule, or 0."""

    def last_package_change(self) -> int:
        """The number of the last entry that added, removed or declined packages, or 0."""

    def last_binding_change(self) -> int:
        """The number of the last entry that made, ended or declined a binding, or 0."""

    def calls(self, wanted: CallFilter) -> Iterator[RecordedCall]:
        """The past calls that may match, newest first."""

    def count_calls(self, wanted: CallFilter) -> int:
        """How many calls of the agent to the action there were since the time."""

    def rule_uses(self) -> Mapping[str, RuleUse]:
        """How often each rule answered a request, by its id."""

    def nonce_used(self, nonce: str) -> bool:
        """Whether a recorded decision has this nonce."""

    def page(
        self, wanted: HistoryFilter = ALL, *, before: int | None = None, limit: int = PAGE
    ) -> tuple[HistoryRecord, ...]:
        """The newest requests that match, or those older than the one with number `before`."""

    def every(self, wanted: HistoryFilter = ALL) -> Iterator[HistoryRecord]:
        """All requests that match, newest first."""

    def find(self, request: str) -> HistoryRecord | None:
        """The request with this id, or None."""

    def shown(self, request: str) -> tuple[int, str] | None:
        """What the history list says about a request: the number of the entry that made it, and its outcome."""


class LedgerReader(LedgerView, Protocol):
    """A read-only view with a connection of its own. It neither blocks the writer nor waits for it."""

    def __enter__(self) -> Self:
        """Returns itself, already open."""

    def __exit__(self, *_: object) -> None:
        """Closes the ledger."""

    def close(self) -> None:
        """Closes the connection."""

    def snapshot(self) -> AbstractContextManager[None]:
        """All reads inside this context see the ledger as it is at the same moment."""

    def noted(self) -> Head | None:
        """The head that was noted in the lock file when the ledger was last written."""

    def indexed(self) -> bool:
        """Whether the index for history and search was built by this version of the program."""

    def copy_to(self, path: Path, progress: Callable[[int, int], None] = lambda *_: None) -> None:
        """Copies the ledger as it is at one moment to a new file, which only the user can access.

        Tells how many pages are copied, and of how many. The copy is one file and is on disk when this returns.
        """

    def check_storage(self) -> str:
        """What the database finds wrong with its own file, or ""."""


class Ledger(Protocol):
    """The writer. Safe to use from several threads; everything it has acknowledged is on disk."""

    @property
    def path(self) -> Path:
        """The path of the ledger's file."""

    def __enter__(self) -> Self:
        """Returns itself, already open."""

    def __exit__(self, *_: object) -> None:
        """Closes the ledger."""

    @property
    def head(self) -> Head:
        """The last entry that is on disk, not one that another thread is still recording."""

    @property
    def latest(self) -> datetime:
        """The latest time that this process has seen on an entry or on its own clock."""

    def append(self, kind: EntryKind, body: JsonObject, request: str = "") -> Head:
        """Appends one entry. When this returns, the entry is on disk."""

    def append_all(self, drafts: Sequence[EntryDraft]) -> Head:
        """Appends several entries in order, all or none."""

    def append_given(self, choose: Callable[[LedgerView], Sequence[EntryDraft]]) -> Head:
        """Appends the entries that `choose` returns for the current ledger. No other entry can come in between."""

    def check(self) -> None:
        """Checks that the ledger can be written: raises a LedgerError if an append would fail now."""

    def check_file(self) -> None:
        """Checks only that the files of the ledger are still in their place. Raises LedgerReplaced."""

    def reduce(self, before: str, keep: str, after: int = 0) -> ReductionStep:
        """Removes the bodies of some requests that ended before a time, and records it, in one short transaction.

        `keep` is the setting as users write it. `after` is `next` of the step before.
        """

    @property
    def unerased(self) -> bool:
        """Whether something was removed that may still be in the files."""

    def erase(self, *, go_on: bool = False, whole: bool = False) -> bool:
        """Does a part of what it takes that removed bodies are no longer in the files. Returns whether there is more.

        It is called again with `go_on` then. What somebody reads just now stays until the next time. With `whole`, also
        remains in a large file are erased, which takes long.
        """

    def rebuild_index(self, progress: Callable[[int, int], None] = lambda *_: None) -> None:
        """Rebuilds everything that is derived from the entries. Tells how many entries are done, and of how many."""

    def close(self) -> None:
        """Closes the ledger, so that another process may write to it. Closing twice does no harm."""


class LedgerReplacement(Protocol):
    """A ledger that nobody can write, because another one is to take its place."""

    def replace(self, new: Path, kept: Path) -> None:
        """Puts the ledger in the file `new` in its place, and keeps the old one, if there is one, as `kept`.

        Whenever the program is stopped, the ledger is the old one or the new one.
        """


class ResultStore(Protocol):
    """Results that agents have not fetched yet. They survive a restart. Safe to use from several threads."""

    @property
    def problem(self) -> str:
        """Why what is stored now would be lost, or "" if it would not."""

    def put(self, result: StoredResult, call: str, ended: str) -> None:
        """Stores a result. If the request already has one, the first is kept."""

    def find(self, request: str) -> StoredResult | None:
        """The result of a request, or None."""

    def undelivered(self, call: str) -> StoredResult | None:
        """The newest result of this call that has not been delivered yet, or None."""

    def deliver(self, request: str) -> bool:
        """Marks a result as delivered. Returns False if it was delivered before."""

    def forget(self, delivered: str, uncollected: str) -> None:
        """Deletes old results: delivered ones that ended before `delivered`, others that ended before `uncollected`."""

    def check(self) -> None:
        """Checks that results can be stored. Raises ResultsUnusable."""

    def close(self) -> None:
        """Closes the connection."""


class IdSet(Protocol):
    """A set of ids that takes the same memory at any size."""

    def add(self, request: str) -> None:
        """Adds an id; adding it twice does no harm."""

    def __contains__(self, request: str) -> bool:
        """Whether an id was added."""

    def add_digests(self, digests: bytes) -> None:
        """Adds the ids with these digests, one after the other (`ledger/id_digest.py`)."""

    def has_any(self, digests: bytes) -> bool:
        """Whether an id with one of these digests was added."""

    def digests(self) -> bytes:
        """The digests of all ids, one after the other."""

    def close(self) -> None:
        """Deletes the set."""
