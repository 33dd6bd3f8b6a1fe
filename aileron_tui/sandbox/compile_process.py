"""Compiles one module from stdin to stdout, as a process of its own: its memory is given back when it ends.

It reads and writes nothing else, and ends by itself if it takes too long, even if nobody waits for it any more. It
imports wasmtime and the standard library only, because it is started as a file and without the user's environment.
"""

import contextlib
import os
import signal
import sys
from typing import Final

COMPILED: Final = b"compiled\n"
REFUSED: Final = b"refused\n"
NO_WASMTIME: Final = 3

LONGEST_SECONDS: Final = 120
_NICENESS: Final = 5

try:
    import wasmtime
except ImportError:
    if __name__ != "__main__":
        raise
    sys.exit(NO_WASMTIME)

_STACK_SIZE: Final = 1024 * 1024


def engine_config() -> wasmtime.Config:
    """The settings of every engine; a compiled module can only be used with those that it was compiled with."""
    config = wasmtime.Config()
    config.strategy = "cranelift"
    config.epoch_interruption = True
    config.max_wasm_stack = _STACK_SIZE
    config.wasm_threads = False
    config.wasm_memory64 = False
    config.wasm_multi_memory = False
    return config


def main() -> None:
    """Writes the compiled module, or why it cannot be compiled."""
    signal.alarm(LONGEST_SECONDS)
    with contextlib.suppress(OSError):
        os.nice(_NICENESS)  # the gate has other calls to serve
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123  # not a user's file
        file.write("1000")  # if memory is short, Linux ends this process first
    wasm = sys.stdin.buffer.read()
    try:
        answer = COMPILED + bytes(wasmtime.Module(wasmtime.Engine(engine_config()), wasm).serialize())
    except wasmtime.WasmtimeError as error:
        answer = REFUSED + str(error).encode("utf-8", "replace")
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
