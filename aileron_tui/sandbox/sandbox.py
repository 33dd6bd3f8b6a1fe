"""The one door to the sandbox: previews and executions, blocking, from as many threads as the caller likes."""

from collections.abc import Iterable, Mapping
from types import TracebackType

from aileron_tui.core.action import Action, Requirement
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.sandbox import execution, preview
from aileron_tui.sandbox.connector_package import ConnectorPackage
from aileron_tui.sandbox.execution import Execution
from aileron_tui.sandbox.failure import CallRefused, Failure
from aileron_tui.sandbox.loaded_connectors import LoadedConnectors, SandboxSettings
from aileron_tui.sandbox.network import UpstreamClient
from aileron_tui.sandbox.preview import PreviewOutcome


class Sandbox:
    """Runs the connectors in `packages`, by name, as the settings allow."""

    def __init__(
        self,
        packages: Mapping[str, ConnectorPackage],
        settings: SandboxSettings | None = None,
        client: UpstreamClient | None = None,
    ) -> None:
        self._client = client or UpstreamClient()
        self._connectors = LoadedConnectors(packages, settings or SandboxSettings(), self._client)

    def prepare(self, actions: Iterable[Action]) -> dict[str, Failure]:
        """Checks and loads every connector these actions use, so that no prompt waits for a compiler.

        Gives the failures by connector.
        """
        failures: dict[str, Failure] = {}
        for requirement in dict.fromkeys(item for action in actions for item in action.requires):
            try:
                self._connectors.ready(requirement)
            except CallRefused as refused:
                failures[requirement.name] = refused.failure
        return failures

    def trust(self, requirement: Requirement) -> str:
        """What is known of a connector's publisher, or why the connector cannot be used."""
        try:
            return self._connectors.ready(requirement).pinned.trust
        except CallRefused as refused:
            return refused.failure.reason

    def preview(self, action: Action, args: JsonObject) -> PreviewOutcome | None:
        """What the operator is to be shown besides the inputs; None where the action has no preview."""
        return preview.fetch(self._connectors, action, args)

    def execute(self, action: Action, args: JsonObject) -> Execution:
        """Does what the action says."""
        return execution.run(self._connectors, action, args)

    def close(self) -> None:
        """Closes the connections that are kept open for the next call."""
        self._client.close()

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
