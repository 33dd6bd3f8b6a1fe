"""Secrets in the keyring of the system. No call waits longer than three seconds, whatever the keyring does.

A keyring cannot list what it has, so `accounts.keyring` in the data folder names the secrets that may be in it. A name
is written there before its secret and removed after it.
"""

import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, Protocol, TypeVar

from aileron_tui.accounts.errors import KeyringFault, StoreFault
from aileron_tui.accounts.file_lock import file_lock
from aileron_tui.accounts.secret_document import SecretDocument
from aileron_tui.core.binding_change import is_binding_id
from aileron_tui.core.jsontext import JsonError, canonical, read
from aileron_tui.files.private_files import PrivateFileError, read_private, write_private

SERVICE: Final = "aileron-tui"
SECONDS: Final = 3.0
"""How long one call of the keyring may take."""

_CHECK: Final = "check"
_LIST_FILE: Final = "accounts.keyring"
_NOT_SAFE: Final = ("keyring.backends.fail", "keyring.backends.null", "keyrings.alt", "keyring.backends.chainer")
_LEAST_PRIORITY: Final = 1.0  # what stores passwords in plain files says that it is less than recommended
_Result = TypeVar("_Result")


class KeyringBackend(Protocol):
    """What is used of a keyring."""

    def get_password(self, service: str, username: str) -> str | None:
        """The password, or None."""

    def set_password(self, service: str, username: str, password: str) -> None:
        """Stores a password."""

    def delete_password(self, service: str, username: str) -> None:
        """Removes a password."""


class KeyringStore:
    """The secrets of a data folder in the keyring. Thread-safe."""

    def __init__(self, data: Path, backend: Callable[[], KeyringBackend] | None = None) -> None:
        self._list = data / _LIST_FILE
        self._find = backend or system_keyring
        self._hanging: threading.Thread | None = None

    def name(self) -> str:
        """What the keyring calls itself. Raises KeyringFault if there is none that can be used."""
        return str(getattr(self._call(self._find), "name", "") or "keyring")

    def check(self) -> None:
        """Writes, reads and removes something, to see that the keyring works. Raises KeyringFault."""
        value = secrets.token_hex(16)
        self._call(lambda: self._find().set_password(SERVICE, _CHECK, value))
        if self._call(lambda: self._find().get_password(SERVICE, _CHECK)) != value:
            raise KeyringFault("the keyring does not return what was stored in it")
        self._call(lambda: self._find().delete_password(SERVICE, _CHECK))

    def read(self, ref: str) -> SecretDocument | None:
        """The secret with this name, or None."""
        text = self._call(lambda: self._find().get_password(SERVICE, ref))
        return None if text is None else SecretDocument.decode(text.encode())

    def write(self, ref: str, document: SecretDocument, *, existing: bool = False) -> None:
        """Stores a secret and reads it back. With `existing`, only in place of an earlier one."""
        if existing and ref not in self.refs():
            raise StoreFault("this account is no longer bound")
        self._call(self._find)
        self._note(ref, present=True)
        text = document.encode().decode()
        self._call(lambda: self._find().set_password(SERVICE, ref, text))
        if self.read(ref) != document:
            raise KeyringFault("the keyring does not return what was stored in it")

    def remove(self, ref: str) -> None:
        """Removes a secret, if it is there."""
        if ref not in self.refs():
            return
        if self._call(lambda: self._find().get_password(SERVICE, ref)) is not None:
            self._call(lambda: self._find().delete_password(SERVICE, ref))
            if self._call(lambda: self._find().get_password(SERVICE, ref)) is not None:
                raise KeyringFault("the keyring still has the secret")
        self._note(ref, present=False)

    def refs(self) -> tuple[str, ...]:
        """The names of all secrets that may be in the keyring."""
        if not self._list.exists():
            return ()
        try:
            found = read(read_private(self._list))
        except (JsonError, PrivateFileError) as error:
            raise StoreFault("the list of what is in the keyring cannot be read", f"{self._list}: {error}") from None
        names = found if isinstance(found, list) else []
        return tuple(name for name in names if isinstance(name, str) and is_binding_id(name))

    def _note(self, ref: str, *, present: bool) -> None:
        with file_lock(self._list.with_name(f".{_LIST_FILE}.lock")):
            names = self.refs()
            if (ref in names) != present:
                changed = [*names, ref] if present else [name for name in names if name != ref]
                try:
                    write_private(self._list, canonical([*changed]), replace=True)
                except PrivateFileError as error:
                    raise StoreFault(error.title, error.detail, error.hint) from None

    def _call(self, call: Callable[[], _Result]) -> _Result:
        """Calls the keyring in a thread of its own, because nothing else can end a call that hangs."""
        if self._hanging is not None and self._hanging.is_alive():
            raise KeyringFault("the keyring does not answer")
        results: SimpleQueue[tuple[_Result | None, str]] = SimpleQueue()

        def work() -> None:
            try:
                results.put((call(), ""))
            except KeyringFault as error:
                results.put((None, error.title))
            except Exception as error:  # noqa: BLE001  # backends raise whatever their libraries do
                results.put((None, f"the keyring cannot be used ({type(error).__name__})"))

        thread = threading.Thread(target=work, name="keyring", daemon=True)
        thread.start()
        try:
            result, why = results.get(timeout=SECONDS)
        except Empty:
            self._hanging = thread
            raise KeyringFault("the keyring does not answer", f"nothing came within {SECONDS:.0f} seconds") from None
        if why:
            raise KeyringFault(why)
        return result  # type: ignore[return-value]  # only a failure has no result


def system_keyring() -> KeyringBackend:
    """The best keyring of this system that keeps secrets safe. Raises KeyringFault if there is none."""
    import keyring  # noqa: PLC0415  # searches for backends on import
    from keyring.backends.chainer import ChainerBackend  # noqa: PLC0415

    chosen = keyring.get_keyring()
    for backend in chosen.backends if isinstance(chosen, ChainerBackend) else [chosen]:
        module = type(backend).__module__
        if not module.startswith(_NOT_SAFE) and float(backend.priority) >= _LEAST_PRIORITY:
            return backend
    raise KeyringFault("this system has no keyring that can be used")
