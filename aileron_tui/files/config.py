"""The user's `config.toml`: closed like every other file, so that a mistyped key is never silently ignored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from aileron_tui.core import frontmatter
from aileron_tui.core.action import LONGEST_TIMEOUT
from aileron_tui.core.errors import AileronError
from aileron_tui.core.findings import Finding, Problems, Source
from aileron_tui.core.names import fqn_fault
from aileron_tui.core.risk import Level, Rule
from aileron_tui.core.schema import Fields, Items, Named, Table, Tables, Texts, conform
from aileron_tui.files.bundles import Unreadable, read_file

_CREDENTIAL: Final[Fields] = {"env": str, "command": Items(), "keyring": str, "region": str, "access_key_id": str}
_SOURCES: Final = ("env", "command", "keyring")
_FIELDS: Final[Fields] = {
    "policy": Table({"keep_previews": bool, "headless_decisions": bool, "timeout": int, "high_risk": str}),
    "console": Table(
        {"theme": str, "undo_seconds": int, "lock_minutes": int, "bell": bool, "notify": bool, "keys": Texts()}
    ),
    "risk": Tables({"level": str, "action": str, "connector": str, "op": str}),
    "connectors": Named({"memory_mib": int, "preview_may_post": bool, "credential": Table(_CREDENTIAL)}),
}


HIGH_RISK: Final = ("confirm", "type", "passphrase")
_LONGEST_UNDO: Final = 60


class ConfigError(AileronError):
    """The configuration cannot be used as it is written."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the user wants of the gate. `timeout` is how long a request waits if its manifest does not say."""

    keep_previews: bool = False
    headless_decisions: bool = False
    timeout: int = LONGEST_TIMEOUT
    high_risk: str = "confirm"


@dataclass(frozen=True, slots=True)
class ConsoleConfig:
    """How the console looks and behaves; 0 turns the undo window or the idle lock off."""

    theme: str = ""
    undo_seconds: int = 2
    lock_minutes: int = 15
    bell: bool = True
    notify: bool = True
    keys: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CredentialSource:
    """Where a connector's credential comes from: exactly one of `env`, `command` and `keyring` is set."""

    env: str = ""
    command: tuple[str, ...] = ()
    keyring: str = ""
    region: str = ""
    access_key_id: str = ""


@dataclass(frozen=True, slots=True)
class ConnectorSettings:
    """What the user says of one connector."""

    credential: CredentialSource | None = None
    memory_mib: int | None = None
    preview_may_post: bool = False


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration; every part has its default."""

    policy: Policy = Policy()
    risk: tuple[Rule, ...] = ()
    connectors: Mapping[str, ConnectorSettings] = field(default_factory=dict)
    console: ConsoleConfig = field(default_factory=ConsoleConfig)


def load_config(path: Path) -> Config:
    """The configuration in this file; a missing file is the default one."""
    if not path.exists():
        return Config()
    try:
        source = Source(str(path), frontmatter.decode(read_file(str(path)), str(path)))
        table = frontmatter.tables(source)
    except Unreadable as error:
        raise ConfigError(f"cannot read {path}", str(error)) from None
    except frontmatter.Unreadable as error:
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
    return ConfigError(f"{first.file}:{first.line}: {first.message}{rest}", hint=first.mend)


def _config(table: dict[str, Any], problems: Problems) -> Config:
    policy = Policy(**table.get("policy", {}))
    if not 1 <= policy.timeout <= LONGEST_TIMEOUT:
        message = f"a timeout of {policy.timeout} s is not possible"
        problems.add(("policy", "timeout"), "timeout", message, f"Write 1 to {LONGEST_TIMEOUT}.")
    if policy.high_risk not in HIGH_RISK:
        message, mend = f'"{policy.high_risk}" is no way to ask once more', f"Write one of {', '.join(HIGH_RISK)}."
        problems.add(("policy", "high_risk"), "high-risk", message, mend)
    console = ConsoleConfig(**table.get("console", {}))
    if not 0 <= console.undo_seconds <= _LONGEST_UNDO:
        message = f"an undo window of {console.undo_seconds} s is not possible"
        problems.add(("console", "undo_seconds"), "undo", message, f"Write 0 to {_LONGEST_UNDO}.")
    if console.lock_minutes < 0:
        message, mend = f"{console.lock_minutes} minutes is not possible", "Write 0 for never, or more."
        problems.add(("console", "lock_minutes"), "lock", message, mend)
    rules = tuple(_rule(item, index, problems) for index, item in enumerate(table.get("risk", ())))
    connectors = {name: _settings(name, item, problems) for name, item in table.get("connectors", {}).items()}
    return Config(policy, rules, connectors, console)


def _rule(table: dict[str, Any], index: int, problems: Problems) -> Rule:
    level: str = table.pop("level", "")
    if level not in set(Level):
        mend = f"Write one of {', '.join(Level)}."
        problems.add(("risk", index, "level"), "risk-level", f'"{level}" is not a level of risk', mend)
        return Rule(Level.HIGH)
    return Rule(Level(level), **table)


def _settings(name: str, table: dict[str, Any], problems: Problems) -> ConnectorSettings:
    path = ("connectors", name)
    if fault := fqn_fault(name):
        mend = 'Write its name as in the manifests, such as [connectors."github://owner/repo".credential].'
        problems.add(path, "connector-name", f'"{name}" does not name a connector: {fault}', mend)
    memory = table.get("memory_mib")
    if memory is not None and not 1 <= memory <= 4096:
        message, mend = f"{memory} MiB of memory is not possible", "Write 1 to 4096."
        problems.add((*path, "memory_mib"), "memory", message, mend)
    credential = table.get("credential")
    source = None
    if credential is not None:
        given = [key for key in _SOURCES if credential.get(key)]
        if len(given) != 1:
            message = f"the credential of {name} has {len(given)} sources instead of one"
            mend = f"Set exactly one of {', '.join(_SOURCES)}."
            problems.add((*path, "credential"), "credential-source", message, mend)
        elif given == ["keyring"] and "/" not in credential["keyring"]:
            message, mend = "a keyring entry needs a service and a user", 'Write keyring = "service/user".'
            problems.add((*path, "credential", "keyring"), "credential-source", message, mend)
        source = CredentialSource(**credential | {"command": tuple(credential.get("command", ()))})
    return ConnectorSettings(source, memory, table.get("preview_may_post", False))
