"""Manifests, suites, policies and the configuration: a value or findings that name their place, nothing else."""

import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from aileron_tui.core.action import read_action
from aileron_tui.core.bundle import BundledConnector, check_bundle
from aileron_tui.core.connector import read_connector
from aileron_tui.core.findings import Reading, Severity
from aileron_tui.core.mcp_policy import policy_reading
from aileron_tui.core.suite import read_suite
from aileron_tui.files.config import ConfigError
from aileron_tui.files.config_reader import read_config
from tests.corpus.cases import cases
from tests.files.test_config import WHOLE
from tests.fuzz.target import Target


def _seeds(kind: str) -> Callable[[], list[bytes]]:
    return lambda: [data for case in cases(kind) for data in case.files.values()]


def _check(reading: Reading[Any], data: bytes) -> None:
    errors = [finding for finding in reading.findings if finding.severity is Severity.ERROR]
    assert (reading.value is None) == bool(errors)
    lines = data.count(b"\n") + data.count(b"\r") + 2  # what is missing at the end is missing in the line after it
    for finding in reading.findings:
        assert finding.message
        assert finding.fix
        assert 0 <= finding.line <= lines


def action(data: bytes) -> None:
    """The manifest of an action, alone and in a bundle."""
    reading = read_action(data, "action.md")
    _check(reading, data)
    assert bool(check_bundle([reading]).actions) <= (reading.value is not None)


def connector(data: bytes) -> None:
    """The manifest of a connector, alone and in a bundle."""
    reading = read_connector(data, "manifest.toml")
    _check(reading, data)
    check_bundle([], [BundledConnector(reading)])


def suite(data: bytes) -> None:
    """A suite."""
    _check(read_suite(data, "suite.toml"), data)


def policy(data: bytes) -> None:
    """A policy for an MCP server."""
    _check(policy_reading(data, "policy.toml"), data)


def config(data: bytes) -> None:
    """The configuration."""
    path = _folder() / "config.toml"
    path.write_bytes(data)
    with suppress(ConfigError):
        read_config(path)


@cache
def _folder() -> Path:
    made = tempfile.TemporaryDirectory()
    _kept.append(made)
    return Path(made.name)


_kept: Final[list[tempfile.TemporaryDirectory[str]]] = []

TARGETS: Final = {
    "action": Target(action, _seeds("action")),
    "connector": Target(connector, _seeds("connector")),
    "suite": Target(suite, _seeds("suite")),
    "policy": Target(policy, _seeds("policy")),
    "config": Target(config, lambda: [WHOLE.encode(), b'manifests = ["~/bundle"]\n']),
}
