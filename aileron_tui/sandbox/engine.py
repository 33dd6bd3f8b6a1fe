"""The one wasmtime engine of the process: its settings, its clock of epochs, and the modules it has loaded."""

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
from aileron_tui.sandbox.compile_cache import CompileCache
from aileron_tui.sandbox.failure import CRASHED, Boundary, CallRefused, Failure, FailureKind

LARGEST_MODULE: Final = 64 * 1024 * 1024
_KEPT_MODULES: Final = 64
_STACK: Final = 1024 * 1024
_PERIOD: Final = 0.01
_MODULE_MAGIC: Final = b"\0asm\x01\0\0\0"
_COMPONENT_MAGIC: Final = b"\0asm\x0d\0\x01\0"


class EpochTicker:
    """Advances the epoch while calls run, and sleeps without waking while none do.

    Python threads may be late by many periods; the ticker makes up for lost ones, so that a deadline given in ticks
    stays a deadline in time.
    """

    def __init__(self, beat: Callable[[], None]) -> None:
        self._beat = beat
        self._changed = threading.Condition()
        self._running = 0
        self._epoch = 0
        self._zero = 0.0
        self._thread: threading.Thread | None = None

    @contextmanager
    def running(self, deadline: float) -> Iterator[int]:
        """Ticks during the block; gives the number of ticks from now to the deadline on the monotonic clock."""
        with self._changed:
            if self._running == 0:
                self._zero = time.monotonic() - self._epoch * _PERIOD
            self._running += 1
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="sandbox-epochs", daemon=True)
                self._thread.start()
            self._changed.notify()
            ticks = math.ceil((deadline - self._zero) / _PERIOD) - self._epoch
        try:
            yield max(ticks, 1)
        finally:
            with self._changed:
                self._running -= 1

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._running == 0:
                    self._changed.wait()
                due = int((time.monotonic() - self._zero) / _PERIOD) - self._epoch
                for _ in range(due):
                    self._beat()
                self._epoch += max(due, 0)
            time.sleep(_PERIOD)


@dataclass(frozen=True, slots=True)
class LoadedModule:
    """A module ready to be instantiated, its imports already resolved."""

    instance: wasmtime.InstancePre
    digest: str
    compiled: bool


class WasmEngine:
    """A wasmtime engine with the host's functions defined once; modules are loaded at most once each."""

    def __init__(self, define: Callable[[wasmtime.Linker], None]) -> None:
        config = wasmtime.Config()
        config.strategy = "cranelift"
        config.epoch_interruption = True
        config.max_wasm_stack = _STACK
        config.wasm_threads = False
        config.wasm_memory64 = False
        config.wasm_multi_memory = False
        self.engine = wasmtime.Engine(config)
        self.ticker = EpochTicker(self.engine.increment_epoch)
        self._linker = wasmtime.Linker(self.engine)
        self._linker.allow_shadowing = True
        self._linker.define_wasi()
        define(self._linker)
        self._lock = threading.Lock()
        self._loads: dict[str, threading.Lock] = {}
        self._modules: OrderedDict[str, LoadedModule] = OrderedDict()

    def load(self, wasm: bytes, digest: str, cache: Path | None = None) -> LoadedModule:
        """The module of these bytes, whose SHA-256 the caller has just computed from them.

        It comes from memory, from the compile cache, or is compiled now and kept in both.
        """
        with self._lock:
            found = self._modules.get(digest)
            if found is not None:
                self._modules.move_to_end(digest)
                return found
            turn = self._loads.setdefault(digest, threading.Lock())
        with turn:
            with self._lock:
                found = self._modules.get(digest)
            if found is None:
                found = self._prepare(wasm, digest, cache)
            with self._lock:
                self._modules[digest] = found
                self._loads.pop(digest, None)
                while len(self._modules) > _KEPT_MODULES:
                    self._modules.popitem(last=False)
        return found

    def _prepare(self, wasm: bytes, digest: str, cache: Path | None) -> LoadedModule:
        _refuse_other_formats(wasm)
        folder = CompileCache(cache) if cache is not None else None
        module = folder.find(self.engine, digest) if folder else None
        compiled = module is None
        try:
            if module is None:
                module = wasmtime.Module(self.engine, wasm)
            names = {export.name: export.type for export in module.exports}
            instance = self._linker.instantiate_pre(module)
        except wasmtime.WasmtimeError as error:
            raise CallRefused(broken(str(error))) from None
        start = names.get("_start")
        if not isinstance(start, wasmtime.FuncType) or start.params or start.results:
            raise CallRefused(broken("the module has no _start function"))
        if folder and compiled:
            folder.keep(digest, bytes(module.serialize()))
        return LoadedModule(instance, digest, compiled)


def broken(message: str) -> Failure:
    """A module that cannot be run at all."""
    return Failure(FailureKind.CONNECTOR_LOAD_FAILED, message, CRASHED, Boundary.SANDBOX)


def _refuse_other_formats(wasm: bytes) -> None:
    # wasmtime would take bytes without the magic for the text format and assemble them.
    if len(wasm) > LARGEST_MODULE:
        raise CallRefused(broken(f"the module has {len(wasm):,} bytes, more than {LARGEST_MODULE:,}"))
    if wasm.startswith(_COMPONENT_MAGIC):
        raise CallRefused(broken("this is a WebAssembly component; connectors are core modules for WASI preview 1"))
    if not wasm.startswith(_MODULE_MAGIC):
        raise CallRefused(broken("this is not a WebAssembly module"))
