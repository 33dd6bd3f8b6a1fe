"""A credential reaches the upstream it is for, and nothing else, whatever goes wrong."""

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import pytest

from aileron_tui.sandbox.credential_injection import SecretMasks
from tests.sandbox import guests, packages
from tests.sandbox.conftest import Runner
from tests.sandbox.upstream import Upstream

CANARY = "canary-5f2c9d1e7b"
PATHS = [
    "/draft",
    "/echo",
    "/echo/fail",
    "/echo/escaped",
    "/echo/location",
    "/status?code=404",
    "/status?code=500",
    "/huge",
    "/gzip",
    "/not/http",
    "/hang/up",
    "/cut",
    "/loop",
    "/garbage",
    "/binary",
    "/slow",
    "/redirect?to=https://evil.example/",
    "/redirect?to=/draft",
]


@dataclass(slots=True)
class OutputCollector:
    """Collects all output of a test: debug logs, printed text, and files."""

    folder: Path
    temporary: Path
    logs: pytest.LogCaptureFixture
    printed: pytest.CaptureFixture[str]

    def collected(self) -> list[str]:
        out, err = self.printed.readouterr()
        files = [path.read_bytes().decode("latin-1") for path in self.folder.rglob("*") if path.is_file()]
        return [self.logs.text, repr([record.__dict__ for record in self.logs.records]), out, err, *files]


@pytest.fixture
def collector(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> OutputCollector:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("TEST_TOKEN", CANARY)
    caplog.set_level(logging.DEBUG)
    return OutputCollector(tmp_path, temporary, caplog, capfd)


@pytest.mark.parametrize("kind", ["oauth2", "api_key"])
@pytest.mark.parametrize("path", PATHS)
def test_the_canary_is_only_in_the_upstream_request(
    runner: Runner, service: Upstream, collector: OutputCollector, path: str, kind: str
) -> None:
    runner.limits = replace(runner.limits, preview_seconds=0.5, execute_seconds=0.5)
    runner.action_options.render = {"everything": "headers", "all": "body", "id": "id"}
    declared = {"oauth2": packages.OAUTH2, "api_key": packages.API_KEY.replace('"X-Api-Key"', '"Authorization"')}[kind]
    wasm = guests.http_guest({"url": service.url(path), "credential": kind})
    outcome = runner.preview(wasm, service.host_port, credential=declared)
    execution = runner.execute(wasm, service.host_port, credential=declared)
    assert any(CANARY in asked.headers["Authorization"] for asked in service.received)
    results = [repr(outcome), repr(outcome.details), repr(execution), execution.text, repr(execution.envelope)]
    assert not [text for text in (*results, *collector.collected()) if CANARY in text]
    assert not list(collector.temporary.iterdir())


def test_the_guest_itself_sees_a_mask(runner: Runner, service: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_TOKEN", CANARY)
    runner.action_options.render = {"token": "headers.Authorization"}
    wasm = guests.http_guest({"url": service.url("/echo"), "credential": "oauth2"})
    rows = runner.preview(wasm, service.host_port, credential=packages.OAUTH2).result.rows
    assert rows[0].value == "Bearer [credential]"


@pytest.mark.parametrize(
    "text",
    [
        r"a\u0074oken/\u0030123456789",
        r"token\/0123456789",
        "https://example.com/?x=%74oken%2F0123456789",
        "token%2f0123456789 token/0123456789",
    ],
)
def test_a_secret_with_escapes_is_masked(text: str) -> None:
    masks = SecretMasks()
    assert masks.mask_text(text) == text
    masks.add("token/0123456789")
    assert masks.mask_text(text) == "[credential]"
    assert masks.contains_secret(text)
    assert masks.mask_text(r"100% of \u0074oken and \n") == r"100% of \u0074oken and \n"


def test_a_redirect_that_carries_the_credential_is_not_followed(
    runner: Runner, service: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_TOKEN", CANARY)
    wasm = guests.http_guest({"url": service.url("/echo/location"), "credential": "oauth2"})
    reason = runner.preview(wasm, service.host_port, credential=packages.OAUTH2).result.unavailable
    assert reason == "the connector's request was refused: a redirect contains the credential in its URL"
    assert len(service.received) == 1


def test_another_origin_never_sees_it(
    runner: Runner, service: Upstream, other_service: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_TOKEN", CANARY)
    there = quote(other_service.url("/redirect?to=" + quote(service.url("/draft"), safe="")), safe="")
    wasm = guests.http_guest({"url": service.url(f"/redirect?to={there}"), "credential": "oauth2"})
    runner.preview(wasm, service.host_port, other_service.host_port, credential=packages.OAUTH2)
    assert CANARY not in repr(other_service.received)
    assert [CANARY in repr(asked) for asked in service.received] == [True, False]
