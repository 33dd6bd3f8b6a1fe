"""Verifies a ledger from the first entry to the last, in constant memory.

Six things are checked, entry by entry: that the hashes form one chain without gaps; that every decision has a valid
signature by a key that was enrolled and not revoked at that point; that the head in the signed decision is a head of
this chain and not older than the request it answers (so the operator's signature covers the past, and no decision can
be used twice); that every request takes only allowed steps, runs at most once, and runs only what was approved; that an
approver signed every extension of a deadline, before that deadline and within the limit; and that an approver signed
every change to an agent or a trusted publisher, over the entry just before it, and every change to a rule, to the
installed packages or to a binding. A request that a rule answered must be within the reach of that rule, which must be
in force. The report names the first bad entry.

For a daemon's request, only the request, the prompt and the decision were recorded first-hand. The rest was reported by
the daemon: it is checked for consistency and never counts as an approval. The ids of ended requests are kept on disk.

Bodies that are older than `[ledger] keep` may be missing (`core/reduction.py`). A request that was reduced is checked
by what is left of it: the order of its steps, that it ran once, and the signatures that are there. The report says how
many bodies are missing; a body that is missing without a record, or of a request that had not ended, is a fault.

The chain alone cannot show that its end was cut off, or that all of it was rewritten with other keys. The head that is
noted beside the ledger or kept elsewhere (`expected`) shows the former, the list of keys the latter.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import field
from itertools import chain
from typing import Final, Protocol

from aileron_tui.core.agent_change import AGENT_CHANGES
from aileron_tui.core.binding_change import BINDING_CHANGES
from aileron_tui.core.deadline_extension import Extension
from aileron_tui.core.deadline_extension import objection as extension_objection
from aileron_tui.core.decision import Statement
from aileron_tui.core.entry_chain import GENESIS, BodyRemoved, ChainFault, ChainWalker, Damage, Entry, decode, link
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.formats import NewerFormat
from aileron_tui.core.jsontext import Json, JsonError, JsonObject
from aileron_tui.core.package_change import PACKAGE_CHANGES
from aileron_tui.core.publisher_change import PUBLISHER_CHANGES
from aileron_tui.core.reduction import read_reduction
from aileron_tui.core.rule_answer import RuleAnswer
from aileron_tui.core.rule_change import HEAD_WINDOW, RULE_CHANGES
from aileron_tui.core.states import InvalidTransition, RequestEvent, RequestState, advance
from aileron_tui.core.times import moment
from aileron_tui.core.unsigned_denial import read_unsigned_denial
from aileron_tui.core.values import dataclass
from aileron_tui.ledger.entry_rules import EVENTS, RULE_VERDICTS, VERDICTS, WINDOW, is_late, tool_objection, ungated
from aileron_tui.ledger.errors import LedgerDamaged
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.open_store import open_id_set
from aileron_tui.ledger.reduction_check import ReductionCheck
from aileron_tui.ledger.request_deadline import RequestDeadline, read_deadline
from aileron_tui.ledger.request_status import daemon_of, is_tool, objection, read_told
from aileron_tui.ledger.security_key_check import SecurityKeyCheck
from aileron_tui.ledger.store import IdSet, Stored

_KEYS: Final = frozenset({EntryKind.KEY_ENROLLED, EntryKind.KEY_REVOKED})
_CHANGE_DAMAGE: Final = {
    "key": Damage.KEY_CHANGE,
    "agent": Damage.AGENT,
    "rule": Damage.RULE,
    "package": Damage.PACKAGE,
    "binding": Damage.BINDING,
    "publisher": Damage.PUBLISHER,
    "ledger": Damage.RESTORED,
}
_FINAL: Final = frozenset(state for state in RequestState if state.final)

Shown = Callable[[str], tuple[int, str] | None]
"""What the history list says about a request: the entry that made it, and its outcome."""


class Signers(Protocol):
    """The keys that may sign, updated entry by entry."""

    def learn(self, entry: Entry) -> None:
        """Processes an enrolment or a revocation. Raises AileronError if the entry is not valid."""

    def learn_agent(self, entry: Entry, follows: Callable[[str, int], bool]) -> None:
        """Processes a change to an agent. Raises AileronError if the entry is not valid.

        `follows` says whether a hash is that of the entry just before an entry number.
        """

    def learn_rule(self, entry: Entry, is_recent: Callable[[str, int], bool]) -> None:
        """Processes a change to a rule. Raises AileronError if the entry is not valid.

        `is_recent` says whether a hash is that of an entry shortly before an entry number.
        """

    def learn_package(self, entry: Entry, is_recent: Callable[[str, int], bool]) -> None:
        """Processes a change to packages, like `learn_rule`. Raises AileronError if the entry is not valid."""

    def learn_binding(self, entry: Entry, is_recent: Callable[[str, int], bool]) -> None:
        """Processes a change to a binding, like `learn_rule`. Raises AileronError if the entry is not valid."""

    def learn_publisher(self, entry: Entry, follows: Callable[[str, int], bool]) -> None:
        """Processes a change to a publisher, like `learn_agent`. Raises AileronError if the entry is not valid."""

    def check_restoration(self, entry: Entry, follows: Callable[[str, int], bool]) -> None:
        """Checks a restoration from a backup. Raises AileronError if the entry is not valid."""

    def check_answer(self, entry: Entry, request: JsonObject | None) -> RuleAnswer:
        """The answer of a rule to a request, given the body that made it. Raises AileronError if it is not valid.

        Without that body, it is not checked whether the rule matches the request.
        """

    def check(self, envelope: Json) -> tuple[Statement, str] | tuple[Damage, str]:
        """The statement of a valid envelope and its signer's fingerprint, or what is wrong with the envelope."""

    def check_extension(self, envelope: Json) -> tuple[Extension, str] | tuple[Damage, str]:
        """The extension in a valid envelope and its signer's fingerprint, or what is wrong with the envelope."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of a verification; the ledger is good if `fault` is None.

    The entries up to number `trusted` were checked at `trusted_since`, and not again. The bodies of `reduced` entries
    from before `reduced_before` were removed.
    """

    head: Head
    entries: int
    decisions: Mapping[str, int]
    key_changes: tuple[int, ...]
    agent_changes: tuple[int, ...] = ()
    rule_changes: tuple[int, ...] = ()
    rule_answers: Mapping[str, int] = field(default_factory=dict)
    fault: ChainFault | None = None
    notes: tuple[str, ...] = ()
    unsigned_denials: int = 0
    package_changes: tuple[int, ...] = ()
    publisher_changes: tuple[int, ...] = ()
    binding_changes: tuple[int, ...] = ()
    trusted: int = 0
    trusted_since: str = ""
    reduced: int = 0
    reduced_before: str = ""


