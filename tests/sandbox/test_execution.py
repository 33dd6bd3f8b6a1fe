"""The gated op: capabilities, order of steps, arguments, and the envelope for the agent."""

import json
from dataclasses import replace

import pytest

from aileron_tui.core.action import Step
from aileron_tui.sandbox.failure import Failure, FailureKind
from tests.sandbox import guests, packages
from tests.sandbox.conftest import Runner
from tests.sandbox.upstream import Upstream


def failure(runner: Runner, wasm: bytes, *hosts: str) -> Failure:
    found = runner.execute(wasm, *hosts).failure
    assert found is not None
    return found


def error(found: Failure) -> dict[str, object]:
    envelope = found.envelope()["error"]
    assert isinstance(envelope, dict)
    return dict(envelope)


def test_the_inputs_of_the_step_win_and_other_inputs_are_passed_along(runner: Runner) -> None:
    runner.action_options.steps = (
        Step("send", packages.NAME, "send_draft", None, {"limit": "${args.limit}", "mode": "fast", "id": "${args.id}"}),
    )
    execution = runner.execute(guests.echo(), args={"limit": 5, "extra": [1], "mode": "slow"})
    assert execution.failure is None
    sent = {"limit": 5, "mode": "fast", "extra": [1]}
    assert execution.steps == {"send": {"args": sent, "op": "send_draft"}}


def test_the_result_has_every_step_and_the_last_output(runner: Runner) -> None:
    runner.action_options.steps = tuple(Step(name, packages.NAME, f"op_{name}", None, {}) for name in ("b", "a"))
    runner.action_options.capabilities = ("op_a", "op_b")
    execution = runner.execute(guests.echo(), args={})
    b, a = ({"args": {}, "op": f"op_{name}"} for name in ("b", "a"))
    assert json.loads(execution.text) == {"action": "send-draft", "output": a, "steps": {"b": b, "a": a}}
    assert list(execution.steps) == ["b", "a"]


def test_an_operation_that_is_not_declared_is_refused_before_anything_runs(runner: Runner, service: Upstream) -> None:
    runner.action_options.capabilities = ("send_draf", "send_draft2")
    found = failure(runner, guests.http_guest({"url": service.url("/draft")}), service.host_port)
    assert error(found) == {
        "class": "capability_denied",
        "message": "capability not in declared subset",
        "retriable": False,
        "boundary": "action",
        "details": {"connector": packages.NAME, "op": "send_draft"},
    }
    assert not service.received


def test_a_connector_that_is_not_declared(runner: Runner) -> None:
    runner.action_options.steps = (Step("x", "github://example/other", "send_draft", None, {}),)
    assert error(failure(runner, guests.echo()))["message"] == "connector not declared as a dependency"


def test_the_first_failure_stops_the_rest(runner: Runner, service: Upstream) -> None:
    runner.action_options.steps = tuple(Step(name, packages.NAME, "send_draft", None, {}) for name in ("one", "two"))
    execution = runner.execute(guests.http_guest({"url": service.url("/status?code=500")}), service.host_port)
    assert execution.failed_step == "one"
    assert execution.steps == {}
    assert len(service.received) == 1


def test_an_execution_may_write(runner: Runner, service: Upstream) -> None:
    wasm = guests.http_guest({"url": service.url("/echo"), "method": "POST", "body": '{"id":"r"}'})
    assert runner.execute(wasm, service.host_port).failure is None
    assert (service.received[0].method, service.received[0].body) == ("POST", b'{"id":"r"}')


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        ("external_api_error", "connector_runtime_error"),
        ("network_error", "connector_runtime_error"),
        ("hash_mismatch", "connector_runtime_error"),
        ("made_up", "connector_runtime_error"),
        ("", "connector_runtime_error"),
        ("capability_denied", "capability_denied"),
        ("resource_limit_exceeded", "resource_limit_exceeded"),
        ("binding_required", "binding_required"),
    ],
)
def test_which_failure_classes_a_guest_may_report(runner: Runner, reported: str, expected: str) -> None:
    wasm = guests.printing(json.dumps({"error": {"class": reported, "message": "whole: text"}}).encode())
    found = error(failure(runner, wasm))
    assert found["class"] == expected
    assert found["message"] == "whole: text"


def test_failure_classes_of_the_sandbox_itself(runner: Runner, service: Upstream) -> None:
    gone = error(failure(runner, guests.http_guest({"url": "http://127.0.0.1:1/"}), "127.0.0.1:1"))
    assert (gone["class"], gone["boundary"], gone["retriable"]) == ("network_error", "external", True)
    post = {"url": service.url("/hang/up"), "method": "POST"}
    cut = error(failure(runner, guests.http_guest(post), service.host_port))
    assert (cut["class"], cut["retriable"], cut["details"]) == ("outcome_unknown", False, {"cause": "network_error"})
    assert len(service.received) == 1
    runner.limits = replace(runner.limits, execute_seconds=0.3)
    late = error(failure(runner, guests.SPIN))
    assert (late["class"], late["boundary"]) == ("resource_limit_exceeded", "sandbox")
    assert late["message"] == "wall_time limit exceeded (configured: 0.3s)"
    assert error(failure(runner, guests.TRAP))["class"] == "connector_runtime_error"


def test_a_write_is_never_sent_twice_nor_on_a_used_connection(runner: Runner, service: Upstream) -> None:
    for _ in range(3):
        runner.execute(guests.http_guest({"url": service.url("/hang/up"), "method": "POST"}), service.host_port)
    assert len(service.received) == 3


def test_numbers_keep_their_digits_in_the_result(runner: Runner) -> None:
    wasm = guests.printing(b'{"output":{"price":1.50,"large":12345678901234567890,"tiny":0.12345678901234567890123}}')
    text = runner.execute(wasm).text
    assert '"price":1.50' in text
    assert '"large":12345678901234567890' in text
    assert "0.12345678901234567890123" in text


def test_the_classes_are_the_closed_set() -> None:
    agents = set(FailureKind) - {FailureKind.CONNECTOR_LOAD_FAILED, FailureKind.OUTCOME_UNKNOWN}
    assert len(agents) == 9
    assert {Failure(kind, "", "").agent_kind for kind in FailureKind} == agents
