"""One call of a connector: a fresh store, JSON in, JSON out, a deadline over everything, and how its end is read."""

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import wasmtime

from aileron_tui.core.connector import Connector
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.sandbox import host_functions as hosting
from aileron_tui.sandbox import wasi
from aileron_tui.sandbox.credential_injection import Injector, SecretMasks
from aileron_tui.sandbox.credentials import Credentials
from aileron_tui.sandbox.engine import LoadedModule, WasmEngine, broken
from aileron_tui.sandbox.failure import CRASHED, TIMEOUT, Boundary, Failure, FailureKind, megabytes, short
from aileron_tui.sandbox.host_functions import HostFunctions
from aileron_tui.sandbox.http_exchange import HttpExchange
from aileron_tui.sandbox.network import SAFE_METHODS, UpstreamClient
from aileron_tui.sandbox.network_grant import Grant
from aileron_tui.sandbox.wasi import GuestStream

_STDERR_KEPT: Final = 8 * 1024
_STDERR_SHOWN: Final = 256
_TABLE_ELEMENTS: Final = 1_000_000
_TABLES: Final = 16
_LONGEST_CLASS: Final = 80


@dataclass(frozen=True, slots=True)
class CallBounds:
    """How much a connector may use. All sizes in bytes, all times in seconds.

    `preview_methods` is what a preview may send: it runs before anybody was asked, so it only reads unless the user
    says otherwise for a connector that reads by POST, as GraphQL services do.
    """

    memory: int = 256 * 1024 * 1024
    request: int = 8 * 1024 * 1024
    response: int = 8 * 1024 * 1024
    output: int = 8 * 1024 * 1024
    preview_seconds: float = 5.0
    execute_seconds: float = 30.0
    preview_methods: frozenset[str] = SAFE_METHODS


@dataclass(frozen=True, slots=True)
class Invocation:
    """An operation with its arguments, and the bounds it runs in; `methods` None allows every HTTP method."""

    op: str
    args: JsonObject
    seconds: float
    methods: frozenset[str] | None
    bounds: CallBounds


@dataclass(frozen=True, slots=True)
class CallResult:
    """What became of a call: an output (which may be null) or a failure, and what was seen on the way."""

    output: Json = None
    failure: Failure | None = None
    log: tuple[str, ...] = ()
    stderr: str = ""
    seconds: float = 0.0


_machine_lock: Final = threading.Lock()
_machines: Final[list[WasmEngine]] = []


def machine() -> WasmEngine:
    """The engine of this process, made when it is first needed."""
    with _machine_lock:
        if not _machines:
            _machines.append(WasmEngine(hosting.define))
        return _machines[0]


def invoke(
    loaded: LoadedModule, connector: Connector, invocation: Invocation, client: UpstreamClient, credentials: Credentials
) -> CallResult:
    """Runs one operation to its end. Never raises for anything a guest or an upstream does."""
    began = time.monotonic()
    deadline = began + invocation.seconds
    bounds = invocation.bounds
    masks = SecretMasks()
    exchange = HttpExchange(
        client,
        Grant(connector.hosts),
        Injector(connector, credentials, masks, deadline),
        invocation.methods,
        deadline,
        bounds.request,
        bounds.response,
    )
    host = HostFunctions(exchange, began, deadline)
    stdout, stderr = GuestStream(bounds.output, tail=False), GuestStream(_STDERR_KEPT, tail=True)
    stdin = json.dumps({"args": invocation.args, "op": invocation.op}).encode()
    end = _run(loaded, stdin, (stdout, stderr), host, bounds.memory)
    result = _finish(end, host, stdout, stderr, invocation)
    return replace(
        result,
        failure=_masked(result.failure, masks) if result.failure else None,
        log=tuple(map(masks.hide_text, host.lines)),
        stderr=masks.hide_text(stderr.data.decode("utf-8", "replace")),
        seconds=time.monotonic() - began,
    )


