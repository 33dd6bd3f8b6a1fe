"""opencode as a source: its permission requests as they come and go, our answers, and their outcomes."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
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
from aileron_tui.runtime.daemon.answer_sender import AnswerRefused
from aileron_tui.runtime.daemon.listed_client import DaemonResult
from aileron_tui.runtime.daemon.listed_source import ListedSource
from aileron_tui.runtime.daemon.poller import LIST_EVERY, FetchedList
from aileron_tui.runtime.daemon.tracker import Tracker
from aileron_tui.runtime.errors import PromptChanged
from aileron_tui.runtime.opencode.list_reader import UNLISTED, OpencodeReader, check_listed, unlisted_reason
from aileron_tui.runtime.opencode.opencode_client import (
    LARGEST_EVENT,
    REJECTED_TOGETHER,
    SILENCE,
    OpencodeClient,
)
from aileron_tui.runtime.opencode.opencode_server import OpencodeServer
from aileron_tui.runtime.opencode.request_reader import with_others
from aileron_tui.runtime.opencode.tool_part import CallPlace
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.runtime.sse import SseFrame
from aileron_tui.runtime.vault import VaultState
from aileron_tui.signing.key_store import UnlockedKey

_EVENT_LIMITS: Final = JsonLimits(size=LARGEST_EVENT, depth=80, count=5_000_000)
_CONNECTED: Final = '"server.connected"'
_ABOUT_PERMISSION: Final = '"permission.'
_ABOUT_CALL: Final = '"callID"'
_MOST_AT_ONCE: Final = 500
_NEWER_INTERFACE: Final = "opencode also asks through a newer interface that this program cannot answer"


class OpencodeSource(ListedSource):
    """One connection to one opencode server. `folder` holds our own ledger of it, `tracker` what was known before."""

    without_rules = "opencode"

    def __init__(  # noqa: PLR0913  # everything that describes a source
        self,
        server: OpencodeServer,
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
        self._client = client = OpencodeClient(server, silence=silence, transport=transport)
        known = tracker or Tracker()
        for request in (*known.stopped_waiting.values(), *known.waiting.values()):
            client.remember(str(request.fields.get("folder", "")), request.fields.get("request"))

        def make_reader(head: Callable[[], str]) -> OpencodeReader:
            self._requests = OpencodeReader(client, server, known, name=name, rules=rules, clock=clock, head=head)
            return self._requests

        self._problem = ""
        self._uses_newer_interface = False
        self._counted_at = -1
        super().__init__(
            client,
            key,
            folder,
            make_reader,
            name=name,
            instance=server.instance,
            surface=surface,
            tracker=known,
            list_every=list_every,
            clock=clock,
            check_again=self._check_unchanged,
        )

    # requests

    def waiting(self) -> tuple[Request, ...]:
        """The waiting requests, oldest first. Records them as shown; raises if opencode cannot list them."""
        values = self._client.waiting()
        check_listed(values)
        requests, _ = self._reader.read_all(values)
        self._ledger.record_requests(requests, self._surface)
        self._last_list = {request.id: request for request in requests}
        return tuple(sorted(requests, key=lambda request: request.requested_at))

    def _result(self, id_: str) -> DaemonResult:
        return self._client.result(id_)

    def fetched(self, id_: str) -> Json:
        """Fails, because everything that opencode sends is shown."""
        raise AileronError(f"everything that opencode sent about {id_} is shown")

    def refresh(self, id_: str, edits: JsonObject | None = None) -> Request:
        """The request as it is now. Fails with edits, because opencode runs a call unchanged."""
        if edits is not None:
            hint = "Deny it with a reason that says what to change."
            raise AnswerRefused("opencode runs this call unchanged", "an edit would have no effect", hint)
        self._requests.forget(id_)
        return self.item(id_)

    def _apply_first_list(self, listed: FetchedList) -> Iterator[SourceEvent]:
        self._note_list(listed)
        yield from super()._apply_first_list(listed)

    def _apply_list(self, listed: FetchedList) -> Iterator[SourceEvent]:
        yield from self._problem_event(self._note_list(listed))
        yield from super()._apply_list(listed)

    def _note_list(self, listed: FetchedList) -> str:
        """Notes whether opencode can list its requests; returns the problem before."""
        before = self._problem
        why = unlisted_reason(listed.items)
        newer = _NEWER_INTERFACE if self._uses_newer_interface else ""
        self._problem = f"{UNLISTED} ({why})" if why else newer
        return before

    def _problem_event(self, before: str) -> Iterator[SourceEvent]:
        if self._problem != before:
            yield SourceEvent(0, "health", {"problem": self._problem}, (), self.name)

    def _snapshot_event(self) -> SourceEvent:
        event = super()._snapshot_event()
        return SourceEvent(0, event.name, event.data | {"problem": self._problem}, event.requests, self.name)

    def _contained(self, events: Iterator[SourceEvent | None]) -> Iterator[SourceEvent | None]:
        yield from super()._contained(events)
        yield from self._caution_events()

    def _caution_events(self) -> Iterator[SourceEvent]:
        """The requests that other requests of their session have joined or left."""
        tick, waiting = self._tracker.tick(), self._tracker.waiting
        if tick == self._counted_at or (len(waiting) > _MOST_AT_ONCE and not self._inbox.empty()):
            return
        self._counted_at = tick
        sessions = Counter(request.prompt.asker.session for request in waiting.values())
        for request in tuple(waiting.values()):
            session = request.prompt.asker.session
            cautioned = with_others(request, others_wait=bool(session) and sessions[session] > 1)
            if cautioned is not request:
                self._tracker.apply_change(cautioned)
                yield SourceEvent(0, "updated", cautioned.fields, (cautioned,), self.name)

    # events

    def _apply_event(self, frame: SseFrame) -> Iterator[SourceEvent | None]:
        text = frame.data
        if not any(mark in text for mark in (_ABOUT_PERMISSION, _ABOUT_CALL, _CONNECTED)):
            yield None  # nothing about a request; most events are about the text of messages
            return
        try:
            event = read_object(text, _EVENT_LIMITS)
        except JsonError:
            self._poller.list_soon()  # the list shows what the event was about
            yield None
            return
        match event:
            case {"payload": {"type": "server.connected"}}:
                self._poller.list_soon()  # what was asked before the stream was open
            case {"directory": str() as folder, "payload": {"type": "permission.asked", "properties": dict() as asked}}:
                yield from self._apply_asked(folder, asked)
            case {"payload": {"type": "permission.replied", "properties": dict() as replied}}:
                yield from self._apply_replied(replied)
            case {"payload": {"type": "permission.v2.asked"}}:
                self._uses_newer_interface, before = True, self._problem
                self._problem = before or _NEWER_INTERFACE
                yield from self._problem_event(before)
            case {"payload": {"type": str() as type_}} if type_.startswith("permission."):
                self._poller.list_soon()
            case {"directory": str() as folder, "payload": {"properties": {"part": dict() as part}}}:
                yield from self._apply_part(folder, part)
            case _:
                yield None

    def _apply_asked(self, folder: str, asked: JsonObject) -> Iterator[SourceEvent]:
        if self._client.add_folder(folder):
            self._poller.list_soon()
        self._client.remember(folder, asked)
        yield from self._apply_arrival({"folder": folder, "request": asked})

    def _apply_replied(self, replied: JsonObject) -> Iterator[SourceEvent]:
        id_, reply = replied.get("requestID"), replied.get("reply")
        if not isinstance(id_, str) or reply not in ("once", "always", "reject"):
            self._poller.list_soon()
        elif id_ in self._answer_sender.in_flight:
            self._tracker.apply_answer(id_)  # the reply to our answer will show whether it was ours
        else:
            if reply != "reject":
                self._client.note_allowed(id_)
            yield from self._apply_end(
                id_, DaemonResult(RequestState.DENIED if reply == "reject" else RequestState.RUNNING)
            )

    def _apply_part(self, folder: str, part: JsonObject) -> Iterator[SourceEvent]:
        """A call changed: its arguments were stored or replaced, or it ended."""
        match part:
            case {"sessionID": str() as session, "messageID": str() as message, "callID": str() as call}:
                ids = self._client.requests_about(CallPlace(folder, session, message, call))
            case _:
                return
        for id_ in ids:
            if id_ in self._answer_sender.in_flight:
                continue
            known = self._tracker.waiting.get(id_)
            if known is None:
                stopped = self._tracker.stopped_waiting.get(id_)
                if stopped is not None and not stopped.state.final:
                    self._poller.follow(id_)
                continue
            self._requests.forget(id_)
            value: Json = {"folder": folder, "request": known.fields.get("request")}
            for request in self._reader.read_all([value])[0]:
                if request is not known:
                    self._tracker.apply_change(request)
                if (request.digest, request.cautions, request.deny_only) != (
                    known.digest,
                    known.cautions,
                    known.deny_only,
                ):
                    self._ledger.record_requests([request], self._surface)
                    yield SourceEvent(0, "updated", request.fields, (request,), self.name)

    def _apply_result(self, id_: str, result: DaemonResult) -> Iterator[SourceEvent]:
        together = result.state is RequestState.DENIED and id_ not in self._tracker.own_answers
        if together and self._client.was_rejected_here(id_):
            result = DaemonResult(RequestState.WITHDRAWN, note=REJECTED_TOGETHER)
        yield from super()._apply_result(id_, result)

    # answers and history

    def decide(
        self, request: Request, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> RequestState:
        """Sends a decision on exactly what the request shows, once. If it fails, looks up the state before raising."""
        self._check_answer(request, verdict, edits)
        return self._decide(request, verdict, reason, None)

    def _check_answer(self, request: Request, verdict: Verdict, edits: JsonObject | None) -> None:
        if edits:
            raise AnswerRefused("opencode runs this call unchanged", "an edit would have no effect")
        if verdict is Verdict.APPROVE and request.instance != self.instance:
            message = "the address of opencode has changed since the request was shown"
            raise PromptChanged(409, {"error": {"message": message}}, peer=self._client.peer)

    def _check_unchanged(self, request: Request) -> None:
        """Fetches the request and its call again, and refuses if they are not what was shown."""
        now = self._requests.read_again(request)
        if now is not None and (now.digest != request.digest or now.deny_only):
            self._requests.forget(request.id)
            self._poller.list_soon()  # so that the new prompt is shown
            message = now.deny_only or "the call has changed since it was shown"
            raise PromptChanged(409, {"error": {"message": message}}, peer=self._client.peer)

    def history(self, **filters: str | int | list[str]) -> JsonObject:
        """A page of our own ledger."""
        return self._ledger.history(**filters)

    def vault(self) -> VaultState:
        """opencode has no vault."""
        return VaultState.NONE

    def unlock_vault(self, passphrase: bytearray) -> None:  # noqa: ARG002  # as for a daemon
        """Fails, because opencode has no vault."""
        raise AileronError("opencode has no vault")
