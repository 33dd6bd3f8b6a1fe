"""The engine: compiles once per process, caches privately on disk, and never runs a damaged file."""

import hashlib
import logging
import stat
import threading
import time
from pathlib import Path

import pytest
import wasmtime

from aileron_tui.sandbox.connector_call import shared_engine
from aileron_tui.sandbox.engine import EpochTicker, LoadedModule, WasmEngine
from aileron_tui.sandbox.host_functions import define
from tests.sandbox import guests

WASM = guests.echo()
DIGEST = hashlib.sha256(WASM).hexdigest()


def load(cache: Path | None, wasm: bytes = WASM) -> LoadedModule:
    """Loads as a new process would."""
    return WasmEngine(define).load(wasm, hashlib.sha256(wasm).hexdigest(), cache)


def code_of(cache: Path) -> Path:
    (code,) = cache.glob("*.cwasm")
    return code


def test_a_module_is_loaded_once_per_process(tmp_path: Path) -> None:
    engine = WasmEngine(define)
    assert engine.load(WASM, DIGEST, tmp_path / "cache") is engine.load(WASM, DIGEST, tmp_path / "cache")
    assert shared_engine() is shared_engine()


def test_many_threads_compile_a_module_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[int] = []
    compile_module = wasmtime.Module.__init__

    def counted(self: wasmtime.Module, engine: wasmtime.Engine, wasm: bytes) -> None:
        compiled.append(1)
        time.sleep(0.05)
        compile_module(self, engine, wasm)

    monkeypatch.setattr(wasmtime.Module, "__init__", counted)
    engine = WasmEngine(define)
    threads = [threading.Thread(target=engine.load, args=(WASM, DIGEST)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiled) == 1


def test_the_next_process_does_not_compile(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert load(cache).compiled
    assert not load(cache).compiled
    assert load(cache, guests.TRAP).compiled
    name = next(path.name for path in cache.glob("*.cwasm") if path.name.startswith(DIGEST))
    assert "50.0.1" in name


def test_the_cache_is_private(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    load(cache)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in cache.iterdir()} == {0o600}


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "no checksum", "loose file", "loose folder", "link"])
def test_a_damaged_cache_is_not_used(tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    cache = tmp_path / "cache"
    load(cache)
    code = code_of(cache)
    data = code.read_bytes()
    match damage:
        case "flip":
            code.write_bytes(data[:5000] + bytes([data[5000] ^ 1]) + data[5001:])
        case "truncate":
            code.write_bytes(data[:-100])
        case "empty":
            code.write_bytes(b"")
        case "no checksum":
            code.with_suffix(".sha256").unlink()
        case "loose file":
            code.chmod(0o644)
        case "loose folder":
            cache.chmod(0o755)
        case "link":
            code.rename(tmp_path / "elsewhere")
            code.symlink_to(tmp_path / "elsewhere")
    caplog.set_level(logging.WARNING)
    assert load(cache).compiled
    assert caplog.records or damage == "no checksum"


def test_a_file_for_another_engine_is_recompiled(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    load(cache)
    code = code_of(cache)
    config = wasmtime.Config()
    config.consume_fuel = True
    foreign = bytes(wasmtime.Module(wasmtime.Engine(config), WASM).serialize())
    code.write_bytes(foreign)
    code.with_suffix(".sha256").write_text(hashlib.sha256(foreign).hexdigest())
    assert load(cache).compiled
    assert not load(cache).compiled


def test_without_a_usable_folder_modules_still_load(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert load(blocked / "cache").compiled
    assert load(None).compiled


def test_old_files_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aileron_tui.sandbox.compile_cache._MAX_FILES", 2)
    for wasm in (guests.echo(), guests.TRAP, guests.SPIN):
        load(tmp_path / "cache", wasm)
    assert len(list((tmp_path / "cache").glob("*.cwasm"))) == 2
    assert len(list((tmp_path / "cache").iterdir())) == 4


def test_the_ticker_keeps_time_and_stops_when_idle() -> None:
    beats: list[float] = []
    ticker = EpochTicker(lambda: beats.append(time.monotonic()))
    began = time.monotonic()
    with ticker.running(began + 0.2) as ticks:
        assert 19 <= ticks <= 21
        time.sleep(0.2)
        elapsed = time.monotonic() - began
        counted = len(beats)
    assert elapsed / 0.01 - 10 <= counted <= elapsed / 0.01
    time.sleep(0.1)
    resting = len(beats)
    time.sleep(0.2)
    assert len(beats) == resting


def test_a_late_ticker_catches_up() -> None:
    beats: list[float] = []

    def slow_first_beat() -> None:
        if not beats:
            time.sleep(0.3)
        beats.append(time.monotonic())

    ticker = EpochTicker(slow_first_beat)
    with ticker.running(time.monotonic() + 0.5):
        time.sleep(0.5)
    assert len(beats) > 35
