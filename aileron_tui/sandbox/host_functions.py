"""The functions a connector may call: logging and HTTP. Starting programs is always denied.

Guests are treated as hostile: every pointer and length is checked against the current memory size. Nothing here raises
into wasmtime, which stores the last exception of any thread in one global variable.
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
from aileron_tui.sandbox.http_exchange import HttpExchange, MalformedGuestRequest, read_guest_request, request_too_large
from aileron_tui.sandbox.network import UpstreamResponse

_log = logging.getLogger(__name__)

MODULE: Final = "aileron_host"
_WASI: Final = "wasi_snapshot_preview1"
_OK: Final = 0
_FAILED: Final = -1
_BAD_REQUEST: Final = -2
_UNAVAILABLE: Final = -1
_STDOUT: Final = 1
_STDERR: Final = 2
_MAX_LOG_LINES: Final = 200
_MAX_LINE_LENGTH: Final = 2000
_JSON_OVERHEAD: Final = 6  # JSON escapes can make a body this many times larger


@dataclass(slots=True)
class HostFunctions:
    """The host functions for one call, and the state they leave behind.

    `error` is the failure of the latest request, kept even if the guest ignores it; the next successful request clears
    it. `response` is the response to the latest successful request. `timed_out` is set when the deadline cut a sleep
    short.
    """

    exchange: HttpExchange
    stdout: wasi.GuestStream
    stderr: wasi.GuestStream
    started_at: float
    deadline: float
    error: Failure | None = None
    response: UpstreamResponse | None = None
    timed_out: bool = False
    log_lines: list[str] = field(default_factory=list)

    def log(self, caller: wasmtime.Caller, *spans: int) -> None:
        """Records a log line from the guest; invalid memory ranges are read as empty."""
        if len(self.log_lines) < _MAX_LOG_LINES:
            name, text = (_read(caller, *spans[start : start + 2]) or b"" for start in (0, 2))
            line = f"{name[:20].decode('utf-8', 'replace')}: {text[:_MAX_LINE_LENGTH].decode('utf-8', 'replace')}"
            self.log_lines.append(line)

    def http_request(self, caller: wasmtime.Caller, pointer: int, length: int) -> int:
        """Sends the HTTP request described by JSON in guest memory."""
        span = _span(caller, pointer, length)
        if span is None or span[2] == 0:
            return _BAD_REQUEST
        memory, start, size = span
        max_size = self.exchange.max_request_size * _JSON_OVERHEAD
        if size > max_size:
            self.error = request_too_large(self.exchange.max_request_size)
            return _FAILED
        data = bytes(memory.read(caller, start, start + size))
        try:
            guest_request = read_guest_request(read_object(data, JsonLimits(size=max_size)))
        except (JsonError, MalformedGuestRequest):
            return _BAD_REQUEST
        try:
            self.response = self.exchange.send(guest_request)
        except CallRefused as refused:
            self.error = refused.failure
            return _FAILED
        self.error = None
        return _OK

    def http_response_size(self, _caller: wasmtime.Caller) -> int:
        """Length of the body of the latest successful response."""
        return len(self.response.body) if self.response else _UNAVAILABLE

    def http_response_status(self, _caller: wasmtime.Caller) -> int:
        """Status of the latest successful response."""
        return self.response.status if self.response else _UNAVAILABLE

    def http_response_read(self, caller: wasmtime.Caller, pointer: int, length: int) -> int:
        """Copies the start of the body into guest memory."""
        if self.response is None:
            return _UNAVAILABLE
        span = _span(caller, pointer, length)
        if span is None:
            return _UNAVAILABLE
        memory, start, size = span
        part = self.response.body[:size]
        return memory.write(caller, part, start) if part else 0

    def deny_spawn(self, *_args: object) -> int:
        """Refuses to start a program."""
        self.error = Failure(
            FailureKind.CAPABILITY_DENIED,
            "spawn: starting programs is not allowed",
            "the connector tried to start a program",
            Boundary.SANDBOX,
        )
        return _FAILED

    def no_process(self, *_args: object) -> int:
        """Reports that there is no program whose status or output could be read."""
        return _UNAVAILABLE

    def poll(self, caller: wasmtime.Caller, source: int, target: int, count: int, written: int) -> int:
        """Sleeps, but not past the deadline of the call."""
        memory = caller.get("memory")
        if not isinstance(memory, wasmtime.Memory):
            return wasi.ERRNO_FAULT
        call_time = wasi.CallTime(self.started_at, self.deadline)
        errno = wasi.poll(memory, caller, (source, target, count, written), call_time)
        self.timed_out = self.timed_out or time.monotonic() >= self.deadline
        return errno

    def write(self, caller: wasmtime.Caller, file: int, source: int, count: int, written: int) -> int:
        """Writes to stdout or stderr."""
        memory = caller.get("memory")
        if not isinstance(memory, wasmtime.Memory):
            return wasi.ERRNO_FAULT
        stream = self.stdout if file == _STDOUT else self.stderr if file == _STDERR else None
        return wasi.write(memory, caller, (source, count, written), stream)


def _span(caller: wasmtime.Caller, pointer: int, length: int) -> tuple[wasmtime.Memory, int, int] | None:
    """Returns the guest's memory and a range inside it, or None if the range is invalid."""
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


class _CurrentCall(threading.local):
    """The call running on this thread. Host functions are defined once for all calls and look it up here."""

    host: HostFunctions


current_call: Final = _CurrentCall()


def define(linker: wasmtime.Linker) -> None:
    """Defines the host functions, and our own versions of two WASI functions."""
    functions: dict[str, tuple[int, int, Callable[..., int | None]]] = {
        "log": (4, 0, HostFunctions.log),
        "http_request": (2, 1, HostFunctions.http_request),
        "http_response_size": (0, 1, HostFunctions.http_response_size),
        "http_response_status": (0, 1, HostFunctions.http_response_status),
        "http_response_read": (2, 1, HostFunctions.http_response_read),
        "spawn": (2, 1, HostFunctions.deny_spawn),
        "spawn_op": (4, 1, HostFunctions.deny_spawn),
        "spawn_status": (0, 1, HostFunctions.no_process),
        "spawn_output_size": (1, 1, HostFunctions.no_process),
        "spawn_output_read": (3, 1, HostFunctions.no_process),
    }
    for name, (parameters, results, function) in functions.items():
        linker.define_func(MODULE, name, _func_type(parameters, results), _guarded(name, function), access_caller=True)
    replaced: dict[str, Callable[..., int]] = {"poll_oneoff": HostFunctions.poll, "fd_write": HostFunctions.write}
    for name, function in replaced.items():
        linker.define_func(_WASI, name, _func_type(4, 1), _guarded(name, function), access_caller=True)


def _guarded(name: str, function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Wraps a host function so that an internal error becomes a failed request.

    Only the type of the error is reported: its text might contain the value of a header.
    """

    def call(*args: object) -> int | None:
        try:
            return function(current_call.host, *args)
        except Exception as error:  # noqa: BLE001 - an exception here would surface in a call on another thread
            fault = f"the sandbox failed in {name}: {type(error).__name__}"
            _log.error("%s", fault)
            current_call.host.error = Failure(FailureKind.CONNECTOR_RUNTIME_ERROR, fault, fault, Boundary.RUNTIME)
            return None if name == "log" else _FAILED

    return call


def _func_type(parameters: int, results: int) -> wasmtime.FuncType:
    number = wasmtime.ValType.i32()
    return wasmtime.FuncType([number] * parameters, [number] * results)
