"""Reads `config.toml`. Every error names the line and says how to fix it."""

import re
from pathlib import Path
from typing import Any, Final

from aileron_tui.core import frontmatter
from aileron_tui.core.address import Address, BadAddress, read_address
from aileron_tui.core.alert_routing import ORDER, PROMPT
from aileron_tui.core.findings import Finding, Problems, TomlSource
from aileron_tui.core.manifest_names import fqn_fault
from aileron_tui.core.reduction import SHORTEST_KEEP
from aileron_tui.core.risk import RiskLevel, RiskRule
from aileron_tui.core.time_spans import read_span
from aileron_tui.core.toml_schema import enforce_schema
from aileron_tui.files.config import (
    DAEMON,
    GATE,
    OPENCODE,
    ActionSettings,
    Config,
    ConfigError,
    ConnectorSettings,
    ConsoleConfig,
    CredentialSource,
    LedgerConfig,
    MetricsConfig,
    NotificationConfig,
    Policy,
    SourceConfig,
    SurfacesConfig,
)
from aileron_tui.files.config_schema import SCHEMA, RiskConfig, check_limits
from aileron_tui.files.manifest_files import UnreadableFile, read_file
from aileron_tui.files.webhook_settings import webhook_settings

_CREDENTIAL_SOURCES: Final = ("env", "command", "keyring")
_PASSWORD_KEYS: Final = ("password_env", "password_file", "password_command")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_HOST_PORT: Final = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\s\x00-\x1f\x7f*:/@\[\]]+):[1-9][0-9]{0,4}")
_TEST_SERVER: Final = re.compile(r"http://(?:localhost|127\.0\.0\.1|\[::1\]):[1-9][0-9]{0,4}/?")
_TUNNEL: Final = "Use https, or an ssh tunnel and the address of its local end."


def read_config(path: Path) -> Config:
    """Returns the configuration in a file. Raises ConfigError for the first problem."""
    try:
        source = TomlSource(str(path), frontmatter.decode(read_file(str(path)), str(path)))
        table = frontmatter.tables(source)
    except UnreadableFile as error:
        raise ConfigError(f"cannot read {path}", str(error)) from None
    except frontmatter.UnreadableManifest as error:
        raise _refusal((error.finding,)) from None
    problems = Problems()
    enforce_schema(table, SCHEMA, (), problems)
    config = _config(table, problems)
    if problems.rejected:
        raise _refusal(problems.findings(source))
    return config


def _refusal(findings: tuple[Finding, ...]) -> ConfigError:
    first, more = findings[0], len(findings) - 1
    rest = f" (and {more} more)" if more else ""
    return ConfigError(f"{first.file}:{first.line}: {first.message}{rest}", hint=first.fix)


def _config(table: dict[str, Any], problems: Problems) -> Config:
    policy, console = table.get("policy", {}), table.get("console", {})
    surfaces = _surfaces(table.get("surfaces", {}), problems)
    notifications = NotificationConfig(**table.get("notifications", {}))
    webhook = webhook_settings(table.get("webhook", {}), problems)
    check_limits(policy, Policy, ("policy",), problems)
    check_limits(console, ConsoleConfig, ("console",), problems)
    rules = tuple(_rule(item, index, problems) for index, item in enumerate(table.get("risk", ())))
    connectors = {name: _settings(name, item, problems) for name, item in table.get("connectors", {}).items()}
    actions = {name: _action(name, item, problems) for name, item in table.get("actions", {}).items()}
    sources = _sources(table.get("sources", []), problems)
    manifests = _manifests(table.get("manifests", []), problems)
    return Config(
        Policy(**policy),
        rules,
        connectors,
        ConsoleConfig(**console),
        sources,
        surfaces,
        notifications,
        webhook,
        MetricsConfig(**table.get("metrics", {})),
        manifests,
        actions,
        _ledger(table.get("ledger", {}), problems),
    )


def _ledger(table: dict[str, Any], problems: Problems) -> LedgerConfig:
    check_limits(table, LedgerConfig, ("ledger",), problems)
    span = read_span(table.get("keep", ""))
    if span is not None and span < SHORTEST_KEEP:
        message = f'ledger.keep must be 1 day or more, not "{table["keep"]}"'
        problems.add(("ledger", "keep"), "out-of-range", message, 'Write 1d or more, such as "365d" or "52w".')
    return LedgerConfig(**table)


def _manifests(folders: list[str], problems: Problems) -> tuple[Path, ...]:
    usable = [folder for folder in folders if folder.startswith(("/", "~/"))]
    for index, folder in enumerate(folders):
        if folder not in usable:
            fix = 'Write a path such as manifests = ["~/aileron-connector-google"].'
            problems.add(("manifests", index), "manifests", f'"{folder}" is not a full path', fix)
        elif folder in folders[:index]:
            problems.add(("manifests", index), "manifests", f'"{folder}" is listed twice', "Remove one of them.")
    return tuple(Path(folder).expanduser() for folder in usable)


