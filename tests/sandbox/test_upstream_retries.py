"""Requests are repeated only if the service asks for it, nothing can happen twice, and the time allows it."""

import json
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime
from urllib.parse import quote

import pytest

from aileron_tui.core.action import Step
from aileron_tui.core.times import utc_now
from aileron_tui.sandbox.network import UpstreamResponse
from aileron_tui.sandbox.upstream_retries import wait_asked_for
from tests.sandbox import guests, packages
from tests.sandbox.conftest import Runner
from tests.sandbox.upstream import Upstream

LATER = "/retry?after=0"


def scripted(service: Upstream, *answers: str, **request: str) -> bytes:
    service.script = list(answers)
    return guests.http_guest({"url": service.url("/scripted"), **request})


def idempotent(runner: Runner) -> None:
    steps = tuple(replace(step, idempotent=True) for step in runner.action_options.steps)
    runner.action_options = replace(runner.action_options, steps=steps)


def test_a_preview_is_repeated_and_that_is_said(
    runner: Runner, service: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    outcome = runner.preview(scripted(service, LATER, "/retry?after=0&code=429", "/draft"), service.host_port)
    assert outcome.result.rows[0].value == "team@example.com"
    assert outcome.retried == f"retried twice: {service.host_port} asked to wait 0 s in all"
    assert outcome.details["retried"] == outcome.retried
    assert outcome.retried in caplog.text


def test_at_most_two_repeats(line: Callable[..., str], service: Upstream) -> None:
    reason = line(scripted(service, LATER, LATER, LATER, "/draft"), service.host_port)
    assert reason == f"Gmail API returned 503 (retried twice: {service.host_port} asked to wait 0 s in all)"
    assert len(service.received) == 3


def test_the_wait_is_kept(runner: Runner, service: Upstream) -> None:
    began = time.monotonic()
    outcome = runner.preview(scripted(service, "/retry?after=1", "/draft"), service.host_port)
    assert time.monotonic() - began >= 1
    assert outcome.retried == f"retried once: {service.host_port} asked to wait 1 s"


_HUGE_YEAR = "Mon, 01 Jan 99999999999 00:00:00 GMT"
_HUGE_ZONE = "Mon, 01 Jan 2030 00:00:00 +99999999999999"


@pytest.mark.parametrize(
    "after",
    ["3", "3600", "99999999999999999999", "-1", "soon", "", "1.5", "x" * 100, *map(quote, (_HUGE_YEAR, _HUGE_ZONE))],
)
def test_what_takes_too_long_or_means_nothing_is_not_waited_for(
    line: Callable[..., str], service: Upstream, after: str
) -> None:
    began = time.monotonic()
    assert line(scripted(service, f"/retry?after={after or '%20'}", "/draft"), service.host_port) == (
        "Gmail API returned 503"
    )
    assert len(service.received) == 1
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("code", [500, 502, 504, 408, 200])
def test_other_answers_are_not_repeated(runner: Runner, service: Upstream, code: int) -> None:
    runner.preview(scripted(service, f"/retry?after=0&code={code}", "/draft"), service.host_port)
    assert len(service.received) == 1


@pytest.mark.parametrize("code", [429, 503])
def test_what_may_change_something_is_not_repeated(runner: Runner, service: Upstream, code: int) -> None:
    wasm = scripted(service, f"/retry?after=0&code={code}", "/draft", method="POST", body="x")
    execution = runner.execute(wasm, service.host_port)
    assert len(service.received) == 1
    assert execution.failure is not None
    assert execution.failure.outcome_unknown is (code == 503)
    assert execution.retried == ()


def test_an_op_that_its_manifest_declares_idempotent_is_repeated(runner: Runner, service: Upstream) -> None:
    idempotent(runner)
    execution = runner.execute(scripted(service, LATER, "/draft", method="POST", body="x"), service.host_port)
    assert execution.failure is None
    assert [asked.body for asked in service.received] == [b"x", b"x"]
    assert execution.retried == (f"retried once: {service.host_port} asked to wait 0 s",)


def test_a_repeat_that_is_refused_leaves_the_first_attempt_unknown(runner: Runner, service: Upstream) -> None:
    """A 503 may come after part of the work; that the repeat was refused says nothing about the first request."""
    idempotent(runner)
    wasm = scripted(service, LATER, "/status?code=403", method="POST", body="x")
    execution = runner.execute(wasm, service.host_port)
    assert execution.failure is not None
    assert execution.failure.outcome_unknown


def test_a_step_is_idempotent_only_if_it_says_so_itself(runner: Runner, service: Upstream) -> None:
    first = replace(runner.action_options.steps[0], idempotent=None)
    other: Step = replace(first, id="other", idempotent=True)
    runner.action_options = replace(runner.action_options, steps=(first, other))
    wasm = scripted(service, LATER, "/draft", method="POST", body="x")
    assert runner.execute(wasm, service.host_port).failure is not None
    assert len(service.received) == 1


def test_a_signed_request_is_signed_again(runner: Runner, service: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_TOKEN", "token-0123456789")
    wasm = scripted(service, LATER, "/draft", credential="oauth2")
    runner.preview(wasm, service.host_port, credential=packages.OAUTH2)
    assert [asked.headers["Authorization"] for asked in service.received] == ["Bearer token-0123456789"] * 2


def test_dates() -> None:
    def asked(value: str) -> float | None:
        return wait_asked_for(UpstreamResponse(503, {"retry-after": value}, b""))

    soon = asked(format_datetime(utc_now() + timedelta(seconds=60), usegmt=True))
    assert soon is not None
    assert 55 < soon <= 60
    assert asked("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert asked("Wed, 21 Oct 2015 07:28:00 -0000") == 0
    assert asked(json.dumps({"a": 1})) is None
    assert asked("9" * 64) == float("9" * 64)
    assert asked("²") is None
