"""The clock that nobody can set, on systems that say when they started and on those that do not."""

import ctypes
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.files import boot_clock

SESSION = "5A1E6F2C-0D4B-4E57-9A0C-3F2B1C9D8E70"


class FakeLibrary:
    """The C library of macOS, as far as it is used."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.asked: list[bytes] = []

    def sysctlbyname(self, name: bytes, value: Any, size: Any, _new: None, _new_size: Any) -> int:
        self.asked.append(name)
        assert size._obj.value == len(value)  # no more than the buffer can take
        if self.status == 0:
            value.value = SESSION.encode()
        return self.status


@pytest.fixture
def no_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot_clock, "_BOOT_ID", Path("/nonexistent/boot_id"))


def on_macos(monkeypatch: pytest.MonkeyPatch, status: int) -> FakeLibrary:
    library = FakeLibrary(status)
    monkeypatch.setattr(boot_clock, "_PLATFORM", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    return library


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is there only on Linux")
def test_linux_reports_its_start() -> None:
    known = Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()
    assert boot_clock.boot_id() == known


@pytest.mark.skipif(sys.platform != "darwin", reason="asks the real macOS")
def test_macos_reports_its_start() -> None:
    asked = subprocess.run(["sysctl", "-n", "kern.bootsessionuuid"], capture_output=True, text=True, check=True)
    assert boot_clock.boot_id() == asked.stdout.strip()


@pytest.mark.usefixtures("no_proc")
def test_macos_is_asked_without_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    library = on_macos(monkeypatch, 0)
    assert boot_clock.boot_id() == SESSION
    assert library.asked == [b"kern.bootsessionuuid"]


@pytest.mark.usefixtures("no_proc")
@pytest.mark.parametrize("system", ["macos that refuses", "another system"])
def test_without_a_report_the_process_has_an_id_of_its_own(monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    if system.startswith("macos"):
        on_macos(monkeypatch, -1)
    else:
        monkeypatch.setattr(boot_clock, "_PLATFORM", "freebsd")
    boot_clock.boot_clock.cache_clear()
    try:
        clock = boot_clock.boot_clock()
        assert clock.boot.startswith(boot_clock.OF_PROCESS)
        assert boot_clock.boot_clock() is clock
        assert boot_clock.boot_id() != clock.boot  # another process has another one
    finally:
        boot_clock.boot_clock.cache_clear()
