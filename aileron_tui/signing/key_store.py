"""The keys on this machine: creating, listing, unlocking and re-encrypting them.

A key `NAME` consists of two files that only the user can access: `NAME.pem`, the private key, and `NAME.pub`, the
public key, which can be read without the passphrase. Each unlock compares the two, so a changed `.pub` file is noticed.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, Self

from aileron_tui.core.values import dataclass
from aileron_tui.files.private_files import private_folder, read_private, write_private
from aileron_tui.signing.errors import KeyFault, KeyLocked, NoKey
from aileron_tui.signing.public_key import PublicKey, read_ed25519
from aileron_tui.signing.secret_memory import wipe

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SHORTEST_PASSPHRASE: Final = 8
INSECURE: Final = "insecure: no passphrase"
ENCRYPTED: Final = "passphrase"

_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9_-]|\.(?=[a-z0-9])){0,31}", re.ASCII)


def key_name(text: str) -> str:
    """Returns the name if it is valid. It becomes a file name, so characters with a meaning in paths are refused."""
    if not _NAME.fullmatch(text):
        hint = "Use 1 to 32 lowercase letters, digits, dots, dashes and underscores, and begin with a letter or digit."
        raise KeyFault("invalid key name", repr(text), hint)
    return text


def check_passphrase(passphrase: bytearray) -> None:
    """Refuses a passphrase that is too short to protect a key."""
    if len(passphrase) < SHORTEST_PASSPHRASE:
        raise KeyFault(
            "the passphrase is too short",
            f"it needs at least {SHORTEST_PASSPHRASE} characters",
            "Use several words. `--no-passphrase` creates a key that is always shown as insecure.",
        )


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key on this machine, as far as it is known without its passphrase."""

    name: str
    public: PublicKey
    insecure: bool
    path: Path

    @property
    def protection(self) -> str:
        """How the private key is protected, in words."""
        return INSECURE if self.insecure else ENCRYPTED


