"""Previews: the failure table word for word, and what the operator is shown on success."""

import json
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from aileron_tui.core.prompt import unavailable_line
from aileron_tui.core.prompt_rows import Row
from aileron_tui.sandbox.failure import short_reason
from aileron_tui.sandbox.loaded_connectors import SandboxSettings
from aileron_tui.sandbox.preview import PreviewOutcome
from aileron_tui.sandbox.sandbox import Sandbox
from tests.sandbox import guests, packages
from tests.sandbox.conftest import Runner
from tests.sandbox.upstream import Upstream


def get(service: Upstream, path: str) -> bytes:
    return guests.http_guest({"url": service.url(path), "headers": {"Accept": "application/json"}})


def shown(outcome: PreviewOutcome) -> str:
    return unavailable_line(outcome.result.unavailable)


def test_a_draft_becomes_rows(runner: Runner, service: Upstream) -> None:
    outcome = runner.preview(get(service, "/draft"), service.host_port)
    assert outcome.result.rows == (
        Row("To", "team@example.com"),
        Row("Subject", "Weekly recap"),
        Row("Cc", missing=True),
        Row("Body", "Here is the recap\nfrom this week.", multiline=True),
    )
    assert outcome.result.unavailable == ""
    assert isinstance(outcome.output, dict)
    assert outcome.output["id"] == "r-12345"


@pytest.mark.parametrize("code", [400, 401, 403, 404, 429, 500, 503])
def test_a_response_that_is_not_2xx(runner: Runner, service: Upstream, code: int) -> None:
    outcome = runner.preview(get(service, f"/status?code={code}"), service.host_port)
    assert shown(outcome) == f"Preview unavailable: Gmail API returned {code}"
    assert outcome.details["class"] == "external_api_error"
    assert outcome.details["message"] == f"Gmail API returned {code}: line one, code 999: more"


def test_a_timeout(runner: Runner, service: Upstream) -> None:
    runner.limits = replace(runner.limits, preview_seconds=0.3)
    outcome = runner.preview(get(service, "/slow"), service.host_port)
    assert shown(outcome) == "Preview unavailable: timeout"


def test_the_default_is_five_seconds() -> None:
    settings = SandboxSettings()
    assert settings.limits.preview_seconds == 5
    assert settings.limits.execute_seconds == 30
    assert settings.limits.memory == 256 * 1024 * 1024


