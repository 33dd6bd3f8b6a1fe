"""Reading `config.toml`: what is wrong in it is told with its line and how to fix it."""

import re
from pathlib import Path
from typing import Any, Final

from aileron_tui.core import frontmatter
from aileron_tui.core.address import Address, BadAddress, read_address
from aileron_tui.core.findings import Finding, Problems, TomlSource
from aileron_tui.core.manifest_names import fqn_fault
from aileron_tui.core.risk import RiskLevel, RiskRule
from aileron_tui.core.states import LONGEST_TIMEOUT
from aileron_tui.core.toml_schema import (
    Fields,
    NamedTablesSchema,
    StringListSchema,
    StringTableSchema,
    TableListSchema,
    TableSchema,
    conform,
)
from aileron_tui.files.config import (
    DAEMON,
    GATE,
    HIGH_RISK,
    Config,
    ConfigError,
    ConnectorSettings,
    ConsoleConfig,
    CredentialSource,
    Policy,
    SourceConfig,
)
from aileron_tui.files.manifest_files import UnreadableFile, read_file

_CREDENTIAL: Final[Fields] = {
    "env": str,
    "command": StringListSchema(),
    "keyring": str,
    "region": str,
    "access_key_id": str,
}
_CREDENTIAL_SOURCES: Final = ("env", "command", "keyring")
_FIELDS: Final[Fields] = {
    "policy": TableSchema({"keep_previews": bool, "headless_decisions": bool, "timeout": int, "high_risk": str}),
    "console": TableSchema(
        {
            "theme": str,
            "undo_seconds": int,
            "lock_minutes": int,
            "bell": bool,
            "notify": bool,
            "keys": StringTableSchema(),
        }
    ),
    "risk": TableListSchema({"level": str, "action": str, "connector": str, "op": str}),
    "sources": TableListSchema({"name": str, "kind": str, "url": str, "token_file": str, "token_env": str}),
    "connectors": NamedTablesSchema(
        {"memory_mib": int, "preview_may_post": bool, "credential": TableSchema(_CREDENTIAL)}
    ),
}

_KINDS: Final = (DAEMON, GATE)
_SOURCE_NAME: Final = re.compile(r"[a-z0-9-]{1,20}", re.ASCII)
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LONGEST_UNDO: Final = 60
_TUNNEL: Final = "Go through an ssh tunnel and write its end on this machine, or use https."


def read_config(path: Path) -> Config:
    """The configuration in this file."""
    try:
        source = TomlSource(str(path), frontmatter.decode(read_file(str(path)), str(path)))
        table = frontmatter.tables(source)
    except UnreadableFile as error:
        raise ConfigError(f"cannot read {path}", str(error)) from None
    except frontmatter.UnreadableManifest as error:
        raise _refusal((error.finding,)) from None
    problems = Problems()
    conform(table, _FIELDS, (), problems)
    config = _config(table, problems)
    if problems.rejected:
        raise _refusal(problems.findings(source))
    return config


def _refusal(findings: tuple[Finding, ...]) -> ConfigError:
    first, more = findings[0], len(findings) - 1
    rest = f" (and {more} more)" if more else ""
    return ConfigError(f"{first.file}:{first.line}: {first.message}{rest}", hint=first.fix)


def _config(table: dict[str, Any], problems: Problems) -> Config:
    policy = Policy(**table.get("policy", {}))
    if not 1 <= policy.timeout <= LONGEST_TIMEOUT:
        message = f"a timeout of {policy.timeout} s is not possible"
        problems.add(("policy", "timeout"), "timeout", message, f"Write 1 to {LONGEST_TIMEOUT}.")
    if policy.high_risk not in HIGH_RISK:
        message, fix = f'"{policy.high_risk}" is no way to ask once more', f"Write one of {', '.join(HIGH_RISK)}."
        problems.add(("policy", "high_risk"), "high-risk", message, fix)
    console = ConsoleConfig(**table.get("console", {}))
    if not 0 <= console.undo_seconds <= _LONGEST_UNDO:
        message = f"an undo window of {console.undo_seconds} s is not possible"
        problems.add(("console", "undo_seconds"), "undo", message, f"Write 0 to {_LONGEST_UNDO}.")
    if console.lock_minutes < 0:
        message, fix = f"{console.lock_minutes} minutes is not possible", "Write 0 for never, or more."
        problems.add(("console", "lock_minutes"), "lock", message, fix)
    rules = tuple(_rule(item, index, problems) for index, item in enumerate(table.get("risk", ())))
    connectors = {name: _settings(name, item, problems) for name, item in table.get("connectors", {}).items()}
    return Config(policy, rules, connectors, console, _sources(table.get("sources", []), problems))


def _rule(table: dict[str, Any], index: int, problems: Problems) -> RiskRule:
    level: str = table.pop("level", "")
    if level not in set(RiskLevel):
        fix = f"Write one of {', '.join(RiskLevel)}."
        problems.add(("risk", index, "level"), "risk-level", f'"{level}" is not a level of risk', fix)
        return RiskRule(RiskLevel.HIGH)
    return RiskRule(RiskLevel(level), **table)


