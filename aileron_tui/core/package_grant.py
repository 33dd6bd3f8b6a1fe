"""Package grants: what the operator consented to when a package was installed.

A grant names the exact bytes of every connector and action, and what they may do. The gate allows nothing else.
"""

import hashlib
import re
from typing import Final

from aileron_tui.core.action import Action
from aileron_tui.core.connector import CREDENTIAL_KINDS, Connector
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical, kind
from aileron_tui.core.manifest_names import fqn_fault, is_semver
from aileron_tui.core.values import dataclass

_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_PACKAGE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~:/-]{0,199}", re.ASCII)
_ACTION: Final = re.compile(r"[a-z0-9][a-z0-9._-]*", re.ASCII)
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9._~-]+")
_LONGEST_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class CredentialGrant:
    """The credential that is added to a connector's requests. `addresses` are those of the sign-in."""

    kind: str
    scopes: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()

    def fields(self) -> JsonObject:
        """The grant as JSON."""
        return {"kind": self.kind, "scopes": [*self.scopes], "addresses": [*self.addresses]}


@dataclass(frozen=True, slots=True)
class ConnectorGrant:
    """What a connector may do. `hash` is over its module and its manifest, `publisher` says who signed it."""

    name: str
    version: str
    hash: str
    publisher: str
    hosts: tuple[str, ...] = ()
    credential: CredentialGrant | None = None

    def fields(self) -> JsonObject:
        """The grant as JSON."""
        credential = self.credential.fields() if self.credential else None
        texts: JsonObject = {"name": self.name, "version": self.version, "hash": self.hash, "publisher": self.publisher}
        return texts | {"hosts": [*self.hosts], "credential": credential}


@dataclass(frozen=True, slots=True)
class ActionGrant:
    """An action that agents may call. `hash` is that of its file; `ops` are the ops of its steps, with connectors."""

    name: str
    version: str
    hash: str
    publisher: str
    gated: bool
    ops: tuple[str, ...] = ()

    def fields(self) -> JsonObject:
        """The grant as JSON."""
        texts: JsonObject = {"name": self.name, "version": self.version, "hash": self.hash, "publisher": self.publisher}
        return texts | {"gated": self.gated, "ops": [*self.ops]}


@dataclass(frozen=True, slots=True)
class PackageGrant:
    """One installed package. `source` is where it can be read again, `origin` says in words where it came from.

    `replaces` is the hash of the version that was installed before, "" if there was none.
    """

    name: str
    version: str
    hash: str
    source: str
    origin: str
    connectors: tuple[ConnectorGrant, ...] = ()
    actions: tuple[ActionGrant, ...] = ()
    replaces: str = ""

    def fields(self) -> JsonObject:
        """The grant as JSON."""
        texts: JsonObject = {name: getattr(self, name) for name in _TEXTS}
        lists: JsonObject = {
            "connectors": [connector.fields() for connector in self.connectors],
            "actions": [action.fields() for action in self.actions],
        }
        return texts | lists


_TEXTS: Final = ("name", "version", "hash", "source", "origin", "replaces")


def connector_grant(connector: Connector, digest: str, publisher: str) -> ConnectorGrant:
    """What a connector's manifest asks for."""
    credential = None
    if declared := connector.credential:
        oauth2 = declared.oauth2
        scopes = oauth2.scopes if oauth2 else (declared.scope,) if declared.scope else ()
        addresses = (oauth2.authorize_url, oauth2.token_url) if oauth2 else ()
        credential = CredentialGrant(declared.kind, scopes, addresses)
    hosts = tuple(sorted(connector.hosts or ()))
    return ConnectorGrant(connector.name, connector.version, digest, publisher, hosts, credential)


def action_grant(action: Action, data: bytes, publisher: str) -> ActionGrant:
    """What an action's manifest asks for."""
    ops = tuple(dict.fromkeys(f"{step.connector} {step.op}" for step in action.execute))
    return ActionGrant(action.name, action.version, file_hash(data), publisher, action.gated, ops)


