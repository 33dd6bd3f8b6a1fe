"""A daemon as a source: its requests as they come and go, our answers, and their outcomes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

import httpx

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, read_object
from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskRule
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import utc_now
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.runtime.daemon import request_reader
from aileron_tui.runtime.daemon.daemon_client import LARGEST_EVENT, SILENCE, DaemonClient
from aileron_tui.runtime.daemon.daemon_discovery import Daemon, was_replaced
from aileron_tui.runtime.daemon.list_reader import ListReader
from aileron_tui.runtime.daemon.listed_client import DaemonResult
from aileron_tui.runtime.daemon.listed_source import LOOKUPS_AT_ONCE, ListedSource
from aileron_tui.runtime.daemon.poller import LIST_EVERY, FetchedList
from aileron_tui.runtime.daemon.tracker import Tracker
from aileron_tui.runtime.errors import NoGate, PromptChanged, RuntimeFault
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.runtime.sse import SseFrame
from aileron_tui.runtime.vault import VaultState
from aileron_tui.signing.key_store import UnlockedKey

_EVENT_LIMITS: Final = JsonLimits(size=LARGEST_EVENT, depth=80, count=20_000_000)


class DaemonSource(ListedSource):
    """One connection to one daemon. `folder` holds our own ledger of it; `tracker` comes from an earlier connection."""

    def __init__(  # noqa: PLR0913  # everything that describes a source
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
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._daemon = daemon
        self._client = client = DaemonClient(daemon, silence=silence, transport=transport)
        known = tracker or Tracker()
        super().__init__(
            client,
            key,
            folder,
            lambda head: ListReader(client, daemon, known, name=name, rules=rules, clock=clock, head=head),
            name=name,
            instance=daemon.instance,
            surface=surface,
            tracker=known,
            list_every=list_every,
            clock=clock,
        )

    def _result(self, id_: str) -> DaemonResult:
        return self._client.result(id_)

    def fetched(self, id_: str) -> Json:
        """Fails, because a daemon sends only the rows of a preview."""
        raise AileronError(f"the daemon sends only what is shown of the preview of {id_}")

    def refresh(self, id_: str, edits: JsonObject | None = None) -> Request:
        """The request with edits applied. Without edits this fails, because a daemon fetches a preview only once."""
        if edits is None:
            raise AileronError("a daemon fetches a preview only once, before it asks", hint="Decide on what is shown.")
        request = request_reader.edited(self._tracker.waiting.get(id_) or self.item(id_), edits)
        self._ledger.record_requests([request], self._surface)
        return request

    def _apply_event(self, frame: SseFrame) -> Iterator[SourceEvent | None]:
        try:
            data = read_object(frame.data, _EVENT_LIMITS)
        except JsonError:
            self._poller.list_soon()  # the list shows what the event was about
            yield None
            return
        if frame.name == "snapshot":
            items = data.get("items")
            if isinstance(items, list):
                yield from self._apply_list(FetchedList(items, self._stream_opened_at))
            else:
                self._poller.list_soon()
        elif frame.name == "pending":
            yield from self._apply_arrival(data)
        elif frame.name == "resolved":
            yield from self._apply_answer(data)
        else:
            yield None

    def _apply_answer(self, data: JsonObject) -> Iterator[SourceEvent]:
        id_, approved, reason = data.get("id"), data.get("approved"), data.get("reason")
        if not isinstance(id_, str) or not isinstance(approved, bool):
            self._poller.list_soon()
        elif id_ in self._answer_sender.in_flight:
            self._tracker.apply_answer(id_)  # the reply to our answer will show whether it was ours
        else:
            state = RequestState.RUNNING if approved else RequestState.DENIED
            redacted = self._client.redact(reason) if isinstance(reason, str) else ""
            yield from self._apply_end(id_, DaemonResult(state, redacted))

    def decide(
        self, request: Request, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> RequestState:
        """Sends a decision on exactly what the request shows, once. If it fails, looks up the state before raising."""
        self._check_answer(request, verdict, edits)
        return self._decide(request, verdict, reason, edits)

    def _check_answer(self, request: Request, verdict: Verdict, edits: JsonObject | None) -> None:  # noqa: ARG002
        # Its id may belong to another request now. A denial runs nothing, but it must not go to another daemon either.
        replaced = was_replaced(self._daemon)
        if replaced:
            self._inbox.put(NoGate("the daemon has restarted"))
        if replaced or (verdict is Verdict.APPROVE and request.instance != self.instance):
            raise PromptChanged(
                409, {"error": {"message": "the daemon has restarted since the request was shown"}}, peer="daemon"
            )

    def history(self, **filters: str | int | list[str]) -> JsonObject:
        """A page of our own ledger, including answers that were given elsewhere."""
        with suppress(RuntimeFault, LedgerError):  # what is already recorded can be read anyway
            self._record_missed_answers()
        return self._ledger.history(**filters)

    def _record_missed_answers(self) -> None:
        for id_ in self._ledger.record_audit_events(self._client.audit())[:LOOKUPS_AT_ONCE]:
            self._record_end(id_, self._client.outcome(id_))

    def vault(self) -> VaultState:
        """The state of the daemon's vault."""
        return self._client.vault()

    def unlock_vault(self, passphrase: bytearray) -> None:
        """Unlocks the daemon's vault."""
        self._client.unlock(passphrase)
