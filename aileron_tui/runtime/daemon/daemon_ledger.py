"""Our own ledger of one daemon: its requests, what was shown and decided here, and what it reported afterwards.

The daemon keeps no proof of who decided what on which prompt, so we do, in the format of a gate's ledger. Several
consoles may have it open. Long foreign text is truncated, because a request that cannot be recorded cannot be answered;
`cut` in the entry has the digest and the size of the whole text. The signed digest of the prompt covers it too.
"""

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Self

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonObject, canonical, compact
from aileron_tui.core.outcomes import ELSEWHERE
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import moment, utc_now
from aileron_tui.files.private_files import private_folder
from aileron_tui.ledger import history_pages
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.ledger.preview_entry import preview_body
from aileron_tui.ledger.recorded_decision import decision_of
from aileron_tui.ledger.request_status import ANSWERED, DaemonReport, RequestStanding, objection
from aileron_tui.ledger.store import LARGEST_ENTRY, EntryDraft, LedgerView
from aileron_tui.runtime.daemon.audit_answers import LONGEST_ID, AuditAnswer, audit_answers
from aileron_tui.runtime.daemon.times import utc_time
from aileron_tui.runtime.signed_key_changes import signed_enrolment
from aileron_tui.signing.approvers import Approver, Approvers
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.security_key import SecurityKey

DELIVERY_TIME: Final = timedelta(seconds=30)
"""How long after an answer the daemon's lists and reports may still be from before the answer."""

MOST_UNFINISHED: Final = 200

_LONGEST_TEXT: Final = 4096
_LARGEST_ARGS: Final = LARGEST_ENTRY - 512 * 1024
_LARGEST_CUT: Final = 1024 * 1024
_LARGEST_VALUE: Final = 64 * 1024
_LONGEST_VALUE: Final = 16 * 1024
_MOST_SHOWN: Final = 20_000


