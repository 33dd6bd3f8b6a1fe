"""The keys that may approve on a gate, as the ledger lists them.

The ledger is the only list: a key may approve from its `key.enrolled` entry to its `key.revoked` entry. So a change
takes effect at once in every process that reads the ledger and cannot be undone secretly. Whether a key was valid at
the time of a decision depends on the order of the entries, not on a clock.

An approver signs every change but the first (`core/key_change.py`), and each such signature counts once. That it was
signed over the right entry is checked by those who see all entries.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from aileron_tui.core.decision import pae
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonError, JsonObject
from aileron_tui.core.key_change import begins_signed_changes, recorded_key_change
from aileron_tui.core.values import dataclass
from aileron_tui.signing.errors import KeyFault, NoKey
from aileron_tui.signing.key_store import key_name
from aileron_tui.signing.public_key import PublicKey, read_public
from aileron_tui.signing.security_key import SecurityKey


@dataclass(frozen=True, slots=True)
class Approver:
    """A key that may approve, or that could until it was `revoked`. The times are those of the ledger entries.

    Of a security key or passkey, `backup_eligible` says whether its owner may copy it to other devices, and `added_on`
    is "page" or "usb". A `temporary` key only exists while one program runs.
    """

    name: str
    public: PublicKey | SecurityKey
    enrolled: str
    revoked: str = ""
    insecure: bool = False
    backup_eligible: bool = False
    added_on: str = ""
    temporary: bool = False


class Approvers(dict[str, Approver]):
    """Approvers by fingerprint. Revoked keys are kept, so that their decisions differ from those of unknown keys."""

    def __init__(self, approvers: Mapping[str, Approver] | None = None) -> None:
        super().__init__(approvers or {})
        self._nonces: set[str] = set()
        self._signed_changes = False

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
            self._check_signed(entry)
            if isinstance(public, SecurityKey):
                self._check_security_key(public, entry.body)
            self[public.fingerprint] = Approver(
                key_name(name),
                public,
                entry.time,
                insecure=entry.body.get("insecure") is True,
                backup_eligible=entry.body.get("backup_eligible") is True,
                added_on=str(entry.body.get("added_on", "")),
                temporary=entry.body.get("temporary") is True,
            )
        elif entry.kind == EntryKind.KEY_REVOKED:
            fingerprint = entry.body.get("fingerprint")
            if not isinstance(fingerprint, str) or fingerprint not in self:
                raise KeyFault("the revoked key was never enrolled")
            self._check_signed(entry)
            self[fingerprint] = replace(self[fingerprint], revoked=entry.time)
        else:
            return
        self._signed_changes = self._signed_changes or begins_signed_changes(entry.body)

    @property
    def need_signature(self) -> bool:
        """Whether the next change must be signed by one of them."""
        return self._signed_changes and any(
            isinstance(approver.public, PublicKey) and not approver.temporary for approver in self.active
        )

    def _check_signed(self, entry: Entry) -> None:
        """Refuses a change whose signature is not that of an approver at this point, or is missing but needed."""
        try:
            signed = recorded_key_change(entry)
        except JsonError as error:
            raise KeyFault("the change to a key is not valid", str(error)) from None
        if signed is None:
            if self.need_signature:
                raise KeyFault("the change to a key is not signed", "only a key that may approve can change keys")
            return
        change, keyid, signature = signed
        signer = self.get(keyid)
        if signer is None or signer.revoked or not isinstance(signer.public, PublicKey):
            raise KeyFault("no approver signed the change to a key", keyid)
        if not signer.public.accepts(signature, pae(change.payload_type, change.payload())):
            raise KeyFault("no approver signed the change to a key", f"the signature is not that of {signer.name}")
        if change.nonce in self._nonces:
            raise KeyFault("the signature of the change to a key was already used", change.nonce)
        self._nonces.add(change.nonce)

    def _check_security_key(self, public: SecurityKey, body: JsonObject) -> None:
        """Refuses one that is not in its only form, or that nobody signed for, however its line was written."""
        if body.get("key") != public.line() or "envelope" not in body:
            raise KeyFault("a security key can only be enrolled with the signature of an approver")
        if body.get("fingerprint") != public.fingerprint:
            raise KeyFault("the fingerprint is not that of the security key")
        public.check()

    @property
    def active(self) -> tuple[Approver, ...]:
        """The keys that may approve now, by name."""
        return tuple(sorted((key for key in self.values() if not key.revoked), key=lambda key: key.name))

    @property
    def security_keys(self) -> tuple[Approver, ...]:
        """The security keys and passkeys that may approve now, by name."""
        return tuple(approver for approver in self.active if isinstance(approver.public, SecurityKey))

    def named(self, name: str) -> Approver:
        """The active key with this name or fingerprint."""
        for approver in self.active:
            if name in {approver.name, approver.public.fingerprint}:
                return approver
        raise NoKey(f"no key {name!r} may approve here", hint="Run `aileron-tui key list` to see which may.")

    def enrolment(self, name: str, public: PublicKey, *, insecure: bool = False, temporary: bool = False) -> JsonObject:
        """The body of the entry that enrolls a key of a person's own machine without a signature."""
        self.check_new(name, public)
        body: JsonObject = {"name": key_name(name), "key": public.line(), "fingerprint": public.fingerprint}
        flags = {"insecure": insecure, "temporary": temporary}
        return body | {flag: True for flag, is_set in flags.items() if is_set}

    def first_enrolment(self, name: str, public: PublicKey, *, insecure: bool = False) -> JsonObject:
        """The same for the first key of a gate. All changes after it must be signed."""
        return self.enrolment(name, public, insecure=insecure) | {"signed_changes": True}

    def check_new(self, name: str, public: PublicKey | SecurityKey) -> None:
        """Refuses a key that may already approve, and a name that another key has."""
        for approver in self.active:
            if approver.public == public:
                raise KeyFault(f"this key is already enrolled, as {approver.name}")
            if approver.name == name:
                raise KeyFault(f"another key named {name} is already enrolled", hint="Choose another name with --name.")

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
