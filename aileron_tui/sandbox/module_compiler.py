"""Compiles large modules in a process of their own, and small ones here.

Compiling a connector takes much memory, which a process only gives back when it ends.
"""

import signal
import subprocess
import sys
import threading
from typing import Final

import wasmtime

from aileron_tui.core.values import dataclass
from aileron_tui.sandbox import compile_process
from aileron_tui.sandbox.compile_process import COMPILED, LONGEST_SECONDS, NO_WASMTIME, REFUSED

_SMALL: Final = 256 * 1024
"""Modules up to this size are compiled faster here than a process starts."""

_GRACE_SECONDS: Final = 10
"""How much longer than its own limit a compiling process may take to start and to end."""

_TOO_LONG: Final = f"compiling it took longer than {LONGEST_SECONDS} s"


class CannotCompile(Exception):
    """A module cannot be compiled. With `may_pass`, it is not the module's fault, and trying again later may help."""

    def __init__(self, why: str, *, may_pass: bool = False) -> None:
        super().__init__(why)
        self.may_pass = may_pass


@dataclass(frozen=True, slots=True)
class CompiledCode:
    """A compiled module: loaded if it was compiled here, otherwise its native code."""

    module: wasmtime.Module | None
    code: bytes


class ModuleCompiler:
    """Compiles modules for one engine. Thread-safe."""

    def __init__(self, engine: wasmtime.Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()

    def compile(self, wasm: bytes) -> CompiledCode:
        """Compiles a module; raises CannotCompile."""
        if len(wasm) > _SMALL and (code := self._compile_apart(wasm)):
            return CompiledCode(None, code)
        try:
            module = wasmtime.Module(self._engine, wasm)
        except wasmtime.WasmtimeError as error:
            raise CannotCompile(str(error)) from None
        return CompiledCode(module, bytes(module.serialize()))

    def end_processes(self) -> None:
        """Ends the processes that compile; who waits for one gets CannotCompile."""
        with self._lock:
            processes = tuple(self._processes)
        for process in processes:
            process.kill()

    def _compile_apart(self, wasm: bytes) -> bytes:
        """Returns the native code, or nothing if there cannot be a process for it."""
        with self._lock:  # `end_processes` must not miss one that was just started
            try:
                process = subprocess.Popen(  # noqa: S603  # our own program
                    [sys.executable, "-I", compile_process.__file__],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env={},
                    cwd="/",
                    start_new_session=True,
                )
            except OSError:
                return b""  # the system has no process left, or Python cannot be started as a program
            self._processes.add(process)
        try:
            with process:
                answer = _answer_of(process, wasm)
        finally:
            with self._lock:
                self._processes.discard(process)
        if process.returncode == NO_WASMTIME:
            return b""
        kind, end, content = answer.partition(b"\n")
        if process.returncode == 0 and kind + end == COMPILED and content:
            return content
        if process.returncode == 0 and kind + end == REFUSED:
            raise CannotCompile(content.decode("utf-8", "replace"))
        raise CannotCompile(_what_happened(process.returncode), may_pass=True)


def _answer_of(process: subprocess.Popen[bytes], wasm: bytes) -> bytes:
    try:
        return process.communicate(wasm, timeout=LONGEST_SECONDS + _GRACE_SECONDS)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        raise CannotCompile(_TOO_LONG, may_pass=True) from None
    except BaseException:
        process.kill()
        raise


def _what_happened(returncode: int) -> str:
    if returncode == -signal.SIGALRM:
        return _TOO_LONG
    if returncode < 0:
        return f"the process that compiled it was ended by signal {-returncode}"
    return f"the process that compiled it failed with exit code {returncode}"
