"""A console without a screen: finds a daemon, listens, keeps a board, and answers."""

import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from aileron_tui.core.decision import Statement, Verdict
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.ledger.entry_check import CheckReport
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.full_check import audit
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.ledger.recorded_decision import decision_of
from aileron_tui.runtime.daemon.daemon_discovery import find
from aileron_tui.runtime.daemon.daemon_source import DaemonSource
from aileron_tui.runtime.daemon.tracker import Tracker
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import opened, read_envelope
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.signing.recorded_signers import RecordedSigners
from aileron_tui.surface.board import Board
from tests.daemon.process import FakeDaemon

PATIENCE: Final = 60.0

_STEPS: Final = {
    EntryKind.REQUESTED: "asked",
    EntryKind.PREVIEWED: "preview",
    EntryKind.SHOWN: "shown",
    EntryKind.EDITED: "edited elsewhere",
}


class Console:
    """Listens during its `with` block, and finds the daemon again whenever the connection is lost.

    At the end, checks that its ledger is intact.
    """

    def __init__(
        self, daemon: FakeDaemon, folder: Path, *, key: UnlockedKey | None = None, again: bool = True, **options: Any
    ) -> None:
        self.daemon = daemon
        self.folder = folder
        self.key = key or for_this_run("alice")
        self.tracker = Tracker()
        self.heard: list[SourceEvent] = []
        self.faults: list[AileronError] = []
        self.beats = 0
        self.source = self.connect(**options)
        self._options = options
        self._again = again
        self._board = Board()
        self._news: deque[SourceEvent | AileronError] = deque()
        self._guard = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="console")

    def connect(self, **options: Any) -> DaemonSource:
        """A connection to the daemon that can be found now."""
        found = find(env=self.daemon.environment)
        return DaemonSource(found, self.key, self.folder, tracker=self.tracker, **{"list_every": 0.3} | options)

    def __enter__(self) -> Self:
        self._thread.start()
        self.until(lambda: bool(self.heard or self.faults or not self._thread.is_alive()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self.source.close()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        if error is None:
            verified(self.folder)

    def _listen(self) -> None:
        while True:
            try:
                for event in self.source.watch():
                    self._hear(event)
            except AileronError as error:
                self._news.append(error)
                self.faults.append(error)
            self.source.close()
            if not self._again or not self._reconnected():
                return

    def _hear(self, event: SourceEvent | None) -> None:
        if event is None:
            self.beats += 1
        else:
            self._news.append(event)
            self.heard.append(event)

    def _reconnected(self) -> bool:
        while not self._stop.wait(0.02):
            try:
                self.source = self.connect(**self._options)
            except AileronError as error:
                self.faults.append(error)
            else:
                return True
        return False

    # what the operator sees

    @property
    def board(self) -> Board:
        """With everything that was heard so far."""
        with self._guard:
            batch: list[SourceEvent] = []
            while self._news:
                news = self._news.popleft()
                if isinstance(news, SourceEvent):
                    batch.append(news)
                else:
                    self._board.receive(batch)
                    self._board.source_lost("now")
                    batch = []
            if batch:
                self._board.receive(batch)
            return self._board

    @property
    def waiting(self) -> list[str]:
        """What can be answered, as it is listed."""
        return [request.key for request in self.board.queue.waiting]

    @property
    def stale(self) -> bool:
        return bool(self.board.queue.stale)

    def state(self, id_: str) -> RequestState | None:
        request = self.board.requests.get(id_)
        return request.state if request else None

    def note(self, id_: str) -> str:
        return self.board.requests[id_].reason

    def item(self, id_: str) -> Request:
        """A request as it is shown, once it is."""
        self.until(lambda: id_ in self.waiting)
        return self.board.requests[id_]

    def until(self, true: Callable[[], bool]) -> None:
        """Until something holds."""
        deadline = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < deadline, f"it never came true; faults: {self.faults[-3:]}"
            time.sleep(0.005)

    def until_waiting(self, *ids: str) -> None:
        self.until(lambda: sorted(self.waiting) == sorted(ids))

    def until_state(self, id_: str, state: RequestState) -> None:
        self.until(lambda: self.state(id_) is state)

    # what the operator does

    def decide(
        self, id_: str, verdict: Verdict = Verdict.APPROVE, reason: str = "", edits: JsonObject | None = None
    ) -> RequestState:
        """Answers what is shown."""
        item = self.item(id_)
        if edits is not None:
            item = self.source.refresh(id_, edits)
        return self.source.decide(item, verdict, reason=reason, edits=edits)

    # what is left of it

    def entries(self, id_: str) -> list[Entry]:
        """Everything the ledger has of a request."""
        return entries(self.folder, id_)

    def story(self, id_: str) -> list[str]:
        """The ledger's entries of a request in short, in order."""
        return story(self.folder, id_)

    def signed(self, id_: str) -> list[Statement]:
        """What was signed about a request, each checked against the keys of the ledger."""
        with open_reader(self.folder / FILE) as reader:
            keys = Approvers.of(reader.key_changes())
        decided = [entry for entry in self.entries(id_) if entry.kind == EntryKind.DECIDED]
        return [opened(read_envelope(entry.body["envelope"]), keys) for entry in decided]


def entries(folder: Path, id_: str) -> list[Entry]:
    with open_reader(folder / FILE) as reader:
        return list(reader.of_request(id_))


def story(folder: Path, id_: str) -> list[str]:
    """`asked` and `shown`, each decision by its verdict, and what was told, with a + where it was elsewhere."""
    words: list[str] = []
    for entry in entries(folder, id_):
        if entry.kind == EntryKind.DECIDED:
            found = decision_of(entry)
            assert found is not None
            words.append(f"decided {found[0].verdict}")
        elif entry.kind == EntryKind.TOLD:
            words.append(f"told {entry.body['outcome']}{' +' if entry.body['elsewhere'] else ''}")
        else:
            words.append(_STEPS[EntryKind(entry.kind)])
    return words


def verified(folder: Path) -> CheckReport:
    """The report over a ledger in which nothing is wrong."""
    with open_reader(folder / FILE) as reader:
        report = audit(reader, RecordedSigners())
    assert report.fault is None, report.fault
    return report


class Deciding:
    """An answer on its way in a thread of its own, until the end of the `with`."""

    def __init__(self, console: Console, item: Request, verdict: Verdict = Verdict.APPROVE) -> None:
        self.state: RequestState | None = None
        self.fault: AileronError | None = None
        self._thread = threading.Thread(target=self._decide, args=(console.source, item, verdict))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def _decide(self, source: DaemonSource, item: Request, verdict: Verdict) -> None:
        try:
            self.state = source.decide(item, verdict)
        except AileronError as error:
            self.fault = error
