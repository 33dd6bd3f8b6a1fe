"""A program with gated functions that is killed at any moment. It writes down what it runs, one line for each.

`python -m tests.gated.killed_program JOURNAL [FIRST]` first runs what earlier runs left behind, and says which calls
may have been run. Then it makes new calls until it is killed, numbered from FIRST.
"""

import os
import sys
import threading
from typing import Any

from aileron_tui.gated import Denied, GatedError, gated

JOURNAL = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def note(*words: object) -> None:
    """Writes one line at once."""
    os.write(JOURNAL, (" ".join(map(str, words)) + "\n").encode())


@gated(name="transfer")
def transfer(number: int, amount: int) -> int:
    """What must not happen twice, nor unapproved."""
    note("ran", number, amount)
    return number


def call(number: int) -> None:
    """Makes one call and notes how it ended."""
    note("asking", number)
    try:
        transfer(number, 100)
        note("returned", number)
    except Denied:
        note("denied", number)
    except GatedError as error:
        note("error", number, type(error).__name__)


def resume() -> None:
    """Runs what was approved for earlier runs."""
    left = gated.resume()
    for earlier in left.unknown:
        note("unknown", earlier.id)
    left.acknowledge()
    for handle in left.calls:
        finish(handle)


def finish(handle: Any) -> None:
    note("resumed", handle.id)
    try:
        handle.result(timeout=5)
    except (GatedError, TimeoutError) as error:
        note("left", handle.id, type(error).__name__)


def main() -> None:
    """Runs until it is killed, or has nothing to do."""
    gated.configure(program="killed")
    resume()
    for first in map(int, sys.argv[2:]):
        make_calls(first)


def make_calls(first: int) -> None:
    """Makes calls, three at a time."""
    for start in range(first, first + 1000, 3):
        threads = [threading.Thread(target=call, args=(number,)) for number in range(start, start + 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main()
