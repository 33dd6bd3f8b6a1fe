"""Lost, late, cut-off and unreadable replies: what may have taken effect is never reported as failed."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from aileron_tui.core.action import Step
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.sandbox.execution import Execution
from aileron_tui.sandbox.failure import Failure, FailureKind
from aileron_tui.sandbox.network import UpstreamClient
from tests.sandbox import guests, packages
from tests.sandbox.conftest import Runner
from tests.sandbox.upstream import Upstream

LOST = {
    "the peer hangs up": "/hang_up",
    "the reply is cut off": "/cut",
    "the reply drips until the deadline": "/drip",
    "the headers drip until the deadline": "/drip_headers",
    "the reply is late": "/slow",
    "the reply is not HTTP": "/not_http",
    "the reply is too large": "/huge",
    "the reply never ends": "/endless",
    "the headers are too large": "/many_headers",
    "the reply is compressed": "/gzip",
    "the reply is not JSON": "/garbage",
    "the reply is binary": "/binary",
    "too many redirects": "/loop",
    "a redirect that is not granted": "/redirect?to=http://other.example/",
    "a redirect after the work": "/redirect?code=303&to=/status?code=404",
    **{f"status {code}": f"/status?code={code}" for code in (408, 499, 500, 502, 503, 504, 507, 520, 599)},
}
REFUSED = (400, 401, 402, 403, 404, 405, 409, 410, 412, 413, 415, 422, 423, 425, 428, 429, 431, 451, 501, 505)


def post(url: str) -> bytes:
    """A connector that sends one POST, as real ones do."""
    return guests.http_guest({"url": url, "method": "POST", "body": "{}"})


def failure(execution: Execution) -> Failure:
    assert execution.failure is not None
    return execution.failure


def agent_error(found: Failure) -> JsonObject:
    error = found.envelope()["error"]
    assert isinstance(error, dict)
    return error


@pytest.mark.parametrize("path", LOST.values(), ids=LOST.keys())
def test_a_reply_that_says_nothing_leaves_the_outcome_unknown(runner: Runner, service: Upstream, path: str) -> None:
    runner.limits = replace(runner.limits, execute_seconds=0.5)
    found = failure(runner.execute(post(service.url(path)), service.host_port))
    assert service.received[0].method == "POST"
    error = agent_error(found)
    assert error["class"] == "outcome_unknown"
    assert str(error["message"]).startswith("it may have taken effect, but its outcome is unknown: ")
    assert error["retriable"] is False
    assert "cause" in dict(found.details)


@pytest.mark.parametrize("path", LOST.values(), ids=LOST.keys())
def test_a_call_that_only_reads_just_fails(runner: Runner, service: Upstream, path: str) -> None:
    runner.action_options.gated = False
    runner.limits = replace(runner.limits, execute_seconds=0.5)
    found = failure(runner.execute(guests.http_guest({"url": service.url(path)}), service.host_port))
    assert not found.outcome_unknown
    assert agent_error(found)["class"] != "outcome_unknown"


@pytest.mark.parametrize("code", REFUSED)
def test_a_definite_refusal_is_a_failure(runner: Runner, service: Upstream, code: int) -> None:
    found = failure(runner.execute(post(service.url(f"/status?code={code}")), service.host_port))
    assert not found.outcome_unknown
    assert f"Gmail API returned {code}" in found.message


def test_a_redirect_of_the_method_itself_is_judged_by_its_target(runner: Runner, service: Upstream) -> None:
    refused = post(service.url("/redirect?code=307&to=/status?code=404"))
    assert not failure(runner.execute(refused, service.host_port)).outcome_unknown
    lost = post(service.url("/redirect?code=308&to=/hang_up"))
    assert failure(runner.execute(lost, service.host_port)).outcome_unknown


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1/", "https://{host}/draft", "http://other.example/", "not a url", "http://{host}/draft#x y"],
    ids=["connection refused", "TLS failure", "host not granted", "bad URL", "bad fragment"],
)
def test_nothing_sent_is_a_failure(runner: Runner, service: Upstream, url: str) -> None:
    wasm = post(url.format(host=service.host_port))
    found = failure(runner.execute(wasm, service.host_port, "127.0.0.1:1"))
    assert not found.outcome_unknown
    assert not service.received


def test_a_name_that_does_not_resolve_is_a_failure(runner: Runner) -> None:
    def no_such_host(host: str, port: int) -> list[str]:
        raise OSError(-2, "Name or service not known")

    runner.client = UpstreamClient(no_such_host)  # the system's resolver would ask the network
    assert not failure(runner.execute(post("https://gone.example/"), "gone.example")).outcome_unknown


def test_a_missing_credential_is_a_failure(runner: Runner, service: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_TOKEN", raising=False)
    wasm = guests.http_guest({"url": service.url("/draft"), "method": "POST", "credential": "api_key"})
    found = failure(runner.execute(wasm, service.host_port, credential=packages.API_KEY))
    assert (found.outcome_unknown, found.agent_kind) == (False, FailureKind.BINDING_REQUIRED)


ENDS_AFTER_SENDING = {
    "trap": "unreachable",
    "spin": "(loop $l (br $l))",
    "memory": "(loop $l (br_if $l (i32.ne (memory.grow (i32.const 100)) (i32.const -1)))) (call $exit (i32.const 2))",
    "exit 1": "(call $exit (i32.const 1))",
    "garbage": "(call $print {p2} {n2})",
    "a read that fails": "(drop (call $request {p1} {n1}))",
}


@pytest.mark.parametrize("end", ENDS_AFTER_SENDING.values(), ids=ENDS_AFTER_SENDING.keys())
@pytest.mark.parametrize("path", ["/draft", "/slow?seconds=0.2", "/hang_up"], ids=["done", "slow", "lost"])
def test_a_connector_that_breaks_after_sending_leaves_the_outcome_unknown(
    runner: Runner, service: Upstream, end: str, path: str
) -> None:
    runner.limits = replace(runner.limits, execute_seconds=0.8)
    sent = f'{{"method":"POST","url":"{service.url(path)}"}}'.encode()
    wasm = guests.guest(
        f"(drop (call $request {{p0}} {{n0}})) {end}", (sent, b'{"url":"http://other.example/"}', b"not JSON")
    )
    found = failure(runner.execute(wasm, service.host_port))
    assert [request.method for request in service.received] == ["POST"]
    assert agent_error(found)["class"] == "outcome_unknown"


@pytest.mark.parametrize("end", ["unreachable", "(loop $l (br $l))"], ids=["trap", "spin"])
def test_a_connector_that_breaks_before_sending_just_fails(runner: Runner, end: str) -> None:
    runner.limits = replace(runner.limits, execute_seconds=0.3)
    assert not failure(runner.execute(guests.guest(end))).outcome_unknown


def test_a_connector_that_breaks_after_a_definite_refusal_just_fails(runner: Runner, service: Upstream) -> None:
    sent = f'{{"method":"POST","url":"{service.url("/status?code=403")}"}}'.encode()
    wasm = guests.guest("(drop (call $request {p0} {n0})) unreachable", (sent,))
    assert not failure(runner.execute(wasm, service.host_port)).outcome_unknown


def test_a_refusal_after_a_change_leaves_the_outcome_unknown(runner: Runner, service: Upstream) -> None:
    first = f'{{"method":"POST","url":"{service.url("/draft")}"}}'.encode()
    second = f'{{"method":"DELETE","url":"{service.url("/status?code=403")}"}}'.encode()
    body = "(drop (call $request {p0} {n0})) (drop (call $request {p1} {n1})) (call $print {p2} {n2})"
    wasm = guests.guest(body, (first, second, b'{"error":{"class":"x","message":"cannot delete the original"}}'))
    assert failure(runner.execute(wasm, service.host_port)).outcome_unknown


@contextmanager
def resetting_service(after: bytes) -> Iterator[int]:
    """A service that resets each connection once it has read `after`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            seen = b""
            while after not in seen and (part := connection.recv(4096)):
                seen += part
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        yield int(listener.getsockname()[1])
        thread.join()