class UnlockedKey:
    """A private key that can sign until it is locked.

    The private key exists only inside OpenSSL, which overwrites it when the last reference is dropped; `lock` drops
    that reference. Copies that libraries made while decrypting the file cannot be wiped from Python.
    """

    __slots__ = ("_private", "insecure", "name", "public")

    def __init__(self, name: str, private: "Ed25519PrivateKey", *, insecure: bool) -> None:
        self._private: Ed25519PrivateKey | None = private
        self.name = name
        self.public = PublicKey(private.public_key().public_bytes_raw())
        self.insecure = insecure

    @property
    def locked(self) -> bool:
        """Whether the key can no longer sign."""
        return self._private is None

    def lock(self) -> None:
        """Drops the private key. To sign again, the key must be unlocked again."""
        self._private = None

    def sign(self, data: bytes) -> bytes:
        """The 64-byte signature over the data."""
        if self._private is None:
            raise KeyLocked(f"the key {self.name} is locked", hint="Unlock it with its passphrase.")
        return self._private.sign(data)

    def derive(self, salt: bytes, purpose: bytes) -> bytearray:
        """A secret of 32 bytes for one purpose, which only this private key yields. It says nothing about the key."""
        from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415  # few commands need it
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415

        if self._private is None:
            raise KeyLocked(f"the key {self.name} is locked", hint="Unlock it with its passphrase.")
        return bytearray(HKDF(SHA256(), 32, salt, purpose).derive(self._private.private_bytes_raw()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.lock()

    def __repr__(self) -> str:
        return f"<{'locked' if self.locked else 'unlocked'} key {self.name} {self.public.fingerprint}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an unlocked key cannot be copied")


def new_seed() -> bytearray:
    """32 random bytes in memory that can be wiped."""
    seed = bytearray(32)
    with Path("/dev/urandom").open("rb", buffering=0) as source:
        if source.readinto(seed) != len(seed):
            raise KeyFault("the system returned no random bytes")
    return seed


def for_this_run(name: str = "this-run") -> UnlockedKey:
    """A new key that is never written to disk and exists only as long as the process."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415  # 25 ms

    return UnlockedKey(key_name(name), Ed25519PrivateKey.generate(), insecure=False)


def create(folder: Path, name: str, passphrase: bytearray | None) -> StoredKey:
    """Creates a key and writes it; an existing one is never overwritten."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415  # 25 ms

    from aileron_tui.signing import pkcs8  # noqa: PLC0415  # needs cryptography

    if exists(folder, name):
        raise KeyFault(f"there is already a key named {name}", hint="Choose another name with --name.")
    path = private_folder(folder) / f"{name}.pem"
    if passphrase is not None:
        check_passphrase(passphrase)
    seed = new_seed()
    try:
        private = Ed25519PrivateKey.from_private_bytes(seed)
        pem = pkcs8.write(seed, passphrase)
    finally:
        wipe(seed)
    public = PublicKey(private.public_key().public_bytes_raw())
    # The public key is written first, so that a crash in between leaves nothing that looks like a key.
    write_private(path.with_suffix(".pub"), f"{public.line(name)}\n".encode(), replace=True)
    write_private(path, pem)
    return StoredKey(name, public, passphrase is None, path)


def exists(folder: Path, name: str) -> bool:
    """Whether there is a key with this name."""
    path = folder / f"{key_name(name)}.pem"
    return path.exists() or path.is_symlink()


def stored(folder: Path) -> tuple[StoredKey, ...]:
    """Every key in a folder, sorted by name. Empty if the folder does not exist."""
    if not folder.exists():
        return ()
    private_folder(folder)
    return tuple(find(folder, path.stem) for path in sorted(folder.glob("*.pem")))


def find(folder: Path, name: str) -> StoredKey:
    """The key with this name. Raises NoKey if there is none."""
    pem, path = _read_pem(folder, name)
    public = path.with_suffix(".pub")
    try:
        text = read_private(public).decode("ascii")
    except UnicodeDecodeError:
        raise KeyFault("not a public key", str(public)) from None
    return StoredKey(name, read_ed25519(text), not _encrypted(pem), path)


def choose(folder: Path, name: str | None, how: str = "with --key") -> StoredKey:
    """The key with this name, or the only key if `name` is None. `how` tells the user how to name one."""
    if name is not None:
        return find(folder, name)
    found = stored(folder)
    if not found:
        raise NoKey("there is no key to sign with", hint="Create one with `aileron-tui key init`.")
    if len(found) > 1:
        raise NoKey("there are several keys", hint=f"Choose one {how}: {', '.join(key.name for key in found)}.")
    return found[0]


def unlock(folder: Path, name: str, passphrase: bytearray | None) -> UnlockedKey:
    """Unlocks a key for signing. `passphrase` is None for a key without one. The caller wipes the passphrase."""
    from aileron_tui.signing import pkcs8  # noqa: PLC0415  # needs cryptography

    pem, _ = _read_pem(folder, name)
    known = find(folder, name)
    key = UnlockedKey(name, pkcs8.read(pem, passphrase), insecure=known.insecure)
    if key.public != known.public:
        key.lock()
        raise KeyFault(
            "the private and the public file of the key do not match",
            str(known.path.with_suffix(".pub")),
            "One of them was changed. Revoke the key and create a new one.",
        )
    return key


def change_passphrase(folder: Path, name: str, old: bytearray | None, new: bytearray) -> None:
    """Encrypts the key with a new passphrase; the file is replaced completely or not at all."""
    from aileron_tui.signing import pkcs8  # noqa: PLC0415  # needs cryptography

    check_passphrase(new)
    pem, path = _read_pem(folder, name)
    seed = bytearray(pkcs8.read(pem, old).private_bytes_raw())
    try:
        write_private(path, pkcs8.write(seed, new), replace=True)
    finally:
        wipe(seed)


def _read_pem(folder: Path, name: str) -> tuple[bytes, Path]:
    path = folder / f"{key_name(name)}.pem"
    if not exists(folder, name):
        raise NoKey(f"there is no key named {name}", hint="`aileron-tui key list` shows all keys.")
    private_folder(folder)
    return read_private(path), path


def _encrypted(pem: bytes) -> bool:
    return pem.startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")
