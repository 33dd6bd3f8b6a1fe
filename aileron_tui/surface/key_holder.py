"""The operator's key while the console runs: unlocked by passphrase and wiped when locked, or for this run only."""

import threading
from pathlib import Path

from aileron_tui.signing import key_store
from aileron_tui.signing.key_store import UnlockedKey


class StoredKeyholder:
    """A key on disk. One without a passphrase is never locked and is called insecure."""

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
        """A key without a passphrase would open for anybody."""
        return not self.insecure

    @property
    def key(self) -> UnlockedKey | None:
        """The key, or None while it is locked."""
        with self._guard:
            if self.insecure and self._key is None and not self._wiped:
                # Not before it is asked for: loading what this needs takes as long as painting the screen.
                self._key = key_store.unlock(self._folder, self.name, None)
            return self._key

    def unlock(self, passphrase: bytearray) -> None:
        """Unlocks the key; of an unlocked one it only checks the passphrase."""
        fresh = key_store.unlock(self._folder, self.name, passphrase)
        with self._guard:
            if self._key is None:
                self._key = fresh
            else:
                fresh.lock()

    def lock(self) -> None:
        """Wipes the key."""
        with self._guard:
            if self._key is not None:
                self._key.lock()
            self._key = None
            self._wiped = True


class RunKeyholder:
    """A key that lives as long as this run and was never written down."""

    insecure = False

    def __init__(self, key: UnlockedKey) -> None:
        self._key: UnlockedKey | None = key
        self.name = key.name

    @property
    def lockable(self) -> bool:
        """It could not be unlocked again."""
        return False

    @property
    def key(self) -> UnlockedKey | None:
        """The key."""
        return self._key

    def unlock(self, passphrase: bytearray) -> None:
        """There is no passphrase."""

    def lock(self) -> None:
        """Wipes the key, for good."""
        if self._key is not None:
            self._key.lock()
        self._key = None
