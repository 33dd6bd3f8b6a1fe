"""The host functions: pointers and lengths, return codes, the sticky error, and the state after a call."""

import json

import pytest

from aileron_tui.sandbox.failure import FailureKind
from tests.sandbox import guests
from tests.sandbox.conftest import Runner
from tests.sandbox.upstream import Upstream

BAD_RANGES = {
    "beyond memory": "(call $request (i32.const 20000000) (i32.const 10))",
    "end beyond memory": "(call $request (i32.const 10485750) (i32.const 100))",
    "negative length": "(call $request (i32.const 0) (i32.const -1))",
    "smallest length": "(call $request (i32.const 0) (i32.const -2147483648))",
    "negative pointer": "(call $request (i32.const -1) (i32.const 10))",
    "both wrap around": "(call $request (i32.const -16) (i32.const 32))",
    "no bytes": "(call $request (i32.const 0) (i32.const 0))",
}
BAD_JSON = {
    "not json": b"{",
    "not an object": b"[]",
    "no url": b'{"method":"GET"}',
    "empty url": b'{"url":""}',
    "null url": b'{"url":null}',
    "number as url": b'{"url":7}',
    "number as header": b'{"url":"http://x","headers":{"A":1}}',
    "headers are a list": b'{"url":"http://x","headers":[]}',
    "object as body": b'{"url":"http://x","body":{}}',
    "same key twice": b'{"url":"http://x","url":"http://y"}',
    "not UTF-8": b'{"url":"http://\xff"}',
    "half a surrogate": b'{"url":"http://x","body":"\\ud800"}',
}


def rows(runner: Runner, wasm: bytes, *hosts: str) -> dict[str, str]:
    runner.action_options.render = {f"r{index}": f"r{index}" for index in range(9)}
    outcome = runner.preview(wasm, *hosts)
    assert not outcome.result.unavailable, outcome.details
    return {row.label: row.value for row in outcome.result.rows if not row.missing}


@pytest.mark.parametrize("expression", BAD_RANGES.values(), ids=BAD_RANGES.keys())
def test_a_bad_range_is_minus_two(runner: Runner, expression: str) -> None:
    assert rows(runner, guests.numbers(expression)) == {"r0": "-002"}


@pytest.mark.parametrize("text", BAD_JSON.values(), ids=BAD_JSON.keys())
def test_a_bad_request_is_minus_two(runner: Runner, text: bytes) -> None:
    assert rows(runner, guests.numbers("(call $request {p0} {n0})", texts=(text,))) == {"r0": "-002"}


def test_without_memory_every_range_is_bad(runner: Runner) -> None:
    assert not runner.preview(guests.NO_MEMORY).result.unavailable


def test_before_any_request_there_is_no_response(runner: Runner) -> None:
    wasm = guests.numbers(
        "(call $size)",
        "(call $status)",
        "(call $read (i32.const 0) (i32.const 10))",
        "(call $spawn_status)",
        "(call $spawn_size (i32.const 0))",
        "(call $spawn_read (i32.const 0) (i32.const 0) (i32.const 9))",
    )
    assert set(rows(runner, wasm).values()) == {"-001"}


def test_a_response_can_be_read_repeatedly(runner: Runner, service: Upstream) -> None:
    request = json.dumps({"url": service.url("/status?code=201")}).encode()
    wasm = guests.numbers(
        "(call $request {p0} {n0})",
        "(call $status)",
        "(call $size)",
        "(call $read (i32.const 65536) (i32.const 4))",
        "(call $read (i32.const 65536) (i32.const 900))",
        "(call $read (i32.const 65536) (i32.const 0))",
        "(call $read (i32.const 65536) (i32.const -1))",
        "(call $read (i32.const -1) (i32.const 4))",
        "(i32.load8_u (i32.const 65536))",
        texts=(request,),
    )
    found = list(rows(runner, wasm, service.host_port).values())
    assert found == ["000", "201", "024", "004", "024", "000", "-001", "-001", f"{ord('l'):03}"]


