"""Compiling in a process of its own: what is compiled where, and what happens when the process cannot do its work."""

import ast
import hashlib
import logging
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import wasmtime

from aileron_tui.sandbox import compile_process, engine, module_compiler
from aileron_tui.sandbox.engine import LoadedModule, WasmEngine
from aileron_tui.sandbox.failure import CallRefused
from aileron_tui.sandbox.host_functions import define
from tests.sandbox import guests


def large(wasm: bytes) -> bytes:
    """The same module with a custom section that makes it large enough for a process of its own."""
    content = b"\x03pad" + bytes(module_compiler._SMALL)
    size, length = len(content), bytearray()
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return wasm + b"\0" + bytes([*length, size]) + content


WASM = large(guests.echo())


def load(cache: Path | None, wasm: bytes = WASM, with_engine: WasmEngine | None = None) -> LoadedModule:
    return (with_engine or WasmEngine(define)).load(wasm, hashlib.sha256(wasm).hexdigest(), cache, "a\x1b[31mb")


@pytest.fixture
def nothing_compiled_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("the module was compiled in this process")

    monkeypatch.setattr(wasmtime.Module, "__init__", refuse)


def use_program(monkeypatch: pytest.MonkeyPatch, folder: Path, body: str) -> None:
    """Lets another program be started in place of the one that compiles."""
    program = folder / "program"
    program.write_text(f"#!{sys.executable}\nimport os, signal, sys, time\n{body}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(program))


@pytest.mark.usefixtures("nothing_compiled_here")
def test_a_large_module_is_compiled_in_another_process_and_loaded_from_the_cache(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert load(tmp_path / "cache").compiled
    assert not load(tmp_path / "cache").compiled
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "cache").iterdir()} == {0o600}
    assert "compiling the connector a⟨ESC⟩[31mb" in caplog.text
    assert "compiled the connector" in caplog.text


@pytest.mark.usefixtures("nothing_compiled_here")
def test_without_a_usable_cache_the_code_is_used_from_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert load(None).compiled
    assert load(tmp_path / "file" / "cache").compiled


def test_the_process_sees_no_environment_and_no_arguments_of_the_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "do-not-pass-on")
    seen = tmp_path / "seen"
    use_program(monkeypatch, tmp_path, f"open({str(seen)!r}, 'w').write(repr((sys.argv, dict(os.environ))))")
    with pytest.raises(CallRefused):
        load(None)
    argv, environment = ast.literal_eval(seen.read_text())
    assert argv[1:] == ["-I", compile_process.__file__]
    assert environment.keys() <= {"LC_CTYPE"}  # Python sets it itself


@pytest.mark.usefixtures("nothing_compiled_here")
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "was ended by signal 9"),
        ("os.kill(os.getpid(), signal.SIGALRM)", "took longer than 120 s"),
        ("sys.exit(1)", "failed with exit code 1"),
        ("print('compiled')", "failed with exit code 0"),
        ("os.write(1, b'native code without a heading')", "failed with exit code 0"),
        ("os.write(1, b'compiled\\nhalf'); os.kill(os.getpid(), signal.SIGTERM)", "was ended by signal 15"),
    ],
)
def test_a_process_that_fails_is_a_refusal_that_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, why: str
) -> None:
    """A module that ends the process that compiles it must not end the gate."""
    use_program(monkeypatch, tmp_path, body)
    wasm_engine = WasmEngine(define)
    with pytest.raises(CallRefused, match=why) as refused:
        load(tmp_path / "cache", with_engine=wasm_engine)
    assert refused.value.failure.retriable
    assert not list((tmp_path / "cache").glob("*"))
    monkeypatch.setattr(sys, "executable", sys.orig_argv[0])
    with pytest.raises(CallRefused, match=why):  # not tried again at once
        load(tmp_path / "cache", with_engine=wasm_engine)
    monkeypatch.undo()
    later = time.monotonic() + engine._SECONDS_UNTIL_NEXT_TRY
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert load(tmp_path / "cache", with_engine=wasm_engine).compiled


def test_native_code_that_does_not_fit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_program(monkeypatch, tmp_path, "os.write(1, b'compiled\\n' + b'x' * 1000)")
    with pytest.raises(CallRefused):
        load(tmp_path / "cache")


@pytest.mark.parametrize("body", ["sys.exit(3)", None])
def test_without_a_process_it_is_compiled_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str | None
) -> None:
    if body:
        use_program(monkeypatch, tmp_path, body)
    else:
        monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    assert load(tmp_path / "cache").compiled
    assert not load(tmp_path / "cache").compiled


def test_an_invalid_module_is_compiled_once_and_refused_with_the_reason() -> None:
    broken = large(guests.echo()) + b"\x0a\x02\x01\x00"
    wasm_engine = WasmEngine(define)
    with pytest.raises(CallRefused) as refused:
        load(None, broken, wasm_engine)
    assert not refused.value.failure.retriable
    began = time.monotonic()
    with pytest.raises(CallRefused) as again:
        load(None, broken, wasm_engine)
    assert again.value.failure is refused.value.failure
    assert time.monotonic() - began < 5


def test_a_compiling_process_can_be_ended_and_says_since_when(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = tmp_path / "started"
    use_program(monkeypatch, tmp_path, f"open({str(started)!r}, 'w'); time.sleep(600)")
    wasm_engine, refused = WasmEngine(define), list[str]()

    def work() -> None:
        try:
            load(None, with_engine=wasm_engine)
        except CallRefused as error:
            refused.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    while not started.exists():
        time.sleep(0.01)
    assert wasm_engine.compiling_since(hashlib.sha256(WASM).hexdigest()) is not None
    wasm_engine.end_compiling()
    thread.join(60)
    assert "was ended by signal 9" in refused[0]
    assert wasm_engine.compiling_since(hashlib.sha256(WASM).hexdigest()) is None


def test_the_process_ends_when_nobody_reads_its_answer() -> None:
    """The gate was killed."""
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-I", compile_process.__file__], stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE
    )
    os.close(writing)
    os.close(reading)
    with process:
        process.communicate(WASM, timeout=60)
    assert process.returncode != 0


def test_the_process_imports_only_wasmtime_and_the_standard_library() -> None:
    tree = ast.parse(Path(compile_process.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in imports if isinstance(node, ast.ImportFrom)}
    assert names <= sys.stdlib_module_names | {"wasmtime"}