def test_a_refusal_at_the_boundary_names_the_host_and_is_logged(
    runner: Runner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    outcome = runner.preview(guests.http_guest({"url": "https://evil.example/x"}), "mail.example:443")
    assert shown(outcome) == "Preview unavailable: the connector may not reach evil.example:443"
    assert outcome.details["details"] == {
        "requested": "network:evil.example:443",
        "granted": ["network:mail.example:443"],
    }
    assert "the connector may not reach evil.example:443" in caplog.text


@pytest.mark.parametrize("wasm", [guests.TRAP, guests.MEMORY_BOMB, guests.GARBAGE, guests.EXIT_ONE])
def test_a_crash(runner: Runner, wasm: bytes) -> None:
    assert shown(runner.preview(wasm)) == "Preview unavailable: connector crashed"


@pytest.mark.parametrize("args", [{}, {"draft_id": None}, {"other": "x"}])
def test_an_input_that_was_not_supplied_makes_no_call(
    runner: Runner, service: Upstream, args: dict[str, str | None]
) -> None:
    outcome = runner.preview(get(service, "/draft"), service.host_port, args=dict(args))
    assert shown(outcome) == 'Preview unavailable: input "draft_id" was not supplied'
    assert not service.received


def test_only_the_argument_table_of_the_manifest_reaches_the_connector(runner: Runner) -> None:
    runner.action_options.args = {"id": "${args.draft_id}", "list": ["${args.count}", 7], "fixed": True}
    runner.action_options.render = {"all": ""}
    outcome = runner.preview(guests.echo(), args={"draft_id": "r-1", "count": 3, "extra": "steer"})
    assert outcome.output == {"args": {"id": "r-1", "list": ["3", 7], "fixed": True}, "op": "get_draft"}


def test_foreign_letters_reach_the_guest_and_come_back(runner: Runner) -> None:
    runner.action_options.render = {"id": "args.id"}
    text = 'Grüße ☃ \U0001f600 \u202e \x00 \x1b[2J "quoted"'
    assert runner.preview(guests.echo(), args={"draft_id": text}).result.rows[0].value == text


def test_an_action_without_a_preview(runner: Runner) -> None:
    package = packages.package(guests.TRAP)
    with runner.sandbox(package) as box:
        action = packages.action(package, packages.ActionOptions(preview=False))
        assert box.preview(box.resolve(action, {})) is None


def test_a_connector_that_is_not_there() -> None:
    package = packages.package(guests.TRAP)
    with Sandbox({}) as box:
        outcome = box.preview(box.resolve(packages.action(package), {"draft_id": "x"}))
    assert outcome is not None
    assert outcome.result.unavailable == f"the connector {packages.NAME} is not installed"


@pytest.mark.parametrize(
    ("kind", "message", "line"),
    [
        ("external_api_error", "Gmail API returned 404: {body}", "Gmail API returned 404"),
        ("external_api_error", "Drive API returned 500", "Drive API returned 500"),
        ("external_api_error", "API v200 returned 404: code 500: x", "API v200 returned 404"),
        ("external_api_error", "API 2.404 returned 503 Unavailable: code 500: x", "API 2.404 returned 503"),
        ("external_api_error", "no status here", "no status here"),
        ("connector_runtime_error", "get_draft: id is required", "get_draft: id is required"),
        ("connector_runtime_error", "rate 429: is not cut", "rate 429: is not cut"),
        ("made_up", "first line\nsecond line", "first line"),
        ("made_up", "", "connector crashed"),
        ("made_up", "x" * 200, "x" * 160 + "… (40 more characters)"),
    ],
)
def test_a_guest_message_is_shortened_to_one_line(runner: Runner, kind: str, message: str, line: str) -> None:
    assert short_reason(kind, message) == line
    wasm = guests.printing(json.dumps({"error": {"class": kind, "message": message}}).encode())
    outcome = runner.preview(wasm)
    assert outcome.result.unavailable == line
    assert outcome.details["message"] == message
    assert outcome.details["class"] == kind


def test_the_preview_is_never_cached(runner: Runner, service: Upstream) -> None:
    for _ in range(2):
        runner.preview(get(service, "/draft"), service.host_port)
    assert len(service.received) == 2


def test_connectors_can_be_loaded_ahead(tmp_path: Path) -> None:
    good, bad = packages.package(guests.printing(b'{"output":{"made":"ahead"}}')), packages.package(guests.NOT_WASM)
    with Sandbox({packages.NAME: good}, SandboxSettings(tmp_path / "cache")) as box:
        assert box.prepare([packages.action(good)]) == {}
        assert list((tmp_path / "cache").glob("*.cwasm"))
    with Sandbox({packages.NAME: bad}) as box:
        assert box.prepare([packages.action(bad)])[packages.NAME].message == "this is not a WebAssembly module"


def test_calls_in_many_threads_are_independent(runner: Runner, service: Upstream) -> None:
    """Good calls, crashes, refusals and timeouts at once: each gets its own end."""
    runner.limits = replace(runner.limits, preview_seconds=1.5)
    cases: list[tuple[bytes, str]] = [
        (get(service, "/draft"), ""),
        (guests.TRAP, "connector crashed"),
        (get(service, "/status?code=404"), "Gmail API returned 404"),
        (guests.http_guest({"url": "https://evil.example/"}), "the connector may not reach evil.example:443"),
        (get(service, "/slow?seconds=0.1"), ""),
        (get(service, "/slow"), "timeout"),
        (guests.EXIT_ONE, "connector crashed"),
    ] * 6

    def run(case: tuple[bytes, str]) -> tuple[str, str]:
        package = packages.package(case[0], [service.host_port])
        with Sandbox({packages.NAME: package}, SandboxSettings(limits=runner.limits)) as box:
            outcome = box.preview(box.resolve(packages.action(package), {"draft_id": "x"}))
        assert outcome is not None
        return outcome.result.unavailable, case[1]

    with ThreadPoolExecutor(len(cases)) as pool:
        for found, expected in pool.map(run, cases):
            assert found == expected


def test_a_spinning_guest_does_not_hold_up_the_others(runner: Runner) -> None:
    runner.limits = replace(runner.limits, preview_seconds=1)
    spinning = threading.Thread(target=runner.preview, args=(guests.SPIN,))
    spinning.start()
    time.sleep(0.1)
    assert not runner.preview(guests.echo()).result.unavailable
    assert spinning.is_alive()
    spinning.join()


def test_an_internal_error_of_the_sandbox_is_one_line_too(
    line: Callable[..., str], service: Upstream, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fault(*_: object) -> None:
        raise RuntimeError("Authorization: Bearer something")

    with monkeypatch.context() as patched:
        patched.setattr("aileron_tui.sandbox.http_exchange.read_url", fault)
        reason = line(get(service, "/draft"), service.host_port)
    assert reason == "the sandbox failed in http_request: RuntimeError"
    assert "something" not in caplog.text
    assert line(get(service, "/draft"), service.host_port) == ""


@pytest.mark.parametrize("number", [b"0e-99999999", b"1e400", b"9" * 5000, b"1E+99999999999"])
def test_a_number_of_an_upstream_that_cannot_be_spelled(line: Callable[..., str], number: bytes) -> None:
    assert line(guests.printing(b'{"output":{"message":{"snippet":' + number + b"}}}")) == "connector crashed"
