"""Small connectors in the WebAssembly text format: well-behaved ones, and one for each fault."""

import json
from collections.abc import Mapping, Sequence
from functools import cache

import wasmtime

_IMPORTS = """
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (import "aileron_host" "log" (func $log (param i32 i32 i32 i32)))
  (import "aileron_host" "http_request" (func $request (param i32 i32) (result i32)))
  (import "aileron_host" "http_response_size" (func $size (result i32)))
  (import "aileron_host" "http_response_status" (func $status (result i32)))
  (import "aileron_host" "http_response_read" (func $read (param i32 i32) (result i32)))
  (import "aileron_host" "spawn" (func $spawn (param i32 i32) (result i32)))
  (import "aileron_host" "spawn_op" (func $spawn_op (param i32 i32 i32 i32) (result i32)))
  (import "aileron_host" "spawn_status" (func $spawn_status (result i32)))
  (import "aileron_host" "spawn_output_size" (func $spawn_size (param i32) (result i32)))
  (import "aileron_host" "spawn_output_read" (func $spawn_read (param i32 i32 i32) (result i32)))
"""
# Memory layout: scratch below 1024, texts from 1024, response bodies from 65536.
_FUNCTIONS = """
  (func $write (param $fd i32) (param $p i32) (param $n i32)
    (i32.store (i32.const 0) (local.get $p)) (i32.store (i32.const 4) (local.get $n))
    (drop (call $fd_write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func $print (param $p i32) (param $n i32) (call $write (i32.const 1) (local.get $p) (local.get $n)))
  (func $digit (param $at i32) (param $d i32)
    (i32.store8 (local.get $at) (i32.add (i32.const 48) (local.get $d))))
  (func $number (param $n i32)
    (if (i32.lt_s (local.get $n) (i32.const 0)) (then
      (i32.store8 (i32.const 16) (i32.const 45)) (call $print (i32.const 16) (i32.const 1))
      (local.set $n (i32.sub (i32.const 0) (local.get $n)))))
    (call $digit (i32.const 16) (i32.div_u (local.get $n) (i32.const 100)))
    (call $digit (i32.const 17) (i32.rem_u (i32.div_u (local.get $n) (i32.const 10)) (i32.const 10)))
    (call $digit (i32.const 18) (i32.rem_u (local.get $n) (i32.const 10)))
    (call $print (i32.const 16) (i32.const 3)))
"""


def _quoted(data: bytes) -> str:
    return '"' + "".join(f"\\{byte:02x}" for byte in data) + '"'


@cache
def guest(body: str, texts: tuple[bytes, ...] = (), pages: int = 160) -> bytes:
    """Returns a module whose `_start` is `body`; `{p0}` and `{n0}` are the address and length of the first text."""
    at, segments = 1024, []
    places: dict[str, str] = {}
    for index, text in enumerate(texts):
        segments.append(f"(data (i32.const {at}) {_quoted(text)})")
        places |= {f"p{index}": f"(i32.const {at})", f"n{index}": f"(i32.const {len(text)})"}
        at += len(text)
    for name, value in places.items():
        body = body.replace("{" + name + "}", value)
    memory = f'(memory (export "memory") {pages})'
    code = f'(module {_IMPORTS} {memory} {" ".join(segments)} {_FUNCTIONS} (func (export "_start") {body}))'
    return bytes(wasmtime.wat2wasm(code))


def printing(stdout: bytes) -> bytes:
    """Returns a guest that prints this and exits."""
    return guest("(call $print {p0} {n0})", (stdout,))


def echo() -> bytes:
    """Returns a guest that outputs its own input."""
    body = """
      (local $n i32)
      (i32.store (i32.const 32) (i32.const 65536)) (i32.store (i32.const 36) (i32.const 1000000))
      (drop (call $fd_read (i32.const 0) (i32.const 32) (i32.const 1) (i32.const 40)))
      (local.set $n (i32.load (i32.const 40)))
      (call $print {p0} {n0}) (call $print (i32.const 65536) (local.get $n)) (call $print {p1} {n1})"""
    return guest(body, (b'{"output":', b"}"))


def http_guest(request: Mapping[str, object] | bytes, *, service: str = "Gmail") -> bytes:
    """Returns a guest that sends one request and outputs the JSON response, as real connectors do."""
    request = request if isinstance(request, bytes) else json.dumps(request).encode()
    denied = b'{"error":{"class":"connector_runtime_error","message":"get: http_request denied or failed (rc='
    refused = b'{"error":{"class":"external_api_error","message":"' + service.encode() + b" API returned "
    body = """
      (local $rc i32) (local $n i32)
      (local.set $rc (call $request {p0} {n0}))
      (if (local.get $rc) (then
        (call $print {p1} {n1}) (call $number (local.get $rc)) (call $print {p2} {n2}) (return)))
      (local.set $n (call $read (i32.const 65536) (i32.const 9000000)))
      (if (i32.ne (i32.div_u (call $status) (i32.const 100)) (i32.const 2)) (then
        (call $print {p3} {n3}) (call $number (call $status)) (call $print {p4} {n4})
        (call $print (i32.const 65536) (local.get $n)) (call $print {p5} {n5}) (return)))
      (call $print {p6} {n6}) (call $print (i32.const 65536) (local.get $n)) (call $print {p7} {n7})"""
    return guest(body, (request, denied, b')"}}', refused, b": ", b'"}}', b'{"output":', b"}"))


