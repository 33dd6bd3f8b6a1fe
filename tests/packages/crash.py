"""Crash test: `python -m tests.packages.crash --rounds 200` kills what installs packages with `kill -9`.

A process adds, updates and removes packages without a pause, and is killed at a random moment. Whatever was going on,
each package is then installed in one whole version or not at all, and the next command removes what was left over.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final

from aileron_tui.core.package_change import PackageRef
from aileron_tui.ledger.full_check import audit
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing.recorded_signers import RecordedSigners
from aileron_tui.surface import package_changes
from tests.packages.made_packages import ACTIONS, FIRST, NEW_ACTION, SECOND, made_release
from tests.packages.package_home import PackageHome

_LONGEST: Final = 0.5
"""For how many seconds a process may work before it is killed; a change takes about a tenth of that."""

_ACTIONS: Final = {FIRST: set(ACTIONS), SECOND: {*ACTIONS, NEW_ACTION}}


class CrashRun:
    """One home that is used by one process after the other, each of which is killed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.home = PackageHome(folder / "data")
        self.sources = {version: made_release(version).write_bundle(folder / version) for version in (FIRST, SECOND)}
        self.random = random.Random(seed)  # moments, not secrets
        self.found: Counter[str] = Counter()

    def round(self) -> None:
        """Kills one process and checks what it left."""
        begun, told = os.pipe()
        child = os.fork()
        if child == 0:
            self._work(told)
        os.close(told)
        os.read(begun, 1)
        os.close(begun)
        time.sleep(self.random.uniform(0, _LONGEST))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"it ended by itself with {os.waitstatus_to_exitcode(status)}"
        self.check()

    def _work(self, told: int) -> None:
        """Adds, updates and removes for ever; never returns."""
        try:
            os.write(told, b"!")
            while True:
                known = self.home.packages().get("mail")
                if known is None:
                    self.home.add(self.sources[FIRST])
                elif known.grant.version == FIRST:
                    self.home.add(self.sources[SECOND], name="mail")
                else:
                    self.home.remove("mail")
        except BaseException as error:  # noqa: BLE001  # reported by the process that waits
            sys.stderr.write(f"{error!r}\n")
        finally:
            os._exit(1)

    def check(self) -> None:
        """Checks that nothing is half installed, also after the next command."""
        with open_reader(self.home.ledger) as reader:
            report = audit(reader, RecordedSigners())
        assert report.fault is None, report.fault
        installed = self.home.installed()
        assert not installed.invalid
        for package in installed.packages:
            assert not package.problem, package.problem
        version = installed.packages[0].known.grant.version if installed.packages else ""
        assert set(self.home.content().bundle.actions) == _ACTIONS.get(version, set())
        left = self.home.stored() - {package.known.grant.hash for package in installed.packages}
        self.found[version or "nothing"] += 1
        self.found["something left over"] += bool(left)
        with self.home.store.locked():
            package_changes.clean(self.home.ledger)
        assert self.home.stored() == {package.known.grant.hash for package in installed.packages}

    def finish(self) -> None:
        """The home still works."""
        for name, known in self.home.packages().items():
            reference = PackageRef(name, known.grant.version, known.grant.hash)
            package_changes.remove(self.home.ledger, [reference], self.home.key)
        self.home.add(self.sources[FIRST])
        assert set(self.home.content().bundle.actions) == _ACTIONS[FIRST]


def run(rounds: int, seed: int) -> Counter[str]:
    """Runs some rounds, and returns how often each state was found."""
    with tempfile.TemporaryDirectory() as folder:
        crash = CrashRun(Path(folder), seed)
        for _ in range(rounds):
            crash.round()
        crash.finish()
        return crash.found


def main() -> None:
    """Runs the crash test from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = parser.parse_args()
    sys.stdout.write(f"seed {options.seed}\n")
    found = run(options.rounds, options.seed)
    states = ", ".join(f"{state}: {count}" for state, count in sorted(found.items()))
    sys.stdout.write(f"{options.rounds} processes killed, nothing half installed ({states})\n")


if __name__ == "__main__":
    main()
