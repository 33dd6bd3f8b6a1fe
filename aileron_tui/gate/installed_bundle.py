"""An installed bundle: its actions, its connectors, and the state of its folder when it was read."""

import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final

from aileron_tui.core.action import Action
from aileron_tui.core.bundle import Bundle
from aileron_tui.core.findings import Finding, Severity
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.prompt import ConnectorRef
from aileron_tui.core.proxy_settings import read_proxy_settings
from aileron_tui.core.resolved_call import ResolvedCall, resolve_call
from aileron_tui.core.risk import RiskRule, assess
from aileron_tui.core.values import dataclass
from aileron_tui.files.certificate_trust import certificate_trust
from aileron_tui.files.config import Config
from aileron_tui.files.manifest_files import load_bundle
from aileron_tui.sandbox.connector_call import CallLimits
from aileron_tui.sandbox.connector_package import ConnectorPackage, PublisherKeyring, read_packages
from aileron_tui.sandbox.credentials import (
    Accounts,
    ConfiguredCredential,
    Credentials,
    FromCommand,
    FromEnvironment,
    FromKeyring,
)
from aileron_tui.sandbox.failure import Failure
from aileron_tui.sandbox.loaded_connectors import SandboxSettings
from aileron_tui.sandbox.network_grant import Url, normalized_host, read_url
from aileron_tui.sandbox.sandbox import Sandbox

_MIB: Final = 1024 * 1024
FolderState = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class InstalledBundle:
    """A bundle whose actions can be called. Running ops keep their bundle when the folder changes."""

    actions: Mapping[str, Action]
    findings: tuple[Finding, ...]
    failures: Mapping[str, Failure]
    sandbox: Sandbox
    folder_state: FolderState
    _refs: dict[str, tuple[int, Mapping[str, ConnectorRef]]] = field(default_factory=dict)

    def connectors(self, action: Action) -> Mapping[str, ConnectorRef]:
        """The connectors of one of the actions by name, with the accounts that they would use now."""
        revision = self.sandbox.accounts_revision
        known = self._refs.get(action.name)
        if known is None or known[0] != revision:
            known = self._refs[action.name] = (revision, self.sandbox.connectors(action))
        return known[1]

    def resolve(self, action: Action, args: JsonObject) -> ResolvedCall:
        """Resolves a call of one of the actions."""
        return resolve_call(action, args, self.connectors(action), self.sandbox.warnings(action))

    def connector_count(self) -> int:
        """How many connectors the actions use."""
        return len({needed.name for action in self.actions.values() for needed in action.requires})

    def listing(self, risk_rules: Sequence[RiskRule]) -> JsonObject:
        """Lists the actions for agents, and what could not be loaded."""
        listing: JsonObject = {"items": [action_json(action, risk_rules) for action in self.actions.values()]}
        errors: list[Json] = [
            {"class": finding.rule, "message": finding.message, "file": Path(finding.file).name, "line": finding.line}
            for finding in self.findings
            if finding.severity is Severity.ERROR
        ]
        return listing | {"load_errors": errors} if errors else listing


def install(folder: Path, settings: SandboxSettings, *more: Path) -> InstalledBundle:
    """Reads a bundle folder, or several together, and checks its connectors."""
    folders = (folder, *more)
    state = folder_state(*folders)
    return install_content(load_bundle(*folders), read_packages(*folders), settings, state)


def install_content(
    bundle: Bundle, packages: Mapping[str, ConnectorPackage], settings: SandboxSettings, state: FolderState
) -> InstalledBundle:
    """Checks the connectors of a bundle that was read; each is loaded when it is first called.

    `state` is that of the files when they were read.
    """
    client = settings.client()
    sandbox = Sandbox(packages, settings, client)
    weakref.finalize(sandbox, client.close)  # a replaced sandbox is used until its last request ends
    failures = sandbox.check(bundle.actions.values())
    return InstalledBundle(bundle.actions, bundle.findings, failures, sandbox, state)


def folder_state(*folders: Path) -> FolderState:
    """Returns the names, times and sizes of all files in bundle folders, to detect changes."""
    return tuple(sorted({state for folder in folders for state in _file_states(folder)}))


def _file_states(folder: Path) -> Iterator[tuple[str, int, int]]:
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "source"]
        for name in files:
            path = Path(root) / name
            try:
                status = path.stat()
            except OSError:
                continue
            yield str(path), status.st_mtime_ns, status.st_size


def action_json(action: Action, risk_rules: Sequence[RiskRule]) -> JsonObject:
    """Returns an action in the format of Aileron's API, without the parts that only the operator needs.

    `risk` and `idempotent`, which Aileron does not have, tell a client what to expect of a call. An action is
    idempotent if its manifest says so of every step.
    """
    inputs: list[Json] = [
        {
            "name": field.name,
            "type": field.type,
            "required": field.required,
            "description": field.description,
            **({"items_type": field.items_type} if field.items_type else {}),
        }
        for field in action.inputs
    ]
    return {
        "name": action.name,
        "version": action.version,
        "source": action.source,
        "match": {"intent": action.intent},
        "inputs": inputs,
        "approval": {"required": action.gated},
        "risk": assess(action, risk_rules).level,
        "idempotent": all(step.idempotent is True for step in action.execute),
        "body": action.body,
    }


def sandbox_settings(
    config: Config,
    cache: Path | None,
    keyring: PublisherKeyring,
    op_seconds: float = CallLimits().execute_seconds,
    accounts: Accounts | None = None,
) -> SandboxSettings:
    """Builds the sandbox settings from the user's configuration. `op_seconds` is the time limit of each step."""
    configured: dict[str, ConfiguredCredential] = {}
    limits: dict[str, CallLimits] = {}
    test_servers: dict[str, dict[str, Url]] = {}
    defaults = CallLimits(execute_seconds=op_seconds)
    for name, connector in config.connectors.items():
        if source := connector.credential:
            service, _, user = source.keyring.partition("/")
            secret_source = (
                FromEnvironment(source.env)
                if source.env
                else FromCommand(source.command)
                if source.command
                else FromKeyring(service, user)
            )
            configured[name] = ConfiguredCredential(secret_source, source.region, source.access_key_id)
        limits[name] = CallLimits(
            execute_seconds=connector.seconds or op_seconds,
            memory=connector.memory_mib * _MIB if connector.memory_mib else defaults.memory,
            response=connector.body_mib * _MIB if connector.body_mib else defaults.response,
            preview_methods=defaults.preview_methods | {"POST"}
            if connector.preview_may_post
            else defaults.preview_methods,
        )
        if connector.upstream:
            test_servers[name] = {
                normalized_host(host): read_url(server) for host, server in connector.upstream.items()
            }
    return SandboxSettings(
        cache=cache,
        credentials=Credentials(configured, accounts),
        keyring=keyring,
        limits=defaults,
        limits_by_connector=limits,
        test_servers=test_servers,
        trust=certificate_trust(),
        proxies=read_proxy_settings(os.environ),
    )
