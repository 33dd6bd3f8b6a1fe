"""Every manifest of the corpus has exactly the findings that its marks name."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from aileron_tui.core.action import read_action
from aileron_tui.core.bundle import BundledConnector, check_bundle
from aileron_tui.core.connector import read_connector
from aileron_tui.core.findings import Finding, Reading
from aileron_tui.core.mcp_policy import policy_reading
from aileron_tui.core.suite import read_suite
from tests.corpus.cases import Case, Expected, cases

READERS: Final[dict[str, Callable[[bytes, str], Reading[Any]]]] = {
    "action": read_action,
    "connector": read_connector,
    "suite": read_suite,
    "policy": policy_reading,
}
SINGLE: Final = [(kind, case) for kind in READERS for case in cases(kind)]
BUNDLES: Final = cases("bundle")


def reported(findings: tuple[Finding, ...]) -> list[Expected]:
    return sorted((finding.file, finding.line, finding.rule, finding.severity.value) for finding in findings)


@pytest.mark.parametrize(("kind", "case"), [pytest.param(*pair, id=f"{pair[0]}/{pair[1].id}") for pair in SINGLE])
def test_manifest(kind: str, case: Case) -> None:
    ((file, data),) = case.files.items()
    reading = READERS[kind](data, file)
    assert reported(reading.findings) == case.expected
    assert (reading.value is not None) == case.good
    for finding in reading.findings:
        assert finding.message
        assert finding.fix.endswith((".", "?")), "a sentence says how to fix it"
        assert (finding.column > 0) == (finding.line > 0)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in BUNDLES])
def test_bundle(case: Case) -> None:
    actions = [read_action(data, file) for file, data in case.files.items() if file.endswith(".md")]
    packages = [
        BundledConnector(read_connector(data, file)) for file, data in case.files.items() if file.endswith(".toml")
    ]
    bundle = check_bundle(actions, packages)
    assert reported(bundle.findings) == case.expected
    rejected = {file for file, _, _, severity in case.expected if severity == "error"}
    kept = {reading.value.name for reading in actions if reading.value and reading.source.file not in rejected}
    assert set(bundle.actions) == kept, "a bad file is dropped, and good ones are kept"


def test_the_corpus_is_large_and_mostly_bad() -> None:
    everything = [case for _, case in SINGLE] + BUNDLES
    assert len(everything) >= 200
    assert sum(not case.good for case in everything) >= 150
    assert sum(len(case.expected) > 1 for case in everything) >= 25
    assert sum(case.good for case in everything) >= 40


def test_every_rule_has_a_case() -> None:
    found = {rule for _, case in SINGLE for _, _, rule, _ in case.expected}
    found |= {rule for case in BUNDLES for _, _, rule, _ in case.expected}
    assert found >= {
        *("no-front-matter", "text-before-front-matter", "unclosed-front-matter", "not-utf8", "toml"),
        *("unknown-key", "wrong-type", "not-json", "required"),
        *("name", "version", "source", "connector-name", "hash", "capability"),
        *("input-name", "input-twice", "input-type", "label", "multiline", "items-type"),
        *("render-label", "render-path", "multiline-label", "undeclared-input", "preview-unused"),
        *("timeout", "timeout-cut", "timeout-unknown-upstream"),
        *("step-twice", "step-connector", "op-not-granted", "literal-token", "input-collision"),
        *("host-port", "credential-kind", "credential-key", "credential-header", "credential-format"),
        *("oauth2-url", "oauth2-scope", "idempotency", "spawn", "suite-entry"),
        *("action-twice", "connector-twice", "pin-version", "preview-gated", "preview-not-idempotent"),
        *("tool-name", "tool-empty", "risk", "preview-itself", "render-count", "absent"),
    }
