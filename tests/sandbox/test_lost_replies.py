"""A connector that goes on after a lost reply: nothing is sent twice on one approval, and nothing is called done."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from aileron_tui.core.errors import AileronError
from aileron_tui.sandbox.execution import Execution
from aileron_tui.sandbox.loaded_connectors import LoadedConnectors
from tests.sandbox import guests
from tests.sandbox.conftest import Runner
from tests.sandbox.upstream import Upstream

LOST = {
    "the peer hangs up": "/hang_up",
    "the reply is cut off": "/cut",
    "the reply is too large": "/huge",
    "a redirect that is not granted": "/redirect?code=303&to=http://other.example/",
    "a redirect after the work": "/redirect?code=303&to=/status?code=404",
    **{f"status {code}": f"/status?code={code}" for code in (408, 499, 500, 502, 503, 504)},
}
DONE = "/draft"


def sent(service: Upstream, *methods_and_paths: str, body: str = "{}") -> list[Mapping[str, object]]:
    """Requests for a guest; each is `METHOD /path`."""
    pairs = [words.split(" ", 1) for words in methods_and_paths]
    return [
        {"method": method, "url": service.url(path)} | ({} if method == "GET" else {"body": body})
        for method, path in pairs
    ]


def retrying(service: Upstream, method: str, *answers: str, end: bytes = b'{"output":{}}') -> bytes:
    """A connector that sends the same request until it is tired of it; the service gives these answers."""
    service.script = list(answers)
    return guests.sending(sent(service, *[f"{method} /scripted"] * len(answers)), end)


def idempotent(runner: Runner) -> None:
    runner.action_options.steps = tuple(replace(step, idempotent=True) for step in runner.action_options.steps)


def is_unknown(execution: Execution) -> bool:
    assert execution.failure is None or not execution.steps
    return execution.failure is not None and execution.failure.outcome_unknown


@pytest.mark.parametrize("path", LOST.values(), ids=LOST.keys())
def test_a_connector_cannot_repeat_what_may_have_been_done(runner: Runner, service: Upstream, path: str) -> None:
    execution = runner.execute(retrying(service, "POST", path, DONE), service.host_port)
    assert [request.method for request in service.received].count("POST") == 1
    assert is_unknown(execution)
    assert execution.failure is not None
    assert execution.failure.message.endswith("; the connector tried to change something again, which was refused")


@pytest.mark.parametrize("path", LOST.values(), ids=LOST.keys())
def test_a_read_after_a_lost_reply_does_not_make_it_done(runner: Runner, service: Upstream, path: str) -> None:
    execution = runner.execute(guests.sending(sent(service, f"POST {path}", f"GET {DONE}")), service.host_port)
    assert service.received[-1].path == DONE
    assert is_unknown(execution)


def test_a_late_reply_is_not_done_either(runner: Runner, service: Upstream) -> None:
    runner.limits = replace(runner.limits, execute_seconds=0.4)
    execution = runner.execute(guests.sending(sent(service, "POST /slow", f"GET {DONE}")), service.host_port)
    assert is_unknown(execution)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
def test_nothing_else_is_changed_after_a_lost_reply(runner: Runner, service: Upstream, method: str) -> None:
    wasm = guests.sending(sent(service, "POST /hang_up", f"{method} {DONE}"))
    assert is_unknown(runner.execute(wasm, service.host_port))
    assert len(service.received) == 1


@pytest.mark.parametrize("code", [400, 401, 404, 409, 429, 501])
def test_what_was_refused_may_be_sent_again(runner: Runner, service: Upstream, code: int) -> None:
    wasm = retrying(service, "POST", f"/status?code={code}", DONE)
    assert runner.execute(wasm, service.host_port).failure is None
    assert len(service.received) == 2


def test_what_was_never_sent_may_be_sent_again(runner: Runner, service: Upstream) -> None:
    unsent: Mapping[str, object] = {"method": "POST", "url": "http://127.0.0.1:1/"}
    wasm = guests.sending([unsent, *sent(service, f"POST {DONE}")])
    assert runner.execute(wasm, service.host_port, "127.0.0.1:1").failure is None
    assert len(service.received) == 1


def test_several_changes_that_were_all_answered_are_done(runner: Runner, service: Upstream) -> None:
    wasm = guests.sending(sent(service, f"GET {DONE}", f"POST {DONE}", f"PUT {DONE}"))
    assert runner.execute(wasm, service.host_port).failure is None
    assert len(service.received) == 3


def test_an_idempotent_op_may_be_repeated_by_its_connector(runner: Runner, service: Upstream) -> None:
    idempotent(runner)
    assert runner.execute(retrying(service, "POST", "/hang_up", DONE), service.host_port).failure is None
    assert len(service.received) == 2


@pytest.mark.parametrize("then", ["GET /draft", "POST /draft", "PUT /hang_up", "POST /status?code=409"])
def test_something_else_does_not_settle_what_an_idempotent_op_lost(
    runner: Runner, service: Upstream, then: str
) -> None:
    idempotent(runner)
    assert is_unknown(runner.execute(guests.sending(sent(service, "POST /hang_up", then)), service.host_port))
    assert len(service.received) == 2


def test_a_preview_that_lost_a_reply_and_read_again_is_shown(runner: Runner, service: Upstream) -> None:
    service.script = ["/cut", DONE]
    wasm = guests.sending(sent(service, "GET /scripted", "GET /scripted"))
    outcome = runner.preview(wasm, service.host_port)
    assert not outcome.result.unavailable


# changes by GET


@pytest.mark.parametrize("path", [path for path in LOST.values() if "redirect" not in path])
def test_a_lost_get_of_an_approved_op_leaves_the_outcome_unknown(runner: Runner, service: Upstream, path: str) -> None:
    execution = runner.execute(guests.http_guest({"url": service.url(path)}), service.host_port)
    assert is_unknown(execution)
    assert execution.failure is not None
    assert execution.failure.envelope()["error"]["retriable"] is False  # type: ignore[index, call-overload]
    assert len(service.received) == 1


def test_a_get_that_its_connector_repeated_is_not_said_to_be_done_once(runner: Runner, service: Upstream) -> None:
    assert is_unknown(runner.execute(retrying(service, "GET", "/hang_up", DONE), service.host_port))


@pytest.mark.parametrize("end", ["unreachable", "(call $print {p1} {n1})"], ids=["trap", "garbage"])
def test_a_connector_that_breaks_after_a_get_leaves_the_outcome_unknown(
    runner: Runner, service: Upstream, end: str
) -> None:
    request = f'{{"url":"{service.url(DONE)}"}}'.encode()
    wasm = guests.guest(f"(drop (call $request {{p0}} {{n0}})) {end}", (request, b"not JSON"))
    assert is_unknown(runner.execute(wasm, service.host_port))


@pytest.mark.parametrize(
    ("requests", "done"),
    [
        (("GET /hang_up", "GET /hang_up", "POST /draft"), False),
        (("GET /draft", "POST /draft"), True),
        (("GET /status?code=404", "POST /draft"), True),
    ],
)
def test_an_op_that_reads_and_then_posts(
    runner: Runner, service: Upstream, requests: tuple[str, ...], done: bool
) -> None:
    execution = runner.execute(guests.sending(sent(service, *requests)), service.host_port)
    assert is_unknown(execution) is not done
    assert (execution.failure is None) is done


def test_a_read_that_its_connector_repeated_before_a_post_is_done(runner: Runner, service: Upstream) -> None:
    service.script = ["/hang_up", DONE]
    wasm = guests.sending(sent(service, "GET /scripted", "GET /scripted", f"POST {DONE}"))
    assert runner.execute(wasm, service.host_port).failure is None


def test_a_read_and_a_refused_post_just_fail(runner: Runner, service: Upstream) -> None:
    end = b'{"error":{"class":"external_api_error","message":"Gmail API returned 403"}}'
    wasm = guests.sending(sent(service, f"GET {DONE}", "POST /status?code=403"), end)
    execution = runner.execute(wasm, service.host_port)
    assert execution.failure is not None
    assert not execution.failure.outcome_unknown


def test_an_op_that_was_told_no_by_get_just_fails(runner: Runner, service: Upstream) -> None:
    end = b'{"error":{"class":"external_api_error","message":"Bot API returned 200: not sent"}}'
    execution = runner.execute(guests.sending(sent(service, f"GET {DONE}"), end), service.host_port)
    assert execution.failure is not None
    assert not execution.failure.outcome_unknown


@pytest.mark.parametrize(("code", "times"), [(503, 1), (429, 2)])
def test_the_host_repeats_no_get_of_an_approved_op_that_may_have_been_accepted(
    runner: Runner, service: Upstream, code: int, times: int
) -> None:
    service.script = [f"/retry?after=0&code={code}", DONE]
    execution = runner.execute(guests.http_guest({"url": service.url("/scripted")}), service.host_port)
    assert len(service.received) == times
    assert is_unknown(execution) is (code == 503)


@dataclass
class PooledService:
    """Answers the first request on each connection, and closes it without a word once it has read the second."""

    port: int = 0
    requests: list[bytes] = field(default_factory=list)


@contextmanager
def closing_service() -> Iterator[PooledService]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        service = PooledService(listener.getsockname()[1])

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    for _ in range(2):
                        seen = b""
                        while b"\r\n\r\n" not in seen and (part := connection.recv(4096)):
                            seen += part
                        if not seen:
                            break
                        service.requests.append(seen.partition(b"\r\n")[0])
                        if _ == 0:
                            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield service


@pytest.mark.parametrize("gated", [True, False], ids=["approved", "only reads"])
def test_a_get_of_an_approved_op_is_not_sent_again_on_another_connection(runner: Runner, gated: bool) -> None:
    """A pooled connection that ends says nothing about whether the request arrived: here it did."""
    runner.action_options.gated = gated
    with closing_service() as service:
        host = f"127.0.0.1:{service.port}"
        urls: list[Mapping[str, object]] = [{"url": f"http://{host}/{name}"} for name in ("me", "sendMessage")]
        execution = runner.execute(guests.sending(urls), host)
        assert service.requests.count(b"GET /sendMessage HTTP/1.1") == (1 if gated else 2)
        assert execution.failure is None


@pytest.mark.parametrize("fails_in", ["load", "call"])
@pytest.mark.parametrize("step", [0, 1], ids=["first step", "second step"])
def test_an_error_of_the_sandbox_says_what_has_run(
    runner: Runner, service: Upstream, monkeypatch: pytest.MonkeyPatch, fails_in: str, step: int
) -> None:
    """An error with words for users says nothing about how far the action got."""
    runner.action_options.steps = tuple(replace(runner.action_options.steps[0], id=name) for name in ("send", "label"))
    original = getattr(LoadedConnectors, fails_in)
    calls: list[int] = []

    def failing(connectors: LoadedConnectors, *values: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) > step:
            raise AileronError("no memory is left")
        return original(connectors, *values, **options)

    monkeypatch.setattr(LoadedConnectors, fails_in, failing)
    execution = runner.execute(guests.sending(sent(service, f"POST {DONE}")), service.host_port)
    assert execution.failure is not None
    message = execution.failure.full_message
    assert execution.failure.outcome_unknown is (fails_in == "call")
    assert ("nothing was run" in message) is (fails_in == "load" and step == 0)
    assert message.startswith("send ran; label ") is (step == 1)
    assert len(service.received) == step
