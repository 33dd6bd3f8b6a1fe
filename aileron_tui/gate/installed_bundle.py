"""What can be called now: the actions of a bundle folder, their connectors loaded, and how the folder looked then."""

import os
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path

from aileron_tui.core.action import Action
from aileron_tui.core.findings import Finding, Severity
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.prompt import ConnectorRef
from aileron_tui.core.values import dataclass
from aileron_tui.files.config import Config
from aileron_tui.files.manifest_files import load_bundle
from aileron_tui.sandbox.connector_call import CallLimits
from aileron_tui.sandbox.connector_package import PublisherKeyring, read_packages
from aileron_tui.sandbox.credentials import Binding, Credentials, FromCommand, FromEnvironment, FromKeyring
from aileron_tui.sandbox.failure import Failure
from aileron_tui.sandbox.loaded_connectors import SandboxSettings
from aileron_tui.sandbox.network import UpstreamClient
from aileron_tui.sandbox.sandbox import Sandbox

Look = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class InstalledBundle:
    """A bundle, ready to be called. A change of the folder makes a new one; requests keep the one they began with."""

    actions: Mapping[str, Action]
    connectors: Mapping[str, ConnectorRef]
    findings: tuple[Finding, ...]
    failures: Mapping[str, Failure]
    sandbox: Sandbox
    look: Look

    def ref(self, action: Action) -> ConnectorRef:
        """The connector of an action's first step, as far as it is known."""
        name = action.execute[0].connector
        return self.connectors.get(name) or ConnectorRef(name, trust="not installed")

    def described(self) -> JsonObject:
        """The actions as agents list them, and what could not be loaded."""
        listing: JsonObject = {"items": [described(action) for action in self.actions.values()]}
        errors: list[Json] = [
            {"class": finding.rule, "message": finding.message, "file": Path(finding.file).name, "line": finding.line}
            for finding in self.findings
            if finding.severity is Severity.ERROR
        ]
        return listing | {"load_errors": errors} if errors else listing


def install(folder: Path, settings: SandboxSettings) -> InstalledBundle:
    """Reads a bundle folder and loads its connectors. Slow the first time, when modules are compiled."""
    look = look_at(folder)
    bundle = load_bundle(folder)
    client = UpstreamClient()
    sandbox = Sandbox(read_packages(folder), settings, client)
    weakref.finalize(sandbox, client.close)  # one that was replaced lives as long as a request that began with it
    failures = sandbox.prepare(bundle.actions.values())
    refs = {
        requirement.name: ConnectorRef(
            requirement.name, requirement.version, requirement.hash, sandbox.trust(requirement)
        )
        for action in bundle.actions.values()
        for requirement in action.requires
    }
    return InstalledBundle(bundle.actions, refs, bundle.findings, failures, sandbox, look)


def look_at(folder: Path) -> Look:
    """Names, times and sizes of everything that is read from a bundle folder, to notice a change."""
    return tuple(sorted(_entries(folder)))


def _entries(folder: Path) -> Iterator[tuple[str, int, int]]:
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "source"]
        for name in files:
            path = Path(root) / name
            try:
                status = path.stat()
            except OSError:
                continue
            yield str(path), status.st_mtime_ns, status.st_size


def described(action: Action) -> JsonObject:
    """An action in the shape of Aileron's API; how an operator is shown it is not the agent's business."""
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
        "body": action.body,
    }


def settings_of(config: Config, cache: Path | None, keyring: PublisherKeyring) -> SandboxSettings:
    """The sandbox's settings from the user's configuration."""
    bindings: dict[str, Binding] = {}
    bounds: dict[str, CallLimits] = {}
    for name, connector in config.connectors.items():
        if source := connector.credential:
            service, _, user = source.keyring.partition("/")
            origin = (
                FromEnvironment(source.env)
                if source.env
                else FromCommand(source.command)
                if source.command
                else FromKeyring(service, user)
            )
            bindings[name] = Binding(origin, source.region, source.access_key_id)
        bound = CallLimits()
        bounds[name] = CallLimits(
            memory=connector.memory_mib * 1024 * 1024 if connector.memory_mib else bound.memory,
            preview_methods=bound.preview_methods | {"POST"} if connector.preview_may_post else bound.preview_methods,
        )
    return SandboxSettings(cache=cache, credentials=Credentials(bindings), keyring=keyring, limits_by_connector=bounds)
