"""Changes to the bindings of a gate: which account a connector uses, and until when.

The body of the ledger entry has these fields:

    binding      the binding (`Binding`), also when it ends; never a secret
    envelope     DSSE object: the same change, signed by an approver over a recent head of the ledger

A binding's id is used once, so a signed change cannot be used again. A binding that takes the place of another one
names it in `replaces`, so it counts only for what was there when it was shown. What was declined changes nothing, so it
is not signed and only names the connector, the account and the kind.
"""

import re
import secrets
from collections.abc import Collection, Mapping
from typing import Final

from aileron_tui.core.connector import CREDENTIAL_KINDS
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, canonical, read_object
from aileron_tui.core.manifest_names import fqn_fault
from aileron_tui.core.package_grant import ConnectorGrant
from aileron_tui.core.signed_change import check_place, object_of, read_signed_entry, text_of, time_objection
from aileron_tui.core.values import dataclass

SIGNED_BINDING_CHANGES: Final = frozenset({EntryKind.BINDING_MADE, EntryKind.BINDING_ENDED})
BINDING_CHANGES: Final = SIGNED_BINDING_CHANGES | {EntryKind.BINDING_DECLINED}
PAYLOAD_TYPE: Final = "application/vnd.aileron.binding.v1+json"
"""The type under which a change is signed. It has the format version, and another type is refused."""

DEFAULT_ACCOUNT: Final = "default"
KEYRING: Final = "keyring"
FILE: Final = "file"
STORES: Final = (KEYRING, FILE)
"""Where a secret can be: in the keyring of the system, or in the encrypted file."""

LARGEST: Final = 64 * 1024
"""How many bytes a signed change may have."""

_LIMITS: Final = JsonLimits(size=LARGEST, depth=4, count=2000)
_ID: Final = re.compile(r"bnd-[0-9a-f]{32}", re.ASCII)
_ACCOUNT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}", re.ASCII)
_TEXTS: Final = ("id", "connector", "kind", "account", "client_id", "store", "region", "access_key_id", "replaces")
_LISTS: Final = ("scopes", "addresses", "hosts")
_CHANGE: Final = ("change", "head", "time")
_DECLINED: Final = ("connector", "account", "kind")


@dataclass(frozen=True, slots=True)
class Binding:
    """The account that a connector uses. `id` also names the secret in its `store`.

    `scopes`, `addresses`, those of the sign-in, and `hosts`, to which the secret is sent, are what the connector asked
    for then. `client_id` is only for oauth2, `region` and `access_key_id` only for AWS. `replaces` is the id of the
    binding of the same account before.
    """

    id: str
    connector: str
    kind: str
    account: str
    scopes: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    client_id: str = ""
    store: str = FILE
    region: str = ""
    access_key_id: str = ""
    replaces: str = ""
    hosts: tuple[str, ...] = ()

    def fields(self) -> JsonObject:
        """The binding as JSON."""
        texts: JsonObject = {name: getattr(self, name) for name in _TEXTS}
        return texts | {name: [*getattr(self, name)] for name in _LISTS}


@dataclass(frozen=True, slots=True)
class BindingChange:
    """One change to the bindings, as an approver signs it."""

    change: EntryKind
    binding: Binding
    head: str
    time: str

    @property
    def payload_type(self) -> str:
        """The type under which the payload is signed."""
        return PAYLOAD_TYPE

    def payload(self) -> bytes:
        """The canonical JSON that is signed."""
        return canonical({name: getattr(self, name) for name in _CHANGE} | {"binding": self.binding.fields()})

    def body(self, envelope: JsonObject) -> JsonObject:
        """The body of the ledger entry."""
        return {"binding": self.binding.fields(), "envelope": envelope}


def new_binding_id() -> str:
    """A new id of a binding."""
    return f"bnd-{secrets.token_hex(16)}"


def is_binding_id(text: str) -> bool:
    """Whether this is the id of a binding."""
    return _ID.fullmatch(text) is not None


def is_account_name(text: str) -> bool:
    """Whether this can be the name of an account. It has only plain characters, so it can be shown as it is."""
    return _ACCOUNT.fullmatch(text) is not None


def bind_command(connector: str, account: str = "") -> str:
    """The command that signs in to an account of a connector."""
    return f"aileron-tui bind {connector} --account {account}" if account else f"aileron-tui bind {connector}"


def made(binding: Binding, head: str, time: str) -> BindingChange:
    """The change that makes a binding, or replaces one."""
    return BindingChange(EntryKind.BINDING_MADE, binding, head, time)


def ended(binding: Binding, head: str, time: str) -> BindingChange:
    """The change that ends a binding."""
    return BindingChange(EntryKind.BINDING_ENDED, binding, head, time)


