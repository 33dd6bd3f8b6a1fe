"""The keys that may approve on a gate, as the ledger lists them.

The ledger is the only list: a key may approve from its `key.enrolled` entry to its `key.revoked` entry. So a change
takes effect at once in every process that reads the ledger and cannot be undone secretly. Whether a key was valid at
the time of a decision depends on the order of the entries, not on a clock.
"""

from collections.abc import Iterable
from dataclasses import replace

from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.signing.errors import KeyFault, NoKey
from aileron_tui.signing.key_store import key_name
from aileron_tui.signing.public_key import PublicKey, read_public


@dataclass(frozen=True, slots=True)
class Approver:
    """A key that may approve, or that could until it was `revoked`. The times are those of the ledger entries."""

    name: str
    public: PublicKey
    enrolled: str
    revoked: str = ""
    insecure: bool = False


class Approvers(dict[str, Approver]):
    """Approvers by fingerprint. Revoked keys are kept, so that their decisions differ from those of unknown keys."""

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> "Approvers":
        """The approvers according to these entries."""
        approvers = cls()
        for entry in entries:
            approvers.learn(entry)
        return approvers

    def learn(self, entry: Entry) -> None:
        """Processes one entry and ignores all but key changes. Raises KeyFault if the entry is not valid."""
        if entry.kind == EntryKind.KEY_ENROLLED:
            name, line = entry.body.get("name"), entry.body.get("key")
            if not isinstance(name, str) or not isinstance(line, str):
                raise KeyFault("the enrolment has no name or no key")
            public = read_public(line)
            insecure = entry.body.get("insecure") is True
            self[public.fingerprint] = Approver(key_name(name), public, entry.time, insecure=insecure)
        elif entry.kind == EntryKind.KEY_REVOKED:
            fingerprint = entry.body.get("fingerprint")
            if not isinstance(fingerprint, str) or fingerprint not in self:
                raise KeyFault("the revoked key was never enrolled")
            self[fingerprint] = replace(self[fingerprint], revoked=entry.time)

    @property
    def active(self) -> tuple[Approver, ...]:
        """The keys that may approve now, by name."""
        return tuple(sorted((key for key in self.values() if not key.revoked), key=lambda key: key.name))

    def named(self, name: str) -> Approver:
        """The active key with this name or fingerprint."""
        for approver in self.active:
            if name in {approver.name, approver.public.fingerprint}:
                return approver
        raise NoKey(f"no key {name!r} may approve here", hint="Run `aileron-tui key list` to see which may.")

    def enrolment(self, name: str, public: PublicKey, *, insecure: bool = False) -> JsonObject:
        """The body of the entry that enrolls a key."""
        for approver in self.active:
            if approver.public == public:
                raise KeyFault(f"this key is already enrolled, as {approver.name}")
            if approver.name == name:
                raise KeyFault(f"another key named {name} is already enrolled", hint="Choose another name with --name.")
        body: JsonObject = {"name": key_name(name), "key": public.line(), "fingerprint": public.fingerprint}
        return body | {"insecure": True} if insecure else body

    def revocation(self, name: str) -> JsonObject:
        """The body of the entry that revokes a key."""
        approver = self.named(name)
        return {"name": approver.name, "fingerprint": approver.public.fingerprint}


def approver_lines(approvers: Approvers) -> list[str]:
    """The keys that may approve now, one line each."""
    return [approver.public.line(approver.name) for approver in approvers.active]


def read_approver_lines(text: str) -> Approvers:
    """The approvers in such lines. Raises KeyFault."""
    approvers = Approvers()
    for line in text.splitlines():
        public = read_public(line)
        approvers[public.fingerprint] = Approver(key_name(line.split(" ", 2)[2]), public, "")
    return approvers
