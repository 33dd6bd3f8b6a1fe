"""A loopback service and a way to run a guest against it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.sandbox.connector_call import CallLimits
from aileron_tui.sandbox.connector_package import ConnectorPackage
from aileron_tui.sandbox.credentials import ConfiguredCredential, Credentials, FromEnvironment
from aileron_tui.sandbox.execution import Execution
from aileron_tui.sandbox.loaded_connectors import SandboxSettings
from aileron_tui.sandbox.network import UpstreamClient
from aileron_tui.sandbox.preview import PreviewOutcome
from aileron_tui.sandbox.sandbox import Sandbox
from tests.sandbox import packages
from tests.sandbox.upstream import Upstream, upstream

ARGS: JsonObject = {"draft_id": "r-12345"}


@pytest.fixture
def service() -> Iterator[Upstream]:
    with upstream() as running:
        yield running


@pytest.fixture
def other_service() -> Iterator[Upstream]:
    with upstream() as running:
        yield running


@dataclass(slots=True)
class Runner:
    """Runs guests with a short deadline, and closes what it opened."""

    cache: Path
    client: UpstreamClient = field(default_factory=UpstreamClient)
    limits: CallLimits = field(default_factory=lambda: CallLimits(preview_seconds=3, execute_seconds=3))
    credentials: Credentials = field(
        default_factory=lambda: Credentials({packages.NAME: ConfiguredCredential(FromEnvironment("TEST_TOKEN"))})
    )
    action_options: packages.ActionOptions = field(default_factory=packages.ActionOptions)

    def preview(self, wasm: bytes, *hosts: str, credential: str = "", args: JsonObject | None = None) -> PreviewOutcome:
        package = packages.package(wasm, hosts, credential)
        with self.sandbox(package) as box:
            action = packages.action(package, self.action_options)
            outcome = box.preview(box.resolve(action, ARGS if args is None else args))
        assert outcome is not None
        return outcome

    def execute(self, wasm: bytes, *hosts: str, credential: str = "", args: JsonObject | None = None) -> Execution:
        package = packages.package(wasm, hosts, credential)
        with self.sandbox(package) as box:
            action = packages.action(package, self.action_options)
            return box.execute(box.resolve(action, ARGS if args is None else args))

    def sandbox(self, package: ConnectorPackage) -> Sandbox:
        settings = SandboxSettings(self.cache, self.credentials, limits=self.limits)
        return Sandbox({packages.NAME: package}, settings, self.client)


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    made = Runner(tmp_path / "cache")
    yield made
    made.client.close()


@pytest.fixture
def line(runner: Runner) -> Callable[..., str]:
    """The reason a preview gives for being unavailable."""

    def reason(wasm: bytes, *hosts: str, credential: str = "") -> str:
        return runner.preview(wasm, *hosts, credential=credential).result.unavailable

    return reason