def declined_body(connector: str, account: str, kind: str) -> JsonObject:
    """The body of the entry that says that a binding was offered and declined."""
    return {"connector": connector, "account": account, "kind": kind}


def read_signed_change(payload: bytes) -> BindingChange:
    """Parses the payload of an envelope. Raises JsonError if it is not valid or not in canonical form."""
    fields = object_of(read_object(payload, _LIMITS), frozenset({*_CHANGE, "binding"}), "$")
    kind, head, time = (text_of(fields[name], f"$.{name}") for name in _CHANGE)
    if kind not in SIGNED_BINDING_CHANGES:
        raise JsonError("not a change to a binding", "$.change")
    check_place(head, time)
    change = BindingChange(EntryKind(kind), _binding(fields["binding"], "$.binding"), head, time)
    if change.payload() != payload:
        raise JsonError("the change is not in canonical form")
    return change


def read_change(entry: Entry) -> tuple[BindingChange, Json]:
    """The change in an entry, as it was signed, and its envelope. Nothing is verified. Raises JsonError."""
    return read_signed_entry(entry, read_signed_change)


def check_declined(entry: Entry) -> None:
    """Checks the entry that says that a binding was declined. Raises JsonError."""
    fields = object_of(entry.body, frozenset(_DECLINED), "$.body")
    connector, account, kind = (text_of(fields[name], f"$.body.{name}") for name in _DECLINED)
    _check_names(connector, account, kind, "$.body")


def objection(current: Mapping[tuple[str, str], Binding], used: Collection[str], change: BindingChange, at: str) -> str:
    """Why a change cannot follow the earlier ones at this time, in words, or "" if it can.

    `current` has the bindings that are in force by connector and account, and `used` the ids of all earlier ones.
    """
    binding = change.binding
    known = current.get((binding.connector, binding.account))
    if change.change is EntryKind.BINDING_MADE and binding.replaces != (known.id if known else ""):
        return f"it replaces another binding of {binding.connector} than the one that is in force"
    if change.change is EntryKind.BINDING_ENDED and known != binding:
        return f"the binding {binding.id} is not in force"
    return reuse(used, change, at)


def reuse(used: Collection[str], change: BindingChange, at: str) -> str:
    """Why a change cannot be made at this time, whatever is in force, in words, or "" if it can."""
    if change.change is EntryKind.BINDING_MADE and change.binding.id in used:
        return f"the binding {change.binding.id} was already made"
    return time_objection(change.time, at)


def apply_change(current: dict[tuple[str, str], Binding], change: BindingChange) -> None:
    """Updates the bindings that are in force."""
    place = change.binding.connector, change.binding.account
    if change.change is EntryKind.BINDING_MADE:
        current[place] = change.binding
    else:
        current.pop(place, None)


def outdated(binding: Binding, connector: ConnectorGrant) -> str:
    """Why a binding does not count for what its connector asks for now, in words, or "" if it counts."""
    asked = connector.credential
    if asked is None:
        return "the connector no longer uses an account"
    if asked.kind != binding.kind:
        return f"the connector now uses another kind of account: {asked.kind}"
    if more := [scope for scope in asked.scopes if scope not in binding.scopes]:
        return f"the connector now asks for more: {', '.join(more)}"
    if others := [host for host in connector.hosts if host not in binding.hosts]:
        return f"the secret would now be sent to {', '.join(others)} too"
    return "" if asked.addresses == binding.addresses else "the connector now signs in at another address"


def _binding(value: Json, path: str) -> Binding:
    fields = object_of(value, frozenset({*_TEXTS, *_LISTS}), path)
    texts = {name: text_of(fields[name], f"{path}.{name}") for name in _TEXTS}
    if not is_binding_id(texts["id"]) or (texts["replaces"] and not is_binding_id(texts["replaces"])):
        raise JsonError("not the id of a binding", f"{path}.id")
    _check_names(texts["connector"], texts["account"], texts["kind"], path)
    if texts["store"] not in STORES:
        raise JsonError("not a place for secrets", f"{path}.store")
    scopes, addresses, hosts = (_strings(fields[name], f"{path}.{name}") for name in _LISTS)
    return Binding(scopes=scopes, addresses=addresses, hosts=hosts, **texts)


def _check_names(connector: str, account: str, kind: str, path: str) -> None:
    if fqn_fault(connector):
        raise JsonError("not the name of a connector", f"{path}.connector")
    if not is_account_name(account):
        raise JsonError("not the name of an account", f"{path}.account")
    if kind not in CREDENTIAL_KINDS:
        raise JsonError("not a kind of account", f"{path}.kind")


def _strings(value: Json, path: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise JsonError("expected an array", path)
    return tuple(text_of(item, f"{path}[{index}]") for index, item in enumerate(value))
