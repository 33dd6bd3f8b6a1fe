"""The interface of the sandbox: previews and executions. Calls block and may come from any thread."""

from collections.abc import Iterable, Mapping
from types import TracebackType

from aileron_tui.core.action import Action, Requirement
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.resolved_call import ResolvedCall, resolve_call
from aileron_tui.core.resolved_step import ConnectorRef
from aileron_tui.sandbox import execution, preview
from aileron_tui.sandbox.connector_package import ConnectorPackage
from aileron_tui.sandbox.execution import Execution
from aileron_tui.sandbox.failure import CallRefused, Failure
from aileron_tui.sandbox.loaded_connectors import LoadedConnectors, SandboxSettings
from aileron_tui.sandbox.network import UpstreamClient
from aileron_tui.sandbox.preview import PreviewOutcome


class Sandbox:
    """Runs the connectors in `packages` (by name) under the given settings."""

    def __init__(
        self,
        packages: Mapping[str, ConnectorPackage],
        settings: SandboxSettings | None = None,
        client: UpstreamClient | None = None,
    ) -> None:
        self._client = client or UpstreamClient()
        self._connectors = LoadedConnectors(packages, settings or SandboxSettings(), self._client)

    def prepare(self, actions: Iterable[Action]) -> dict[str, Failure]:
        """Checks and loads every connector these actions use, so that no prompt has to wait for compilation.

        Returns the failures by connector.
        """
        failures: dict[str, Failure] = {}
        for requirement in dict.fromkeys(item for action in actions for item in action.requires):
            try:
                self._connectors.load(requirement)
            except CallRefused as refused:
                failures[requirement.name] = refused.failure
        return failures

    def trust(self, requirement: Requirement) -> str:
        """Returns the trust label of a connector's publisher, or why the connector cannot be used."""
        try:
            return self._connectors.load(requirement).pinned.trust
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
        return resolve_call(action, args, self.connectors(action))

    def preview(self, call: ResolvedCall) -> PreviewOutcome | None:
        """Fetches the preview of a call; returns None if the action has no preview."""
        return preview.fetch(self._connectors, call)

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
