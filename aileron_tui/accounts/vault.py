"""The encrypted file of secrets, `accounts.vault` in the data folder.

    {"version": 1,
     "check": {"nonce", "data"},                           nothing, encrypted with the data key, to recognize it
     "keys": {fingerprint: {"salt", "nonce", "data"}},    the data key, encrypted for each operator key
     "secrets": {binding id: {"nonce", "data"}}}           each secret, encrypted with the data key

The data key is random. Each operator key yields a key of its own that encrypts it, so the passphrase of the operator
key protects the file, and changing that passphrase changes nothing here. AES-256-GCM covers the name of each secret and
of each key. The file is replaced as a whole, so it is always the old one or the new one.

Whoever has the data key can read the file. It is only ever in memory, and a program that nobody has unlocked does not
have it. Removing a secret needs no key.
"""

import base64
import os
import threading
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from aileron_tui.accounts.errors import AccountsLocked, StoreFault
from aileron_tui.accounts.file_lock import file_lock
from aileron_tui.accounts.secret_document import SecretDocument
from aileron_tui.core.base64_text import from_base64
from aileron_tui.core.formats import check_version
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, canonical, read_object
from aileron_tui.files.private_files import PrivateFileError, read_private, write_private
from aileron_tui.signing.secret_memory import wipe

if TYPE_CHECKING:
    from aileron_tui.signing.key_store import UnlockedKey

VAULT_FILE: Final = "accounts.vault"
KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_SALT_BYTES: Final = 16
_LARGEST: Final = 16 * 1024 * 1024
_LIMITS: Final = JsonLimits(size=_LARGEST, depth=4, count=100_000)
_WRAPPING: Final = b"aileron-tui accounts: data key v1"
_SECRET: Final = b"aileron-tui accounts: secret v1 "
_CHECK: Final = b"aileron-tui accounts: check v1"
_VERSION: Final = 1


class DataKey:
    """The key that decrypts the secrets. It appears in no output and can be wiped."""

    __slots__ = ("_bytes",)

    def __init__(self, raw: bytes | bytearray) -> None:
        if len(raw) != KEY_BYTES:
            raise StoreFault("not a key of the accounts", f"it must have {KEY_BYTES} bytes")
        self._bytes = bytearray(raw)

    def reveal(self) -> bytearray:
        """The bytes themselves, which must not be changed."""
        return self._bytes

    def wipe(self) -> None:
        """Overwrites the key in memory."""
        wipe(self._bytes)

    def __repr__(self) -> str:
        return "DataKey(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("keys cannot be pickled")