def file_hash(data: bytes) -> str:
    """The hash of a file."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def content_hash(connectors: tuple[ConnectorGrant, ...], actions: tuple[ActionGrant, ...]) -> str:
    """The hash of a package: over the hashes of everything in it, whatever the order."""
    listed: JsonObject = {
        "connectors": [*sorted(connector.hash for connector in connectors)],
        "actions": [*sorted(action.hash for action in actions)],
    }
    return file_hash(canonical(listed))


def excess(found: ConnectorGrant, granted: ConnectorGrant) -> str:
    """What a connector asks for beyond its grant, in words, or ""."""
    if more := sorted({*found.hosts} - {*granted.hosts}):
        return f"it asks for {', '.join(more)}, which nobody approved"
    if found.credential is not None and found.credential != granted.credential:
        return "it asks for another credential than was approved"
    if (found.name, found.version, found.hash) != (granted.name, granted.version, granted.hash):
        return f"it is {found.name} {found.version}, but {granted.name} {granted.version} was approved"
    return ""


def action_excess(found: ActionGrant, granted: ActionGrant) -> str:
    """What an action does beyond its grant, in words, or ""."""
    if granted.gated and not found.gated:
        return "it no longer needs approval, which nobody agreed to"
    if (found.name, found.version, found.hash) != (granted.name, granted.version, granted.hash):
        return f"it is {found.name} {found.version}, but {granted.name} {granted.version} was approved"
    return "it runs other ops than were approved" if found.ops != granted.ops else ""


def is_package_name(text: str) -> bool:
    """Whether this can be the name of a package. It has only plain characters, so it can be shown as it is."""
    return _PACKAGE.fullmatch(text) is not None


def plain_name(text: str) -> str:
    """A name for a package, made from any text; "" if nothing of it can be used."""
    return _NOT_PLAIN.sub("-", text).strip("-._~")[:_LONGEST_NAME]


def read_grant(value: Json, path: str = "$") -> PackageGrant:
    """Reads a grant. Raises JsonError."""
    fields = _object(value, (*_TEXTS, "connectors", "actions"), path)
    texts = {name: _text(fields[name], f"{path}.{name}") for name in _TEXTS}
    if not is_package_name(texts["name"]):
        raise JsonError("not the name of a package", f"{path}.name")
    connectors = tuple(
        _connector(item, f"{path}.connectors[{index}]")
        for index, item in enumerate(_list(fields["connectors"], f"{path}.connectors"))
    )
    actions = tuple(
        _action(item, f"{path}.actions[{index}]")
        for index, item in enumerate(_list(fields["actions"], f"{path}.actions"))
    )
    if texts["hash"] != content_hash(connectors, actions):
        raise JsonError("the hash of the package is not that of its content", f"{path}.hash")
    if texts["replaces"] and not _HASH.fullmatch(texts["replaces"]):
        raise JsonError("not a hash", f"{path}.replaces")
    if len({connector.name for connector in connectors}) < len(connectors):
        raise JsonError("a connector is named twice", f"{path}.connectors")
    if len({action.name for action in actions}) < len(actions):
        raise JsonError("an action is named twice", f"{path}.actions")
    return PackageGrant(**texts, connectors=connectors, actions=actions)


def _connector(value: Json, path: str) -> ConnectorGrant:
    fields = _object(value, ("name", "version", "hash", "publisher", "hosts", "credential"), path)
    about = _named(fields, path)
    if fqn_fault(about[0]):
        raise JsonError("not the name of a connector", f"{path}.name")
    credential = None
    if fields["credential"] is not None:
        inner = _object(fields["credential"], ("kind", "scopes", "addresses"), f"{path}.credential")
        if inner["kind"] not in CREDENTIAL_KINDS:
            raise JsonError("not a kind of credential", f"{path}.credential.kind")
        scopes, addresses = (_strings(inner[name], f"{path}.credential.{name}") for name in ("scopes", "addresses"))
        credential = CredentialGrant(str(inner["kind"]), scopes, addresses)
    return ConnectorGrant(*about, _strings(fields["hosts"], f"{path}.hosts"), credential)


def _action(value: Json, path: str) -> ActionGrant:
    fields = _object(value, ("name", "version", "hash", "publisher", "gated", "ops"), path)
    about = _named(fields, path)
    if not _ACTION.fullmatch(about[0]):
        raise JsonError("not the name of an action", f"{path}.name")
    if not isinstance(fields["gated"], bool):
        raise JsonError(f"expected true or false, found {kind(fields['gated'])}", f"{path}.gated")
    return ActionGrant(*about, fields["gated"], _strings(fields["ops"], f"{path}.ops"))


def _named(fields: JsonObject, path: str) -> tuple[str, str, str, str]:
    name, version, digest, publisher = (
        _text(fields[each], f"{path}.{each}") for each in ("name", "version", "hash", "publisher")
    )
    if not is_semver(version):
        raise JsonError("not a version", f"{path}.version")
    if not _HASH.fullmatch(digest):
        raise JsonError("not a hash", f"{path}.hash")
    return name, version, digest, publisher


def _object(value: Json, names: tuple[str, ...], path: str) -> JsonObject:
    if not isinstance(value, dict):
        raise JsonError(f"expected an object, found {kind(value)}", path)
    if odd := value.keys() ^ set(names):
        raise JsonError("this field is missing or unknown", f"{path}.{min(odd)}")
    return value


def _list(value: Json, path: str) -> list[Json]:
    if not isinstance(value, list):
        raise JsonError(f"expected an array, found {kind(value)}", path)
    return value


def _strings(value: Json, path: str) -> tuple[str, ...]:
    return tuple(_text(item, f"{path}[{index}]") for index, item in enumerate(_list(value, path)))


def _text(value: Json, path: str) -> str:
    if not isinstance(value, str):
        raise JsonError(f"expected a string, found {kind(value)}", path)
    return value
