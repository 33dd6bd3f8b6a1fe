"""The host functions: a guest calls them with any arguments on any memory ranges.

The guest is compiled once. It reads a list of calls from its input, makes them, and traps if a call succeeds that must
not. An error inside a host function would be reported as a failure of the sandbox.
"""

import hashlib
import struct
import time
from functools import cache
from typing import Final

import wasmtime

from aileron_tui.core.connector import Connector
from aileron_tui.sandbox.connector_call import CallLimits, Invocation, Surroundings, invoke, shared_engine
from aileron_tui.sandbox.credentials import Credentials
from aileron_tui.sandbox.engine import LoadedModule
from aileron_tui.sandbox.network import UpstreamClient, UpstreamRequest, UpstreamResponse
from tests.fuzz.target import Target

_PAGE: Final = 65536
_PAGES: Final = 8
_INPUT: Final = 4 * _PAGE
_CALLS: Final = 2 * _PAGE
_BEFORE_CALLS: Final = len('{"args":{},"op":"')
_MOST_CALLS: Final = 40
_SECONDS: Final = 0.05
_LONGEST: Final = 5.0
_CALL: Final = struct.Struct("<6I")
_END: Final = 255
_SELECTED: Final = struct.Struct("<BH")
_WASI: Final = "wasi_snapshot_preview1"
_HOST: Final = "aileron_host"
_LOG, _REQUEST, _READ, _WRITE, _POLL, _GROW = 0, 1, 4, 10, 11, 12
_FUNCTIONS: Final = (
    (_HOST, "log", 4),
    (_HOST, "http_request", 2),
    (_HOST, "http_response_size", 0),
    (_HOST, "http_response_status", 0),
    (_HOST, "http_response_read", 2),
    (_HOST, "spawn", 2),
    (_HOST, "spawn_op", 4),
    (_HOST, "spawn_status", 0),
    (_HOST, "spawn_output_size", 1),
    (_HOST, "spawn_output_read", 3),
    (_WASI, "fd_write", 4),
    (_WASI, "poll_oneoff", 4),
)


def host_functions(data: bytes) -> None:
    """Any calls of host functions end in time, without an error of the host, and those on bad ranges fail."""
    calls, rest = _calls(data)
    invocation = Invocation((calls + rest).hex(), {}, _SECONDS, None, CallLimits(output=_PAGE))
    began = time.monotonic()
    result = invoke(_guest(), _CONNECTOR, invocation, _SURROUNDINGS)
    assert time.monotonic() - began < _LONGEST
    failure = result.failure
    if failure:
        assert "the sandbox failed" not in failure.message, failure.message
        assert "unreachable" not in failure.message, "a call on a bad range succeeded"
    assert all(len(line) < 2100 for line in result.log)


def _calls(data: bytes) -> tuple[bytes, bytes]:
    """The calls that the input describes, and the bytes that they can point to."""
    count = min(data[0] if data else 0, _MOST_CALLS)
    made, at, size = b"", 1, _PAGES * _PAGE
    payload = _CALLS + _CALL.size * (count + 1)
    for _ in range(count):
        entry = data[at : at + 1 + 4 * _SELECTED.size].ljust(1 + 4 * _SELECTED.size, b"\0")
        number = entry[0] % (_GROW + 1)
        args = [_argument(how, value, size, payload) for how, value in _SELECTED.iter_unpack(entry[1:])]
        made += _CALL.pack(number, *args, _must_fail(number, args, size))
        size += _PAGE if number == _GROW else 0
        at += len(entry)
    return made + _CALL.pack(_END, 0, 0, 0, 0, 0), data[at:]


def _argument(how: int, value: int, size: int, payload: int) -> int:
    """A number near one that matters: 0, the end of the memory, the bytes of the input, the ends of the range."""
    bases = (0, size, -value, payload, 2**31, payload, 2**32 - 1 - value, size - 2 * value, payload, 0)
    return (bases[how % len(bases)] + value) & 0xFFFFFFFF


def _must_fail(number: int, args: list[int], size: int) -> int:
    """Whether a call reaches beyond the memory, so that its result must not be 0 or more."""
    first, second, third, fourth = args
    match number:
        case 1 | 4:
            return first + second > size
        case 10:
            return first in (1, 2) and (second + third * 8 > size or fourth + 4 > size)
        case 11:
            return first + third * 48 > size or second + third * 32 > size or fourth + 4 > size
        case 5 | 6:
            return True
    return False


class _Replies:
    """Answers every request that the grant allows, so that nothing is sent."""

    def answer(self, request: UpstreamRequest, _credential: str) -> UpstreamResponse:
        return UpstreamResponse(200, {}, request.method.encode() + b" " + str(request.url).encode() * 20)

    def add(self, request: UpstreamRequest, credential: str, response: UpstreamResponse) -> None:
        raise AssertionError("something was sent")


