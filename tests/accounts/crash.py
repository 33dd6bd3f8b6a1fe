"""Crash test: `python -m tests.accounts.crash --rounds 200` kills what binds accounts with `kill -9`.

A process binds, replaces and unbinds accounts without a pause, and is killed at a random moment. Whatever was going on,
each account is then bound with a secret that works or not at all, and the next command removes what was left over.
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

from aileron_tui.accounts.keyring_store import KeyringStore
from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.ledger.full_check import audit
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.accounts.account_home import CONNECTOR, AccountHome
from tests.accounts.keyrings import FolderKeyring

_LONGEST: Final = 0.3
"""For how many seconds a process may work before it is killed; a change takes about a tenth of that."""

_ACCOUNTS: Final = {"work": "file", "home": "keyring"}


class CrashRun:
    """One home that is used by one process after the other, each of which is killed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.backend = FolderKeyring(folder / "keyring")
        self.home = AccountHome(folder / "data", self.backend)
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
        """Binds, replaces and unbinds for ever; never returns."""
        try:
            os.write(told, b"!")
            count = 0
            while True:
                count += 1
                for account, store in _ACCOUNTS.items():
                    known = self.home.bindings().get((CONNECTOR, account))
                    if known and count % 3 == 0:
                        self.home.unbind(account)
                    else:
                        binding = self.home.binding(account, store)
                        self.home.bind_as(binding, f"secret of {binding.id}")
        except BaseException as error:  # noqa: BLE001  # reported by the process that waits
            sys.stderr.write(f"{error!r}\n")
        finally:
            os._exit(1)

    def check(self) -> None:
        """Checks that nothing is half bound, also after the next command."""
        with open_reader(self.home.ledger) as reader:
            report = audit(reader, RecordedSigners())
        assert report.fault is None, report.fault
        bindings = self.home.bindings()
        assert not bindings.invalid
        # A program that starts now: nothing is in its memory.
        stores = SecretStores(self.home.data, KeyringStore(self.home.data, lambda: self.backend))
        stores.vault.unlock(stores.vault.open_with(self.home.key))
        for known in bindings.values():
            document = stores.read(known.binding)
            assert document is not None, "a binding has no secret"
            assert document.reveal()["key"] == f"secret of {known.binding.id}"
        ids = {known.binding.id for known in bindings.values()}
        kept = {*stores.vault.refs(), *self.backend.names()}
        self.found[f"{len(ids)} bound"] += 1
        self.found["something left over"] += bool(kept - ids)
        with stores.locked():
            assert stores.clean([known.binding for known in bindings.values()]) == []
        assert {*stores.vault.refs(), *self.backend.names()} == ids
        assert {*stores.keyring.refs()} <= ids

    def finish(self) -> None:
        """The home still works."""
        binding = self.home.binding("work")
        self.home.bind_as(binding, "works")
        assert self.home.secrets()["work"] == "works"


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
    sys.stdout.write(f"{options.rounds} processes killed, nothing half bound ({states})\n")


if __name__ == "__main__":
    main()
