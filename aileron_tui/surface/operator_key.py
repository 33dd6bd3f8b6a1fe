"""The operator's key while a surface runs: a stored key, unlocked by its passphrase, or a temporary one."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final

from aileron_tui.files.paths import paths
from aileron_tui.files.private_files import private_folder
from aileron_tui.signing import key_store
from aileron_tui.signing.errors import KeyFault
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.secret_memory import wipe

FIRST_KEY: Final = "default"


class StoredOperatorKey:
    """A key on disk. A key without a passphrase is called insecure and does not lock."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._guard = threading.Lock()
        self._key: UnlockedKey | None = None
        self._wiped = False
        found = key_store.find(folder, name)
        self.name = found.name
        self.insecure = found.insecure

    @property
    def lockable(self) -> bool:
        """Whether it has a passphrase. Locking protects nothing otherwise."""
        return not self.insecure

    @property
    def key(self) -> UnlockedKey | None:
        """The key, or None while it is locked."""
        with self._guard:
            if self.insecure and self._key is None and not self._wiped:
                # Unlocked only when needed: loading the cryptography library takes as long as drawing the first frame.
                self._key = key_store.unlock(self._folder, self.name, None)
            return self._key

    def unlock(self, passphrase: bytearray) -> None:
        """Unlocks the key; if it is unlocked already, only checks the passphrase."""
        unlocked = key_store.unlock(self._folder, self.name, passphrase)
        with self._guard:
            if self._key is None:
                self._key = unlocked
            else:
                unlocked.lock()

    def lock(self) -> None:
        """Wipes the key from memory."""
        with self._guard:
            if self._key is not None:
                self._key.lock()
            self._key = None
            self._wiped = True


class TemporaryOperatorKey:
    """A key that exists only while the program runs and is never stored."""

    insecure = False

    def __init__(self, key: UnlockedKey) -> None:
        self._key: UnlockedKey | None = key
        self.name = key.name

    @property
    def lockable(self) -> bool:
        """False: it could not be unlocked again."""
        return False

    @property
    def key(self) -> UnlockedKey | None:
        """The key, or None once it was locked."""
        return self._key

    def unlock(self, passphrase: bytearray) -> None:
        """Does nothing: there is no passphrase."""

    def lock(self) -> None:
        """Wipes the key from memory, for good."""
        if self._key is not None:
            self._key.lock()
        self._key = None


@contextmanager
def stored_key(name: str = "") -> Iterator[StoredOperatorKey]:
    """The stored key with this name, or the only one, locked when the block ends."""
    folder = paths().keys
    holder = StoredOperatorKey(folder, key_store.choose(folder, name or None).name)
    try:
        yield holder
    finally:
        holder.lock()


@contextmanager
def first_key(passphrase: bytearray) -> Iterator[StoredOperatorKey]:
    """A new stored key, unlocked, that may approve on the gate of this home; locked when the block ends."""
    holder = _create_first_key(passphrase)
    try:
        yield holder
    finally:
        holder.lock()


def _create_first_key(passphrase: bytearray) -> StoredOperatorKey:
    from aileron_tui.surface.key_enrolment import enroll_first, read_approvers  # noqa: PLC0415  # only the first time

    here = paths()
    try:
        approvers = read_approvers(private_folder(here.data))
        if approvers.need_signature:
            names = ", ".join(approver.name for approver in approvers.active)
            hint = f"Put the key file back. If it is lost, start again with a new ledger: move {here.data} away."
            raise KeyFault("the key that may approve here is not on this machine", names, hint)
        # A key whose file was lost keeps its name in the ledger.
        taken = any(approver.name == FIRST_KEY for approver in approvers.active)
        name = f"{FIRST_KEY}-{os.urandom(4).hex()}" if taken else FIRST_KEY
        created = key_store.create(here.keys, name, passphrase)
        enroll_first(here.data, created.name, created.public)
        holder = StoredOperatorKey(here.keys, created.name)
        holder.unlock(passphrase)
    finally:
        wipe(passphrase)
    return holder


@contextmanager
def temporary_key(*, enroll: bool) -> Iterator[TemporaryOperatorKey]:
    """A key for this run; with `enroll` it may approve on the gate of this home until the block ends."""
    from aileron_tui.surface.key_enrolment import enrolled  # noqa: PLC0415  # a stored key does not need it

    with (
        key_store.for_this_run(f"run-{os.urandom(4).hex()}") as key,
        enrolled(private_folder(paths().data), key) if enroll else nullcontext(),
    ):
        yield TemporaryOperatorKey(key)
