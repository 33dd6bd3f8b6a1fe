"""The bindings of a gate, as the ledger lists them: which accounts its connectors use.

The ledger is the only list, as it is for packages. An approver signs every change, and what is not signed does not
count. A key must be able to approve when its change is recorded; what it has signed before it is revoked stays.
"""

from dataclasses import replace
from typing import Protocol

from aileron_tui.core.binding_change import (
    BINDING_CHANGES,
    PAYLOAD_TYPE,
    Binding,
    BindingChange,
    apply_change,
    check_declined,
    objection,
    read_change,
)
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonError
from aileron_tui.core.values import dataclass
from aileron_tui.signing.approvers import Approver, Approvers
from aileron_tui.signing.change_signature import ChangeLedger, IsRecent, change_signer, recent
from aileron_tui.signing.errors import BindingFault, EnvelopeRefused


class BindingLedger(ChangeLedger, Protocol):
    """What is needed from a ledger to know its bindings."""

    def binding_changes(self) -> tuple[Entry, ...]:
        """Every entry that makes, ends or declines a binding, in order."""


@dataclass(frozen=True, slots=True)
class KnownBinding:
    """A binding in force, and when and by which key it was approved.

    `signer` is the fingerprint of the key. `revoked` is when that key was revoked, "" if it was not.
    """

    binding: Binding
    seq: int
    approved: str
    approved_by: str
    signer: str
    revoked: str = ""


class Bindings(dict[tuple[str, str], KnownBinding]):
    """Bindings in force by connector and account. `invalid` has what is wrong with the entries that were ignored."""

    def __init__(self) -> None:
        super().__init__()
        self.invalid: list[str] = []
        self._current: dict[tuple[str, str], Binding] = {}
        self._used: set[str] = set()

    @classmethod
    def of(cls, ledger: BindingLedger) -> "Bindings":
        """The bindings according to a ledger. An entry that is not valid changes nothing."""
        bindings, approvers = cls(), Approvers()
        revoked: dict[str, str] = {}
        for entry in sorted((*ledger.key_changes(), *ledger.binding_changes()), key=lambda entry: entry.seq):
            approvers.learn(entry)
            if entry.kind == EntryKind.KEY_REVOKED:
                revoked[str(entry.body.get("fingerprint"))] = entry.time
            try:
                bindings.learn(entry, approvers, lambda head, seq: recent(ledger, head, seq))
            except BindingFault as error:
                bindings.invalid.append(f"entry {entry.seq}: {error}")
        for place, known in bindings.items():
            if time := revoked.get(known.signer):
                bindings[place] = replace(known, revoked=time)
        return bindings

    def learn(self, entry: Entry, approvers: Approvers, is_recent: IsRecent) -> None:
        """Processes one entry and ignores all but changes of bindings. Raises BindingFault if it is not valid."""
        if entry.kind not in BINDING_CHANGES:
            return
        try:
            if entry.kind == EntryKind.BINDING_DECLINED:
                check_declined(entry)
                return
            change, envelope = read_change(entry)
        except JsonError as error:
            raise BindingFault("the change to a binding cannot be read", str(error)) from None
        if why := objection(self._current, self._used, change, entry.time):
            raise BindingFault("the binding cannot be changed", why)
        approver = check_binding_signature(envelope, approvers)
        if not is_recent(change.head, entry.seq):
            raise BindingFault("the change to a binding was signed over another history", change.head)
        self._used.add(change.binding.id)
        apply_change(self._current, change)
        place = change.binding.connector, change.binding.account
        self.pop(place, None)
        if change.change is EntryKind.BINDING_MADE:
            about = (entry.seq, entry.time, approver.name, approver.public.fingerprint)
            self[place] = KnownBinding(change.binding, *about)

    def objection(self, change: BindingChange, time: str) -> str:
        """Why a change cannot be made now, in words, or "" if it can."""
        return objection(self._current, self._used, change, time)

    def of_connector(self, connector: str) -> list[KnownBinding]:
        """The bindings of a connector, by the name of the account."""
        return [self[place] for place in sorted(self) if place[0] == connector]


def check_binding_signature(envelope: Json, approvers: Approvers) -> Approver:
    """The approver who signed a change to a binding. Raises BindingFault."""
    try:
        return change_signer(envelope, PAYLOAD_TYPE, approvers)
    except EnvelopeRefused as error:
        raise BindingFault("no approver signed the change to a binding", f"{error.reason}: {error.detail}") from None