def _surfaces(table: dict[str, Any], problems: Problems) -> SurfacesConfig:
    check_limits(table, SurfacesConfig, ("surfaces",), problems)
    order, path = tuple(table.get("order", ORDER)), ("surfaces", "order")
    for number, name in enumerate(order):
        if name == PROMPT:
            message = "the prompt is always alerted last and cannot be ordered"
            problems.add((*path, number), "invalid-value", message, 'Remove "prompt".')
        elif name not in ORDER:
            message = f'"{name}" is not a surface that can be alerted'
            problems.add((*path, number), "invalid-value", message, f"Use one of {', '.join(ORDER)}.")
        elif name in order[:number]:
            message = f'"{name}" is in the order twice'
            problems.add((*path, number), "invalid-value", message, "Name each surface once.")
    return SurfacesConfig(order, table.get("share"))


def _rule(table: dict[str, Any], index: int, problems: Problems) -> RiskRule:
    check_limits(table, RiskConfig, ("risk", index), problems)
    level = table.pop("level", "")
    return RiskRule(RiskLevel(level) if level in set(RiskLevel) else RiskLevel.HIGH, **table)


def _settings(name: str, table: dict[str, Any], problems: Problems) -> ConnectorSettings:
    path = ("connectors", name)
    if fault := fqn_fault(name):
        fix = 'Use the name from its manifest, such as [connectors."github://owner/repo".credential].'
        problems.add(path, "connector-name", f'"{name}" is not a valid connector name: {fault}', fix)
    check_limits(table, ConnectorSettings, path, problems)
    if (credential := table.get("credential")) is not None:
        table["credential"] = _credential(credential, name, problems)
    if "upstream" in table:
        table["upstream"] = _upstream(table["upstream"], name, problems)
    return ConnectorSettings(**table)


def _upstream(table: dict[str, str], connector: str, problems: Problems) -> dict[str, str]:
    """The test servers of a connector by `host:port`; nothing but this machine is allowed."""
    for host, server in table.items():
        path = ("connectors", connector, "upstream", host)
        if not _HOST_PORT.fullmatch(host):
            fix = "Write the host and its port as in the manifest of the connector, such as api.example.com:443."
            problems.add(path, "upstream", f'"{host}" is not a host and a port', fix)
        if not _TEST_SERVER.fullmatch(server):
            fix = "Write an address of this machine with its port, such as http://127.0.0.1:8080."
            problems.add(path, "upstream", f'"{server}" is not a server on this machine', fix)
    return {host.lower(): server.rstrip("/") for host, server in table.items()}


def _action(name: str, table: dict[str, Any], problems: Problems) -> ActionSettings:
    check_limits(table, ActionSettings, ("actions", name), problems)
    return ActionSettings(**table)


def _credential(table: dict[str, Any], connector: str, problems: Problems) -> CredentialSource:
    path = ("connectors", connector, "credential")
    given = [key for key in _CREDENTIAL_SOURCES if table.get(key)]
    if len(given) != 1:
        message = f"the credential of {connector} has {len(given)} sources instead of one"
        fix = f"Set exactly one of {', '.join(_CREDENTIAL_SOURCES)}."
        problems.add(path, "credential-source", message, fix)
    elif given == ["keyring"] and "/" not in table["keyring"]:
        message, fix = "a keyring entry needs a service and a user", 'Write keyring = "service/user".'
        problems.add((*path, "keyring"), "credential-source", message, fix)
    return CredentialSource(**table | {"command": tuple(table.get("command", ()))})


def _sources(tables: list[dict[str, Any]], problems: Problems) -> tuple[SourceConfig, ...]:
    sources: list[SourceConfig] = []
    names: set[str] = set()
    first_at: dict[tuple[str, Address | None], str] = {}
    for index, table in enumerate(tables):
        path = ("sources", index)
        address = _source_address(table, index, problems)
        source = _source(table, index, address, problems)
        if source is None:
            continue
        if source.name in names:
            message = f'two sources are named "{source.name}"'
            problems.add((*path, "name"), "source-name", message, "Give each source its own name.")
        names.add(source.name)
        if address is None and "url" in table:
            continue
        other = first_at.setdefault((source.kind, address), source.name)
        if other != source.name:
            message = f'"{source.name}" is the same {source.kind} as "{other}"'
            problems.add(path, "source-twice", message, "Remove one of them, or set a different url.")
        sources.append(source)
    return tuple(sources)


