"""The interface of the sandbox: previews and executions. Calls block and may come from any thread."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import TracebackType

from aileron_tui.core.action import Action, Requirement
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.resolved_call import ResolvedCall, resolve_call
from aileron_tui.core.resolved_step import ConnectorRef
from aileron_tui.core.upstream_words import upstream_warning
from aileron_tui.sandbox import execution, preview
from aileron_tui.sandbox.connector_package import ConnectorPackage
from aileron_tui.sandbox.execution import Execution
from aileron_tui.sandbox.failure import CallRefused, Failure
from aileron_tui.sandbox.http_exchange import Recording
from aileron_tui.sandbox.loaded_connectors import LoadedConnectors, SandboxSettings
from aileron_tui.sandbox.network import UpstreamClient
from aileron_tui.sandbox.preview import PreviewOutcome


class Sandbox:
    """Runs the connectors in `packages` (by name) under the given settings.

    With a `recording`, what they exchange with services is recorded or replayed.
    """

    def __init__(
        self,
        packages: Mapping[str, ConnectorPackage],
        settings: SandboxSettings | None = None,
        client: UpstreamClient | None = None,
        recording: Recording | None = None,
    ) -> None:
        self._settings = settings or SandboxSettings()
        self._client = client or self._settings.client()
        self._connectors = LoadedConnectors(packages, self._settings, self._client, recording)

    def check(self, actions: Iterable[Action]) -> dict[str, Failure]:
        """Checks every connector these actions use; each is loaded when it is first called.

        Returns the failures by connector.
        """
        return self._failures(actions, self._connectors.check)

    def prepare(self, actions: Iterable[Action]) -> dict[str, Failure]:
        """Checks and loads every connector these actions use, which takes long if they must be compiled.

        Returns the failures by connector.
        """
        return self._failures(actions, self._connectors.load)

    @staticmethod
    def _failures(actions: Iterable[Action], use: Callable[[Requirement], object]) -> dict[str, Failure]:
        failures: dict[str, Failure] = {}
        for requirement in dict.fromkeys(item for action in actions for item in action.requires):
            try:
                use(requirement)
            except CallRefused as refused:
                failures[requirement.name] = refused.failure
        return failures

    def not_loaded(self, call: ResolvedCall) -> tuple[Requirement, ...]:
        """The connectors that a call uses and that are not loaded yet."""
        names = {step.connector.name for step in call.steps}
        found = (requirement for requirement in call.action.requires if requirement.name in names)
        return tuple(requirement for requirement in found if not self._connectors.is_loaded(requirement))

    def load(self, requirement: Requirement) -> None:
        """Loads a connector. Why one cannot be loaded is told by the calls that use it."""
        with suppress(CallRefused):
            self._connectors.load(requirement)

    def compiling_since(self, requirement: Requirement) -> float | None:
        """When the compilation of a connector began on the monotonic clock; None if it is not being compiled."""
        return self._connectors.compiling_since(requirement)

    def trust(self, requirement: Requirement) -> str:
        """Returns the trust label of a connector's publisher, or why the connector cannot be used."""
        try:
            return self._connectors.check(requirement).trust
        except CallRefused as refused:
            return refused.failure.reason

    def connectors(self, action: Action) -> dict[str, ConnectorRef]:
        """Returns the connectors that an action pins, by name, with the accounts that they would use now."""
        return {needed.name: self._connector(action, needed) for needed in reversed(action.requires)}

    def _connector(self, action: Action, needed: Requirement) -> ConnectorRef:
        chosen = self._connectors.choose_account(action, needed)
        return ConnectorRef(needed.name, needed.version, needed.hash, self.trust(needed), chosen.account, chosen.needs)

    @property
    def accounts_revision(self) -> int:
        """Changes whenever connectors may use other accounts than before."""
        return self._connectors.accounts_revision

    def resolve(self, action: Action, args: JsonObject) -> ResolvedCall:
        """Resolves a call of an action."""
        return resolve_call(action, args, self.connectors(action), self.warnings(action))

    def warnings(self, action: Action) -> tuple[str, ...]:
        """What the operator is warned about in every call of an action: connectors that use a test server."""
        used = dict.fromkeys(step.connector for step in action.execute)
        servers = ((name, self._settings.test_servers.get(name, {})) for name in used)
        return tuple(
            upstream_warning(name, {host: str(url).rstrip("/") for host, url in found.items()})
            for name, found in servers
            if found
        )

    def preview(self, call: ResolvedCall) -> PreviewOutcome | None:
        """Fetches the preview of a call; returns None if the action has no preview."""
        return preview.fetch(self._connectors, call)

    def used_by(self, call: ResolvedCall) -> frozenset[str]:
        """The connectors that the steps of a call use, and their hosts and accounts, each as a text.

        Calls that have none of them in common cannot change what the others' previews show, as far as this can be
        known.
        """
        return frozenset(name for step in call.steps for name in self._connectors.used_by(step.connector))

    def longest_execution(self, call: ResolvedCall) -> float:
        """How many seconds the steps of a call may take together."""
        return sum(self._settings.limits_of(step.connector.name).execute_seconds for step in call.steps)

    def execute(self, call: ResolvedCall) -> Execution:
        """Runs the steps of a call."""
        return execution.run(self._connectors, call)

    def close(self) -> None:
        """Closes the pooled connections."""
        self._client.close()

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