def _run(
    loaded: LoadedModule, stdin: bytes, streams: tuple[GuestStream, GuestStream], host: HostFunctions, memory: int
) -> int | wasmtime.Trap | wasmtime.WasmtimeError:
    """Instantiates and runs the module; the exit code, or how it broke."""
    engine = machine()
    hosting.current.host = host
    store = wasmtime.Store(engine.engine)
    try:
        store.set_limits(memory_size=memory, table_elements=_TABLE_ELEMENTS, instances=1, tables=_TABLES, memories=1)
        wasi.configure(store, stdin, *streams)
        with engine.ticker.running(host.deadline) as ticks:
            store.set_epoch_deadline(ticks)
            instance = loaded.instance.instantiate(store)
            start = instance.exports(store)["_start"]
            if isinstance(start, wasmtime.Func):
                start(store)
        return 0
    except wasmtime.ExitTrap as end:
        return end.code
    except (wasmtime.Trap, wasmtime.WasmtimeError) as end:
        return end
    finally:
        store.close()
        del hosting.current.host


def _finish(
    end: int | wasmtime.Trap | wasmtime.WasmtimeError,
    host: HostFunctions,
    stdout: GuestStream,
    stderr: GuestStream,
    invocation: Invocation,
) -> CallResult:
    late = isinstance(end, wasmtime.Trap) and end.trap_code == wasmtime.TrapCode.INTERRUPT
    if late or host.late or (host.error and host.error.reason == TIMEOUT):
        return CallResult(failure=_late(invocation.seconds))
    if stdout.overflowed:
        return CallResult(failure=_too_much_output(invocation.bounds.output))
    if host.error:
        return CallResult(failure=host.error)
    if not isinstance(end, int):
        return CallResult(failure=broken(str(end)))
    if end != 0:
        return CallResult(failure=_exited(end, stderr.data))
    return _read_output(stdout.data, invocation.bounds.output)


def _read_output(data: bytes, limit: int) -> CallResult:
    if not data.strip():
        return CallResult()
    try:
        table = read_object(data, JsonLimits(size=limit))
    except JsonError as fault:
        return CallResult(failure=_garbage(str(fault)))
    error, output = table.get("error"), table.get("output")
    if error is not None:
        return CallResult(failure=_claimed(error))
    if output is not None and not isinstance(output, dict):
        return CallResult(failure=_garbage("its output is not an object"))
    return CallResult(output=output)


def _claimed(error: Json) -> Failure:
    fields = error if isinstance(error, dict) else {}
    kind, message = fields.get("class") or FailureKind.CONNECTOR_RUNTIME_ERROR, fields.get("message") or ""
    if not fields or not isinstance(kind, str) or not isinstance(message, str):
        return _garbage("its error is not an object of class and message")
    return Failure(kind[:_LONGEST_CLASS], message, short(kind, message), Boundary.SANDBOX, claimed=True)


def _late(seconds: float) -> Failure:
    configured = f"{seconds:g}s"
    return Failure(
        FailureKind.RESOURCE_LIMIT_EXCEEDED,
        f"wall_time limit exceeded (configured: {configured})",
        TIMEOUT,
        details={"limit": "wall_time", "configured": configured},
    )


def _too_much_output(limit: int) -> Failure:
    return Failure(
        FailureKind.RESOURCE_LIMIT_EXCEEDED,
        f"connector wrote more than {megabytes(limit)} to stdout",
        f"the connector's answer is larger than {megabytes(limit)}",
        details={"limit": "output", "configured": megabytes(limit)},
    )


def _exited(code: int, stderr: bytes) -> Failure:
    tail = ("..." if len(stderr) > _STDERR_SHOWN else "") + stderr[-_STDERR_SHOWN:].decode("utf-8", "replace")
    return Failure(FailureKind.CONNECTOR_RUNTIME_ERROR, f"connector exited {code}; stderr: {tail}", CRASHED)


def _garbage(why: str) -> Failure:
    return Failure(
        FailureKind.CONNECTOR_RUNTIME_ERROR, f"connector stdout is not a valid JSON envelope: {why}", CRASHED
    )


def _masked(failure: Failure, masks: SecretMasks) -> Failure:
    hide = partial(_hidden, masks)
    details: Mapping[str, Json] = {key: hide(value) for key, value in failure.details.items()}
    return replace(
        failure,
        message=masks.hide_text(failure.message),
        reason=masks.hide_text(failure.reason),
        details=details,
    )


def _hidden(masks: SecretMasks, value: Json) -> Json:
    if isinstance(value, str):
        return masks.hide_text(value)
    return [_hidden(masks, item) for item in value] if isinstance(value, list) else value
