"""Our own ledger of one daemon: what it asked, what was shown and decided here, and what it told afterwards.

The daemon keeps no proof of who decided what on which prompt, so we do, in the same format as a gate's ledger. Several
consoles may have it open. Foreign text is bounded, because a request that cannot be recorded cannot be answered: what
does not fit is cut, and `cut` in the entry has the digest and the size of the whole. The prompt's own digest, which is
signed, covers the whole as well.
"""

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Final, Self

from aileron_tui.core.entry_chain import EntryKind
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical, compact
from aileron_tui.core.outcomes import ELSEWHERE
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import moment, timestamp, utc_now
from aileron_tui.core.values import dataclass
from aileron_tui.files.private_files import private_folder
from aileron_tui.ledger import history_pages
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.ledger.preview_entry import preview_body
from aileron_tui.ledger.request_standing import ANSWERED, DaemonReport, RequestStanding, objection
from aileron_tui.ledger.store import LARGEST_ENTRY, EntryDraft, LedgerView
from aileron_tui.runtime.daemon.times import utc_time
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.key_store import UnlockedKey

ON_ITS_WAY: Final = timedelta(seconds=30)
"""How long after an answer a list that still has the request may simply be older than the answer."""

MOST_UNFINISHED: Final = 200

_LONGEST_ID: Final = 4096
_LONGEST_TEXT: Final = 4096
_LARGEST_ARGS: Final = LARGEST_ENTRY - 512 * 1024
_LARGEST_CUT: Final = 1024 * 1024
_LARGEST_VALUE: Final = 64 * 1024
_LONGEST_VALUE: Final = 16 * 1024
_MOST_SEEN: Final = 20_000
_ANSWERS: Final = {"approval.approved": RequestState.APPROVED, "approval.denied": RequestState.DENIED}
_ASKED: Final = "approval.requested"


