"""Compiles `shim.c` and controls it while a gate runs with it."""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import struct
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from enum import IntEnum, IntFlag
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).with_name("shim.c")

_FIELDS: Final = {name: 4 * n for n, name in enumerate(("ops", "errno", "after", "times", "short", "threads", "files"))}
_REAL: Final = 32
_BOOT: Final = 40
_HITS: Final = 48
_HOME: Final = 80
_SIZE: Final = _HOME + 1024


class FileOp(IntFlag):
    """The calls that can fail on files below the gate's home. NAME is unlink, rename and mkdir."""

    WRITE = 1
    SYNC = 2
    OPEN = 4
    TRUNCATE = 8
    NAME = 16


class Descriptor(IntFlag):
    """The calls that can fail for lack of descriptors."""

    OPEN = 1
    SOCKET = 2
    ACCEPT = 4


class Hit(IntEnum):
    """The counters of calls that the shim made fail, or whose time it shifted."""

    WRITE = 0
    SYNC = 1
    OPEN = 2
    TRUNCATE = 3
    NAME = 4
    THREAD = 5
    FILES = 6
    CLOCK = 7


def compile_shim(folder: Path) -> Path | None:
    """Compiles the shim; returns None where that is not possible."""
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None or sys.platform != "linux":
        return None
    library = folder / "shim.so"
    options = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([compiler, *options, "-o", str(library), str(SOURCE), "-ldl", "-lpthread"], check=True)
    return library


class Shim:
    """The control file of one gate: what fails now, and by how much its clocks are shifted."""

    def __init__(self, library: Path | None, file: Path, home: Path) -> None:
        self.library = library
        self._file = file
        file.write_bytes(bytes(_HOME) + os.fsencode(home).ljust(1024, b"\0"))
        with file.open("r+b") as opened:
            self._map = mmap.mmap(opened.fileno(), _SIZE)

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables for a gate with the shim."""
        if self.library is None:
            return {}
        return {"LD_PRELOAD": str(self.library), "CHAOS_CONTROL": str(self._file)}

    def close(self) -> None:
        self._map.close()

    def fail(self, ops: FileOp, code: int, *, after: int = 0, times: int = -1) -> None:
        """Makes these calls fail with an error, after some that succeed, and for some time or until `heal`."""
        self._arm(ops, code, after, times, short=False)

    def shorten_writes(self, *, after: int = 0, times: int = 1) -> None:
        """Makes writes write only half of the data."""
        self._arm(FileOp.WRITE, errno.EIO, after, times, short=True)

    def _arm(self, ops: FileOp, code: int, after: int, times: int, *, short: bool) -> None:
        self._put("ops", 0)
        for name, value in (("errno", code), ("after", after), ("times", times), ("short", int(short))):
            self._put(name, value)
        self._put("ops", ops)

    def refuse_threads(self, *, refused: bool = True) -> None:
        """Makes it impossible to start a thread."""
        self._put("threads", int(refused))

    def refuse_descriptors(self, which: Descriptor) -> None:
        """Makes these calls fail as if no descriptor were left."""
        self._put("files", which)

    def step_clock(self, seconds: float) -> None:
        """Sets the wall clock forward or back."""
        self._add(_REAL, seconds)

    def sleep(self, seconds: float) -> None:
        """Lets the machine sleep: all clocks go on, except the monotonic one."""
        self._add(_REAL, seconds)
        self._add(_BOOT, seconds)

    def heal_files(self) -> None:
        """Ends the failures of files."""
        self._put("ops", 0)

    def heal(self) -> None:
        """Ends every failure. The clocks stay as they are."""
        for name in ("ops", "threads", "files"):
            self._put(name, 0)

    def reset(self) -> None:
        """Ends every failure, and resets the clocks and the counters."""
        self.heal()
        self._map[_REAL:_HOME] = bytes(_HOME - _REAL)

    def hits(self, *counters: Hit) -> int:
        """Returns how many calls these counters counted."""
        values = struct.unpack_from("<8i", self._map, _HITS)
        return sum(values[counter] for counter in counters)

    def wall_clock(self) -> datetime:
        """The wall clock as the gate and everything else on its machine sees it."""
        return datetime.now(UTC) + timedelta(microseconds=self._get(_REAL) / 1000)

    def elapsed(self) -> float:
        """Seconds on a clock that nobody can set and that goes on during sleep."""
        return time.monotonic() + self._get(_BOOT) / 1e9

    def _put(self, name: str, value: int) -> None:
        struct.pack_into("<i", self._map, _FIELDS[name], value)

    def _get(self, offset: int) -> int:
        return int(struct.unpack_from("<q", self._map, offset)[0])

    def _add(self, offset: int, seconds: float) -> None:
        struct.pack_into("<q", self._map, offset, self._get(offset) + int(seconds * 1e9))
