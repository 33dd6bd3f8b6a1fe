"""The connectors that can be called: checked against their pin, loaded when they are first called, and called
within their limits.
"""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from aileron_tui.core.action import Action, Requirement
from aileron_tui.core.binding_change import DEFAULT_ACCOUNT
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.proxy_settings import ProxySettings
from aileron_tui.core.resolved_step import ConnectorRef
from aileron_tui.core.toml_schema import nearest
from aileron_tui.core.values import dataclass
from aileron_tui.files.certificate_trust import CertificateTrust
from aileron_tui.sandbox.connector_call import (
    CallLimits,
    CallResult,
    Invocation,
    Surroundings,
    invoke,
    shared_engine,
)
from aileron_tui.sandbox.connector_package import ConnectorPackage, PinnedPackage, PublisherKeyring, pin
from aileron_tui.sandbox.credentials import AccountChoice, Credentials
from aileron_tui.sandbox.engine import LoadedModule, check_format
from aileron_tui.sandbox.failure import Boundary, CallRefused, Failure, FailureKind
from aileron_tui.sandbox.http_exchange import Recording
from aileron_tui.sandbox.network import UpstreamClient
from aileron_tui.sandbox.network_grant import NetworkGrant, Url, bracketed, normalized_host


@dataclass(frozen=True, slots=True)
class LoadedConnector:
    """A connector whose package was checked and whose module is loaded."""

    pinned: PinnedPackage
    module: LoadedModule


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """User settings: the cache folder for compiled modules, credentials, trusted publishers, limits and the network.

    Without a `cache` folder every process compiles its modules. `limits_by_connector` overrides `limits`.
    `test_servers` are asked in place of the hosts of a connector, by its name and by `host:port`.
    """

    cache: Path | None = None
    credentials: Credentials = field(default_factory=Credentials)
    keyring: PublisherKeyring = field(default_factory=PublisherKeyring)
    limits: CallLimits = field(default_factory=CallLimits)
    limits_by_connector: Mapping[str, CallLimits] = field(default_factory=dict)
    test_servers: Mapping[str, Mapping[str, Url]] = field(default_factory=dict)
    trust: CertificateTrust = field(default_factory=CertificateTrust)
    proxies: ProxySettings = field(default_factory=ProxySettings)

    def client(self) -> UpstreamClient:
        """A client that trusts these authorities and uses these proxies."""
        return UpstreamClient(trust=self.trust, proxies=self.proxies)

    def limits_of(self, connector: str) -> CallLimits:
        """The limits of the calls of a connector."""
        return self.limits_by_connector.get(connector, self.limits)


@dataclass(frozen=True, slots=True)
class OpCall:
    """An op with its inputs and the account that it uses.

    `idempotent` means that it may be repeated, `gated` that somebody approved it.
    """

    op: str
    inputs: JsonObject
    account: str = ""
    idempotent: bool = False
    gated: bool = False


