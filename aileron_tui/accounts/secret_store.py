"""Where the secrets of accounts are kept: in the keyring of the system, or in a file that an operator key encrypts.

A store is only a place. What counts is in the ledger: a secret that no binding names is left over, and is removed by
the next command that changes bindings.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from aileron_tui.accounts.errors import AccountError
from aileron_tui.accounts.file_lock import file_lock
from aileron_tui.accounts.keyring_store import KeyringStore
from aileron_tui.accounts.secret_document import SecretDocument
from aileron_tui.accounts.vault import Vault
from aileron_tui.core.binding_change import FILE, KEYRING, Binding


class SecretStore(Protocol):
    """A place for secrets. Every method raises AccountError if the place cannot be used. Thread-safe."""

    def read(self, ref: str) -> SecretDocument | None:
        """The secret with this name, or None."""

    def write(self, ref: str, document: SecretDocument, *, existing: bool = False) -> None:
        """Stores a secret; when this returns, it can be read. With `existing`, only in place of an earlier one."""

    def remove(self, ref: str) -> None:
        """Removes a secret, if it is there."""

    def refs(self) -> tuple[str, ...]:
        """The names of all secrets that may be there."""


class SecretStores:
    """The stores of a data folder."""

    def __init__(self, data: Path, keyring: SecretStore | None = None) -> None:
        self._data = data
        self.vault = Vault(data)
        self.keyring: SecretStore = keyring or KeyringStore(data)

    def of(self, store: str) -> SecretStore:
        """The store with this name, as a binding has it."""
        return {FILE: self.vault, KEYRING: self.keyring}[store]

    def read(self, binding: Binding) -> SecretDocument | None:
        """The secret of a binding, or None if its store does not have it."""
        return self.of(binding.store).read(binding.id)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Only one process changes bindings at a time; others wait."""
        with file_lock(self._data / ".accounts.lock"):
            yield

    def remove(self, ref: str) -> list[str]:
        """Removes one secret, wherever it is; returns what could not be done. Only inside `locked`."""
        problems: list[str] = []
        for name in (FILE, KEYRING):
            try:
                self.of(name).remove(ref)
            except AccountError as error:
                problems.append(str(error))
        return problems

    def clean(self, keep: Collection[Binding]) -> list[str]:
        """Removes secrets that no binding names; returns what could not be done. Only inside `locked`."""
        problems: list[str] = []
        for name in (FILE, KEYRING):
            wanted = {binding.id for binding in keep if binding.store == name}
            try:
                for ref in self.of(name).refs():
                    if ref not in wanted:
                        self.of(name).remove(ref)
            except AccountError as error:
                problems.append(str(error))
        return problems
