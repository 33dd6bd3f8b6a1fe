"""The connectors that can be called: checked against their pin, loaded, and called within their limits."""

import threading
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from aileron_tui.core.action import Action, Requirement
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.sandbox.connector_call import CallLimits, CallResult, Invocation, invoke, shared_engine
from aileron_tui.sandbox.connector_package import ConnectorPackage, PinnedPackage, PublisherKeyring, pin
from aileron_tui.sandbox.credentials import AccountChoice, Credentials
from aileron_tui.sandbox.engine import LoadedModule
from aileron_tui.sandbox.failure import Boundary, CallRefused, Failure, FailureKind
from aileron_tui.sandbox.network import UpstreamClient


@dataclass(frozen=True, slots=True)
class LoadedConnector:
    """A connector whose package was checked and whose module is loaded."""

    pinned: PinnedPackage
    module: LoadedModule


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """User settings: the cache folder for compiled modules, credentials, trusted publishers, and limits.

    Without a `cache` folder every process compiles its modules. `limits_by_connector` overrides `limits`.
    """

    cache: Path | None = None
    credentials: Credentials = field(default_factory=Credentials)
    keyring: PublisherKeyring = field(default_factory=PublisherKeyring)
    limits: CallLimits = field(default_factory=CallLimits)
    limits_by_connector: Mapping[str, CallLimits] = field(default_factory=dict)


class LoadedConnectors:
    """Loads and calls the connectors that actions require. Thread-safe."""

    def __init__(
        self, packages: Mapping[str, ConnectorPackage], settings: SandboxSettings, client: UpstreamClient
    ) -> None:
        self._packages = packages
        self._settings = settings
        self._client = client
        self._loaded: dict[tuple[str, str, str], LoadedConnector] = {}
        self._lock = threading.Lock()

    @staticmethod
    def requirement_of(action: Action, name: str) -> Requirement:
        """Returns an action's requirement for a connector; raises CallRefused if it declares none."""
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

    def load(self, requirement: Requirement) -> LoadedConnector:
        """Returns the connector, checked and loaded; raises CallRefused.

        Packages are immutable, so each package object is hashed only once.
        """
        package = self._packages.get(requirement.name)
        if package is None:
            why = f"the connector {requirement.name} is not installed"
            raise CallRefused(Failure(FailureKind.CONNECTOR_LOAD_FAILED, why, why, Boundary.RUNTIME))
        key = (requirement.name, requirement.version, requirement.hash)
        with self._lock:
            cached = self._loaded.get(key)
        if cached is not None and cached.pinned.package is package:
            return cached
        pinned = pin(package, requirement, self._settings.keyring)
        loaded = LoadedConnector(pinned, shared_engine().load(package.wasm, pinned.wasm_digest, self._settings.cache))
        with self._lock:
            self._loaded[key] = loaded
        return loaded

    def choose_account(self, action: Action, requirement: Requirement) -> AccountChoice:
        """The account that a connector would use for an action. A connector that cannot be loaded uses none."""
        try:
            connector = self.load(requirement).pinned.connector
        except CallRefused:
            return AccountChoice()
        return self._settings.credentials.choose(action.name, connector)

    @property
    def accounts_revision(self) -> int:
        """Changes whenever another account may be chosen than before."""
        return self._settings.credentials.revision

    def call(self, loaded: LoadedConnector, op: str, args: JsonObject, account: str, *, preview: bool) -> CallResult:
        """Runs one op with an account; as a preview it has less time and may only read."""
        connector = loaded.pinned.connector
        limits = self._settings.limits_by_connector.get(connector.name, self._settings.limits)
        seconds = limits.preview_seconds if preview else limits.execute_seconds
        methods = limits.preview_methods if preview else None
        invocation = Invocation(op, args, seconds, methods, limits, account)
        return invoke(loaded.module, connector, invocation, self._client, self._settings.credentials)
