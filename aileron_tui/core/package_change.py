"""Changes to the packages of a gate: adding some, which includes updating them, removing one, or declining.

The body of the ledger entry has these fields:

    id           identifies the change; it is used once
    packages     for `package.added`, the grants (`core/package_grant.py`); else the name and hash of each package
    envelope     DSSE object: the same change, signed by an approver over a recent head of the ledger

What was declined changes nothing, so it is not signed and has no `id`. The head binds a signature to one ledger, and
the id to one entry, so a signed change cannot be used again; one that was signed too long ago is refused. `replaces` of
each grant names the version that it replaces, so a change counts only for what was installed when it was shown.
"""

import re
import secrets
from collections.abc import Collection, Mapping
from typing import Final

from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, canonical, read_object
from aileron_tui.core.package_grant import PackageGrant, is_package_name, read_grant
from aileron_tui.core.signed_change import check_place, object_of, read_signed_entry, text_of, time_objection
from aileron_tui.core.values import dataclass

SIGNED_PACKAGE_CHANGES: Final = frozenset({EntryKind.PACKAGE_ADDED, EntryKind.PACKAGE_REMOVED})
PACKAGE_CHANGES: Final = SIGNED_PACKAGE_CHANGES | {EntryKind.PACKAGE_DECLINED}
PAYLOAD_TYPE: Final = "application/vnd.aileron.package.v1+json"
"""The type under which a change is signed. It has the format version, and another type is refused."""

LARGEST: Final = 1024 * 1024
"""How many bytes a signed change may have."""

_LIMITS: Final = JsonLimits(size=LARGEST, depth=12, count=100_000)
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_ID: Final = re.compile(r"pkg-[0-9a-f]{32}", re.ASCII)
_TEXTS: Final = ("change", "id", "head", "time")


@dataclass(frozen=True, slots=True)
class PackageRef:
    """One version of a package. `version` is only for people."""

    name: str
    version: str
    hash: str

    def fields(self) -> JsonObject:
        """The reference as JSON."""
        return {"name": self.name, "version": self.version, "hash": self.hash}


@dataclass(frozen=True, slots=True)
class PackageChange:
    """One change to the packages, as an approver signs it: `added` are grants, `removed` what is installed no more."""

    change: EntryKind
    id: str
    added: tuple[PackageGrant, ...]
    removed: tuple[PackageRef, ...]
    head: str
    time: str

    @property
    def payload_type(self) -> str:
        """The type under which the payload is signed."""
        return PAYLOAD_TYPE

    def payload(self) -> bytes:
        """The canonical JSON that is signed."""
        return canonical({name: getattr(self, name) for name in _TEXTS} | {"packages": self._packages()})

    def body(self, envelope: JsonObject) -> JsonObject:
        """The body of the ledger entry."""
        return {"id": self.id, "packages": self._packages(), "envelope": envelope}

    @property
    def expected(self) -> dict[str, str]:
        """The hash of each package that must be installed for the change to count, "" if there must be none."""
        return {grant.name: grant.replaces for grant in self.added} | {gone.name: gone.hash for gone in self.removed}

    def _packages(self) -> list[Json]:
        return [item.fields() for item in self.added or self.removed]


def new_change_id() -> str:
    """A new id of a change."""
    return f"pkg-{secrets.token_hex(16)}"


def added(grants: tuple[PackageGrant, ...], head: str, time: str) -> PackageChange:
    """The change that adds packages, or replaces them by other versions."""
    return PackageChange(EntryKind.PACKAGE_ADDED, new_change_id(), grants, (), head, time)


def removed(packages: tuple[PackageRef, ...], head: str, time: str) -> PackageChange:
    """The change that removes packages."""
    return PackageChange(EntryKind.PACKAGE_REMOVED, new_change_id(), (), packages, head, time)


def declined_body(packages: tuple[PackageRef, ...], source: str) -> JsonObject:
    """The body of the entry that says that packages were offered and declined."""
    return {"packages": [package.fields() for package in packages], "source": source}


def read_signed_change(payload: bytes) -> PackageChange:
    """Parses the payload of an envelope. Raises JsonError if it is not valid or not in canonical form."""
    fields = object_of(read_object(payload, _LIMITS), frozenset({*_TEXTS, "packages"}), "$")
    texts = {name: text_of(fields[name], f"$.{name}") for name in _TEXTS}
    if texts["change"] not in SIGNED_PACKAGE_CHANGES:
        raise JsonError("not a change to packages", "$.change")
    if not _ID.fullmatch(texts["id"]):
        raise JsonError("not the id of a change", "$.id")
    check_place(texts["head"], texts["time"])
    items = _items(fields["packages"])
    grants: tuple[PackageGrant, ...] = ()
    gone: tuple[PackageRef, ...] = ()
    if texts["change"] == EntryKind.PACKAGE_ADDED:
        grants = tuple(read_grant(item, f"$.packages[{index}]") for index, item in enumerate(items))
    else:
        gone = tuple(_reference(item, f"$.packages[{index}]") for index, item in enumerate(items))
    if len({item.name for item in grants or gone}) < len(items):
        raise JsonError("a package is named twice", "$.packages")
    change = PackageChange(EntryKind(texts["change"]), texts["id"], grants, gone, texts["head"], texts["time"])
    if change.payload() != payload:
        raise JsonError("the change is not in canonical form")
    return change


def read_change(entry: Entry) -> tuple[PackageChange, Json]:
    """The change in an entry, as it was signed, and its envelope. Nothing is verified. Raises JsonError."""
    return read_signed_entry(entry, read_signed_change)


def read_declined(entry: Entry) -> tuple[PackageRef, ...]:
    """The packages that were offered and declined. Raises JsonError."""
    fields = object_of(entry.body, frozenset({"packages", "source"}), "$.body")
    text_of(fields["source"], "$.body.source")
    items = _items(fields["packages"])
    return tuple(_reference(item, f"$.body.packages[{index}]") for index, item in enumerate(items))


def objection(installed: Mapping[str, str], used: Collection[str], change: PackageChange, time: str) -> str:
    """Why a change cannot follow the earlier ones at this time, in words, or "" if it can.

    `installed` has the hash of each installed package, and `used` the ids of the earlier changes.
    """
    for name, expected in change.expected.items():
        if installed.get(name, "") != expected:
            return mismatch(name, expected)
    return reuse(used, change, time)


def mismatch(name: str, expected: str) -> str:
    """Says that this version of a package, or "" for none, is not the one that is installed."""
    if expected:
        return f"the version of {name} that it replaces or removes is not installed"
    return f"{name} is already installed"


def reuse(used: Collection[str], change: PackageChange, time: str) -> str:
    """Why a change cannot be made at this time, whatever is installed, in words, or "" if it can."""
    if change.id in used:
        return f"the change {change.id} was already made"
    return time_objection(change.time, time)


def apply_change(installed: dict[str, str], change: PackageChange) -> None:
    """Updates the hash of each installed package."""
    for gone in change.removed:
        installed.pop(gone.name, None)
    for grant in change.added:
        installed[grant.name] = grant.hash


def _items(value: Json) -> list[Json]:
    if not isinstance(value, list) or not value:
        raise JsonError("at least one package is needed", "$.packages")
    return value


def _reference(value: Json, path: str) -> PackageRef:
    fields = object_of(value, frozenset({"name", "version", "hash"}), path)
    found = PackageRef(*(text_of(fields[name], f"{path}.{name}") for name in ("name", "version", "hash")))
    if not is_package_name(found.name) or not _HASH.fullmatch(found.hash):
        raise JsonError("not the name and hash of a package", path)
    return found
