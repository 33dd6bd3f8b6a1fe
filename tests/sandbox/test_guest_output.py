"""What a guest writes: through our own `fd_write`, with every pointer checked, and without wasmtime's threads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sandbox import guests
from tests.sandbox.conftest import Runner

_LEAVING = """
import sys
from pathlib import Path
from tests.sandbox import guests, packages
from tests.sandbox.conftest import ARGS, Runner
runner = Runner(Path(sys.argv[1]))
package = packages.package(guests.echo(), (), "")
action = packages.action(package, runner.action_options)
with runner.sandbox(package) as sandbox:
    for _ in range(30):
        outcome = sandbox.preview(sandbox.resolve(action, ARGS))
        assert outcome is not None and outcome.failure is None, outcome
"""
_ROOT = Path(__file__).parents[2]

FAULT, BAD_FILE, INVALID = 21, 8, 28
_WRITE = "(call $fd_write (i32.const {file}) (i32.const {source}) (i32.const {count}) (i32.const {written}))"
_EXIT_WITH_ERRNO = f"(call $exit {_WRITE})"


def test_leaving_right_after_a_call_prints_nothing(tmp_path: Path) -> None:
    """A worker thread of wasmtime that still holds a Python callback panics when the interpreter exits."""
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", _LEAVING, str(tmp_path / "cache")],
            check=False,
            capture_output=True,
            text=True,
            cwd=_ROOT,
            env=environment,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "errno"),
    [
        ((3, 0, 1, 8), BAD_FILE),
        ((0, 0, 1, 8), BAD_FILE),
        ((-1, 0, 1, 8), BAD_FILE),
        ((1, -8, 1, 8), FAULT),
        ((1, 0, 1, -4), FAULT),
        ((1, 0, 1, -1), FAULT),
        ((1, 0, -1, 8), INVALID),
        ((2, 0, 1025, 8), INVALID),
    ],
)
def test_a_bad_pointer_or_file_is_an_error_for_the_guest(
    runner: Runner, arguments: tuple[int, int, int, int], errno: int
) -> None:
    body = _EXIT_WITH_ERRNO.format(**dict(zip(("file", "source", "count", "written"), arguments, strict=True)))
    outcome = runner.preview(guests.guest(body))
    assert outcome.failure is not None
    assert f"connector exited {errno};" in outcome.failure.message


def test_a_buffer_outside_the_memory_is_refused(runner: Runner) -> None:
    body = "(i32.store (i32.const 0) (i32.const -16)) (i32.store (i32.const 4) (i32.const 64))" + (
        _EXIT_WITH_ERRNO.format(file=1, source=0, count=1, written=8)
    )
    outcome = runner.preview(guests.guest(body))
    assert outcome.failure is not None
    assert f"connector exited {FAULT};" in outcome.failure.message


def test_the_first_buffer_that_is_not_empty_is_written_and_counted(runner: Runner) -> None:
    """A guest writes the rest in its next call, as with wasmtime's own function."""
    body = """
      (i32.store (i32.const 0) {p0}) (i32.store (i32.const 4) (i32.const 0))
      (i32.store (i32.const 8) {p0}) (i32.store (i32.const 12) {n0})
      (i32.store (i32.const 16) {p0}) (i32.store (i32.const 20) {n0})
      (drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 3) (i32.const 24)))
      (call $exit (i32.load (i32.const 24)))"""
    outcome = runner.preview(guests.guest(body, (b"seven b",)))
    assert outcome.stderr == "seven b"
    assert outcome.failure is not None
    assert "connector exited 7;" in outcome.failure.message
