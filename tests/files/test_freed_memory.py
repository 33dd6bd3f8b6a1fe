"""Memory that a program freed after a peak."""

import subprocess
import sys

import pytest

_PROGRAM = """
import threading
from aileron_tui.files.freed_memory import return_freed_memory

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def use_much():
    blocks = [bytes(1_000_000) for _ in range(20)]
    kept.append(bytes(10_000))  # after the others
    del blocks

kept = []

return_freed_memory()
bytes(8_000_000)  # from such a block on, glibc would keep blocks of this size
before = resident()
threads = [threading.Thread(target=use_much) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(resident() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_large_blocks_are_returned_to_the_system() -> None:
    run = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 20_000_000
