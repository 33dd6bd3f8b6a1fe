"""The wasmtime engine of this process: its epoch ticker, and its loaded modules."""

import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import wasmtime

from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.sandbox.compile_cache import CompileCache
from aileron_tui.sandbox.compile_process import engine_config
from aileron_tui.sandbox.failure import CRASHED, Boundary, CallRefused, Failure, FailureKind
from aileron_tui.sandbox.module_compiler import CannotCompile, ModuleCompiler

MAX_MODULE_SIZE: Final = 64 * 1024 * 1024
_MAX_CACHED_MODULES: Final = 64
_MAX_FAILURES: Final = 64
_SECONDS_UNTIL_NEXT_TRY: Final = 30.0
"""How long a module is not compiled again after that went wrong without its fault."""

_TICK_SECONDS: Final = 0.01
_MODULE_MAGIC: Final = b"\0asm\x01\0\0\0"
_COMPONENT_MAGIC: Final = b"\0asm\x0d\0\x01\0"

_log = logging.getLogger(__name__)


class EpochTicker:
    """Increments the epoch while calls are running, and sleeps while none are.

    Python threads can wake up many ticks late. The ticker catches up on missed ticks, so that a deadline in ticks
    matches the deadline in seconds.
    """

    def __init__(self, increment_epoch: Callable[[], None]) -> None:
        self._increment_epoch = increment_epoch
        self._condition = threading.Condition()
        self._running_calls = 0
        self._epoch = 0
        self._epoch_zero_time = 0.0
        self._thread: threading.Thread | None = None

    @contextmanager
    def running(self, deadline: float) -> Iterator[int]:
        """Ticks during the block; yields the number of ticks until the deadline (on the monotonic clock)."""
        with self._condition:
            if self._running_calls == 0:
                self._epoch_zero_time = time.monotonic() - self._epoch * _TICK_SECONDS
            self._running_calls += 1
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="sandbox-epochs", daemon=True)
                self._thread.start()
            self._condition.notify()
            ticks = math.ceil((deadline - self._epoch_zero_time) / _TICK_SECONDS) - self._epoch
        try:
            yield max(ticks, 1)
        finally:
            with self._condition:
                self._running_calls -= 1

    def _run(self) -> None:
        while True:
            with self._condition:
                while self._running_calls == 0:
                    self._condition.wait()
                due = int((time.monotonic() - self._epoch_zero_time) / _TICK_SECONDS) - self._epoch
                for _ in range(due):
                    self._increment_epoch()
                self._epoch += max(due, 0)
            time.sleep(_TICK_SECONDS)


@dataclass(frozen=True, slots=True)
class LoadedModule:
    """A module ready to be instantiated, with its imports resolved."""

    instance: wasmtime.InstancePre
    digest: str
    compiled: bool