def _settings(name: str, table: dict[str, Any], problems: Problems) -> ConnectorSettings:
    path = ("connectors", name)
    if fault := fqn_fault(name):
        fix = 'Write its name as in the manifests, such as [connectors."github://owner/repo".credential].'
        problems.add(path, "connector-name", f'"{name}" does not name a connector: {fault}', fix)
    memory = table.get("memory_mib")
    if memory is not None and not 1 <= memory <= 4096:
        message, fix = f"{memory} MiB of memory is not possible", "Write 1 to 4096."
        problems.add((*path, "memory_mib"), "memory", message, fix)
    credential = table.get("credential")
    source = None
    if credential is not None:
        given = [key for key in _CREDENTIAL_SOURCES if credential.get(key)]
        if len(given) != 1:
            message = f"the credential of {name} has {len(given)} sources instead of one"
            fix = f"Set exactly one of {', '.join(_CREDENTIAL_SOURCES)}."
            problems.add((*path, "credential"), "credential-source", message, fix)
        elif given == ["keyring"] and "/" not in credential["keyring"]:
            message, fix = "a keyring entry needs a service and a user", 'Write keyring = "service/user".'
            problems.add((*path, "credential", "keyring"), "credential-source", message, fix)
        source = CredentialSource(**credential | {"command": tuple(credential.get("command", ()))})
    return ConnectorSettings(source, memory, table.get("preview_may_post", False))


def _sources(tables: list[dict[str, Any]], problems: Problems) -> tuple[SourceConfig, ...]:
    sources: list[SourceConfig] = []
    names: set[str] = set()
    places: dict[tuple[str, Address | None], str] = {}
    for index, table in enumerate(tables):
        path = ("sources", index)
        address = _source_address(table, index, problems)
        source = _source(table, index, address, problems)
        if source is None:
            continue
        if source.name in names:
            message = f'two sources are named "{source.name}"'
            problems.add((*path, "name"), "source-name", message, "Give each a name of its own.")
        names.add(source.name)
        if address is None and "url" in table:
            continue
        other = places.setdefault((source.kind, address), source.name)
        if other != source.name:
            message = f'"{source.name}" is the same {source.kind} as "{other}"'
            fix = "Take one of the two out, or give it its own url."
            problems.add(path, "source-twice", message, fix)
        sources.append(source)
    return tuple(sources)


def _source(table: dict[str, Any], index: int, address: Address | None, problems: Problems) -> SourceConfig | None:
    """The source of one table, if it says at least which and what it is."""
    path = ("sources", index)
    name, kind = table.get("name", ""), table.get("kind", "")
    if problems.lacks(name, (*path, "name")):
        problems.add((*path, "name"), "source-name", "a source needs a name", 'Write name = "work".')
    elif name and not _SOURCE_NAME.fullmatch(name):
        fix = "Use 1 to 20 small letters, digits and dashes."
        problems.add((*path, "name"), "source-name", f'"{name}" is not a name for a source', fix)
    if problems.lacks(kind, (*path, "kind")):
        fix = f"Write one of {', '.join(_KINDS)}."
        problems.add((*path, "kind"), "source-kind", "a source needs a kind", fix)
    elif kind and kind not in _KINDS:
        fix = f"Write one of {', '.join(_KINDS)}."
        problems.add((*path, "kind"), "source-kind", f'"{kind}" is not a kind of source', fix)
    file = _source_token(table, index, address, problems)
    if not name or kind not in _KINDS:
        return None
    return SourceConfig(name, kind, address.url if address else "", file, table.get("token_env", ""))


def _source_address(table: dict[str, Any], index: int, problems: Problems) -> Address | None:
    if "url" not in table:
        return None
    path = ("sources", index, "url")
    try:
        address = read_address(table["url"])
    except BadAddress as error:
        fix = "Write it as http://127.0.0.1:54321, or leave it out for the one of this machine."
        problems.add(path, "source-url", f"this is not an address: {error}", fix)
        return None
    if table.get("kind") == GATE and not address.private:
        problems.add(path, "source-url", "your session there would cross the network in the clear", _TUNNEL)
    return address


def _source_token(table: dict[str, Any], index: int, address: Address | None, problems: Problems) -> Path | None:
    """The file with a daemon's token; everything about tokens is checked here."""
    path = ("sources", index)
    given = [key for key in ("token_file", "token_env") if key in table]
    if not given:
        return None
    if table.get("kind") == GATE:
        message, fix = "a gate takes no token: it knows your key", f"Take {given[0]} out."
        problems.add((*path, given[0]), "source-token", message, fix)
    if len(given) > 1:
        message, fix = "the token has 2 sources instead of one", "Set only one of token_file, token_env."
        problems.add((*path, given[1]), "source-token", message, fix)
    if address is not None and not address.private:
        problems.add((*path, "url"), "source-token", "the token would cross the network in the clear", _TUNNEL)
    if "token_env" in table and not _VARIABLE.fullmatch(table["token_env"]):
        # It may be the token itself, so it is not repeated.
        message, fix = "this is not the name of a variable", 'Write its name, such as token_env = "WORK_TOKEN".'
        problems.add((*path, "token_env"), "source-token", message, fix)
    if "token_file" not in table:
        return None
    if not table["token_file"].startswith(("/", "~/")):
        message, fix = "this is not the whole path of a file", 'Write token_file = "~/.secrets/work.token".'
        problems.add((*path, "token_file"), "source-token", message, fix)
    return Path(table["token_file"])
