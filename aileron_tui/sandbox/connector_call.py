"""One call of a connector: a fresh store, JSON in, JSON out, one deadline for everything, and reading the result."""

import threading
import time
from collections.abc import Mapping
from dataclasses import field, replace
from functools import partial
from typing import Final

import wasmtime

from aileron_tui.core.connector import Connector
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, canonical, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.sandbox import host_functions, wasi
from aileron_tui.sandbox.credential_injection import Injector, SecretMasks
from aileron_tui.sandbox.credentials import Credentials
from aileron_tui.sandbox.engine import LoadedModule, WasmEngine, module_failure
from aileron_tui.sandbox.failure import CRASHED, TIMEOUT, Boundary, Failure, FailureKind, mebibytes, short_reason
from aileron_tui.sandbox.host_functions import HostFunctions
from aileron_tui.sandbox.http_exchange import HttpExchange, Recording
from aileron_tui.sandbox.network import SAFE_METHODS, UpstreamClient
from aileron_tui.sandbox.network_grant import NetworkGrant, Url
from aileron_tui.sandbox.sent_changes import SentChanges
from aileron_tui.sandbox.upstream_retries import UpstreamRetries
from aileron_tui.sandbox.wasi import GuestStream

_MAX_STDERR: Final = 8 * 1024
_STDERR_SHOWN: Final = 256
_MAX_TABLE_ELEMENTS: Final = 1_000_000
_MAX_TABLES: Final = 16
_MAX_CLASS_LENGTH: Final = 80

EXITED: Final = "connector exited"
NOT_AN_ANSWER: Final = "connector stdout is not a valid JSON envelope"


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Resource limits for one connector call. Sizes are in bytes, times in seconds.

    `preview_methods` lists the HTTP methods a preview may use. A preview runs before anyone has approved, so it may
    only read; the user can allow POST for connectors that read with POST, such as GraphQL clients.
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
    """An op with its arguments and its limits; `methods=None` allows every HTTP method.

    `idempotent` means that the manifest says that the op may be repeated. `gated` means that somebody approved it, so
    it changes something. `account` is the one that it uses.
    """

    op: str
    args: JsonObject
    seconds: float
    methods: frozenset[str] | None
    limits: CallLimits
    idempotent: bool = False
    gated: bool = False
    account: str = ""

    @property
    def is_preview(self) -> bool:
        """Whether the op may only read."""
        return self.methods is not None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is between a connector and its services: connections, credentials, test servers and recordings.

    `test_servers` are asked in place of granted hosts, by `host:port`.
    """

    client: UpstreamClient
    credentials: Credentials
    test_servers: Mapping[str, Url] = field(default_factory=dict)
    recording: Recording | None = None


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a call: an output (which may be null) or a failure, plus the log and stderr.

    `retried` says how often requests were repeated and why, "" if none was.
    """

    output: Json = None
    failure: Failure | None = None
    log: tuple[str, ...] = ()
    stderr: str = ""
    seconds: float = 0.0
    retried: str = ""


_engine_lock: Final = threading.Lock()
_engines: Final[list[WasmEngine]] = []


def shared_engine() -> WasmEngine:
    """Returns the engine of this process, created on first use."""
    with _engine_lock:
        if not _engines:
            _engines.append(WasmEngine(host_functions.define))
        return _engines[0]


def invoke(
    loaded: LoadedModule, connector: Connector, invocation: Invocation, surroundings: Surroundings
) -> CallResult:
    """Runs one op to completion. Never raises because of anything a guest or an upstream does."""
    started_at = time.monotonic()
    deadline = started_at + invocation.seconds
    limits = invocation.limits
    masks = SecretMasks()
    changes = SentChanges(idempotent=invocation.idempotent, gets_count=invocation.gated)
    exchange = HttpExchange(
        surroundings.client,
        NetworkGrant(connector.hosts),
        Injector(connector, surroundings.credentials, masks, deadline, invocation.account),
        invocation.methods,
        deadline,
        limits.request,
        limits.response,
        changes,
        UpstreamRetries(deadline, changes),
        surroundings.test_servers,
        surroundings.recording,
    )
    stdout, stderr = GuestStream(limits.output, keep_tail=False), GuestStream(_MAX_STDERR, keep_tail=True)
    host = HostFunctions(exchange, stdout, stderr, started_at, deadline)
    stdin = canonical({"args": invocation.args, "op": invocation.op})
    end = _run(loaded, stdin, host, limits.memory)
    result = _read_result(end, host, stdout, stderr, invocation)
    failure, retried = result.failure, exchange.retries.words
    if failure or not invocation.is_preview:
        failure = changes.judged(failure)
    failure = failure.after_retries(retried) if failure else None
    return replace(
        result,
        output=None if failure else result.output,
        failure=_mask_failure(failure, masks) if failure else None,
        log=tuple(map(masks.mask_text, host.log_lines)),
        stderr=masks.mask_text(stderr.data.decode("utf-8", "replace")),
        seconds=time.monotonic() - started_at,
        retried=retried,
    )


