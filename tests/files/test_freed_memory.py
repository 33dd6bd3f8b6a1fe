"""Memory that a program freed after a peak."""

import subprocess
import sys

import pytest

_START = """
import threading
from aileron_tui.files.freed_memory import keep_little_freed_memory, return_freed_memory

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
"""

_LARGE = """

def use_much():
    blocks = [bytes(1_000_000) for _ in range(20)]
    kept.append(bytes(10_000))  # after the others
    del blocks

kept = []

keep_little_freed_memory()
bytes(8_000_000)  # from such a block on, glibc would keep blocks of this size
before = resident()
threads = [threading.Thread(target=use_much) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(resident() - before)
"""


_SCATTERED = """
blocks = [bytes(1000) for _ in range(40_000)]
kept = blocks[::20]
del blocks
before = resident()
return_freed_memory()
print(before - resident())
"""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def printed(program: str) -> int:
    run = subprocess.run([sys.executable, "-c", _START + program], capture_output=True, text=True, check=True)
    return int(run.stdout)


def test_large_blocks_are_returned_to_the_system() -> None:
    assert printed(_LARGE) < 20_000_000


def test_pages_between_blocks_in_use_are_returned_too() -> None:
    assert printed(_SCATTERED) > 20_000_000
