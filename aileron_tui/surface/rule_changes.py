"""Makes and ends rules in the ledger of a data folder, even while its gate runs."""

from collections.abc import Callable
from pathlib import Path

from aileron_tui.core.rule import Rule
from aileron_tui.core.rule_change import LARGEST, RuleChange, ended, length_problem, made
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.files.boot_clock import boot_clock
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.ledger.store import EntryDraft, LedgerView
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import Envelope, sign
from aileron_tui.signing.errors import NoRule, RuleFault
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.rules import KnownRule, Rules, change_body, check_rule_signature


def make_rule(ledger: Path, rule: Rule, key: UnlockedKey) -> None:
    """Makes a rule."""
    _record(ledger, key, lambda view, time: made(rule, view.head().hash, time))


def rule_statement(ledger: Path, rule: Rule) -> RuleChange:
    """What is to be signed to make a rule by another key than the operator's, such as a security key."""
    with open_reader(ledger) as reader:
        change = made(rule, reader.head().hash, timestamp(utc_now()))
    check_change(change)
    return change


def make_signed_rule(ledger: Path, change: RuleChange, envelope: Envelope) -> None:
    """Makes the rule of such a statement."""
    with open_ledger(ledger, role="rules", guest=True) as opened:

        def drafts(view: LedgerView) -> list[EntryDraft]:
            check_rule_signature(envelope.fields(), Approvers.of(view.key_changes()))
            return [EntryDraft(change.change, change_body(change, envelope.fields(), utc_now(), boot_clock()))]

        opened.append_given(drafts)


def end_rule(ledger: Path, id_: str, key: UnlockedKey) -> KnownRule:
    """Ends a rule and returns it as it was. Raises NoRule if there is none, or if it has ended."""
    found: list[KnownRule] = []

    def change(view: LedgerView, time: str) -> RuleChange:
        known = open_rule(Rules.of(view), id_)
        found.append(known)
        return ended(known.rule.id, view.head().hash, time)

    _record(ledger, key, change)
    return found[-1]


def open_rule(rules: Rules, id_: str) -> KnownRule:
    """The rule with this id, or the beginning of it, if it has not ended. Raises NoRule."""
    known = rules.named(id_)
    if known.ended or not known.in_force(utc_now(), boot_clock()):
        detail = f"at {known.ended}: {known.why}" if known.ended else f"at {known.rule.ends}"
        raise NoRule(f"{known.rule.id} has already ended", detail)
    return known


def check_change(change: RuleChange) -> None:
    """Refuses a change that would be refused everywhere, before it is signed."""
    if why := length_problem(change):
        raise RuleFault("the rule cannot be made", why)
    if (size := len(change.payload())) > LARGEST:
        detail = f"it would have {size:,} bytes, but at most {LARGEST:,} are allowed"
        raise RuleFault("the inputs are too large for a rule", detail)


def _record(ledger: Path, key: UnlockedKey, choose: Callable[[LedgerView, str], RuleChange]) -> None:
    with open_ledger(ledger, role="rules", guest=True) as opened:

        def drafts(view: LedgerView) -> list[EntryDraft]:
            approvers, now = Approvers.of(view.key_changes()), utc_now()
            if not any(approver.public == key.public for approver in approvers.active):
                hint = "Choose a key that may approve with --key. `aileron-tui key list` shows them."
                raise RuleFault(f"the key {key.name} may not approve here, so it cannot change rules", hint=hint)
            change = choose(view, timestamp(now))
            check_change(change)
            return [EntryDraft(change.change, change_body(change, sign(change, key).fields(), now, boot_clock()))]

        opened.append_given(drafts)