class DaemonLedger:
    """The ledger of one daemon, open. Safe to use from several threads."""

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
        self._looking = threading.Lock()
        self._seen: set[tuple[str, str]] = set()
        self._closed = False
        with ExitStack() as opened:
            self._ledger = opened.enter_context(
                closing(open_ledger(self._path, role="console", shared=True, clock=clock))
            )
            self._reader = opened.enter_context(closing(open_reader(self._path)))
            self._append(self._enrolment)
            opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def head(self) -> str:
        """The hash that stands for everything recorded so far; a decision is signed over it."""
        with self._looking:
            return self._reader.head().hash

    def asked(self, items: Sequence[Request], surface: str) -> None:
        """Records what a daemon has waiting and that it is shown, as far as that is not known yet."""
        self._append(lambda view: self._asked(view, items, surface))
        if len(self._seen) > _MOST_SEEN:
            self._seen.clear()
        self._seen.update((item.id, item.digest) for item in items)

    def decided(self, id_: str, envelope: JsonObject) -> None:
        """Records a signed answer; an InvalidTransition means that the request was answered before."""
        self._ledger.append(EntryKind.DECIDED, {"envelope": envelope}, id_)

    def told(  # noqa: PLR0913  # what a daemon may say of a request
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
        """Records what the daemon says became of a request; False if that was nothing new.

        `elsewhere` says that the answer, if there is one, is none of the caller's; `decided_here` that the caller has
        recorded a decision. Where another console has recorded one, that counts more than `elsewhere`; while its answer
        may be on its way, it is left to that console to say what came of it.
        """
        told = DaemonReport(outcome, elsewhere, reason, error, utc_time(at))
        return self._append(lambda view: self._told(view, id_, told, decided_here=decided_here))

    def heard(self, events: Sequence[Json]) -> list[str]:
        """Takes in the daemon's audit events, newest first: answers that this ledger does not have are recorded.

        A request without an answer is left to the list of what waits, which tells more. Returns the requests that were
        approved and of whose end nothing is known, newest first.
        """
        answers = _answers(events)
        if answers:
            self._append(lambda view: self._heard(view, answers))
        with self._looking:
            return list(self._reader.unfinished(MOST_UNFINISHED))

    def state(self, id_: str) -> RequestState | None:
        """Where a request stands as far as this ledger knows, or None if it does not know it."""
        with self._looking:
            known = self._reader.standing(id_)
        return known.state if known else None

    def history(self, **filters: str | int | list[str]) -> JsonObject:
        """A page of the past, in the shape of a gate's `GET /v1/history`; a BadQuery says what makes no sense."""
        if odd := sorted(filters.keys() - set(history_pages.SEARCH)):
            raise history_pages.BadHistoryQuery(f"{odd[0]}: not something to filter by")
        query = {
            name: list(map(str, value)) if isinstance(value, list) else [str(value)] for name, value in filters.items()
        }
        return history_pages.search(self._path, history_pages.read_search(query))

    def past(self, id_: str) -> JsonObject | None:
        """Everything this ledger has of one request, in the shape of a gate's `GET /v1/history/{id}`."""
        return history_pages.past(self._path, id_)

    def close(self) -> None:
        """Ends recording. A key for this run may not decide after it. Closing twice does no harm."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._temporary:
                self._append(self._revocation)
        finally:
            self._ledger.close()
            with self._looking:
                self._reader.close()

    def _append(self, choose: Callable[[LedgerView], Iterator[EntryDraft]]) -> bool:
        """Records what is to be recorded, if anything: a look without a lock first, since mostly there is nothing."""
        with self._looking:
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

    def _enrolment(self, view: LedgerView) -> Iterator[EntryDraft]:
        approvers, public = Approvers.of(view.key_changes()), self._key.public
        known = approvers.get(public.fingerprint)
        if known and not known.revoked:
            return
        name = self._key.name
        if any(approver.name == name for approver in approvers.active):
            mark = hashlib.sha256(public.line().encode()).hexdigest()[:8]
            name = f"{name[:23].rstrip('.')}-{mark}"
        yield EntryDraft(EntryKind.KEY_ENROLLED, approvers.enrolment(name, public, insecure=self._key.insecure))

    def _revocation(self, view: LedgerView) -> Iterator[EntryDraft]:
        approvers, fingerprint = Approvers.of(view.key_changes()), self._key.public.fingerprint
        known = approvers.get(fingerprint)
        if known and not known.revoked:
            yield EntryDraft(EntryKind.KEY_REVOKED, approvers.revocation(fingerprint))

    def _asked(self, view: LedgerView, items: Sequence[Request], surface: str) -> Iterator[EntryDraft]:
        for item in {item.id: item for item in items if 0 < len(item.id) <= _LONGEST_ID}.values():
            known = view.standing(item.id)
            shown = EntryDraft(EntryKind.SHOWN, {"digest": item.digest, "surface": surface}, item.id)
            if known is None:
                yield EntryDraft(EntryKind.REQUESTED, self._request(item), item.id)
                yield from _preview(item)
                yield shown
                continue
            if known.state is not RequestState.PENDING:
                if not _may_wait(known) or self._on_its_way(view, item.id):
                    continue
                yield EntryDraft(EntryKind.TOLD, DaemonReport(RequestState.PENDING).body(), item.id)
            if not self._was_shown(view, item):
                yield shown

    def _on_its_way(self, view: LedgerView, id_: str) -> bool:
        """Whether the last that happened to a request is so recent that others may not know it yet."""
        last = moment(view.of_request(id_)[-1].time)
        return abs(self._clock() - last) < ON_ITS_WAY

    def _was_shown(self, view: LedgerView, item: Request) -> bool:
        """Whether exactly this prompt is recorded as shown; what is known of an agent may be learned later."""
        if (item.id, item.digest) in self._seen:
            return True
        entries = view.of_request(item.id)
        return any(entry.kind == EntryKind.SHOWN and entry.body.get("digest") == item.digest for entry in entries)

    def _request(self, item: Request) -> JsonObject:
        prompt = item.prompt
        connector, asker = prompt.connector, prompt.asker
        texts = {
            "daemon": item.instance or self._name,
            "asked": utc_time(item.requested_at),
            "kind": prompt.kind,
            "action": prompt.action,
            "connector": connector.name,
            "agent": asker.agent,
            "session": asker.session,
            "folder": asker.folder,
            "risk": prompt.risk.level,
        }
        body = _bounded(texts, prompt.args)
        version, hash_ = connector.version[:_LONGEST_TEXT], connector.hash[:_LONGEST_TEXT]
        return body | {"connector": {"name": body["connector"], "version": version, "hash": hash_}}

    def _heard(self, view: LedgerView, answers: "dict[str, _Answer]") -> Iterator[EntryDraft]:
        for id_, answer in answers.items():
            told = DaemonReport(answer.verdict, reason=answer.reason, at=answer.at)
            known = view.standing(id_)
            if known is None:
                yield EntryDraft(EntryKind.REQUESTED, _bounded({"daemon": self._name, **answer.about}), id_)
                known = RequestStanding(0, RequestState.PENDING, daemon=True)
            elif _undelivered(known, told.outcome) and self._on_its_way(view, id_):
                continue
            elsewhere = known.surface == ELSEWHERE
            if known.daemon and not objection(known.state, known.told, told.outcome):
                elsewhere = _not_ours(known, told.outcome)
                yield _draft(id_, replace(told, elsewhere=elsewhere))
            if answer.edited and elsewhere and not (known.edited and known.surface == ELSEWHERE):
                yield EntryDraft(EntryKind.EDITED, {}, id_)

    def _told(self, view: LedgerView, id_: str, told: DaemonReport, *, decided_here: bool) -> Iterator[EntryDraft]:
        known = view.standing(id_)
        if known is None or not known.daemon:
            yield _draft(id_, told)  # for the ledger to refuse, in its own words
            return
        if objection(known.state, known.told, told.outcome):
            return
        elsewhere = _not_ours(known, told.outcome)
        if known.state is RequestState.PENDING:
            elsewhere = told.elsewhere or (elsewhere and not decided_here)
        elif _undelivered(known, told.outcome):
            if told.elsewhere and not decided_here and self._on_its_way(view, id_):
                return
            elsewhere = told.elsewhere and decided_here and told.outcome is not RequestState.PENDING
        yield _draft(id_, replace(told, elsewhere=elsewhere))


@dataclass(frozen=True, slots=True)
class _Answer:
    """What audit events say of an answered request; `about` is what they say of the request itself."""

    verdict: RequestState
    at: str
    reason: str
    about: dict[str, str]
    edited: bool


def _answers(events: Sequence[Json]) -> dict[str, _Answer]:
    """The answered requests in audit events, oldest first; whatever is not such an event is passed over."""
    asked: dict[str, str] = {}
    answers: dict[str, _Answer] = {}
    for event in reversed(events):
        if not isinstance(event, dict):
            continue
        type_, payload = event.get("event_type"), event.get("payload")
        if not isinstance(type_, str) or not isinstance(payload, dict):
            continue
        id_, at = _text(payload, "aileron.approval.id"), utc_time(event.get("timestamp"))
        if not 0 < len(id_) <= _LONGEST_ID or not _is_text(payload):
            continue
        if type_ == _ASKED:
            asked[id_] = at
        elif type_ in _ANSWERS:
            about = {
                "asked": asked.get(id_) or _before(at, payload.get("aileron.approval.wait_ms")),
                "kind": _text(payload, "aileron.approval.kind"),
                "action": _text(payload, "aileron.approval.action"),
                "connector": _text(payload, "aileron.connector.fqn"),
                "session": _text(payload, "aileron.session.id"),
            }
            about = {name: text for name, text in about.items() if text}
            answers.pop(id_, None)
            edited = _ANSWERS[type_] is RequestState.APPROVED and payload.get("aileron.approval.edited") is True
            answers[id_] = _Answer(_ANSWERS[type_], at, _text(payload, "aileron.approval.reason"), about, edited)
    return answers


def _may_wait(known: RequestStanding) -> bool:
    """Whether a request that was answered may wait after all: an end that the daemon itself told is the end."""
    return known.daemon and not objection(known.state, known.told, RequestState.PENDING)


def _undelivered(known: RequestStanding, outcome: RequestState) -> bool:
    """Whether an answer was recorded here that fits an outcome, and nothing is known of its arrival."""
    return not known.told and known.state is not RequestState.PENDING and not _not_ours(known, outcome)


def _draft(id_: str, told: DaemonReport) -> EntryDraft:
    return EntryDraft(EntryKind.TOLD, told.body() | _bounded({"reason": told.reason, "error": told.error}), id_)


def _not_ours(known: RequestStanding, outcome: RequestState) -> bool:
    """Whether an outcome can only come from another's answer: there is none of ours, or it was the opposite."""
    if outcome not in ANSWERED or known.surface == ELSEWHERE:
        return outcome in ANSWERED
    match known.state:
        case RequestState.PENDING:
            return outcome not in (
                RequestState.FAILED,
                RequestState.INTERRUPTED,
            )  # a daemon fails what it cannot carry out any more
        case RequestState.DENIED:
            return outcome is not RequestState.DENIED
        case _:
            return outcome is RequestState.DENIED


def _preview(item: Request) -> Iterator[EntryDraft]:
    preview = item.prompt.preview
    if preview is not None:
        body = preview_body(preview.fields(), keep=False)
        if preview.unavailable:
            body |= _bounded({"unavailable": preview.unavailable})
        yield EntryDraft(EntryKind.PREVIEWED, body, item.id)


def _bounded(texts: dict[str, str], args: JsonObject | None = None) -> JsonObject:
    """A body of foreign text that fits into an entry, with the digest and size of whatever did not."""
    body: JsonObject = {name: text[:_LONGEST_TEXT] for name, text in texts.items()}
    cut: JsonObject = {name: _whole(canonical(text)) for name, text in texts.items() if len(text) > _LONGEST_TEXT}
    if args is not None:
        data = canonical(args)
        large = len(data) > _LARGEST_ARGS
        body["args"] = _beginning(args) if large else args
        if large:
            cut["args"] = _whole(data)
    return body | {"cut": cut} if cut else body


def _whole(data: bytes) -> Json:
    return {"digest": f"sha256:{hashlib.sha256(data).hexdigest()}", "bytes": len(data)}


def _beginning(args: JsonObject) -> JsonObject:
    """The small values as they are and the beginning of the large ones as text, until there is no more room."""
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


def _before(at: str, wait: Json) -> str:
    """The moment so many milliseconds before another, if both are known."""
    if not at or isinstance(wait, bool) or not isinstance(wait, int | float) or wait < 0:
        return ""
    try:
        return timestamp(moment(at) - timedelta(milliseconds=wait))
    except (ValueError, OverflowError):
        return ""


def _text(payload: JsonObject, name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def _is_text(payload: JsonObject) -> bool:
    """Whether everything we take from a payload can be written down."""
    try:
        canonical([value for value in chain(payload, payload.values()) if isinstance(value, str)])
    except JsonError:
        return False
    return True