def _run(
    loaded: LoadedModule, stdin: bytes, host: HostFunctions, memory: int
) -> int | wasmtime.Trap | wasmtime.WasmtimeError:
    """Instantiates and runs the module; returns its exit code or the trap that ended it."""
    engine = shared_engine()
    host_functions.current_call.host = host
    store = wasmtime.Store(engine.engine)
    try:
        store.set_limits(
            memory_size=memory, table_elements=_MAX_TABLE_ELEMENTS, instances=1, tables=_MAX_TABLES, memories=1
        )
        wasi.configure(store, stdin)
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
        del host_functions.current_call.host


def _read_result(
    end: int | wasmtime.Trap | wasmtime.WasmtimeError,
    host: HostFunctions,
    stdout: GuestStream,
    stderr: GuestStream,
    invocation: Invocation,
) -> CallResult:
    interrupted = isinstance(end, wasmtime.Trap) and end.trap_code == wasmtime.TrapCode.INTERRUPT
    if interrupted or host.timed_out or (host.error and host.error.reason == TIMEOUT):
        return CallResult(failure=_timed_out(invocation.seconds))
    if stdout.overflowed:
        return CallResult(failure=_too_much_output(invocation.limits.output))
    if host.error:
        return CallResult(failure=host.error)
    if not isinstance(end, int):
        return CallResult(failure=module_failure(str(end)))
    if end != 0:
        return CallResult(failure=_nonzero_exit(end, stderr.data))
    return _read_output(stdout.data, invocation.limits.output)


def _read_output(data: bytes, limit: int) -> CallResult:
    if not data.strip():
        return CallResult()
    try:
        table = read_object(data, JsonLimits(size=limit))
    except JsonError as json_error:
        return CallResult(failure=_invalid_output(str(json_error)))
    error, output = table.get("error"), table.get("output")
    if error is not None:
        return CallResult(failure=_reported_failure(error))
    if output is not None and not isinstance(output, dict):
        return CallResult(failure=_invalid_output("its output is not an object"))
    return CallResult(output=output)


def _reported_failure(error: Json) -> Failure:
    fields = error if isinstance(error, dict) else {}
    kind, message = fields.get("class") or FailureKind.CONNECTOR_RUNTIME_ERROR, fields.get("message") or ""
    if not fields or not isinstance(kind, str) or not isinstance(message, str):
        return _invalid_output("its error is not an object with a class and a message")
    return Failure(
        kind[:_MAX_CLASS_LENGTH], message, short_reason(kind, message), Boundary.SANDBOX, reported_by_guest=True
    )


def _timed_out(seconds: float) -> Failure:
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
        f"connector wrote more than {mebibytes(limit)} to stdout",
        f"the connector's output is larger than {mebibytes(limit)}",
        details={"limit": "output", "configured": mebibytes(limit)},
    )


def _nonzero_exit(code: int, stderr: bytes) -> Failure:
    tail = ("..." if len(stderr) > _STDERR_SHOWN else "") + stderr[-_STDERR_SHOWN:].decode("utf-8", "replace")
    return Failure(FailureKind.CONNECTOR_RUNTIME_ERROR, f"{EXITED} {code}; stderr: {tail}", CRASHED)


def _invalid_output(why: str) -> Failure:
    return Failure(FailureKind.CONNECTOR_RUNTIME_ERROR, f"{NOT_AN_ANSWER}: {why}", CRASHED)


def _mask_failure(failure: Failure, masks: SecretMasks) -> Failure:
    mask = partial(_mask_value, masks)
    details: Mapping[str, Json] = {key: mask(value) for key, value in failure.details.items()}
    return replace(
        failure,
        message=masks.mask_text(failure.message),
        reason=masks.mask_text(failure.reason),
        details=details,
    )


def _mask_value(masks: SecretMasks, value: Json) -> Json:
    if isinstance(value, str):
        return masks.mask_text(value)
    return [_mask_value(masks, item) for item in value] if isinstance(value, list) else value
