"""A daemon as the console sees it: its requests as they come and go, answers, and what became of them.

`watch` runs in the caller's thread, which alone changes the tracker. Two threads feed it: one reads the daemon's
events, the other, the keeper, asks for what a daemon does not tell by itself.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

import httpx

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, read_object
from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskRule
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.runtime.daemon import request_reader
from aileron_tui.runtime.daemon.answer_lock import AnswerLock
from aileron_tui.runtime.daemon.answer_sender import AnswerSender
from aileron_tui.runtime.daemon.daemon_client import LARGEST_EVENT, SILENCE, DaemonClient, DaemonResult, check_id
from aileron_tui.runtime.daemon.daemon_discovery import Daemon
from aileron_tui.runtime.daemon.daemon_ledger import DaemonLedger
from aileron_tui.runtime.daemon.label_cache import LabelCache
from aileron_tui.runtime.daemon.poller import LIST_EVERY, Became, Listed, Poller
from aileron_tui.runtime.daemon.tracker import Tracker
from aileron_tui.runtime.errors import NotFound, PromptChanged, RuntimeFault, Unanswered, Untrustworthy
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.runtime.sse import SseFrame
from aileron_tui.runtime.vault import VaultState
from aileron_tui.signing.key_store import UnlockedKey

_LOOKS_AT_ONCE: Final = 20
_MOST_UNHEARD: Final = 1000
_MOST_WAITING: Final = 20_000
_SPELLED: Final = ("args", "preview", "input_fields")
_EVENT: Final = JsonLimits(size=LARGEST_EVENT, depth=80, count=20_000_000)


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class _Ended:
    """An answer from here came to its end: it was taken, or somebody else's was first."""

    id: str
    result: DaemonResult


_News = SseFrame | Listed | Became | _Ended | RuntimeFault | None


