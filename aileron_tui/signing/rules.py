"""The rules of a gate, as the ledger lists them.

The ledger is the only list, as it is for approvers and agents. An approver signs every change, and what is not signed
does not count. When a key is revoked, the rules that it signed end: nobody vouches for them any more.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonError, JsonObject
from aileron_tui.core.rule import Rule
from aileron_tui.core.rule_change import HEAD_WINDOW, PAYLOAD_TYPE, RULE_CHANGES, RuleChange, objection, read_change
from aileron_tui.core.rule_list import ListedRule
from aileron_tui.core.rule_match import is_over
from aileron_tui.core.times import moment
from aileron_tui.core.values import dataclass
from aileron_tui.files.boot_clock import BootClock
from aileron_tui.signing.approvers import Approver, Approvers
from aileron_tui.signing.assertion import CheckedAssertion
from aileron_tui.signing.envelope import check_envelope, read_envelope
from aileron_tui.signing.errors import EnvelopeRefused, NoRule, RuleFault

IsRecent = Callable[[str, int], bool]
"""Whether a hash is that of an entry shortly before an entry number."""


class RuleLedger(Protocol):
    """What is needed from a ledger to know its rules."""

    def key_changes(self) -> tuple[Entry, ...]:
        """Every entry that changes who may approve, in order."""

    def rule_changes(self, id_: str = "", after: int = 0) -> tuple[Entry, ...]:
        """Every entry after number `after` that makes or ends a rule, in order."""

    def position(self, digest: str, oldest: int, before: int) -> int | None:
        """The number of the entry with this hash, or None. Searches from `oldest` up to but not including `before`."""


@dataclass(frozen=True, slots=True)
class KnownRule:
    """A rule that is in force, or was until its end. The times are those of the ledger entries.

    `seq` is the entry that made it, `signer` the fingerprint of the key that signed it, whose name is `made_by`, and
    `envelope` what it signed. `ended` is when it was ended before its time, and `why` says why. `boot` and `uptime_ms`
    are its end by the clock of the machine on which it was recorded; `boot` is "" if that is not known.
    """

    rule: Rule
    seq: int
    made: str
    made_by: str
    signer: str
    ended: str = ""
    why: str = ""
    boot: str = ""
    uptime_ms: int = 0
    envelope: Json = None

    def in_force(self, now: datetime, clock: BootClock) -> bool:
        """Whether the rule answers calls now. Setting the clock back does not extend it."""
        if self.ended or is_over(self.rule, now):
            return False
        return not self.boot or self.boot != clock.boot or clock.seconds() * 1000 < self.uptime_ms

    def listed(self, used: int, last_used: str, *, in_force: bool) -> ListedRule:
        """The rule as it is listed, with how often it was used, and when last."""
        about = (self.made, self.made_by, self.signer, self.ended, self.why)
        return ListedRule(self.rule, in_force, *about, used, last_used)


class Rules(dict[str, KnownRule]):
    """Rules by id. Those that ended are kept. `invalid` has what is wrong with the entries that were ignored."""

    def __init__(self) -> None:
        super().__init__()
        self.invalid: list[str] = []
        self._latest: dict[str, EntryKind] = {}
        self._approvers = Approvers()
        self._read = 0

    @classmethod
    def of(cls, ledger: RuleLedger) -> "Rules":
        """The rules according to a ledger. An entry that is not valid changes nothing."""
        rules = cls()
        rules.catch_up(ledger)
        return rules

    def catch_up(self, ledger: RuleLedger) -> None:
        """Processes the entries of a ledger that were added since the last time."""
        keys = (entry for entry in ledger.key_changes() if entry.seq > self._read)
        for entry in sorted((*keys, *ledger.rule_changes(after=self._read)), key=lambda entry: entry.seq):
            self._approvers.learn(entry)  # if this fails, no later rule counts either
            self._read = entry.seq
            try:
                self.learn(entry, self._approvers, lambda head, seq: recent(ledger, head, seq))
            except RuleFault as error:
                self.invalid.append(f"entry {entry.seq}: {error}")

    def learn(self, entry: Entry, approvers: Approvers, is_recent: IsRecent) -> None:
        """Processes one entry, after the approvers did. Ignores all but changes of rules and revoked keys.

        Raises RuleFault if the entry is not valid.
        """
        if entry.kind == EntryKind.KEY_REVOKED:
            self._end_signed_by(str(entry.body.get("fingerprint")), entry.time)
        if entry.kind not in RULE_CHANGES:
            return
        try:
            change, envelope = read_change(entry)
        except JsonError as error:
            raise RuleFault("the change to a rule cannot be read", str(error)) from None
        if why := objection(self._latest, change, entry.time):
            raise RuleFault("the rule cannot be changed", why)
        approver = check_rule_signature(envelope, approvers)
        if not is_recent(change.head, entry.seq):
            raise RuleFault("the change to the rule was signed over another history", change.head)
        self._latest[change.id] = change.change
        self._apply(change, entry, approver, envelope)

    def _apply(self, change: RuleChange, entry: Entry, approver: Approver, envelope: Json) -> None:
        if change.rule is None:
            why = f"ended by the key {approver.name}"
            self[change.id] = replace(self[change.id], ended=self[change.id].ended or entry.time, why=why)
            return
        boot, uptime_ms = "", 0
        match entry.body.get("deadline"):
            case {"boot": str() as boot, "uptime_ms": int() as uptime_ms}:
                pass
        signer = approver.public.fingerprint
        about = (change.rule, entry.seq, entry.time, approver.name, signer)
        self[change.id] = KnownRule(*about, boot=boot, uptime_ms=uptime_ms, envelope=envelope)

    def _end_signed_by(self, fingerprint: str, time: str) -> None:
        for id_, known in self.items():
            if known.signer == fingerprint and not known.ended:
                self[id_] = replace(known, ended=time, why=f"its key {known.made_by} was revoked")

    def in_force(self, now: datetime, clock: BootClock) -> tuple[KnownRule, ...]:
        """The rules that answer calls now, newest first."""
        found = (known for known in self.values() if known.in_force(now, clock))
        return tuple(sorted(found, key=lambda known: -known.seq))

    def named(self, id_: str) -> KnownRule:
        """The rule with this id, or with the only id that begins like this."""
        found = [known for key, known in self.items() if id_ and (key == id_ or key.startswith(id_))]
        exact = [known for known in found if known.rule.id == id_]
        if len(exact or found) == 1:
            return (exact or found)[0]
        title = f"several rules begin with {id_}" if found else f"there is no rule {id_}"
        raise NoRule(title, hint="`aileron-tui rules list --all` shows all rules.")


def change_body(change: RuleChange, envelope: JsonObject, now: datetime, clock: BootClock) -> JsonObject:
    """The body of the entry for a signed change, with the end of a new rule by the clock that nobody can set."""
    body = change.body(envelope)
    if change.rule is None or not clock.boot:
        return body
    left = (moment(change.rule.ends) - now).total_seconds()
    return body | {"deadline": {"boot": clock.boot, "uptime_ms": int((clock.seconds() + left) * 1000)}}


def recent(ledger: RuleLedger, head: str, seq: int) -> bool:
    """Whether a hash is that of an entry shortly before this entry number."""
    return ledger.position(head, max(1, seq - HEAD_WINDOW), seq) is not None


def check_rule_signature(envelope: Json, approvers: Approvers) -> Approver:
    """The approver who signed a change to a rule. Raises RuleFault."""
    return opened_rule_signature(envelope, approvers)[0]


def opened_rule_signature(envelope: Json, approvers: Approvers) -> tuple[Approver, CheckedAssertion | None]:
    """The same, with what a security key says, None for another key. Its nonce and its counter are not checked."""
    try:
        signed = read_envelope(envelope)
        if signed.type != PAYLOAD_TYPE:
            raise RuleFault("the change to the rule was signed as another type", repr(signed.type))
        return check_envelope(signed, approvers)
    except EnvelopeRefused as error:
        raise RuleFault("no approver signed the change to the rule", f"{error.reason}: {error.detail}") from None