class LoadedConnectors:
    """Loads and calls the connectors that actions require. Thread-safe."""

    def __init__(
        self,
        packages: Mapping[str, ConnectorPackage],
        settings: SandboxSettings,
        client: UpstreamClient,
        recording: Recording | None = None,
    ) -> None:
        self._packages = packages
        self._settings = settings
        self._client = client
        self._recording = recording
        self._pinned: dict[tuple[str, str, str], PinnedPackage] = {}
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

    def check(self, requirement: Requirement) -> PinnedPackage:
        """Returns the package of a connector, checked but not loaded; raises CallRefused.

        Packages are immutable, so each package object is hashed only once.
        """
        package = self._packages.get(requirement.name)
        if package is None:
            why = f"the connector {requirement.name} is not installed"
            raise CallRefused(Failure(FailureKind.CONNECTOR_LOAD_FAILED, why, why, Boundary.RUNTIME))
        key = (requirement.name, requirement.version, requirement.hash)
        with self._lock:
            cached = self._pinned.get(key)
        if cached is not None and cached.package is package:
            return cached
        pinned = pin(package, requirement, self._settings.keyring)
        check_format(package.wasm)
        with self._lock:
            self._pinned[key] = pinned
        return pinned

    def load(self, requirement: Requirement) -> LoadedConnector:
        """Returns the connector, checked and loaded, which takes long if it must be compiled; raises CallRefused."""
        pinned = self.check(requirement)
        key = (requirement.name, requirement.version, requirement.hash)
        with self._lock:
            cached = self._loaded.get(key)
        if cached is not None and cached.pinned is pinned:
            return cached
        module = shared_engine().load(pinned.package.wasm, pinned.wasm_digest, self._settings.cache, requirement.name)
        loaded = LoadedConnector(pinned, module)
        with self._lock:
            self._loaded[key] = loaded
        return loaded

    def is_loaded(self, requirement: Requirement) -> bool:
        """Whether a connector can be called at once."""
        with self._lock:
            return (requirement.name, requirement.version, requirement.hash) in self._loaded

    def compiling_since(self, requirement: Requirement) -> float | None:
        """When the compilation of a connector began on the monotonic clock; None if it is not being compiled."""
        with self._lock:
            pinned = self._pinned.get((requirement.name, requirement.version, requirement.hash))
        return shared_engine().compiling_since(pinned.wasm_digest) if pinned else None

    def choose_account(self, action: Action, requirement: Requirement) -> AccountChoice:
        """The account that a connector would use for an action. A connector that cannot be loaded uses none."""
        try:
            connector = self.check(requirement).connector
        except CallRefused:
            return AccountChoice()
        return self._settings.credentials.choose(action.name, connector)

    def used_by(self, ref: ConnectorRef) -> Iterator[str]:
        """A connector, its hosts whatever the port, and its account, each as a text."""
        yield f"connector {ref.name}"
        if ref.account and ref.account != DEFAULT_ACCOUNT:
            yield f"account {ref.account.casefold()}"
        if source := self._settings.credentials.configured_source(ref.name):
            yield f"credential {source}"
        with self._lock:
            pinned = self._pinned.get((ref.name, ref.version, ref.hash))  # what was not checked cannot run
        for host_port in pinned.connector.hosts or () if pinned else ():
            yield f"host {normalized_host(host_port).rpartition(':')[0]}"
        for server in self._settings.test_servers.get(ref.name, {}).values():
            yield f"host {bracketed(server.host)}"

    @property
    def accounts_revision(self) -> int:
        """Changes whenever another account may be chosen than before."""
        return self._settings.credentials.revision

    def call(self, loaded: LoadedConnector, op: OpCall, *, preview: bool) -> CallResult:
        """Runs one op; as a preview it has less time and may only read, and so may be repeated."""
        connector = loaded.pinned.connector
        limits = self._settings.limits_of(connector.name)
        seconds = limits.preview_seconds if preview else limits.execute_seconds
        methods = limits.preview_methods if preview else None
        repeatable = op.idempotent or preview
        invocation = Invocation(op.op, op.inputs, seconds, methods, limits, repeatable, op.gated, op.account)
        test_servers = self._settings.test_servers.get(connector.name, {})
        if wrong := NetworkGrant(connector.hosts).not_granted(test_servers):
            return CallResult(failure=_wrong_test_server(connector.name, wrong[0], connector.hosts or frozenset()))
        surroundings = Surroundings(self._client, self._settings.credentials, test_servers, self._recording)
        return invoke(loaded.module, connector, invocation, surroundings)


def _wrong_test_server(connector: str, host_port: str, hosts: frozenset[str]) -> Failure:
    """A misspelled host would go on reaching the real service, so nothing is sent at all."""
    close = nearest(host_port, sorted(hosts))
    meant = f'; did you mean "{close}"?' if close else ""
    why = f'[connectors."{connector}".upstream] names {host_port}, which is not a host of this connector{meant}'
    return Failure(FailureKind.CAPABILITY_DENIED, why, why, Boundary.RUNTIME)