class DaemonSource:
    """One connection to one daemon. `folder` is where our own record of it is kept; `tracker` is what an earlier
    connection knew.
    """

    def __init__(  # noqa: PLR0913  # everything about a source is told here once
        self,
        daemon: Daemon,
        key: UnlockedKey,
        folder: Path,
        *,
        name: str = "",
        rules: Sequence[RiskRule] = (),
        surface: str = "console",
        tracker: Tracker | None = None,
        list_every: float = LIST_EVERY,
        silence: float = SILENCE,
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self.name = name
        self.instance = f"{daemon.url} {daemon.started_at}".rstrip()
        self._rules = rules
        self._surface = surface
        self._clock = clock
        self._tracker = tracker or Tracker()
        self._news: queue.SimpleQueue[_News] = queue.SimpleQueue()
        self._opened = 0
        self._unread = 0
        self._doubted: set[str] = set()
        self._closed = False
        self._listed: dict[str, Request] = {}
        self._client = DaemonClient(daemon, silence=silence, transport=transport)
        self._actions = LabelCache(self._client.action)
        self._sessions = LabelCache(self._client.session)
        self._record = DaemonLedger(folder, key, clock=clock)
        self._keeper = Poller(self._client, self._tracker.now, self._news.put, list_every)
        self._answering = AnswerSender(
            self._client,
            self._record,
            self._tracker,
            key,
            AnswerLock(folder),
            surface=surface,
            clock=clock,
            ended=lambda id_, result: self._news.put(_Ended(id_, result)),
            unsettled=self._keeper.follow,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hangs up."""
        if self._closed:
            return
        self._closed = True
        self._news.put(Unanswered("the connection was closed"))
        self._keeper.close()
        self._client.close()
        self._record.close()

    # what waits

    def waiting(self) -> tuple[Request, ...]:
        """What waits, oldest first; recorded as shown."""
        items, _ = self._read_all(self._client.waiting())
        self._record.asked(items, self._surface)
        self._listed = {item.id: item for item in items}
        return tuple(items)

    def item(self, id_: str) -> Request:
        """One request as it is now: from the list if it waits, else with what became of it."""
        for value in self._client.waiting():
            if isinstance(value, dict) and value.get("id") == id_:
                item = self._read(value)
                self._record.asked([item], self._surface)
                return item
        result = self._client.result(id_)
        known = self._tracker.known(id_) or self._listed.get(id_)
        if known is None:
            raise NotFound(404, {}, called="daemon")
        with suppress(LedgerError):  # it is what it is, even if it cannot be recorded
            self._note_end(id_, result)
        fields = known.fields | {"error": result.error} if result.error else known.fields
        return replace(known, state=result.state, reason=result.note or result.reason, fields=fields)

    def refresh(self, id_: str, edits: JsonObject | None = None) -> Request:
        """The request as it would be with edits; a daemon fetches a preview once and never again."""
        if edits is None:
            raise AileronError("a daemon fetches a preview only once, before it asks", hint="Decide by what is shown.")
        item = request_reader.edited(self._tracker.waiting.get(id_) or self.item(id_), edits)
        self._record.asked([item], self._surface)
        return item

    def watch(self, after: int = 0) -> Iterator[SourceEvent | None]:
        """Every change as it comes; raises when the daemon cannot be heard any more. `after` means nothing here."""
        del after
        asked = self._tracker.now()
        yield from self._take_first(Listed(self._client.waiting(), asked))
        for id_, item in tuple(self._tracker.gone.items()):
            if not item.state.final:
                self._keeper.follow(id_)
        self._opened = self._tracker.now()
        # A daemon thread: a read that waits for the other side must not keep the program alive.
        threading.Thread(target=self._stream, name="events", daemon=True).start()
        self._keeper.start()
        while True:
            news = self._news.get()
            match news:
                case None:
                    yield None
                case RuntimeFault():
                    raise news
                case SseFrame():
                    yield from self._take_event(news)
                case Listed():
                    yield from self._take_list(news)
                case Became(id_, result):
                    if id_ not in self._answering.sending:  # else it is for the answer to find out
                        yield from self._take_result(id_, result)
                case _Ended(id_, result):
                    yield from self._take_end(id_, result)

    def _stream(self) -> None:
        fault: RuntimeFault = Unanswered("the daemon hung up")
        try:
            with self._client.events() as frames:
                for frame in frames:
                    while self._news.qsize() >= _MOST_UNHEARD and not self._closed:
                        time.sleep(0.01)  # whoever talks faster than we can hear has to wait
                    self._news.put(frame)
        except RuntimeFault as error:
            fault = error
        finally:
            self._news.put(fault)

    # what is heard, in the caller's thread

    def _take_first(self, listed: Listed) -> Iterator[SourceEvent]:
        """The list that a connection begins with. What ended meanwhile is told before it, so that it says how."""
        items, unread = self._read_all(listed.items)
        _, vanished = self._tracker.listed(items, listed.asked)
        self._record.asked(items, self._surface)
        for item in vanished[:_LOOKS_AT_ONCE]:
            with suppress(RuntimeFault):  # whoever is not found out about now is followed
                yield from self._take_result(item.id, self._client.ended(item.id))
        yield self._snapshot()
        yield from self._complain(unread)

    def _take_list(self, listed: Listed) -> Iterator[SourceEvent]:
        items, unread = self._read_all(listed.items)
        gone = set(self._tracker.gone)
        arrived, vanished = self._tracker.listed(items, listed.asked)
        self._record.asked(arrived, self._surface)
        lost, self._doubted = self._doubted - self._tracker.waiting.keys(), set()
        if lost or any(item.id in gone for item in arrived):
            yield self._snapshot()  # an arrival alone does not bring back what was taken away
        else:
            yield from map(self._arrived, arrived)
        for item in vanished:
            if item.id not in self._answering.sending:
                self._keeper.follow(item.id)
        yield from self._complain(unread)

    def _take_event(self, frame: SseFrame) -> Iterator[SourceEvent | None]:
        try:
            data = read_object(frame.data, _EVENT)
        except JsonError:
            self._keeper.list_soon()  # whatever it was, the list has it
            yield None
            return
        if frame.name == "snapshot":
            items = data.get("items")
            if isinstance(items, list):
                yield from self._take_list(Listed(items, self._opened))
            else:
                self._keeper.list_soon()
        elif frame.name == "pending":
            yield from self._take_arrival(data)
        elif frame.name == "resolved":
            yield from self._take_answer(data)
        else:
            yield None

    def _take_arrival(self, data: JsonObject) -> Iterator[SourceEvent]:
        items, unread = self._read_all([data])
        for item in items:
            if len(self._tracker.waiting) >= _MOST_WAITING:
                unread += 1
            elif self._tracker.pending(item):
                self._record.asked([item], self._surface)
                yield self._arrived(item)
            elif (known := self._tracker.waiting.get(item.id)) and known.digest != item.digest:
                unread += 1  # the id means something else now, or did before: the list has what counts
        if unread:
            self._keeper.list_soon()

    def _take_answer(self, data: JsonObject) -> Iterator[SourceEvent]:
        id_, approved, reason = data.get("id"), data.get("approved"), data.get("reason")
        if not isinstance(id_, str) or not isinstance(approved, bool):
            self._keeper.list_soon()
        elif id_ in self._answering.sending:
            self._tracker.resolved(id_)  # whether it was our own answer shows when the daemon replies to it
        else:
            state = RequestState.RUNNING if approved else RequestState.DENIED
            words = self._client.untold(reason) if isinstance(reason, str) else ""
            yield from self._take_end(id_, DaemonResult(state, words))

    def _take_end(self, id_: str, result: DaemonResult) -> Iterator[SourceEvent]:
        self._tracker.resolved(id_)
        yield from self._take_result(id_, result)
        if not result.state.final:
            self._keeper.follow(id_)

    def _take_result(self, id_: str, result: DaemonResult) -> Iterator[SourceEvent]:
        if result.state is RequestState.PENDING:
            if id_ in self._tracker.gone:  # it waits after all, or cannot be read any more: the next list shows which
                self._doubted.add(id_)
                self._keeper.list_soon()
            return
        ours = self._answering.arrived(id_, result)
        if result.state is RequestState.WITHDRAWN and (ours or self._tracker.is_unconfirmed(id_)):
            result = replace(result, state=RequestState.INTERRUPTED)  # we answered it, and nobody knows how it went
        # The reason of an approval says nothing about how it is carried out.
        reason = "" if result.state is RequestState.RUNNING else result.reason
        item = self._tracker.became(id_, result.state, result.note or reason, result.error)
        if item is not None:
            elsewhere = not ours and result.state is not RequestState.WITHDRAWN
            self._record_report(id_, result, elsewhere=elsewhere)
            yield SourceEvent(0, "updated", item.fields | {"state": item.state}, (item,), self.name)

    def _snapshot(self) -> SourceEvent:
        self._unread = 0
        waiting = tuple(self._tracker.waiting.values())
        return SourceEvent(0, "snapshot", {"items": [item.fields for item in waiting]}, waiting, self.name)

    def _arrived(self, item: Request) -> SourceEvent:
        return SourceEvent(0, "pending", item.fields, (item,), self.name)

    def _complain(self, unread: int) -> Iterator[SourceEvent]:
        if unread != self._unread:
            self._unread = unread
            yield SourceEvent(0, "unreadable", {"count": unread}, (), self.name)

    # reading

    def _read_all(self, values: Iterable[Json]) -> tuple[list[Request], int]:
        """The requests that can be read, and how many could not."""
        items: list[Request] = []
        unread = 0
        self._actions.renew()
        self._sessions.renew()
        for value in values:
            if len(items) >= _MOST_WAITING:
                unread += 1
                continue
            try:
                items.append(self._read(value))
            except Untrustworthy:
                unread += 1
        return items, unread

    def _read(self, value: Json) -> Request:
        fields = value if isinstance(value, dict) else {}
        id_ = fields.get("id")
        if isinstance(id_, str):
            check_id(id_)
        known = self._tracker.waiting.get(id_) if isinstance(id_, str) else None
        if known is not None and known.instance == self.instance and _same(known, fields):
            return known  # what was shown stays as it is, whatever was learned since
        return request_reader.read_daemon_request(
            value,
            source=self.name,
            instance=self.instance,
            head=self._record.head,
            action=self._actions.of(fields.get("action_name")),
            session=self._sessions.of(fields.get("session_id")),
            rules=self._rules,
            seen=self._clock(),
        )

    # answering, the past, and the vault

    def decide(
        self, item: Request, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> RequestState:
        """Answers exactly what the item shows, once. Whatever goes wrong, what really stands is looked up first."""
        if verdict is Verdict.APPROVE and item.instance != self.instance:  # what its id means here is not known yet
            raise PromptChanged(409, {"error": {"message": "the daemon was started anew since"}}, called="daemon")
        return self._answering.decide(item, verdict, reason, edits)

    def history(self, **filters: str | int | list[str]) -> JsonObject:
        """A page of our own ledger, with the answers that the daemon got elsewhere."""
        with suppress(RuntimeFault, LedgerError):  # what is recorded can be read all the same
            self._catch_up()
        return self._record.history(**filters)

    def _catch_up(self) -> None:
        for id_ in self._record.heard(self._client.audit())[:_LOOKS_AT_ONCE]:
            self._note_end(id_, self._client.ended(id_))

    def _note_end(self, id_: str, result: DaemonResult) -> None:
        if result.state.final:
            elsewhere = result.state is not RequestState.WITHDRAWN and not self._answering.arrived(id_, result)
            self._record_report(id_, result, elsewhere=elsewhere)

    def _record_report(self, id_: str, result: DaemonResult, *, elsewhere: bool) -> None:
        self._record.told(
            id_,
            result.state,
            elsewhere=elsewhere,
            decided_here=id_ in self._tracker.own_answers,
            reason=result.reason,
            error=result.error,
        )

    def past(self, id_: str) -> JsonObject:
        """Everything our ledger has of one request."""
        found = self._record.past(id_)
        if found is None:
            raise NotFound(404, {}, called="ledger")
        return found

    def vault(self) -> VaultState:
        """Whether the daemon can reach its credentials."""
        return self._client.vault()

    def unlock_vault(self, passphrase: bytearray) -> None:
        """Opens the daemon's vault."""
        self._client.unlock(passphrase)


def _same(known: Request, fields: JsonObject) -> bool:
    """Whether the daemon still says the same of a request. To Python 1 is the same as true, so it is spelled too."""
    told = fields | {"inputs": known.fields.get("inputs")}
    return known.fields == told and all(repr(known.fields.get(name)) == repr(told.get(name)) for name in _SPELLED)
