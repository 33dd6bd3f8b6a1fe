"""Faulty modules: each gives one clear line, and the next call works."""

import time
from dataclasses import replace

import pytest
from wasmtime import wat2wasm

from aileron_tui.sandbox.failure import CRASHED, FailureKind
from tests.sandbox import guests
from tests.sandbox.conftest import Runner

CRASHES = {
    "trap": guests.TRAP,
    "division by zero": guests.DIVISION,
    "memory bomb": guests.MEMORY_BOMB,
    "garbage": guests.GARBAGE,
    "exit 1": guests.EXIT_ONE,
    "recursion": guests.RECURSION,
    "wrong import": guests.WRONG_IMPORT,
    "wrong import type": guests.WRONG_TYPE,
    "no _start": guests.NO_START,
    "_start with parameters": guests.START_WITH_PARAMETERS,
    "4 GiB of memory": guests.HUGE_MEMORY,
    "not wasm": guests.NOT_WASM,
    "text format": guests.TEXT_FORMAT,
    "truncated": guests.TRUNCATED,
    "component": guests.COMPONENT,
    "empty": b"",
    "array": guests.printing(b"[1]"),
    "trailing data": guests.printing(b'{"output":{}} x'),
    "scalar output": guests.printing(b'{"output":3}'),
    "error that is a string": guests.printing(b'{"error":"no"}'),
    "class that is a number": guests.printing(b'{"error":{"class":3,"message":"x"}}'),
    "same key twice": guests.printing(b'{"output":{"a":1,"a":2}}'),
    "not UTF-8": guests.printing(b'{"output":{"a":"\xff"}}'),
    "deep": guests.printing(b'{"output":' + b'{"a":' * 200 + b"1" + b"}" * 201),
}


@pytest.mark.parametrize("wasm", CRASHES.values(), ids=CRASHES.keys())
def test_a_crash_is_one_line_and_the_next_call_works(runner: Runner, wasm: bytes) -> None:
    assert runner.preview(wasm).result.unavailable == CRASHED
    assert not runner.preview(guests.echo()).result.unavailable


def test_a_crash_keeps_its_details(runner: Runner) -> None:
    assert "unreachable" in str(runner.preview(guests.TRAP).details["message"])
    assert "steal" in str(runner.preview(guests.WRONG_IMPORT).details["message"])
    assert "component" in str(runner.preview(guests.COMPONENT).details["message"])
    assert "_start" in str(runner.preview(guests.NO_START).details["message"])


def test_a_nonzero_exit_shows_the_tail_of_stderr_and_ignores_stdout(runner: Runner) -> None:
    failure = runner.preview(guests.EXIT_ONE).failure
    assert failure is not None
    assert failure.kind == FailureKind.CONNECTOR_RUNTIME_ERROR
    assert failure.message == "connector exited 1; stderr: ..." + ("x" * 300 + " unknown op")[-256:]


@pytest.mark.parametrize(
    "wasm", [guests.SPIN, guests.SLEEP, guests.SPIN_IN_START_SECTION], ids=["spin", "sleep", "start section"]
)
def test_a_guest_that_does_not_return_ends_at_the_deadline(runner: Runner, wasm: bytes) -> None:
    runner.limits = replace(runner.limits, preview_seconds=0.3)
    began = time.monotonic()
    outcome = runner.preview(wasm)
    assert outcome.result.unavailable == "timeout"
    assert 0.25 < time.monotonic() - began < 3
    assert outcome.failure is not None
    assert outcome.failure.message == "wall_time limit exceeded (configured: 0.3s)"
    assert not runner.preview(guests.echo()).result.unavailable


def test_100_megabytes_of_output_stop_at_the_limit(runner: Runner) -> None:
    outcome = runner.preview(guests.FLOOD)
    assert outcome.result.unavailable == "the connector's output is larger than 8 MiB"
    assert outcome.seconds < 3
    assert not runner.preview(guests.echo()).result.unavailable


def test_only_the_tail_of_stderr_is_kept(runner: Runner) -> None:
    loud = guests.guest(
        "(local $i i32) (loop $l (call $write (i32.const 2) {p0} {n0})"
        " (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if $l (i32.lt_u (local.get $i) (i32.const 5000))))"
        " (call $write (i32.const 2) {p1} {n1}) (call $print {p2} {n2})",
        (b"noise " * 100, b"the end", b'{"output":{}}'),
    )
    outcome = runner.preview(loud)
    assert not outcome.result.unavailable
    assert outcome.stderr.endswith("the end")
    assert len(outcome.stderr) == 8 * 1024


def test_memory_is_capped_per_connector(runner: Runner) -> None:
    # 160 pages are 10 MiB
    runner.limits = replace(runner.limits, memory=8 * 1024 * 1024)
    assert runner.preview(guests.echo()).result.unavailable == CRASHED
    runner.limits = replace(runner.limits, memory=16 * 1024 * 1024)
    assert not runner.preview(guests.echo()).result.unavailable


def test_a_guest_sees_no_arguments_environment_or_files(runner: Runner) -> None:
    wasi = '(import "wasi_snapshot_preview1" '
    code = f"""(module
      {wasi}"environ_sizes_get" (func $env (param i32 i32) (result i32)))
      {wasi}"args_sizes_get" (func $args (param i32 i32) (result i32)))
      {wasi}"fd_prestat_get" (func $prestat (param i32 i32) (result i32)))
      (memory (export "memory") 1)
      (func (export "_start")
        (drop (call $env (i32.const 0) (i32.const 4))) (drop (call $args (i32.const 8) (i32.const 12)))
        (if (i32.or (i32.load (i32.const 0)) (i32.load (i32.const 8))) (then unreachable))
        (if (i32.eqz (call $prestat (i32.const 3) (i32.const 16))) (then unreachable))))"""
    assert not runner.preview(bytes(wat2wasm(code))).result.unavailable


def test_blank_output_makes_every_row_missing(runner: Runner) -> None:
    rows = runner.preview(guests.printing(b"  \n")).result.rows
    assert [row.missing for row in rows] == [True] * 4
