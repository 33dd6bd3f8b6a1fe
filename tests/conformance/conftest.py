"""The daemon to check: the one named on the command line, or the fake one."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conformance.wire import Wire
from tests.daemon.process import FakeDaemon
from tests.daemon.samples import PREVIEW

SEED = Path(__file__).with_name("seed.json")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance", "checking a daemon")
    group.addoption("--daemon", metavar="URL", help="the daemon to check, with or without /v1")
    group.addoption("--token", default="", help="its token; none for a daemon that asks for none")
    group.addoption("--may-approve", action="store_true", help="also approve, and ask for something as an agent would")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("daemon", None) is not None and config.getoption("numprocesses", None):
        raise pytest.UsageError("several workers would use up each other's requests: leave -n out")


@contextmanager
def connection(url: str, token: str, may_approve: bool) -> Iterator[Wire]:
    """A client for one daemon."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with httpx.Client(base_url=url, headers=headers, timeout=10, trust_env=False) as http:
        yield Wire(http, token, may_approve)


@pytest.fixture(scope="session")
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    # Without a path to this folder on the command line the options do not exist.
    url: str | None = request.config.getoption("daemon", None)
    if url is not None:
        may_approve: bool = request.config.getoption("may_approve")
        with connection(url.rstrip("/").removesuffix("/v1"), request.config.getoption("token"), may_approve) as wire:
            yield wire
        return
    seed: list[Any] = json.loads(SEED.read_bytes())
    shown = {"kind": "action", "preview": PREVIEW, "input_fields": [{"label": "Draft id", "value": "r-1"}]}
    failed = {"kind": "action", "preview": {"unavailable": "preview unavailable: timeout"}}
    home = tmp_path_factory.mktemp("conformance") / "home"
    with (
        FakeDaemon(home, seed=[shown, failed, {"kind": "shell"}, *seed], heartbeat=0.5) as daemon,
        connection(daemon.url, daemon.token, True) as wire,
    ):
        yield wire