class DaemonLedger:
    """The open ledger of one daemon. Safe to use from several threads."""

    def __init__(
        self, folder: Path, key: UnlockedKey, *, temporary: bool = False, clock: Callable[[], datetime] = utc_now
    ) -> None:
        for missing in [parent for parent in reversed(folder.parents) if not parent.exists()]:
            private_folder(missing)
        self._path = private_folder(folder) / FILE
        self._name = folder.name
        self._key = key
        self._temporary = temporary
        self._clock = clock
        self._reader_lock = threading.Lock()
        self._shown: set[tuple[str, str]] = set()
        self._closed = False
        with ExitStack() as opened:
            self._ledger = opened.enter_context(
                closing(open_ledger(self._path, role="console", shared=True, clock=clock))
            )
            self._reader = opened.enter_context(closing(open_reader(self._path)))
            self._append(self._enrolment_draft)
            opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def head(self) -> str:
        """The hash of the last entry, which covers all entries; a decision is signed over it."""
        with self._reader_lock:
            return self._reader.head().hash

    def record_requests(
        self, requests: Sequence[Request], surface: str, first_alert: JsonObject | None = None
    ) -> set[str]:
        """Records that these requests are waiting and were shown, unless that is already recorded.

        `first_alert` says who is alerted first to those that are new.
        Returns the ids of those that were answered a moment ago: if they are still waiting later, record them then.
        """
        postponed: set[str] = set()
        self._append(lambda view: self._request_drafts(view, requests, surface, first_alert or {}, postponed))
        if len(self._shown) > _MOST_SHOWN:
            self._shown.clear()
        self._shown.update((request.id, request.digest) for request in requests if request.id not in postponed)
        return postponed

    def record_alert(self, id_: str, *, before: str, to: str, reason: str) -> None:
        """Records that a surface was alerted to a waiting request, unless the last alert in this ledger says so."""
        body: JsonObject = {"from": before, "to": to, "reason": reason}
        self._append(lambda view: self._alert_drafts(view, id_, body))

    def record_decision(self, id_: str, envelope: JsonObject) -> None:
        """Records a signed decision; raises InvalidTransition if the request was answered before."""
        self._ledger.append(EntryKind.DECIDED, {"envelope": envelope}, id_)

    def enroll(self, approver: Approver) -> None:
        """Lets a security key approve, signed by the operator's key, unless it may already."""
        self._append(lambda view: self._security_key_draft(view, approver))

    def record_report(  # noqa: PLR0913  # what a daemon may report
        self,
        id_: str,
        outcome: RequestState,
        *,
        elsewhere: bool = False,
        decided_here: bool = False,
        reason: str = "",
        error: str = "",
        at: str = "",
    ) -> bool:
        """Records the state that the daemon reports for a request; returns False if it was already known.

        `elsewhere` means that the answer, if any, is not the caller's; `decided_here` means that the caller recorded a
        decision. A decision recorded by another console of this home overrides `elsewhere`. While the answer of that
        console may still be on its way, nothing is recorded, because that console will record the outcome.
        """
        report = DaemonReport(outcome, elsewhere, reason, error, utc_time(at))
        return self._append(lambda view: self._report_drafts(view, id_, report, decided_here=decided_here))

    def record_audit_events(self, events: Sequence[Json]) -> list[str]:
        """Records the answers in the daemon's audit events (newest first) that this ledger does not have.

        Requests without an answer are skipped, because the daemon's list has more details about them. Returns the
        approved requests whose end is not known, newest first.
        """
        answers = audit_answers(events)
        if answers:
            self._append(lambda view: self._audit_drafts(view, answers))
        with self._reader_lock:
            return list(self._reader.unfinished(MOST_UNFINISHED))

    def state(self, id_: str) -> RequestState | None:
        """The state of a request in this ledger, or None if it is not in it."""
        with self._reader_lock:
            known = self._reader.standing(id_)
        return known.state if known else None

    def history(self, **filters: str | int | list[str]) -> JsonObject:
        """A page of the history, in the format of a gate's `GET /v1/history`; raises BadHistoryQuery."""
        if unknown := sorted(filters.keys() - set(history_pages.SEARCH)):
            raise history_pages.BadHistoryQuery(f"{unknown[0]}: not a valid filter")
        query = {
            name: list(map(str, value)) if isinstance(value, list) else [str(value)] for name, value in filters.items()
        }
        return history_pages.search(self._path, history_pages.read_search(query), previews=True)

    def past(self, id_: str) -> JsonObject | None:
        """Everything this ledger has about one request, in the format of a gate's `GET /v1/history/{id}`."""
        return history_pages.past(self._path, id_)

    def close(self) -> None:
        """Closes the ledger and revokes a temporary key. May be called twice."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._temporary:
                self._append(self._revocation_draft)
        finally:
            self._ledger.close()
            with self._reader_lock:
                self._reader.close()

    def _append(self, choose: Callable[[LedgerView], Iterator[EntryDraft]]) -> bool:
        """Appends the entries from `choose`. Calls it without the write lock first, since usually there are none."""
        with self._reader_lock:
            if next(choose(self._reader), None) is None:
                return False
        count = 0

        def chosen(view: LedgerView) -> list[EntryDraft]:
            nonlocal count
            drafts = list(choose(view))
            count = len(drafts)
            return drafts

        self._ledger.append_given(chosen)
        return count > 0

    def _enrolment_draft(self, view: LedgerView) -> Iterator[EntryDraft]:
        approvers, public = Approvers.of(view.key_changes()), self._key.public
        known = approvers.get(public.fingerprint)
        if known and not known.revoked:
            return
        name = _unused(self._key.name, approvers, public.line())
        yield EntryDraft(EntryKind.KEY_ENROLLED, approvers.enrolment(name, public, insecure=self._key.insecure))

    def _security_key_draft(self, view: LedgerView, approver: Approver) -> Iterator[EntryDraft]:
        approvers, public = Approvers.of(view.key_changes()), approver.public
        known = approvers.get(public.fingerprint)
        if not isinstance(public, SecurityKey) or (known and not known.revoked):
            return
        yield signed_enrolment(
            view,
            _unused(approver.name, approvers, public.line()),
            public,
            self._key,
            backup_eligible=approver.backup_eligible,
            added_on=approver.added_on,
        )

    def _revocation_draft(self, view: LedgerView) -> Iterator[EntryDraft]:
        approvers, fingerprint = Approvers.of(view.key_changes()), self._key.public.fingerprint
        known = approvers.get(fingerprint)
        if known and not known.revoked:
            yield EntryDraft(EntryKind.KEY_REVOKED, approvers.revocation(fingerprint))

    def _request_drafts(
        self,
        view: LedgerView,
        requests: Sequence[Request],
        surface: str,
        first_alert: JsonObject,
        postponed: set[str],
    ) -> Iterator[EntryDraft]:
        for request in {request.id: request for request in requests if 0 < len(request.id) <= LONGEST_ID}.values():
            known = view.standing(request.id)
            shown = EntryDraft(EntryKind.SHOWN, {"digest": request.digest, "surface": surface}, request.id)
            if known is None:
                yield EntryDraft(EntryKind.REQUESTED, self._request_body(request), request.id)
                yield from _preview(request)
                yield replace(shown, body=shown.body | first_alert)
                continue
            if known.state is not RequestState.PENDING:
                if not _may_wait(known):
                    continue
                if self._is_recent(view, request.id) and self._is_answered_call(view, request):
                    postponed.add(request.id)
                    continue
                yield EntryDraft(EntryKind.TOLD, DaemonReport(RequestState.PENDING).body(), request.id)
            if not self._was_shown(view, request):
                yield shown

    @staticmethod
    def _alert_drafts(view: LedgerView, id_: str, body: JsonObject) -> Iterator[EntryDraft]:
        known = view.standing(id_)
        if known is None or known.state is not RequestState.PENDING:
            return
        names = {EntryKind.SHOWN: "alerted", EntryKind.FELL_BACK: "to"}
        entries = [(entry.kind, entry.body) for entry in view.of_request(id_)]
        alerted = [body.get(names[EntryKind(kind)]) for kind, body in entries if kind in names]
        if body["to"] != next(filter(None, reversed(alerted)), None):
            yield EntryDraft(EntryKind.FELL_BACK, body, id_)

    def _is_recent(self, view: LedgerView, id_: str) -> bool:
        """Whether the last entry about a request is so recent that others may not know of it yet."""
        last = moment(view.of_request(id_)[-1].time)
        return abs(self._clock() - last) < DELIVERY_TIME

    def _is_answered_call(self, view: LedgerView, request: Request) -> bool:
        """Whether the last answer under this id can be to this call, and not to another that had the id before."""
        decisions = filter(None, map(decision_of, reversed(view.of_request(request.id))))
        statement, _ = next(decisions, (None, ""))
        if statement is None or statement.edits:  # the signed digest is that of the edited call
            return self._was_shown(view, request)
        return statement.digest == request.digest

    def _was_shown(self, view: LedgerView, request: Request) -> bool:
        """Whether exactly this prompt is recorded as shown; details about the agent may arrive later and change it."""
        if (request.id, request.digest) in self._shown:
            return True
        entries = view.of_request(request.id)
        return any(entry.kind == EntryKind.SHOWN and entry.body.get("digest") == request.digest for entry in entries)

    def _request_body(self, request: Request) -> JsonObject:
        prompt = request.prompt
        connector, asker = prompt.connector, prompt.asker
        texts = {
            "daemon": request.instance or self._name,
            "asked": utc_time(request.requested_at),
            "kind": prompt.kind,
            "action": prompt.action,
            "connector": connector.name,
            "says": asker.says,
            "session": asker.session,
            "folder": asker.folder,
            "risk": prompt.risk.level,
        }
        body = _bounded(texts, prompt.args)
        version, hash_ = connector.version[:_LONGEST_TEXT], connector.hash[:_LONGEST_TEXT]
        return body | {"connector": {"name": body["connector"], "version": version, "hash": hash_}}

    def _audit_drafts(self, view: LedgerView, answers: dict[str, AuditAnswer]) -> Iterator[EntryDraft]:
        for id_, answer in answers.items():
            report = DaemonReport(answer.verdict, reason=answer.reason, at=answer.at)
            known = view.standing(id_)
            if known is None:
                yield EntryDraft(EntryKind.REQUESTED, _bounded({"daemon": self._name, **answer.about}), id_)
                known = RequestStanding(0, RequestState.PENDING, daemon=True)
            elif _undelivered(known, report.outcome) and self._is_recent(view, id_):
                continue
            elsewhere = known.surface == ELSEWHERE
            if known.daemon and not objection(known.state, known.told, report.outcome):
                elsewhere = _is_elsewhere(known, report.outcome)
                yield _draft(id_, replace(report, elsewhere=elsewhere))
            if answer.edited and elsewhere and not (known.edited and known.surface == ELSEWHERE):
                yield EntryDraft(EntryKind.EDITED, {}, id_)

    def _report_drafts(
        self, view: LedgerView, id_: str, report: DaemonReport, *, decided_here: bool
    ) -> Iterator[EntryDraft]:
        known = view.standing(id_)
        if known is None or not known.daemon:
            yield _draft(id_, report)  # the ledger refuses it with a clear error
            return
        if objection(known.state, known.told, report.outcome):
            return
        elsewhere = _is_elsewhere(known, report.outcome)
        if known.state is RequestState.PENDING:
            elsewhere = report.elsewhere or (elsewhere and not decided_here)
        elif _undelivered(known, report.outcome):
            if report.elsewhere and not decided_here and self._is_recent(view, id_):
                return
            elsewhere = report.elsewhere and decided_here and report.outcome is not RequestState.PENDING
        yield _draft(id_, replace(report, elsewhere=elsewhere))


def _unused(name: str, approvers: Approvers, line: str) -> str:
    """A name for a key that no other has: its own, or with a mark."""
    if all(approver.name != name for approver in approvers.active):
        return name
    return f"{name[:23].rstrip('.')}-{hashlib.sha256(line.encode()).hexdigest()[:8]}"


def _may_wait(known: RequestStanding) -> bool:
    """Whether an answered request may still be waiting: yes, unless the daemon itself reported its end."""
    return known.daemon and not objection(known.state, known.told, RequestState.PENDING)


def _undelivered(known: RequestStanding, outcome: RequestState) -> bool:
    """Whether a decision that fits this outcome was recorded, and the daemon has not confirmed it yet."""
    return not known.told and known.state is not RequestState.PENDING and not _is_elsewhere(known, outcome)


def _draft(id_: str, report: DaemonReport) -> EntryDraft:
    return EntryDraft(EntryKind.TOLD, report.body() | _bounded({"reason": report.reason, "error": report.error}), id_)


def _is_elsewhere(known: RequestStanding, outcome: RequestState) -> bool:
    """Whether an outcome can only come from somebody else's answer: we gave none, or the opposite one."""
    if outcome not in ANSWERED or known.surface == ELSEWHERE:
        return outcome in ANSWERED
    match known.state:
        case RequestState.PENDING:
            return outcome not in (
                RequestState.FAILED,
                RequestState.INTERRUPTED,
                RequestState.UNKNOWN,
            )  # a daemon fails requests that it can no longer run
        case RequestState.DENIED:
            return outcome is not RequestState.DENIED
        case _:
            return outcome is RequestState.DENIED