class Vault:
    """The encrypted file of a data folder, locked until somebody gives its data key. Thread-safe."""

    def __init__(self, data: Path) -> None:
        self.path = data / VAULT_FILE
        self._guard = threading.Lock()
        self._key: DataKey | None = None

    @property
    def exists(self) -> bool:
        """Whether there is such a file."""
        return self.path.exists() or self.path.is_symlink()

    @property
    def locked(self) -> bool:
        """Whether secrets cannot be read: there are some, and nobody has unlocked them."""
        return self._key is None and self.exists

    def fingerprints(self) -> tuple[str, ...]:
        """The operator keys that can unlock the file; empty if there is none."""
        return tuple(_table(self._read(), "keys")) if self.exists else ()

    def open_with(self, key: "UnlockedKey") -> DataKey:
        """The data key, if this operator key can unlock the file. Raises AccountsLocked."""
        wrapped = _table(self._read(), "keys").get(key.public.fingerprint) if self.exists else None
        if wrapped is None:
            raise AccountsLocked(f"the key {key.name} cannot unlock them")
        salt = _bytes(wrapped, "salt")
        wrapping = key.derive(salt, _WRAPPING)
        try:
            raw = bytearray(_decrypt(wrapping, wrapped, key.public.fingerprint.encode()))
            return DataKey(raw)
        finally:
            wipe(wrapping)

    def unlock(self, key: DataKey) -> None:
        """Keeps the data key, if it is the right one. Raises StoreFault."""
        if not self.exists:
            raise StoreFault("there are no accounts to unlock", f"{self.path} does not exist")
        _decrypt(key.reveal(), self._read().get("check"), _CHECK)
        with self._guard:
            self._key = key

    def lock(self) -> None:
        """Wipes the data key."""
        with self._guard:
            if self._key is not None:
                self._key.wipe()
            self._key = None

    def create_or_open(self, keys: Iterable["UnlockedKey"], revoked: Collection[str] = ()) -> None:
        """Unlocks the file with one of these operator keys, and lets all of them unlock it. Creates it if needed.

        `revoked` are the fingerprints of keys that may no longer unlock it. If one of them could, the data key is
        replaced, and other operator keys have to be added again.
        """
        keys, opened = list(keys), DataKey(os.urandom(KEY_BYTES))
        kept = [key for key in keys if key.public.fingerprint not in revoked]

        def change(fields: JsonObject) -> None:
            nonlocal opened
            known = _table(fields, "keys")
            if "check" not in fields:
                fields["check"] = _encrypted(opened.reveal(), b"", _CHECK)
            else:
                able = [key for key in keys if key.public.fingerprint in known]
                if not able:
                    raise AccountsLocked(f"the key {', '.join(key.name for key in keys)} cannot unlock them")
                opened = self.open_with(able[0])
            if kept and not known.keys().isdisjoint(revoked):
                opened = _renewed(fields, opened)
            for key in kept:
                if key.public.fingerprint not in known:
                    known[key.public.fingerprint] = _wrapped(opened, key)

        self._change(change)
        with self._guard:
            self._key = opened

    def read(self, ref: str) -> SecretDocument | None:
        """The secret with this name, or None."""
        if not self.exists:
            return None
        fields = self._read()
        found = _table(fields, "secrets").get(ref)
        if found is None:
            return None
        return SecretDocument.decode(_decrypt(self._data_key(fields), found, _SECRET + ref.encode()))

    def write(self, ref: str, document: SecretDocument, *, existing: bool = False) -> None:
        """Stores a secret; when this returns, it is on disk. With `existing`, only in place of an earlier one."""

        def change(fields: JsonObject) -> None:
            secrets = _table(fields, "secrets")
            if existing and ref not in secrets:
                raise StoreFault("this account is no longer bound")
            secrets[ref] = _encrypted(self._data_key(fields), document.encode(), _SECRET + ref.encode())

        self._change(change)
        if self.read(ref) != document:
            raise StoreFault("the secret was not stored", str(self.path))

    def remove(self, ref: str) -> None:
        """Removes a secret, if it is there."""
        if self.exists and ref in self.refs():
            self._change(lambda fields: _table(fields, "secrets").pop(ref, None))

    def refs(self) -> tuple[str, ...]:
        """The names of all secrets."""
        return tuple(_table(self._read(), "secrets")) if self.exists else ()

    def _data_key(self, fields: JsonObject) -> bytearray:
        """The data key, if it is still that of the file. Raises AccountsLocked."""
        with self._guard:
            if self._key is None:
                raise AccountsLocked
            found = self._key.reveal()
        try:
            _decrypt(found, fields.get("check"), _CHECK)
        except StoreFault:
            raise AccountsLocked(f"{self.path} is not the file that was unlocked") from None
        return found

    def _change(self, change: Callable[[JsonObject], object]) -> None:
        """Changes the file under a lock, so that two processes do not undo each other's change."""
        with file_lock(self.path.with_name(f".{VAULT_FILE}.lock")):
            fields = self._read() if self.exists else _empty()
            before = canonical(fields)
            change(fields)
            if (after := canonical(fields)) != before:
                try:
                    write_private(self.path, after, replace=True)
                except PrivateFileError as error:
                    raise StoreFault(error.title, error.detail, error.hint) from None

    def _read(self) -> JsonObject:
        try:
            fields = read_object(read_private(self.path, _LARGEST), _LIMITS)
            if fields.get("version") != _VERSION:
                check_version(fields.get("version"), str(self.path), _VERSION)
            for name in ("check", "keys", "secrets"):
                _table(fields, name)
        except PrivateFileError as error:
            raise StoreFault(error.title, error.detail, error.hint) from None
        except JsonError as error:
            hint = f"Restore it from a backup, or move {self.path} away and bind the accounts again."
            raise StoreFault("the file of the accounts is damaged", str(error), error.hint or hint) from None
        return fields


def _empty() -> JsonObject:
    return {"version": _VERSION, "keys": {}, "secrets": {}}


def _table(fields: JsonObject, name: str) -> JsonObject:
    found = fields.get(name)
    if not isinstance(found, dict):
        raise JsonError("expected an object", f"$.{name}")
    return found


def _bytes(value: Json, name: str) -> bytes:
    text = value.get(name) if isinstance(value, dict) else None
    try:
        return from_base64(text if isinstance(text, str) else "")
    except ValueError:
        raise _damaged() from None


def _wrapped(data_key: DataKey, key: "UnlockedKey") -> JsonObject:
    salt = os.urandom(_SALT_BYTES)
    wrapping = key.derive(salt, _WRAPPING)
    try:
        sealed = _encrypted(wrapping, data_key.reveal(), key.public.fingerprint.encode())
    finally:
        wipe(wrapping)
    return {"salt": _text(salt), **sealed}


def _renewed(fields: JsonObject, old: DataKey) -> DataKey:
    """Encrypts everything with a new data key, which no operator key can unlock yet. What is damaged stays so."""
    new, secrets = DataKey(os.urandom(KEY_BYTES)), _table(fields, "secrets")
    for ref, value in secrets.items():
        with suppress(StoreFault):
            name = _SECRET + ref.encode()
            secrets[ref] = _encrypted(new.reveal(), _decrypt(old.reveal(), value, name), name)
    fields["check"] = _encrypted(new.reveal(), b"", _CHECK)
    _table(fields, "keys").clear()
    return new


def _encrypted(key: bytearray, data: bytes | bytearray, name: bytes) -> JsonObject:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415  # only with an encrypted file

    nonce = os.urandom(_NONCE_BYTES)
    return {"nonce": _text(nonce), "data": _text(AESGCM(key).encrypt(nonce, data, name))}


def _decrypt(key: bytearray, value: Json, name: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415  # only with an encrypted file
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    try:
        return AESGCM(key).decrypt(_bytes(value, "nonce"), _bytes(value, "data"), name)
    except (InvalidTag, ValueError):
        raise _damaged() from None


def _damaged() -> StoreFault:
    hint = "Bind the account again."
    return StoreFault("a secret cannot be decrypted", "it was changed, or this is not its key", hint)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
