"""The functions a connector may call: logging and HTTP. Starting programs is always denied.

A guest is hostile until proven otherwise: every pointer and length is checked against the memory as it is at that
moment, and nothing here raises into wasmtime, which keeps the last exception of any thread in one global.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import field
from typing import Final

import wasmtime

from aileron_tui.core.jsontext import JsonError, JsonLimits, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.sandbox import wasi
from aileron_tui.sandbox.failure import Boundary, CallRefused, Failure, FailureKind
from aileron_tui.sandbox.http_exchange import HttpExchange, MalformedGuestRequest, read_wish, request_too_large
from aileron_tui.sandbox.network import UpstreamResponse

_log = logging.getLogger(__name__)

MODULE: Final = "aileron_host"
_WASI: Final = "wasi_snapshot_preview1"
_OK: Final = 0
_FAILED: Final = -1
_BAD_REQUEST: Final = -2
_NONE: Final = -1
_MOST_LINES: Final = 200
_LONGEST_LINE: Final = 2000
_JSON_OVERHEAD: Final = 6  # a body of control characters grows by this factor as JSON


@dataclass(slots=True)
class HostFunctions:
    """What one call sees of the outside, and what it left behind.

    `error` is the failure of the latest request, and outlives whatever the guest makes of it; a request that succeeds
    afterwards clears it. The response is the one of the latest request that succeeded. `late` marks a sleep that the
    deadline cut short.
    """

    exchange: HttpExchange
    began: float
    deadline: float
    error: Failure | None = None
    response: UpstreamResponse | None = None
    late: bool = False
    lines: list[str] = field(default_factory=list)

    def log(self, caller: wasmtime.Caller, *spans: int) -> None:
        """Keeps a line of the guest's log; bad ranges read as empty."""
        if len(self.lines) < _MOST_LINES:
            name, text = (_read(caller, *spans[start : start + 2]) or b"" for start in (0, 2))
            line = f"{name[:20].decode('utf-8', 'replace')}: {text[:_LONGEST_LINE].decode('utf-8', 'replace')}"
            self.lines.append(line)

    def http_request(self, caller: wasmtime.Caller, pointer: int, length: int) -> int:
        """Sends a request described by JSON in guest memory."""
        span = _span(caller, pointer, length)
        if span is None or span[2] == 0:
            return _BAD_REQUEST
        memory, start, size = span
        largest = self.exchange.largest_request * _JSON_OVERHEAD
        if size > largest:
            self.error = request_too_large(self.exchange.largest_request)
            return _FAILED
        data = bytes(memory.read(caller, start, start + size))
        try:
            wish = read_wish(read_object(data, JsonLimits(size=largest)))
        except (JsonError, MalformedGuestRequest):
            return _BAD_REQUEST
        try:
            self.response = self.exchange.fulfil(wish)
        except CallRefused as refused:
            self.error = refused.failure
            return _FAILED
        self.error = None
        return _OK

    def http_response_size(self, _caller: wasmtime.Caller) -> int:
        """Length of the latest successful response's body."""
        return len(self.response.body) if self.response else _NONE

    def http_response_status(self, _caller: wasmtime.Caller) -> int:
        """Status of the latest successful response."""
        return self.response.status if self.response else _NONE

    def http_response_read(self, caller: wasmtime.Caller, pointer: int, length: int) -> int:
        """Copies the body from its beginning into guest memory."""
        if self.response is None:
            return _NONE
        span = _span(caller, pointer, length)
        if span is None:
            return _NONE
        memory, start, size = span
        part = self.response.body[:size]
        return memory.write(caller, part, start) if part else 0

    def deny_spawn(self, *_args: object) -> int:
        """Connectors here never start programs."""
        self.error = Failure(
            FailureKind.CAPABILITY_DENIED,
            "spawn: starting programs is not allowed",
            "the connector tried to start a program",
            Boundary.SANDBOX,
        )
        return _FAILED

    def nothing(self, *_args: object) -> int:
        """There is no program whose status or output could be read."""
        return _NONE

    def poll(self, caller: wasmtime.Caller, source: int, target: int, count: int, written: int) -> int:
        """Waits no longer than the call may last."""
        memory = caller.get("memory")
        if not isinstance(memory, wasmtime.Memory):
            return wasi.FAULT
        span = wasi.CallTime(self.began, self.deadline)
        outcome = wasi.poll(memory, caller, (source, target, count, written), span)
        self.late = self.late or time.monotonic() >= self.deadline
        return outcome


def _span(caller: wasmtime.Caller, pointer: int, length: int) -> tuple[wasmtime.Memory, int, int] | None:
    """The guest's memory and a range inside it, or None where there is no such range."""
    memory = caller.get("memory")
    if not isinstance(memory, wasmtime.Memory):
        return None
    start, size = pointer & 0xFFFFFFFF, length & 0xFFFFFFFF
    return (memory, start, size) if start + size <= memory.data_len(caller) else None


def _read(caller: wasmtime.Caller, pointer: int, length: int) -> bytes | None:
    span = _span(caller, pointer, length)
    if span is None:
        return None
    memory, start, size = span
    return bytes(memory.read(caller, start, start + size)) if size else b""


class _Current(threading.local):
    """The call that runs on this thread. Host functions are defined once for all calls and look it up here."""

    host: HostFunctions


current: Final = _Current()


def define(linker: wasmtime.Linker) -> None:
    """Defines the host's functions, and a `poll_oneoff` that ends with the call."""
    functions: dict[str, tuple[int, int, Callable[..., int | None]]] = {
        "log": (4, 0, HostFunctions.log),
        "http_request": (2, 1, HostFunctions.http_request),
        "http_response_size": (0, 1, HostFunctions.http_response_size),
        "http_response_status": (0, 1, HostFunctions.http_response_status),
        "http_response_read": (2, 1, HostFunctions.http_response_read),
        "spawn": (2, 1, HostFunctions.deny_spawn),
        "spawn_op": (4, 1, HostFunctions.deny_spawn),
        "spawn_status": (0, 1, HostFunctions.nothing),
        "spawn_output_size": (1, 1, HostFunctions.nothing),
        "spawn_output_read": (3, 1, HostFunctions.nothing),
    }
    for name, (parameters, results, function) in functions.items():
        linker.define_func(MODULE, name, _type(parameters, results), _guarded(name, function), access_caller=True)
    linker.define_func(
        _WASI, "poll_oneoff", _type(4, 1), _guarded("poll_oneoff", HostFunctions.poll), access_caller=True
    )


def _guarded(name: str, function: Callable[..., int | None]) -> Callable[..., int | None]:
    """The method of the current call, with faults of our own turned into a failed request.

    Only the type of such a fault is told: its text might hold the value of a header.
    """

    def call(*args: object) -> int | None:
        try:
            return function(current.host, *args)
        except Exception as error:  # noqa: BLE001 - an exception here would surface in another thread's call
            fault = f"the sandbox failed in {name}: {type(error).__name__}"
            _log.error("%s", fault)
            current.host.error = Failure(FailureKind.CONNECTOR_RUNTIME_ERROR, fault, fault, Boundary.RUNTIME)
            return None if name == "log" else _FAILED

    return call


def _type(parameters: int, results: int) -> wasmtime.FuncType:
    number = wasmtime.ValType.i32()
    return wasmtime.FuncType([number] * parameters, [number] * results)
