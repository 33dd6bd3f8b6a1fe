"""The shim makes exactly the planned calls of a process fail."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.shim import Descriptor, FileOp, Hit, Shim, compile_shim


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = compile_shim(tmp_path_factory.mktemp("shim"))
    if library is None:
        pytest.skip("needs Linux and a C compiler")
    return library


@pytest.fixture
def shim(tmp_path: Path, library: Path) -> Iterator[Shim]:
    (tmp_path / "home").mkdir()
    shim = Shim(library, tmp_path / "control", tmp_path / "home")
    yield shim
    shim.close()


def run(shim: Shim, folder: Path, code: str) -> str:
    """Runs Python code with the shim; returns what it prints."""
    start = "import os, sys, time, socket, threading, sqlite3\ndef error(call, *values):\n"
    start += "    try:\n        return call(*values)\n    except OSError as error:\n        return -error.errno\n"
    done = subprocess.run(
        [sys.executable, "-c", start + code],
        cwd=folder,
        env={**os.environ, **shim.environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_writes_fail_only_below_the_home(shim: Shim, tmp_path: Path) -> None:
    shim.fail(FileOp.WRITE, errno.ENOSPC)
    code = f"for path in ('{tmp_path}/home/a', '{tmp_path}/b'):\n"
    code += "    print(error(os.write, os.open(path, os.O_CREAT | os.O_WRONLY), b'abcd'))"
    assert run(shim, tmp_path, code).split() == [str(-errno.ENOSPC), "4"]
    assert shim.hits(Hit.WRITE) == 1


def test_the_nth_sync_fails(shim: Shim, tmp_path: Path) -> None:
    shim.fail(FileOp.SYNC, errno.EIO, after=1, times=2)
    code = f"fd = os.open('{tmp_path}/home/a', os.O_CREAT | os.O_WRONLY)\n"
    code += "print([error(call, fd) for call in (os.fsync, os.fdatasync, os.fsync, os.fsync)])"
    assert run(shim, tmp_path, code) == f"[None, {-errno.EIO}, {-errno.EIO}, None]"


def test_a_short_write_writes_half(shim: Shim, tmp_path: Path) -> None:
    shim.shorten_writes(times=1)
    code = f"fd = os.open('{tmp_path}/home/a', os.O_CREAT | os.O_WRONLY)\n"
    code += "print(os.write(fd, b'abcd'), os.pwrite(fd, b'abcd', 0))"
    assert run(shim, tmp_path, code) == "2 4"


def test_a_read_only_disk_can_be_read(shim: Shim, tmp_path: Path) -> None:
    (tmp_path / "home" / "a").write_text("text")
    shim.fail(FileOp.OPEN | FileOp.NAME | FileOp.TRUNCATE, errno.EROFS)
    code = f"a = '{tmp_path}/home/a'\nprint(error(open, a, 'w'), error(os.unlink, a), error(os.rename, a, a + 'b'),"
    code += "open(a).read())"
    assert run(shim, tmp_path, code) == f"{-errno.EROFS} {-errno.EROFS} {-errno.EROFS} text"


def test_sqlite_notices_a_failing_disk(shim: Shim, tmp_path: Path) -> None:
    shim.fail(FileOp.WRITE | FileOp.SYNC, errno.EIO, after=2)
    code = f"db = sqlite3.connect('{tmp_path}/home/a.db')\ntry:\n    db.execute('CREATE TABLE t (x)')\n"
    code += "except sqlite3.OperationalError as error:\n    print(error)"
    assert run(shim, tmp_path, code) == "disk I/O error"


def test_clocks_can_be_shifted_separately(shim: Shim, tmp_path: Path) -> None:
    code = "print(time.time(), time.clock_gettime(time.CLOCK_BOOTTIME), time.monotonic())"
    before = [float(word) for word in run(shim, tmp_path, code).split()]
    shim.step_clock(-7200)
    shim.sleep(3600)
    after = [float(word) for word in run(shim, tmp_path, code).split()]
    shifts = [round((new - old) / 600) * 600 for old, new in zip(before, after, strict=True)]
    assert shifts == [-3600, 3600, 0]


def test_threads_can_be_refused(shim: Shim, tmp_path: Path) -> None:
    shim.refuse_threads()
    code = "try:\n    threading.Thread(target=print).start()\nexcept RuntimeError as error:\n    print(error)"
    assert run(shim, tmp_path, code) == "can't start new thread"


def test_descriptors_can_be_refused(shim: Shim, tmp_path: Path) -> None:
    shim.refuse_descriptors(Descriptor.SOCKET)
    assert run(shim, tmp_path, "print(error(socket.socket), type(error(open, '/dev/null')).__name__)") == (
        f"{-errno.EMFILE} TextIOWrapper"
    )


def test_healing_ends_every_failure(shim: Shim, tmp_path: Path) -> None:
    shim.fail(FileOp.WRITE, errno.EIO)
    shim.refuse_threads()
    shim.refuse_descriptors(Descriptor.SOCKET)
    shim.heal()
    code = f"open('{tmp_path}/home/a', 'w').write('x')\nthreading.Thread(target=print).start()\nsocket.socket()"
    assert run(shim, tmp_path, code) == ""