class WasmEngine:
    """A wasmtime engine with the host functions defined; each module is loaded at most once."""

    def __init__(self, define_functions: Callable[[wasmtime.Linker], None]) -> None:
        self.engine = wasmtime.Engine(engine_config())
        self.ticker = EpochTicker(self.engine.increment_epoch)
        self._linker = wasmtime.Linker(self.engine)
        self._linker.allow_shadowing = True
        self._linker.define_wasi()
        define_functions(self._linker)
        self._lock = threading.Lock()
        self._load_locks: dict[str, threading.Lock] = {}
        self._modules: OrderedDict[str, LoadedModule] = OrderedDict()
        self._compiler = ModuleCompiler(self.engine)
        self._compiling: dict[str, float] = {}
        self._failures: OrderedDict[str, tuple[Failure, float]] = OrderedDict()

    def compiling_since(self, digest: str) -> float | None:
        """When the compilation of a module began on the monotonic clock, or None if it is not being compiled."""
        return self._compiling.get(digest)

    def end_compiling(self) -> None:
        """Ends the processes that compile modules. The calls that wait for one fail."""
        self._compiler.end_processes()

    def load(self, wasm: bytes, digest: str, cache: Path | None = None, name: str = "") -> LoadedModule:
        """Loads the module in `wasm`; `digest` is its SHA-256, which the caller has just computed.

        The module comes from memory, from the compile cache, or is compiled now and stored in both. `name` is what the
        log calls it.
        """
        with self._lock:
            found = self._modules.get(digest)
            if found is not None:
                self._modules.move_to_end(digest)
                return found
            load_lock = self._load_locks.setdefault(digest, threading.Lock())
        with load_lock:
            with self._lock:
                found = self._modules.get(digest)
            if found is None:
                found = self._load_module(wasm, digest, cache, name)
            with self._lock:
                self._modules[digest] = found
                self._load_locks.pop(digest, None)
                while len(self._modules) > _MAX_CACHED_MODULES:
                    self._modules.popitem(last=False)
        return found

    def _load_module(self, wasm: bytes, digest: str, cache: Path | None, name: str) -> LoadedModule:
        check_format(wasm)
        compile_cache = CompileCache(cache) if cache is not None else None
        module = compile_cache.load(self.engine, digest) if compile_cache else None
        compiled = module is None
        if module is None:
            module = self._compile(wasm, digest, compile_cache, name)
        try:
            export_types = {export.name: export.type for export in module.exports}
            instance = self._linker.instantiate_pre(module)
        except wasmtime.WasmtimeError as error:
            raise CallRefused(module_failure(str(error))) from None
        start = export_types.get("_start")
        if not isinstance(start, wasmtime.FuncType) or start.params or start.results:
            raise CallRefused(module_failure("the module has no _start function"))
        return LoadedModule(instance, digest, compiled)

    def _compile(self, wasm: bytes, digest: str, cache: CompileCache | None, name: str) -> wasmtime.Module:
        failure, next_try = self._failures.get(digest, (None, 0.0))
        if failure and time.monotonic() < next_try:
            raise CallRefused(failure)
        shown, began = inline(name or digest), time.monotonic()
        self._compiling[digest] = began
        try:
            _log.info("compiling the connector %s; that is done once", shown)
            code = self._compiler.compile(wasm)
            if cache:
                cache.store(digest, code.code)
            module = code.module or (cache.load(self.engine, digest) if cache else None)
            module = module or wasmtime.Module.deserialize(self.engine, code.code)
        except CannotCompile as error:
            self._note_failure(digest, failure := _compile_failure(error), may_pass=error.may_pass)
            _log.warning("the connector %s could not be compiled: %s", shown, inline(str(error)))
            raise CallRefused(failure) from None
        except wasmtime.WasmtimeError as error:
            raise CallRefused(module_failure(str(error))) from None
        finally:
            del self._compiling[digest]
        _log.info("compiled the connector %s in %.1f s", shown, time.monotonic() - began)
        return module

    def _note_failure(self, digest: str, failure: Failure, *, may_pass: bool) -> None:
        """Remembers why a module cannot be compiled, so that each call does not try it again."""
        self._failures[digest] = (failure, time.monotonic() + _SECONDS_UNTIL_NEXT_TRY if may_pass else math.inf)
        while len(self._failures) > _MAX_FAILURES:
            self._failures.popitem(last=False)


def _compile_failure(error: CannotCompile) -> Failure:
    if not error.may_pass:
        return module_failure(str(error))
    kind, message = FailureKind.RESOURCE_LIMIT_EXCEEDED, f"nothing was run: the connector is not ready: {error}"
    return Failure(kind, message, f"the connector is not ready: {error}", Boundary.RUNTIME, retriable=True)


def module_failure(message: str) -> Failure:
    """The failure for a module that cannot be loaded or that trapped."""
    return Failure(FailureKind.CONNECTOR_LOAD_FAILED, message, CRASHED, Boundary.SANDBOX)


def check_format(wasm: bytes) -> None:
    """Refuses what is not a WebAssembly module; raises CallRefused."""
    # wasmtime treats bytes without the magic number as the text format and assembles them.
    if len(wasm) > MAX_MODULE_SIZE:
        raise CallRefused(module_failure(f"the module is {len(wasm):,} bytes; the limit is {MAX_MODULE_SIZE:,}"))
    if wasm.startswith(_COMPONENT_MAGIC):
        raise CallRefused(
            module_failure("this is a WebAssembly component; connectors are core modules for WASI preview 1")
        )
    if not wasm.startswith(_MODULE_MAGIC):
        raise CallRefused(module_failure("this is not a WebAssembly module"))