@dataclass(slots=True)
class OpenRequest:
    """A request that has not ended yet. A daemon's request ends only when the daemon reports it.

    `body` is that of the entry that made it, as long as it is not answered. `shown` is the digest of its last preview.
    `reduced` means that this body was removed, and `unproven` that its answer was: it counts as an approval, and as a
    denial if nothing follows it.
    """

    state: RequestState
    seq: int
    daemon: bool = False
    told: bool = False
    digest: str = ""
    deadline: RequestDeadline | None = None
    shown: str = ""
    body: JsonObject | None = None
    tool: bool = False
    reduced: bool = False
    unproven: bool = False


class _BadEntry(Exception):
    """Stops the verification at an entry."""

    def __init__(self, damage: Damage, detail: str) -> None:
        super().__init__(detail)
        self.damage = damage
        self.detail = detail


def verify(
    rows: Iterable[Stored], signers: Signers, expected: Sequence[Head] = (), shown: Shown | None = None
) -> CheckReport:
    """Verifies stored entries.

    `expected` are heads that the chain must contain; `shown` is compared with what the entries say about each request.
    """
    verification = Verification(signers, expected, shown)
    with closing(verification.finished):
        return verification.run(iter(rows))


@dataclass(slots=True)
class Verification:
    """What is known after the entries that were checked so far."""

    signers: Signers
    expected: Sequence[Head] = ()
    shown: Shown | None = None
    walker: ChainWalker = field(default_factory=ChainWalker)
    heads: list[str] = field(default_factory=lambda: [""] * WINDOW)
    requests: dict[str, OpenRequest] = field(default_factory=dict)
    finished: IdSet = field(default_factory=open_id_set)
    decisions: Counter[str] = field(default_factory=Counter)
    key_changes: list[int] = field(default_factory=list)
    agent_changes: list[int] = field(default_factory=list)
    rule_changes: list[int] = field(default_factory=list)
    package_changes: list[int] = field(default_factory=list)
    publisher_changes: list[int] = field(default_factory=list)
    binding_changes: list[int] = field(default_factory=list)
    rule_answers: Counter[str] = field(default_factory=Counter)
    security_keys: SecurityKeyCheck = field(default_factory=SecurityKeyCheck)
    reductions: ReductionCheck = field(default_factory=ReductionCheck)
    unsigned_denials: int = 0
    latest: str = ""
    differs: ChainFault | None = None
    notes: list[str] = field(default_factory=list)

    def run(self, rows: Iterator[Stored]) -> CheckReport:
        """Checks every entry, and what the entries say together."""
        fault, missing = self.walk(rows)
        return self._report(fault or self._cut(missing) or self._unfinished())

    def walk(self, rows: Iterator[Stored]) -> tuple[ChainFault | None, set[str]]:
        """Checks entry by entry. Returns the first fault, and the expected heads that were not found."""
        by_number = {head.seq: head for head in self.expected if head.seq >= 0}
        missing = {head.hash for head in self.expected} - {GENESIS}
        walker, heads, watched = self.walker, self.heads, bool(missing)
        try:
            for seq, data, raw in rows:
                stored = f"sha256:{raw.hex()}"
                fault = walker.check(seq, data, stored)
                if fault is not None:
                    return _diagnosed(fault, walker, (seq, data, raw), rows), missing
                entry = decode(data)
                if entry.seq != seq:
                    return _misplaced(seq, entry.seq, rows), missing
                heads[seq % WINDOW] = stored
                if watched and (stored in missing or seq in by_number):
                    missing.discard(stored)
                    if seq in by_number and by_number[seq].hash != stored:
                        detail = f"the expected head is {by_number[seq].hash}, but the entry has {stored}"
                        return ChainFault(seq, Damage.REWRITTEN, detail), missing
                self._check(entry)
        except JsonError as error:
            return ChainFault(walker.seq, _damage(error), str(error)), missing
        except _BadEntry as wrong:
            return ChainFault(walker.seq, wrong.damage, wrong.detail), missing
        except LedgerDamaged as error:
            return ChainFault(walker.seq + 1, Damage.UNREADABLE, error.detail), missing
        return None, missing

    def _cut(self, missing: set[str]) -> ChainFault | None:
        last = self.walker.seq
        for head in self.expected:
            if head.hash in missing:
                if head.seq > last:
                    return ChainFault(last + 1, Damage.CUT, f"entries {last + 1} to {head.seq} are missing")
                return ChainFault(
                    last + 1, Damage.CUT, f"the ledger ends at entry {last} and does not contain the head {head.hash}"
                )
        return None

    def _check(self, entry: Entry) -> None:
        if entry.time < self.latest:
            self._clock_went_back(entry)
        else:
            self.latest = entry.time
        if entry.seq == 1:
            self.security_keys.ledger = self.heads[1]
        if entry.removed:
            self.reductions.see(entry)
        self._check_kind(entry)
        if why := self.security_keys.counter_problem(entry):
            raise _BadEntry(Damage.COPIED, why)

    def _check_kind(self, entry: Entry) -> None:
        if entry.removed:
            self._check_removed(entry)
        if entry.kind == EntryKind.DECIDED:
            self._decided(entry)
        elif entry.kind == EntryKind.DENIED_UNSIGNED:
            self._denied_unsigned(entry)
        elif entry.kind in EVENTS:
            self._step(entry)
        elif entry.kind == EntryKind.EXTENDED:
            self._extended(entry)
        elif entry.kind == EntryKind.TOLD:
            self._told(entry)
        elif (
            entry.kind == EntryKind.EDITED and entry.request not in self.requests and entry.request not in self.finished
        ):
            raise _BadEntry(Damage.TOLD, f"request {entry.request} was never made, but is reported as edited")
        elif entry.kind == EntryKind.RULED:
            self._ruled(entry)
        elif entry.kind == EntryKind.PREVIEWED and (known := self.requests.get(entry.request)):
            known.shown = str(entry.body.get("digest", ""))
        elif entry.kind == EntryKind.REDUCED:
            self._reduced(entry)
        else:
            self._learn(entry)

    def _check_removed(self, entry: Entry) -> None:
        """Refuses a missing body of a request that has the others, or of an approved call's start."""
        known = self.requests.get(entry.request)
        if known is not None and (not known.reduced or entry.kind == EntryKind.RUNNING):
            raise _BadEntry(Damage.REMOVED, f"request {entry.request} was not reduced, or this is never removed")

    def _reduced(self, entry: Entry) -> None:
        try:
            reduction = read_reduction(entry)
        except JsonError as error:
            raise _BadEntry(Damage.REDUCED, str(error)) from None
        self.reductions.learn(reduction)
        self.security_keys.keep(reduction.counters)

    def _learn(self, entry: Entry) -> None:
        """Processes a change of keys, agents, rules, packages, bindings or publishers."""
        signers = self.signers
        try:
            if entry.kind in _KEYS:
                self.key_changes.append(entry.seq)
                if why := self.security_keys.place_problem(entry, self.heads[(entry.seq - 1) % WINDOW]):
                    raise _BadEntry(Damage.KEY_CHANGE, why)
                signers.learn(entry)
            elif entry.kind in AGENT_CHANGES:
                self.agent_changes.append(entry.seq)
                signers.learn_agent(entry, lambda head, seq: self.heads[(seq - 1) % WINDOW] == head)
            elif entry.kind in RULE_CHANGES:
                self.rule_changes.append(entry.seq)
                signers.learn_rule(entry, self._is_recent)
            elif entry.kind in PACKAGE_CHANGES:
                self.package_changes.append(entry.seq)
                signers.learn_package(entry, self._is_recent)
            elif entry.kind in BINDING_CHANGES:
                self.binding_changes.append(entry.seq)
                signers.learn_binding(entry, self._is_recent)
            elif entry.kind in PUBLISHER_CHANGES:
                self.publisher_changes.append(entry.seq)
                signers.learn_publisher(entry, lambda head, seq: self.heads[(seq - 1) % WINDOW] == head)
            elif entry.kind == EntryKind.RESTORED:
                signers.check_restoration(entry, lambda head, seq: self.heads[(seq - 1) % WINDOW] == head)
        except AileronError as error:
            raise _BadEntry(_CHANGE_DAMAGE[entry.kind.partition(".")[0]], str(error)) from None

    def takes(self, entry: Entry) -> bool:
        """Whether an entry is valid after those that were checked so far. If it is, it counts from now on."""
        try:
            self._check_kind(entry)
        except _BadEntry:
            return False
        return True

    @property
    def changes(self) -> list[int]:
        """The numbers of all entries that changed something for good so far, in order."""
        lists = (
            self.key_changes,
            self.agent_changes,
            self.rule_changes,
            self.package_changes,
            self.publisher_changes,
            self.binding_changes,
        )
        return sorted(chain.from_iterable(lists))

    def _is_recent(self, head: str, seq: int) -> bool:
        numbers = range(seq - 1, max(1, seq - HEAD_WINDOW) - 1, -1)
        return any(self.heads[number % WINDOW] == head for number in numbers)

    def _ruled(self, entry: Entry) -> None:
        known = self.requests.get(entry.request)
        if known is None or known.daemon or (known.body is None and not known.reduced):
            raise _BadEntry(Damage.REPEATED, f"a rule answered {entry.request}, which does not wait here")
        try:
            answer = self.signers.check_answer(entry, known.body)
        except AileronError as error:
            raise _BadEntry(Damage.RULE, f"request {entry.request}: {error}") from None
        if answer.shown and answer.shown != known.shown and (known.shown or not known.reduced):
            raise _BadEntry(Damage.RULE, f"request {entry.request}: the rule was applied to another preview")
        state = self._advance(entry, RULE_VERDICTS[answer.verdict])
        self.rule_answers[answer.rule] += 1
        if state in _FINAL:
            self._ended(entry.request, state)
        else:
            known.state, known.digest, known.body = state, answer.digest, None

    def _step(self, entry: Entry) -> None:
        known = self.requests.get(entry.request)
        if known is None and entry.request in self.finished:
            raise _BadEntry(Damage.REPEATED, f"request {entry.request} has a step after its end")
        if known is None and ungated(entry):
            return
        if known is not None and known.daemon:
            raise _BadEntry(Damage.REPEATED, f"request {entry.request} belongs to a daemon and cannot run here")
        if known is not None and not known.reduced and (why := tool_objection(entry, tool=known.tool)):
            raise _BadEntry(Damage.REPEATED, f"request {entry.request}: {why}")
        state = self._advance(entry, EVENTS[EntryKind(entry.kind)])
        if known is None:
            is_daemons, deadline = "daemon" in entry.body, read_deadline(entry.body)
            body, reduced = None if entry.removed else entry.body, bool(entry.removed)
            self.requests[entry.request] = OpenRequest(
                state, entry.seq, is_daemons, deadline=deadline, body=body, tool=is_tool(entry.body), reduced=reduced
            )
            if "daemon" in entry.body and not daemon_of(entry.body):
                raise _BadEntry(Damage.TOLD, f"request {entry.request} does not name its daemon")
        elif state in _FINAL:
            self._ended(entry.request, state)
        else:
            known.state = state
            digest = entry.body.get("digest")
            if digest != known.digest and not known.unproven:
                raise _BadEntry(
                    Damage.OTHER, f"{known.digest} was approved, {digest or 'a call without a digest'} was started"
                )

    def _decided(self, entry: Entry) -> None:
        if entry.removed:
            state = self._advance(entry, RequestEvent.APPROVE)
            known = self.requests[entry.request]
            known.state, known.unproven = state, True
            return
        statement, text = self.signers.check(entry.body.get("envelope"))
        if isinstance(statement, Damage):
            raise _BadEntry(statement, text)
        state = self._advance(entry, VERDICTS[statement.verdict])
        known = self.requests[entry.request]
        self._bound(entry, statement, known.seq)
        self.decisions[text] += 1
        if state in _FINAL and not known.daemon:
            self._ended(entry.request, state)
        else:
            known.state, known.digest, known.body = state, statement.digest, None

    def _denied_unsigned(self, entry: Entry) -> None:
        """Checks a denial without a signature. It ends a request and can never let one run."""
        if not entry.removed:
            try:
                read_unsigned_denial(entry.body)
            except JsonError as error:
                raise _BadEntry(Damage.UNREADABLE, f"request {entry.request}: {error}") from None
        state = self._advance(entry, RequestEvent.DENY)
        if self.requests[entry.request].daemon:
            raise _BadEntry(Damage.REPEATED, f"request {entry.request} of a daemon was denied without a signature")
        self.unsigned_denials += 1
        self._ended(entry.request, state)

    def _extended(self, entry: Entry) -> None:
        extension, text = self.signers.check_extension(entry.body.get("envelope"))
        if isinstance(extension, Damage):
            raise _BadEntry(extension, text)
        self._advance(entry, RequestEvent.EXTEND)
        known = self.requests[entry.request]
        if extension.request != entry.request:
            raise _BadEntry(Damage.SIGNATURE, f"it was signed for request {extension.request}")
        if entry.time >= extension.before:
            raise _BadEntry(Damage.SIGNATURE, f"request {entry.request} had ended at {extension.before}")
        self._check_head(entry, extension.head, known.seq)
        if known.reduced:  # its deadline is gone
            return
        if known.deadline is None or known.daemon:
            raise _BadEntry(Damage.SIGNATURE, f"request {entry.request} has no deadline that can be extended")
        if why := extension_objection(extension, entry.request, known.deadline.expires, known.deadline.latest):
            raise _BadEntry(Damage.SIGNATURE, why)
        known.deadline = known.deadline.moved_to(moment(extension.expires))

    def _told(self, entry: Entry) -> None:
        told, known = read_told(entry.body), self.requests.get(entry.request)
        if known is None or not known.daemon:
            ended = "; its end was already reported" if entry.request in self.finished else ""
            raise _BadEntry(Damage.TOLD, f"request {entry.request} is not an open request of a daemon{ended}")
        if told is None:
            raise _BadEntry(Damage.TOLD, f"request {entry.request}: the report has no outcome")
        if why := objection(known.state, known.told, told.outcome):
            raise _BadEntry(Damage.TOLD, f"request {entry.request}: {told.outcome}, but {why}")
        if told.outcome in _FINAL:
            self._ended(entry.request, told.outcome)
        else:
            known.state, known.told = told.outcome, told.outcome is not RequestState.PENDING

    def _ended(self, request: str, state: RequestState) -> None:
        known = self.requests.pop(request)
        self.finished.add(request)
        self._compare(request, known.seq, state)

    def _compare(self, request: str, seq: int, state: RequestState) -> None:
        """Keeps the first difference until the end, because damage to the entries themselves is reported first."""
        if self.shown is not None and self.differs is None and (shown := self.shown(request)) != (seq, state):
            detail = f"request {request} is {state}, but the history list says {shown[1] if shown else 'nothing'}"
            self.differs = ChainFault(seq, Damage.INDEX, detail)

    def _unfinished(self) -> ChainFault | None:
        if problem := self.reductions.problem():
            return ChainFault(problem[0], Damage.REMOVED, problem[1])
        for request, known in self.requests.items():
            state = known.state
            if known.reduced:
                state = RequestState.DENIED if known.unproven and state is RequestState.APPROVED else state
                if not state.settled:
                    return ChainFault(known.seq, Damage.REMOVED, f"request {request} had not ended, it is {state}")
            self._compare(request, known.seq, state)
        return self.differs

    def _advance(self, entry: Entry, event: RequestEvent) -> RequestState:
        known = self.requests.get(entry.request)
        try:
            return advance(known.state if known else None, event)
        except InvalidTransition as error:
            raise _BadEntry(Damage.REPEATED, f"request {entry.request}: {error}") from None

    def _bound(self, entry: Entry, statement: Statement, asked: int) -> None:
        if statement.request != entry.request:
            raise _BadEntry(Damage.SIGNATURE, f"it was signed for request {statement.request}")
        try:
            late = is_late(statement.expires, entry.time)
        except ValueError:
            detail = f"not a valid time: {entry.time} or {statement.expires}"
            raise _BadEntry(Damage.UNREADABLE, detail) from None
        if late:
            raise _BadEntry(Damage.SIGNATURE, f"it expired at {statement.expires}")
        self._check_head(entry, statement.head, asked)

    def _check_head(self, entry: Entry, head: str, asked: int) -> None:
        oldest = max(asked, entry.seq - WINDOW + 1)
        for seq in range(entry.seq - 1, oldest - 1, -1):
            if self.heads[seq % WINDOW] == head:
                return
        detail = f"none of the entries {oldest} to {entry.seq - 1} has its head {head}"
        raise _BadEntry(Damage.HEAD, detail)

    def _clock_went_back(self, entry: Entry) -> None:
        if len(self.notes) < 5:
            self.notes.append(f"the clock went back before entry {entry.seq}, from {self.latest} to {entry.time}")
        self.latest = entry.time

    def _report(self, fault: ChainFault | None) -> CheckReport:
        last = self.walker.seq
        good = last if fault is None else min(last, fault.seq - 1)
        head = Head(good, self.heads[good % WINDOW] or GENESIS) if good else Head()
        return CheckReport(
            head,
            good,
            dict(self.decisions),
            tuple(self.key_changes),
            tuple(self.agent_changes),
            tuple(self.rule_changes),
            dict(self.rule_answers),
            fault,
            tuple(self.notes),
            self.unsigned_denials,
            tuple(self.package_changes),
            tuple(self.publisher_changes),
            tuple(self.binding_changes),
            reduced=self.reductions.count,
            reduced_before=self.reductions.before,
        )