def _preview(request: Request) -> Iterator[EntryDraft]:
    preview = request.prompt.preview
    if preview is not None:
        body = preview_body(preview, keep=False)
        if preview.unavailable:
            body |= _bounded({"unavailable": preview.unavailable})
        yield EntryDraft(EntryKind.PREVIEWED, body, request.id)


def _bounded(texts: dict[str, str], args: JsonObject | None = None) -> JsonObject:
    """An entry body with foreign text truncated to fit, and the digest and size of each text that was truncated."""
    body: JsonObject = {name: text[:_LONGEST_TEXT] for name, text in texts.items()}
    cut: JsonObject = {
        name: _digest_and_size(canonical(text)) for name, text in texts.items() if len(text) > _LONGEST_TEXT
    }
    if args is not None:
        data = canonical(args)
        large = len(data) > _LARGEST_ARGS
        body["args"] = _truncated(args) if large else args
        if large:
            cut["args"] = _digest_and_size(data)
    return body | {"cut": cut} if cut else body


def _digest_and_size(data: bytes) -> Json:
    return {"digest": f"sha256:{hashlib.sha256(data).hexdigest()}", "bytes": len(data)}


def _truncated(args: JsonObject) -> JsonObject:
    """Keeps small values unchanged and the beginning of large ones as text, as many as fit."""
    kept: JsonObject = {}
    room = _LARGEST_CUT
    for name, value in args.items():
        small = len(canonical(value)) <= _LARGEST_VALUE
        part = value if small else compact(value)[:_LONGEST_VALUE]
        room -= len(canonical({name: part}))
        if room < 0:
            break
        kept[name] = part
    return kept
