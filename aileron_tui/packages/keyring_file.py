"""Writes the keyring of trusted publishers, in Aileron's own format, and reads publishers' keys in any common form."""

import base64
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from aileron_tui.core.base64_text import from_base64
from aileron_tui.core.jsontext import Json, JsonObject, read_object
from aileron_tui.core.publisher_change import key_text
from aileron_tui.files.bundle_layout import is_file
from aileron_tui.files.manifest_files import UnreadableFile, read_file
from aileron_tui.files.private_files import private_folder, write_private
from aileron_tui.sandbox.connector_package import PackageError, load_keyring
from aileron_tui.signing.errors import KeyFault
from aileron_tui.signing.public_key import PublicKey, read_ed25519

_LARGEST_KEY: Final = 4096
_HINT: Final = "Give a PEM file such as publisher.pub, a file with the 32 bytes, or the key itself in base64."


def read_publisher_key(given: str) -> PublicKey:
    """The key in a file (PEM, 32 bytes, base64 or an OpenSSH line), or given as text itself; raises KeyFault."""
    data = given.encode()
    if is_file(given):
        try:
            data = read_file(given, _LARGEST_KEY)
        except UnreadableFile as error:
            raise KeyFault(f"cannot read {given}", str(error), _HINT) from None
    elif ("/" in given and given.startswith((".", "/", "~"))) or given.endswith((".pub", ".pem")):
        raise KeyFault(f"cannot read {given}", "there is no such file", _HINT)
    if len(data) == 32:
        return PublicKey(data)
    try:
        text = data.decode("ascii").strip()
    except UnicodeDecodeError:
        raise KeyFault("not a public key", f"it has {len(data)} bytes, and 32 are needed", _HINT) from None
    if text.startswith(("-----BEGIN", "ssh-")):
        return read_ed25519(text)
    return PublicKey(_from_base64(text))


def _from_base64(text: str) -> bytes:
    plain = text.rstrip("=")
    try:
        raw = from_base64(plain + "=" * (-len(plain) % 4))
    except ValueError:
        raise KeyFault("not a public key", "it is neither a file nor base64", _HINT) from None
    if len(raw) != 32:
        raise KeyFault("not an Ed25519 public key", f"it has {len(raw)} bytes instead of 32", _HINT)
    return raw


def add_key(path: Path, authority: str, key: bytes) -> None:
    """Adds a key of a publisher to the keyring, unless it is there; raises PackageError or PrivateFileError."""
    with _locked(path):
        publishers = _publishers(table := _table(path))
        keys = _keys(publishers, authority)
        if key not in map(_raw, keys):
            publishers[authority] = [*keys, key_text(key)]
            _write(path, table | {"publishers": publishers})


def remove_key(path: Path, authority: str, key: bytes) -> None:
    """Removes a key of a publisher from the keyring; raises PackageError or PrivateFileError."""
    with _locked(path):
        publishers = _publishers(table := _table(path))
        kept = [each for each in _keys(publishers, authority) if _raw(each) != key]
        if kept:
            publishers[authority] = kept
        else:
            publishers.pop(authority, None)
        _write(path, table | {"publishers": publishers})


def _table(path: Path) -> JsonObject:
    """The keyring as it is, checked; what this program does not know in it is kept."""
    load_keyring(path)
    if not path.exists():
        return {"version": 1, "publishers": {}}
    try:
        return read_object(read_file(str(path)))
    except UnreadableFile as error:
        raise PackageError("cannot read the keyring", f"{path}: {error}") from None


def _publishers(table: JsonObject) -> JsonObject:
    found = table.get("publishers")
    return dict(found) if isinstance(found, dict) else {}


def _keys(publishers: JsonObject, authority: str) -> list[Json]:
    found = publishers.get(authority)
    return list(found) if isinstance(found, list) else []


def _raw(text: Json) -> bytes:
    plain = str(text).rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(plain + "=" * (-len(plain) % 4))


def _write(path: Path, table: JsonObject) -> None:
    write_private(path, (json.dumps(table, indent=2) + "\n").encode(), replace=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lets one process at a time change the keyring."""
    descriptor = os.open(private_folder(path.parent), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