def test_a_failed_request_wins_over_what_the_guest_prints(runner: Runner, service: Upstream) -> None:
    request = json.dumps({"url": "https://evil.example/"}).encode()
    wasm = guests.guest("(drop (call $request {p0} {n0})) (call $print {p1} {n1})", (request, b'{"output":{}}'))
    assert runner.preview(wasm, service.host_port).result.unavailable == "the connector may not reach evil.example:443"


def test_a_later_success_clears_the_error_and_a_failure_keeps_the_response(runner: Runner, service: Upstream) -> None:
    good = json.dumps({"url": service.url("/status?code=200")}).encode()
    bad = json.dumps({"url": "https://evil.example/"}).encode()
    wasm = guests.numbers("(call $request {p1} {n1})", "(call $request {p0} {n0})", texts=(good, bad))
    assert rows(runner, wasm, service.host_port) == {"r0": "-001", "r1": "000"}
    wasm = guests.guest(
        "(drop (call $request {p0} {n0})) (drop (call $request {p1} {n1}))"
        " (if (i32.ne (call $status) (i32.const 200)) (then unreachable)) (call $exit (i32.const 3))",
        (good, bad),
    )
    assert runner.preview(wasm, service.host_port).result.unavailable == "the connector may not reach evil.example:443"


def test_a_sticky_error_wins_over_a_trap(runner: Runner) -> None:
    request = json.dumps({"url": "https://evil.example/"}).encode()
    wasm = guests.guest("(drop (call $request {p0} {n0})) unreachable", (request,))
    assert runner.preview(wasm).result.unavailable == "the connector may not reach evil.example:443"


@pytest.mark.parametrize("call", ["(call $spawn {p0} {n0})", "(call $spawn_op {p0} {n0} {p0} {n0})"])
def test_programs_are_never_started(runner: Runner, call: str) -> None:
    outcome = runner.preview(guests.guest(f"(if (i32.ne {call} (i32.const -1)) (then unreachable))", (b"ls",)))
    assert outcome.result.unavailable == "the connector tried to start a program"
    assert outcome.failure is not None
    assert outcome.failure.kind == FailureKind.CAPABILITY_DENIED


def test_log_lines_are_kept_and_limited(runner: Runner) -> None:
    wasm = guests.guest(
        "(local $i i32) (call $log {p0} {n0} {p1} {n1}) (call $log (i32.const -1) (i32.const 5) {p1} {n1})"
        " (loop $l (call $log {p0} {n0} {p2} {n2}) (local.set $i (i32.add (local.get $i) (i32.const 1)))"
        " (br_if $l (i32.lt_u (local.get $i) (i32.const 500))))",
        (b"warn", b"hello \xff", b"y" * 5000),
    )
    outcome = runner.preview(wasm)
    assert outcome.log[:2] == ("warn: hello �", ": hello �")
    assert len(outcome.log) == 200
    assert max(map(len, outcome.log)) < 2100


def test_names_in_a_request_match_in_any_case(runner: Runner, service: Upstream) -> None:
    request = {"URL": service.url("/echo"), "Method": "head", "Headers": {"X-A": "b"}, "unknown": [1]}
    runner.preview(guests.http_guest(request), service.host_port)
    assert service.received[0].method == "HEAD"
    assert service.received[0].headers["X-A"] == "b"


def test_a_bounded_sleep_wakes_up_by_itself(runner: Runner) -> None:
    nap = guests.guest(
        "(i64.store (i32.const 128) (i64.const 7)) (i64.store (i32.const 152) (i64.const 50000000))"
        " (if (call $poll (i32.const 128) (i32.const 256) (i32.const 1) (i32.const 320)) (then unreachable))"
        " (if (i32.ne (i32.load (i32.const 320)) (i32.const 1)) (then unreachable))"
        " (if (i64.ne (i64.load (i32.const 256)) (i64.const 7)) (then unreachable))"
    )
    outcome = runner.preview(nap)
    assert not outcome.result.unavailable, outcome.details
    assert 0.05 <= outcome.seconds < 1


@pytest.mark.parametrize("count", ["0", "-1", "100000"])
def test_invalid_sleeps_are_refused(runner: Runner, count: str) -> None:
    wasm = guests.numbers(f"(call $poll (i32.const 128) (i32.const 256) (i32.const {count}) (i32.const 320))")
    assert rows(runner, wasm) == {"r0": "028"}