def _source(table: dict[str, Any], index: int, address: Address | None, problems: Problems) -> SourceConfig | None:
    """The source in one `[[sources]]` table, or None if its name or kind is not valid."""
    check_limits(table, SourceConfig, ("sources", index), problems)
    token_file = _token_file(table, index, address, problems)
    password_file = _password_file(table, index, address, problems)
    name, kind = table.get("name", ""), table.get("kind", "")
    if not name or kind not in (DAEMON, GATE, OPENCODE):
        return None
    if kind == OPENCODE and "url" not in table:
        fix = 'Write the address that `opencode serve` prints, such as url = "http://127.0.0.1:4096".'
        problems.add(("sources", index), "source-url", "opencode needs an address", fix)
    return SourceConfig(
        name,
        kind,
        address.url if address else "",
        token_file,
        table.get("token_env", ""),
        table.get("password_env", ""),
        password_file,
        tuple(table.get("password_command", ())),
        table.get("username", ""),
    )


def _source_address(table: dict[str, Any], index: int, problems: Problems) -> Address | None:
    if "url" not in table:
        return None
    path = ("sources", index, "url")
    try:
        address = read_address(table["url"])
    except BadAddress as error:
        fix = "Write an address such as http://127.0.0.1:54321, or remove url to use this machine."
        problems.add(path, "source-url", f"this is not a valid address: {error}", fix)
        return None
    if table.get("kind") == GATE and not address.is_confidential:
        problems.add(path, "source-url", "your session would be sent unencrypted over the network", _TUNNEL)
    return address


def _token_file(table: dict[str, Any], index: int, address: Address | None, problems: Problems) -> Path | None:
    """The file with a daemon's token. Reports every problem with the settings of the token."""
    path = ("sources", index)
    given = [key for key in ("token_file", "token_env") if key in table]
    if not given:
        return None
    if table.get("kind") == GATE:
        message = "a gate needs no token, because it identifies you by your key"
        problems.add((*path, given[0]), "source-token", message, f"Remove {given[0]}.")
    if table.get("kind") == OPENCODE:
        fix = f"Use {given[0].replace('token', 'password')} instead."
        problems.add((*path, given[0]), "source-token", "opencode has a password, not a token", fix)
    if len(given) > 1:
        message, fix = "the token has 2 sources instead of one", "Set only one of token_file and token_env."
        problems.add((*path, given[1]), "source-token", message, fix)
    if address is not None and not address.is_confidential:
        message = "the token would be sent unencrypted over the network"
        problems.add((*path, "url"), "source-token", message, _TUNNEL)
    _check_variable(table, index, "token_env", "WORK_TOKEN", problems)
    return _full_path(table, index, "token_file", "~/.aileron/work.token", problems)


def _password_file(table: dict[str, Any], index: int, address: Address | None, problems: Problems) -> Path | None:
    """The file with opencode's password. Reports every problem with the settings of the password."""
    path = ("sources", index)
    given = [key for key in _PASSWORD_KEYS if key in table]
    if table.get("kind") in (DAEMON, GATE):
        for key in [*given, *(["username"] if "username" in table else [])]:
            message = f"a {table['kind']} has no user name and no password"
            problems.add((*path, key), "source-password", message, f"Remove {key}.")
        return None
    if len(given) > 1:
        message = f"the password has {len(given)} sources instead of one"
        problems.add((*path, given[1]), "source-password", message, f"Set only one of {', '.join(_PASSWORD_KEYS)}.")
    if given and address is not None and not address.is_confidential:
        message = "the password would be sent unencrypted over the network"
        problems.add((*path, "url"), "source-password", message, _TUNNEL)
    if ":" in table.get("username", ""):
        message, fix = "a user name cannot contain a colon", "Write the user name only."
        problems.add((*path, "username"), "source-password", message, fix)
    _check_variable(table, index, "password_env", "OPENCODE_SERVER_PASSWORD", problems)
    return _full_path(table, index, "password_file", "~/.aileron/opencode.password", problems)


def _check_variable(table: dict[str, Any], index: int, key: str, example: str, problems: Problems) -> None:
    if key in table and not _VARIABLE.fullmatch(table[key]):
        # The value may be the secret itself, so the message does not repeat it.
        message = "this is not the name of an environment variable"
        rule = f"source-{key.partition('_')[0]}"
        problems.add(("sources", index, key), rule, message, f'Write its name, such as {key} = "{example}".')


def _full_path(table: dict[str, Any], index: int, key: str, example: str, problems: Problems) -> Path | None:
    if key not in table:
        return None
    if not table[key].startswith(("/", "~/")):
        rule, fix = f"source-{key.partition('_')[0]}", f'Write a path such as {key} = "{example}".'
        problems.add(("sources", index, key), rule, "this is not a full path", fix)
    return Path(table[key])
