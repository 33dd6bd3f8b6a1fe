"""Starts the threads that wasmtime uses for WASI.

wasmtime starts them with the first call that needs them, and ends the whole process if the system has no thread or file
descriptor left at that moment. A process that runs for long starts them first.
"""

from typing import Final

import wasmtime

from aileron_tui.sandbox import wasi

_READS_STDIN: Final = """
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start")
    (i32.store (i32.const 0) (i32.const 64)) (i32.store (i32.const 4) (i32.const 8))
    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 32)))))
"""


def start_wasi_runtime() -> None:
    """Runs a module that reads its input, which needs these threads. Starting them twice does no harm."""
    engine = wasmtime.Engine()
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    store = wasmtime.Store(engine)
    wasi.configure(store, b"input")
    start = linker.instantiate(store, wasmtime.Module(engine, _READS_STDIN)).exports(store)["_start"]
    if isinstance(start, wasmtime.Func):
        start(store)
    store.close()