def _diagnosed(fault: ChainFault, walker: ChainWalker, bad: Stored, rest: Iterator[Stored]) -> ChainFault:
    """Determines from the bad entry and the next one what happened."""
    place = walker.seq + 1
    seq, data, raw = bad
    if fault.damage is Damage.NEWER:
        return fault
    inside = _number(data)
    if fault.damage is not Damage.CHANGED:
        return _misplaced(place, inside or seq, rest)
    if inside is None:
        return ChainFault(place, Damage.CHANGED, f"its bytes are no longer a valid entry; {fault.detail}")
    if inside != place:
        return _misplaced(place, inside, rest)
    following = next(rest, None)
    if following and following[2] != raw and _follows(link(walker.head, data), following):
        return ChainFault(place, Damage.HASH, fault.detail)
    return fault


def _misplaced(place: int, found: int, rest: Iterator[Stored]) -> ChainFault:
    """The fault if another entry is in this place: the right one comes later or is missing."""
    later = found < place or any(_number(data) == place for _, data, _ in rest)
    detail = f"entry {found} is in its place"
    return ChainFault(place, Damage.ORDER if later else Damage.GAP, detail)


def _follows(previous: str, stored: Stored) -> bool:
    try:
        return link(previous, stored[1]) == f"sha256:{stored[2].hex()}"
    except NewerFormat:
        return False


def _damage(error: JsonError) -> Damage:
    if isinstance(error, NewerFormat):
        return Damage.NEWER
    return Damage.REMOVED if isinstance(error, BodyRemoved) else Damage.UNREADABLE


def _number(data: bytes) -> int | None:
    try:
        return decode(data).seq
    except JsonError:
        return None
