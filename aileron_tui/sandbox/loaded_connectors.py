"""The connectors that can be called: their packages checked against the pin, loaded, and bounded."""

import threading
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from aileron_tui.core.action import Action, Requirement
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.sandbox.connector_call import CallBounds, CallResult, Invocation, invoke, machine
from aileron_tui.sandbox.connector_package import ConnectorPackage, PinnedPackage, PublisherKeyring, pin
from aileron_tui.sandbox.credentials import Credentials
from aileron_tui.sandbox.engine import LoadedModule
from aileron_tui.sandbox.failure import Boundary, CallRefused, Failure, FailureKind
from aileron_tui.sandbox.network import UpstreamClient


@dataclass(frozen=True, slots=True)
class LoadedConnector:
    """A connector whose bytes were checked and whose module is loaded."""

    pinned: PinnedPackage
    loaded: LoadedModule


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """What the user decides: where compiled modules are kept, credentials, trusted publishers, and bounds.

    Without a `cache` folder every process compiles anew. `bounds_of` holds the bounds of single connectors.
    """

    cache: Path | None = None
    credentials: Credentials = field(default_factory=Credentials)
    keyring: PublisherKeyring = field(default_factory=PublisherKeyring)
    bounds: CallBounds = field(default_factory=CallBounds)
    bounds_of: Mapping[str, CallBounds] = field(default_factory=dict)


class LoadedConnectors:
    """Calls connectors by the requirement of an action. Safe to use from many threads."""

    def __init__(
        self, packages: Mapping[str, ConnectorPackage], settings: SandboxSettings, client: UpstreamClient
    ) -> None:
        self._packages = packages
        self._settings = settings
        self._client = client
        self._ready: dict[tuple[str, str, str], LoadedConnector] = {}
        self._lock = threading.Lock()

    @staticmethod
    def required(action: Action, name: str) -> Requirement:
        """The requirement of an action for a connector; raises Refused where it declares none."""
        requirement = action.requirement(name)
        if requirement is None:
            raise CallRefused(
                Failure(
                    FailureKind.CAPABILITY_DENIED,
                    "connector not declared as a dependency",
                    f"the action does not declare the connector {name}",
                    Boundary.ACTION,
                    details={"connector": name},
                )
            )
        return requirement

    def ready(self, requirement: Requirement) -> LoadedConnector:
        """The connector, checked and loaded; raises Refused.

        A package is a frozen value: while the very same one is at hand, what was checked is what runs. Any other is
        hashed anew.
        """
        package = self._packages.get(requirement.name)
        if package is None:
            why = f"the connector {requirement.name} is not installed"
            raise CallRefused(Failure(FailureKind.CONNECTOR_LOAD_FAILED, why, why, Boundary.RUNTIME))
        key = (requirement.name, requirement.version, requirement.hash)
        with self._lock:
            known = self._ready.get(key)
        if known is not None and known.pinned.package is package:
            return known
        pinned = pin(package, requirement, self._settings.keyring)
        ready = LoadedConnector(pinned, machine().load(package.wasm, pinned.wasm_digest, self._settings.cache))
        with self._lock:
            self._ready[key] = ready
        return ready

    def call(self, ready: LoadedConnector, op: str, args: JsonObject, *, reading: bool) -> CallResult:
        """Runs one operation: as a preview, which is short and only reads, or as the real thing."""
        connector = ready.pinned.connector
        bounds = self._settings.bounds_of.get(connector.name, self._settings.bounds)
        seconds = bounds.preview_seconds if reading else bounds.execute_seconds
        methods = bounds.preview_methods if reading else None
        invocation = Invocation(op, args, seconds, methods, bounds)
        return invoke(ready.loaded, connector, invocation, self._client, self._settings.credentials)
