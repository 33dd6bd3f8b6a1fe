"""Connector manifests: the hosts that a connector may reach, and the credential it uses."""

import re
from dataclasses import field
from typing import Any, Final

from aileron_tui.core.findings import Path, Problems, Reading
from aileron_tui.core.manifest_names import fqn_fault, is_semver
from aileron_tui.core.toml_manifest import read_toml_manifest
from aileron_tui.core.toml_schema import AnyTableSchema, Fields, StringListSchema, TableSchema, dotted
from aileron_tui.core.values import dataclass

PLACEHOLDER: Final = "bound-at-release"
"""What a manifest has in place of a value that its release fills in."""

CREDENTIAL_KINDS: Final = ("oauth2", "api_key", "aws_sigv4")

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_GRANT: Final = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\s\x00-\x1f\x7f*:/@\[\]]+):(?P<port>[0-9]{1,5})")
_LOCAL_HTTP: Final = re.compile(r"http://(?:localhost|127\.0\.0\.1)(?::[0-9]+)?(?:/[!-~]*)?")
_HTTPS: Final = re.compile(r"https://[^\s/?#@]+(?:[/?#][!-~]*)?")
_FIELDS: Final[Fields] = {
    "connector": TableSchema(
        {
            "name": str,
            "version": str,
            "provenance_hash": str,
            "publisher": str,
            "idempotency": TableSchema({"default": str}),
            "forwarder": str,
            "origin": str,
        }
    ),
    "capabilities": TableSchema(
        {
            "network": TableSchema({"hosts": StringListSchema()}),
            "credential": TableSchema(
                {
                    "kind": str,
                    "scope": str,
                    "header": str,
                    "format": str,
                    "oauth2": TableSchema(
                        {
                            "authorize_url": str,
                            "token_url": str,
                            "client_id": str,
                            "client_secret": str,
                            "scopes": StringListSchema(),
                        }
                    ),
                    "region": str,
                    "service": str,
                    "access_key_id": str,
                }
            ),
            "runtime": TableSchema({"imports": StringListSchema()}),
            "spawn": AnyTableSchema(),
        }
    ),
    "provides": TableSchema({"intents": StringListSchema()}),
}