def sending(requests: Sequence[Mapping[str, object]], end: bytes = b'{"output":{}}') -> bytes:
    """Returns a guest that sends these requests one after another, whatever comes of each, and then prints `end`."""
    texts = (*(json.dumps(request).encode() for request in requests), end)
    calls = " ".join(f"(drop (call $request {{p{index}}} {{n{index}}}))" for index in range(len(requests)))
    return guest(f"{calls} (call $print {{p{len(requests)}}} {{n{len(requests)}}})", texts)


def numbers(*expressions: str, texts: tuple[bytes, ...] = ()) -> bytes:
    """Returns a guest that outputs the values of these expressions as three-digit strings r0, r1, …."""
    parts = []
    for index, expression in enumerate(expressions):
        opening = b'"r%d":"' % index
        texts = (*texts, (b"," if index else b'{"output":{') + opening)
        text_index = len(texts) - 1
        texts = (*texts, b'"')
        parts.append(f"(local.set $v {expression}) (call $print {{p{text_index}}} {{n{text_index}}})")
        parts.append(f"(call $number (local.get $v)) (call $print {{p{text_index + 1}}} {{n{text_index + 1}}})")
    texts = (*texts, b"}}")
    last = len(texts) - 1
    return guest(f"(local $v i32) {' '.join(parts)} (call $print {{p{last}}} {{n{last}}})", texts)


def _plain(text: str) -> bytes:
    return bytes(wasmtime.wat2wasm(text))


TRAP = guest("unreachable")
SPIN = guest("(loop $l (br $l))")
DIVISION = guest("(drop (i32.div_u (i32.const 1) (i32.const 0)))")
MEMORY_BOMB = guest(
    "(loop $l (br_if $l (i32.ne (memory.grow (i32.const 100)) (i32.const -1)))) (call $exit (i32.const 2))"
)
GARBAGE = printing(b"\x00\xff not json")
FLOOD = guest(
    "(local $i i32) (loop $l (call $print (i32.const 65536) (i32.const 1000000))"
    " (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if $l (i32.lt_u (local.get $i) (i32.const 100))))"
)
EXIT_ONE = guest(
    "(call $write (i32.const 2) {p0} {n0}) (call $print {p1} {n1}) (call $exit (i32.const 1))",
    (b"x" * 300 + b" unknown op", b'{"error":{"class":"external_api_error","message":"ignored"}}'),
)
SLEEP = guest(
    "(i64.store (i32.const 128) (i64.const 7)) (i64.store (i32.const 152) (i64.const 3600000000000))"
    " (drop (call $poll (i32.const 128) (i32.const 256) (i32.const 1) (i32.const 320)))"
)
WRONG_IMPORT = _plain(
    '(module (import "aileron_host" "steal" (func)) (memory (export "memory") 1) (func (export "_start")))'
)
WRONG_TYPE = _plain(
    '(module (import "aileron_host" "http_request" (func (param i64))) (memory (export "memory") 1)'
    ' (func (export "_start")))'
)
NO_START = _plain('(module (memory (export "memory") 1))')
NO_MEMORY = _plain(
    '(module (import "aileron_host" "http_request" (func $r (param i32 i32) (result i32)))'
    ' (func (export "_start") (if (i32.ne (call $r (i32.const 0) (i32.const 8)) (i32.const -2)) (then unreachable))))'
)
START_WITH_PARAMETERS = _plain('(module (memory (export "memory") 1) (func (export "_start") (param i32)))')
HUGE_MEMORY = _plain('(module (memory (export "memory") 65536) (func (export "_start")))')
RECURSION = _plain(
    '(module (memory (export "memory") 1) (func $f (param i64) (result i64)'
    " (i64.add (i64.const 1) (call $f (i64.add (local.get 0) (i64.const 1)))))"
    ' (func (export "_start") (drop (call $f (i64.const 0)))))'
)
SPIN_IN_START_SECTION = _plain(
    '(module (memory (export "memory") 1) (func $f (loop $l (br $l))) (start $f) (func (export "_start")))'
)
NOT_WASM = b"this is not wasm"
TEXT_FORMAT = b'(module (memory (export "memory") 1) (func (export "_start")))'
TRUNCATED = TRAP[:-7]
COMPONENT = b"\0asm\x0d\0\x01\0"
