"""The keys of this machine: creating, listing, unlocking and re-encrypting them.

A key `NAME` is two private files, `NAME.pem` (the private key) and `NAME.pub` (the public one, readable without the
passphrase; it is compared with the private one at every unlock, so a changed `.pub` file is noticed).
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, Self

from aileron_tui.core.values import dataclass
from aileron_tui.files.private_files import private_folder, read_private, write_private
from aileron_tui.signing.errors import KeyFault, KeyLocked, NoKey
from aileron_tui.signing.public_key import PublicKey, read_public
from aileron_tui.signing.secret_memory import wipe

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SHORTEST_PASSPHRASE: Final = 8
INSECURE: Final = "insecure: no passphrase"
ENCRYPTED: Final = "passphrase"

_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9_-]|\.(?=[a-z0-9])){0,31}", re.ASCII)


def key_name(text: str) -> str:
    """The name if it is valid. It becomes part of a file name, so nothing with a meaning in paths is allowed."""
    if not _NAME.fullmatch(text):
        hint = "Use 1 to 32 lowercase letters, digits, dots, dashes and underscores, and begin with a letter or digit."
        raise KeyFault("invalid key name", repr(text), hint)
    return text


def check_passphrase(passphrase: bytearray) -> None:
    """Refuses a passphrase too short to protect anything."""
    if len(passphrase) < SHORTEST_PASSPHRASE:
        raise KeyFault(
            "the passphrase is too short",
            f"it needs at least {SHORTEST_PASSPHRASE} characters",
            "Use several words. `--no-passphrase` makes a key that is marked as insecure wherever it is shown.",
        )


@dataclass(frozen=True, slots=True)
class StoredKey:
    """What is known about a key of this machine without its passphrase."""

    name: str
    public: PublicKey
    insecure: bool
    path: Path

    @property
    def protection(self) -> str:
        """How the private key is kept, in words."""
        return INSECURE if self.insecure else ENCRYPTED


class UnlockedKey:
    """A private key that can sign until it is locked.

    The private half exists only inside OpenSSL, which overwrites it when the last reference goes; `lock` drops that
    reference. What Python cannot promise: buffers that libraries copied while the file was decrypted.
    """

    __slots__ = ("_private", "insecure", "name", "public")

    def __init__(self, name: str, private: "Ed25519PrivateKey", *, insecure: bool) -> None:
        self._private: Ed25519PrivateKey | None = private
        self.name = name
        self.public = PublicKey(private.public_key().public_bytes_raw())
        self.insecure = insecure

    @property
    def locked(self) -> bool:
        """Whether it can no longer sign."""
        return self._private is None

    def lock(self) -> None:
        """Drops the private half; to sign again, the key must be unlocked again."""
        self._private = None

    def sign(self, data: bytes) -> bytes:
        """The 64-byte signature over the data."""
        if self._private is None:
            raise KeyLocked(f"the key {self.name} is locked", hint="Unlock it with its passphrase.")
        return self._private.sign(data)

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
    """A key that is never written to disk and ends with the process."""
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
    # The public half first: a crash in between leaves nothing that looks like a key.
    write_private(path.with_suffix(".pub"), f"{public.line(name)}\n".encode(), replace=True)
    write_private(path, pem)
    return StoredKey(name, public, passphrase is None, path)


def exists(folder: Path, name: str) -> bool:
    """Whether the name is taken."""
    path = folder / f"{key_name(name)}.pem"
    return path.exists() or path.is_symlink()


def stored(folder: Path) -> tuple[StoredKey, ...]:
    """Every key of the folder, by name; none if the folder does not exist."""
    if not folder.exists():
        return ()
    private_folder(folder)
    return tuple(find(folder, path.stem) for path in sorted(folder.glob("*.pem")))


def find(folder: Path, name: str) -> StoredKey:
    """The key of this name."""
    pem, path = _read_pem(folder, name)
    public = path.with_suffix(".pub")
    try:
        text = read_private(public).decode("ascii")
    except UnicodeDecodeError:
        raise KeyFault("not a public key", str(public)) from None
    return StoredKey(name, read_public(text), not _encrypted(pem), path)


def choose(folder: Path, name: str | None, how: str = "with --key") -> StoredKey:
    """The key of this name, or the only one there is; `how` tells the user where to name one."""
    if name is not None:
        return find(folder, name)
    found = stored(folder)
    if not found:
        raise NoKey("there is no key to sign with", hint="`aileron-tui key init` makes one.")
    if len(found) > 1:
        raise NoKey("there are several keys", hint=f"Choose one {how}: {', '.join(key.name for key in found)}.")
    return found[0]


def unlock(folder: Path, name: str, passphrase: bytearray | None) -> UnlockedKey:
    """The key ready to sign; `passphrase` is None for a key without one. The caller wipes the passphrase."""
    from aileron_tui.signing import pkcs8  # noqa: PLC0415  # needs cryptography

    pem, _ = _read_pem(folder, name)
    known = find(folder, name)
    key = UnlockedKey(name, pkcs8.read(pem, passphrase), insecure=known.insecure)
    if key.public != known.public:
        key.lock()
        raise KeyFault(
            "the public and the private file of the key do not match",
            str(known.path.with_suffix(".pub")),
            "Someone changed one of them. Revoke the key and make a new one.",
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
