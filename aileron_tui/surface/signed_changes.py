"""Records changes of packages and bindings in the ledger of a data folder, even while its gate runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.core.values import dataclass
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.ledger.store import EntryDraft, LedgerView
from aileron_tui.signing.approvers import Approver, Approvers
from aileron_tui.signing.envelope import Envelope, Signable, sign
from aileron_tui.signing.errors import SigningError
from aileron_tui.signing.key_store import UnlockedKey


class RecordedChange(Signable, Protocol):
    """A change that is signed and recorded."""

    @property
    def change(self) -> EntryKind:
        """The kind of its entry."""

    def body(self, envelope: JsonObject) -> JsonObject:
        """The body of the ledger entry."""


Change = TypeVar("Change", bound=RecordedChange)


@dataclass(frozen=True, slots=True)
class ChangeRules:
    """What differs between the kinds of changes. `fault` makes an error from a title, a detail and a hint."""

    role: str
    largest: int
    too_large: str
    fault: type[SigningError]
    check_signature: Callable[[Json, Approvers], Approver]


def statement(ledger: Path, make: Callable[[str, str], Change], rules: ChangeRules) -> Change:
    """What is to be signed by a security key: the change for the head of the ledger and the time."""
    with open_reader(ledger) as reader:
        change = make(reader.head().hash, timestamp(utc_now()))
    check_size(change, rules)
    return change


def record(
    ledger: Path,
    make: Callable[[str, str], Change],
    consent: UnlockedKey | tuple[Change, Envelope],
    rules: ChangeRules,
    check_fits: Callable[[LedgerView, Change], None] | None = None,
) -> None:
    """Records a change that this key signs, or that another key has signed. Raises EntryRefused if it does not fit.

    `check_fits` can refuse the change, in the same transaction.
    """
    with open_ledger(ledger, role=rules.role, guest=True) as opened:

        def drafts(view: LedgerView) -> list[EntryDraft]:
            approvers = Approvers.of(view.key_changes())
            if isinstance(consent, tuple):
                change, envelope = consent
                rules.check_signature(envelope.fields(), approvers)
            else:
                check_approver(consent, approvers, rules)
                change = make(view.head().hash, timestamp(utc_now()))
                check_size(change, rules)
                envelope = sign(change, consent)
            if check_fits:
                check_fits(view, change)
            return [EntryDraft(change.change, change.body(envelope.fields()))]

        opened.append_given(drafts)


def check_approver(key: UnlockedKey, approvers: Approvers, rules: ChangeRules) -> None:
    """Refuses a key that may not approve here."""
    if not any(approver.public == key.public for approver in approvers.active):
        hint = "Choose a key that may approve with --key. `aileron-tui key list` shows them."
        raise rules.fault(f"the key {key.name} may not approve here, so it cannot sign this", hint=hint)


def check_size(change: RecordedChange, rules: ChangeRules) -> None:
    """Refuses a change that is too large to be signed."""
    if (size := len(change.payload())) > rules.largest:
        detail = f"the consent would have {size:,} bytes, but at most {rules.largest:,} are allowed"
        raise rules.fault("this is too much for one consent", detail, rules.too_large)