@dataclass(frozen=True, slots=True)
class OAuth2:
    """The OAuth 2 endpoints and client of a connector.

    Some providers give a secret even to programs that cannot keep one. It is in a public manifest, so it protects
    nothing, but they want it sent.
    """

    authorize_url: str
    token_url: str
    client_id: str
    scopes: tuple[str, ...]
    client_secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Credential:
    """The kind of credential that is added to the connector's HTTP requests, and how it is added."""

    kind: str
    scope: str = ""
    header: str = ""
    format: str = ""
    oauth2: OAuth2 | None = None
    region: str = ""
    service: str = ""
    access_key_id: str = ""


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector as its manifest describes it. It may reach only `hosts`, or no host if that is None."""

    name: str
    version: str
    publisher: str = ""
    provenance_hash: str = ""
    idempotent_by_default: bool = True
    hosts: frozenset[str] | None = None
    credential: Credential | None = None
    imports: tuple[str, ...] = ()
    intents: tuple[str, ...] = ()


def read_connector(data: bytes | str, file: str) -> Reading[Connector]:
    """Returns the connector in a `manifest.toml`, with every problem found in it."""
    return read_toml_manifest(
        data, file, _FIELDS, lambda table, problems: _ConnectorReader(table, problems).connector()
    )


class _ConnectorReader:
    def __init__(self, table: dict[str, Any], problems: Problems) -> None:
        self._problems = problems
        self._connector: dict[str, Any] = table.get("connector", {})
        self._capabilities: dict[str, Any] = table.get("capabilities", {})
        self._intents: list[str] = table.get("provides", {}).get("intents", [])

    def connector(self) -> Connector:
        table = self._connector
        name = self._name(table.get("name", ""))
        version = self._version(table.get("version", ""))
        provenance = self._provenance(table.get("provenance_hash", ""))
        idempotent = self._idempotent(table.get("idempotency"))
        network = self._capabilities.get("network")
        credential = self._capabilities.get("credential")
        if "spawn" in self._capabilities or "forwarder" in table:
            path: Path = ("capabilities", "spawn") if "spawn" in self._capabilities else ("connector", "forwarder")
            message = "this connector starts programs, which the gate never allows"
            self._problems.warn(path, "spawn", message, "Use it with an Aileron daemon.")
        return Connector(
            name,
            version,
            table.get("publisher", ""),
            provenance,
            idempotent,
            None if network is None else self._hosts(network.get("hosts", [])),
            None if credential is None else self._credential(credential),
            tuple(self._capabilities.get("runtime", {}).get("imports", ())),
            tuple(self._intents),
        )

    def _has(self, value: object, path: Path, fix: str) -> bool:
        """Returns whether a required value is set, and reports it if it is missing."""
        if self._problems.missing(value, path):
            self._problems.add(path, "required", f"{dotted(path)} is required", fix)
        return bool(value)

    def _name(self, name: str) -> str:
        path, fix = ("connector", "name"), "Write a name such as github://owner/repo, without a version."
        if self._has(name, path, fix) and (fault := fqn_fault(name)):
            self._problems.add(path, "connector-name", f'"{name}" is not a valid connector name: {fault}', fix)
        return name

    def _version(self, version: str) -> str:
        path, fix = ("connector", "version"), "Write three numbers such as 1.2.3, without a leading v."
        if self._has(version, path, fix) and not is_semver(version):
            self._problems.add(path, "version", f'"{version}" is not a strict SemVer version', fix)
        return version

    def _provenance(self, value: str) -> str:
        if value and not value.startswith("sha256:"):
            fix = "Write sha256: and the digest in hex."
            self._problems.add(("connector", "provenance_hash"), "hash", f'"{value}" is not a valid hash', fix)
        return value

    def _idempotent(self, table: dict[str, Any] | None) -> bool:
        if table is None:
            return True
        path, default = ("connector", "idempotency", "default"), table.get("default", "")
        fix = 'Write "idempotent" or "not_idempotent".'
        if self._has(default, path, fix) and default not in ("idempotent", "not_idempotent"):
            self._problems.add(path, "idempotency", f'"{default}" is not a valid default for idempotency', fix)
        return bool(default == "idempotent")

    def _hosts(self, hosts: list[str]) -> frozenset[str]:
        path = ("capabilities", "network", "hosts")
        for index, host in enumerate(hosts):
            grant = _GRANT.fullmatch(host)
            if grant is None or not 0 < int(grant["port"]) < 65536:
                fix = "Write the host and its port, such as api.example.com:443, without a wildcard or a scheme."
                self._problems.add((*path, index), "host-port", f'"{host}" is not a host and a port', fix)
        return frozenset(host.lower() for host in hosts)

    def _credential(self, table: dict[str, Any]) -> Credential:
        path: Path = ("capabilities", "credential")
        kind: str = table.get("kind", "")
        fix = f"Use one of {', '.join(CREDENTIAL_KINDS)}."
        if self._has(kind, (*path, "kind"), fix) and kind not in CREDENTIAL_KINDS:
            self._problems.add((*path, "kind"), "credential-kind", f'"{kind}" is not a valid credential kind', fix)
        self._check_kind(table, path, kind, ("header", "format"), "api_key")
        self._check_kind(table, path, kind, ("oauth2",), "oauth2")
        self._check_kind(table, path, kind, ("region", "service", "access_key_id"), "aws_sigv4")
        header: str = table.get("header", "")
        if header and not _TOKEN.fullmatch(header):
            message, fix = f'"{header}" is not a valid header name', "Write a name such as X-Api-Key."
            self._problems.add((*path, "header"), "credential-header", message, fix)
        form: str = table.get("format", "")
        if form and ("{key}" not in form or "\r" in form or "\n" in form or "\0" in form):
            message = "the format must contain {key} and no line break"
            self._problems.add((*path, "format"), "credential-format", message, 'Write a format such as "Token {key}".')
        service: str = table.get("service", "")
        if kind == "aws_sigv4":
            self._has(service, (*path, "service"), "Name the AWS service, such as athena.")
        oauth2 = None
        if kind == "oauth2" and self._has(
            "oauth2" in table, (*path, "oauth2"), "Add [capabilities.credential.oauth2]."
        ):
            oauth2 = self._oauth2(table["oauth2"], (*path, "oauth2"))
        return Credential(
            kind,
            table.get("scope", ""),
            header,
            form,
            oauth2,
            table.get("region", ""),
            service,
            table.get("access_key_id", ""),
        )

    def _check_kind(self, table: dict[str, Any], path: Path, kind: str, keys: tuple[str, ...], owner: str) -> None:
        if kind == owner or kind not in CREDENTIAL_KINDS:
            return
        for key in keys:
            if key in table:
                message = f'{key} is only for kind = "{owner}", not "{kind}"'
                self._problems.add((*path, key), "credential-key", message, f"Remove {key}, or change the kind.")

    def _oauth2(self, table: dict[str, Any], path: Path) -> OAuth2:
        for key in ("authorize_url", "token_url"):
            url: str = table.get(key, "")
            fix = "Write an https:// address. http:// is only for localhost and 127.0.0.1."
            if self._has(url, (*path, key), fix) and not (_HTTPS.fullmatch(url) or _LOCAL_HTTP.fullmatch(url)):
                self._problems.add((*path, key), "oauth2-url", f'"{url}" is not an https address', fix)
        self._has(table.get("client_id", ""), (*path, "client_id"), "Write the id of the OAuth client.")
        scopes: list[str] = table.get("scopes", [])
        self._has(scopes, (*path, "scopes"), "List at least one scope.")
        for index, scope in enumerate(scopes):
            if not scope.strip():
                here = (*path, "scopes", index)
                self._problems.add(here, "oauth2-scope", f"{dotted(here)} is empty", "Name a scope, or remove it.")
        return OAuth2(
            table.get("authorize_url", ""),
            table.get("token_url", ""),
            table.get("client_id", ""),
            tuple(scopes),
            "" if (secret := table.get("client_secret", "")) == PLACEHOLDER else secret,
        )