@pytest.mark.parametrize("after", [b"POST", b"\r\n\r\n"], ids=["in the request", "after it"])
def test_a_connection_that_is_reset_leaves_the_outcome_unknown(runner: Runner, after: bytes) -> None:
    with resetting_service(after) as port:
        wasm = guests.http_guest({"url": f"http://127.0.0.1:{port}/", "method": "POST", "body": "x" * 5_000_000})
        assert failure(runner.execute(wasm, f"127.0.0.1:{port}")).outcome_unknown


@pytest.mark.parametrize(
    ("path", "unknown", "message"),
    [
        ("/status?code=404", False, "send_mail and label ran; archive failed: Gmail API returned 404"),
        ("/hang_up", True, "send_mail and label ran; archive may have taken effect, but its outcome is unknown: "),
    ],
)
def test_a_failure_names_the_steps_that_ran(
    runner: Runner, service: Upstream, path: str, unknown: bool, message: str
) -> None:
    names = ("send_mail", "label", "archive", "notify")
    runner.action_options.steps = tuple(Step(name, packages.NAME, "send_draft", None, {}) for name in names)
    service.script = ["/draft", "/draft", path]
    execution = runner.execute(post(service.url("/scripted")), service.host_port, args={})
    found = failure(execution)
    error = agent_error(found)
    assert found.outcome_unknown is unknown
    assert str(error["message"]).startswith(message)
    assert error["retriable"] is False
    details = error["details"]
    assert isinstance(details, dict)
    assert (details["step"], details["steps_run"]) == ("archive", ["send_mail", "label"])
    assert found.ledger_text.startswith("send_mail and label ran; ")
    assert list(execution.steps) == ["send_mail", "label"]
    assert len(service.received) == 3