def _module() -> bytes:
    imports, choices = [], []
    for number, (module, name, count) in enumerate(_FUNCTIONS):
        result = "" if name == "log" else "(result i32)"
        imports.append(f'(import "{module}" "{name}" (func $f{number} (param {"i32 " * count}) {result}))')
        args = " ".join(f"(i32.load offset={4 + 4 * index} (local.get $at))" for index in range(count))
        call = f"(call $f{number} {args})"
        call = call if name == "log" else f"(local.set $result {call})"
        choices.append(f"(if (i32.eq (local.get $number) (i32.const {number})) (then {call}))")
    return bytes(
        wasmtime.wat2wasm(f"""
(module
  {" ".join(imports)}
  (import "{_WASI}" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") {_PAGES})
  (func $digit (param $at i32) (result i32) (local $c i32)
    (local.set $c (i32.load8_u (local.get $at)))
    (select (i32.sub (local.get $c) (i32.const 48)) (i32.sub (local.get $c) (i32.const 87))
      (i32.lt_u (local.get $c) (i32.const 58))))
  (func (export "_start") (local $at i32) (local $from i32) (local $end i32) (local $number i32) (local $result i32)
    (local.set $from (i32.const {_INPUT}))
    (block $read_all (loop $more
      (i32.store (i32.const 0) (local.get $from)) (i32.store (i32.const 4) (i32.const {2 * _PAGE}))
      (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
      (br_if $read_all (i32.eqz (i32.load (i32.const 8))))
      (local.set $from (i32.add (local.get $from) (i32.load (i32.const 8))))
      (br $more)))
    (local.set $end (i32.sub (local.get $from) (i32.const 2)))
    (local.set $from (i32.const {_INPUT + _BEFORE_CALLS}))
    (local.set $at (i32.const {_CALLS}))
    (block $decoded (loop $next
      (br_if $decoded (i32.ge_u (local.get $from) (local.get $end)))
      (i32.store8 (local.get $at) (i32.or
        (i32.shl (call $digit (local.get $from)) (i32.const 4))
        (call $digit (i32.add (local.get $from) (i32.const 1)))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (local.set $from (i32.add (local.get $from) (i32.const 2)))
      (br $next)))
    (local.set $at (i32.const {_CALLS}))
    (block $done (loop $next
      (local.set $number (i32.load (local.get $at)))
      (br_if $done (i32.gt_u (local.get $number) (i32.const {_GROW})))
      (local.set $result (i32.const -1))
      {" ".join(choices)}
      (if (i32.eq (local.get $number) (i32.const {_GROW})) (then (drop (memory.grow (i32.const 1)))))
      (if (i32.and (i32.load offset=20 (local.get $at))
          (select (i32.eqz (local.get $result)) (i32.ge_s (local.get $result) (i32.const 0))
            (i32.ge_u (local.get $number) (i32.const 10))))
        (then unreachable))
      (local.set $at (i32.add (local.get $at) (i32.const {_CALL.size})))
      (br $next)))))""")
    )


@cache
def _guest() -> LoadedModule:
    wasm = _module()
    return shared_engine().load(wasm, hashlib.sha256(wasm).hexdigest())


_CONNECTOR: Final = Connector("local://fuzz/guest", "1.0.0", hosts=frozenset({"api.example.com:443"}))
_SURROUNDINGS: Final = Surroundings(UpstreamClient(), Credentials(), {}, _Replies())


def _seeds() -> list[bytes]:
    def call(number: int, *args: tuple[int, int]) -> bytes:
        return bytes((number,)) + b"".join(_SELECTED.pack(*arg) for arg in (*args, *[(0, 0)] * (4 - len(args))))

    request = b'{"method":"GET","url":"https://api.example.com/x","headers":{"A":"b"}}'
    asked = call(_REQUEST, (3, 0), (0, len(request)))
    vector = struct.pack("<4I", 100, 50, 2**20, 9)
    subscription = struct.pack("<QQIIQQHHI", 7, 0, 1, 0, 1000, 0, 0, 0, 0)
    return [
        b"\2" + asked + call(_READ, (0, 64), (0, 100)) + request,
        b"\3" + asked + call(_GROW) + call(_READ, (1, 0), (0, 100)) + request,
        b"\1" + call(_REQUEST, (3, 0), (0, 20)) + b'{"url":"http://x:99"}',
        b"\1" + call(_LOG, (3, 0), (0, 4), (3, 4), (0, 6)) + b"infohello!",
        b"\2" + call(_WRITE, (0, 1), (3, 0), (0, 2), (0, 8)) + call(_WRITE, (0, 2), (3, 8), (0, 1), (1, 0)) + vector,
        b"\1" + call(_POLL, (3, 0), (0, 1024), (0, 1), (0, 8)) + subscription,
        b"\3" + call(5, (0, 1), (2, 1)) + call(9, (1, 1), (6, 0), (4, 0)) + call(6),
    ]


TARGETS: Final = {"host-functions": Target(host_functions, _seeds)}
