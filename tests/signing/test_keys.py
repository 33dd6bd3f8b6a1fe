"""Keys on disk and in memory: private, encrypted, lockable."""

import copy
import gc
import os
import pickle
import re
import stat
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from aileron_tui.files.private_files import PrivateFileError
from aileron_tui.signing import key_store, pkcs8
from aileron_tui.signing.errors import KeyFault, KeyLocked, WrongSecret
from aileron_tui.signing.public_key import PublicKey, read_ed25519, read_public
from aileron_tui.signing.secret_memory import wipe

LINE = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAVFSbLEOFFaBRdGPeLtU17HEBjfXbjY3ZuR/BU9idNG someone"
FINGERPRINT = "SHA256:3EWd9N28tLC/qIUJ6m8AlmBMgEyIZHzt7SV2WW+9WUY"  # as ssh-keygen -l says
SECRET = bytearray(b"correct horse")
FAST = 2**4
USUAL = pkcs8.write.__defaults__  # before the tests make it cheap


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for keys, with a cheap scrypt."""
    monkeypatch.setattr(pkcs8.write, "__defaults__", (FAST,))
    return tmp_path / "keys"


def test_a_key_is_written_privately_and_unlocked_again(folder: Path) -> None:
    made = key_store.create(folder, "laptop", SECRET)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()] == [0o600, 0o600]
    assert made.path.read_bytes().startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")
    with key_store.unlock(folder, "laptop", SECRET) as key:
        assert key.public == made.public
        assert made.public.accepts(key.sign(b"data"), b"data")
        assert not made.public.accepts(key.sign(b"data"), b"other")
    assert key_store.stored(folder) == (made,)
    assert (made.insecure, made.protection) == (False, "passphrase")


def test_the_real_cost_of_a_guess_is_128_mib() -> None:
    seed = key_store.new_seed()
    pem = pkcs8.write(seed, SECRET, pkcs8.WORK)
    assert pkcs8.WORK * 128 * 8 == 128 * 1024 * 1024
    assert (pkcs8.WORK,) == USUAL
    assert pkcs8.read(pem, SECRET).private_bytes_raw() == bytes(seed)


def test_a_wrong_passphrase_is_told_from_a_damaged_file(folder: Path) -> None:
    made = key_store.create(folder, "laptop", SECRET)
    with pytest.raises(WrongSecret, match="wrong passphrase"):
        key_store.unlock(folder, "laptop", bytearray(b"incorrect horse"))
    with pytest.raises(WrongSecret, match="needs its passphrase"):
        key_store.unlock(folder, "laptop", None)
    made.path.write_bytes(made.path.read_bytes()[:80])
    with pytest.raises(KeyFault, match="damaged"):
        key_store.unlock(folder, "laptop", SECRET)


def test_a_locked_key_does_not_sign(folder: Path) -> None:
    key_store.create(folder, "laptop", SECRET)
    key = key_store.unlock(folder, "laptop", SECRET)
    before = key.locked
    key.lock()
    assert (before, key.locked) == (False, True)
    with pytest.raises(KeyLocked, match="laptop is locked"):
        key.sign(b"data")
    assert repr(key).startswith("<locked key laptop SHA256:")


def test_locking_drops_the_last_reference_to_the_private_key() -> None:
    class Tracked:
        def public_key(self) -> "Tracked":
            return self

        def public_bytes_raw(self) -> bytes:
            return read_ed25519(LINE).raw

    private = Tracked()
    gone = weakref.ref(private)
    key = key_store.UnlockedKey("laptop", private, insecure=False)  # type: ignore[arg-type]  # real ones take no weakref
    del private
    key.lock()
    gc.collect()
    assert gone() is None


def test_an_unlocked_key_cannot_be_copied() -> None:
    key = key_store.for_this_run()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied"):
            attempt(key)


def test_wiping_overwrites_in_place() -> None:
    secret = bytearray(b"secret")
    view = memoryview(secret)
    wipe(secret)
    assert bytes(view) == bytes(6)


def test_seeds_differ() -> None:
    assert key_store.new_seed() != key_store.new_seed()


def test_an_existing_key_is_never_overwritten(folder: Path) -> None:
    before = key_store.create(folder, "laptop", SECRET).path.read_bytes()
    with pytest.raises(KeyFault, match="already a key named laptop"):
        key_store.create(folder, "laptop", SECRET)
    assert (folder / "laptop.pem").read_bytes() == before


def test_a_passphrase_is_wrong_however_well_it_seems_to_fit() -> None:
    """With one in 256 the padding comes out right, and what was decrypted is not a key."""
    seed = bytearray(range(32))
    pem = pkcs8.write(seed, bytearray(b"right"), FAST)
    for number in range(2000):
        with pytest.raises(WrongSecret, match="wrong passphrase"):
            pkcs8.read(pem, bytearray(b"wrong %d" % number))


def test_a_passphrase_changes_and_the_key_stays(folder: Path) -> None:
    made = key_store.create(folder, "laptop", SECRET)
    fresh = bytearray(b"battery staple")
    key_store.change_passphrase(folder, "laptop", SECRET, fresh)
    with pytest.raises(WrongSecret):
        key_store.unlock(folder, "laptop", SECRET)
    assert key_store.unlock(folder, "laptop", fresh).public == made.public
    with pytest.raises(WrongSecret):
        key_store.change_passphrase(folder, "laptop", SECRET, SECRET)
    assert key_store.unlock(folder, "laptop", fresh).public == made.public


def test_a_key_without_passphrase_is_called_insecure_until_it_has_one(folder: Path) -> None:
    made = key_store.create(folder, "laptop", None)
    assert made.protection == key_store.find(folder, "laptop").protection == "insecure: no passphrase"
    assert key_store.unlock(folder, "laptop", None).insecure
    key_store.change_passphrase(folder, "laptop", None, SECRET)
    assert key_store.find(folder, "laptop").protection == "passphrase"


@pytest.mark.parametrize("short", [b"", b"1234567"])
def test_a_short_passphrase_is_refused_and_nothing_is_written(folder: Path, short: bytes) -> None:
    with pytest.raises(KeyFault, match="too short"):
        key_store.create(folder, "laptop", bytearray(short))
    assert key_store.stored(folder) == ()


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../laptop",
        "a/b",
        "a\\b",
        "-rf",
        ".hidden",
        "a.",
        "a..b",
        "A",
        "ä",
        "a b",
        "a\n",
        "a\0",
        "x" * 33,
    ],
)
def test_names_that_could_be_paths_or_options_are_refused(folder: Path, name: str) -> None:
    for attempt in (lambda: key_store.create(folder, name, None), lambda: key_store.unlock(folder, name, None)):
        with pytest.raises(KeyFault, match="invalid key name"):
            attempt()
    assert not folder.exists() or not list(folder.iterdir())


@pytest.mark.parametrize("name", ["a", "laptop", "work-2", "a.b_c", "0", "x" * 32])
def test_ordinary_names_are_fine(name: str) -> None:
    assert key_store.key_name(name) == name


def test_a_swapped_public_file_is_noticed(folder: Path) -> None:
    made = key_store.create(folder, "laptop", SECRET)
    made.path.with_suffix(".pub").write_text(LINE)
    with pytest.raises(KeyFault, match="do not match"):
        key_store.unlock(folder, "laptop", SECRET)


def test_a_link_in_place_of_a_key_is_refused(folder: Path, tmp_path: Path) -> None:
    made = key_store.create(folder, "laptop", SECRET)
    made.path.rename(tmp_path / "elsewhere.pem")
    made.path.symlink_to(tmp_path / "elsewhere.pem")
    with pytest.raises(PrivateFileError, match="symbolic link"):
        key_store.unlock(folder, "laptop", SECRET)


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o601])
def test_a_key_open_to_others_is_refused(folder: Path, mode: int) -> None:
    key_store.create(folder, "laptop", SECRET).path.chmod(mode)
    with pytest.raises(PrivateFileError, match="open to others"):
        key_store.unlock(folder, "laptop", SECRET)


def test_a_folder_open_to_others_is_refused(folder: Path) -> None:
    key_store.create(folder, "laptop", SECRET)
    folder.chmod(0o755)
    with pytest.raises(PrivateFileError, match="open to others"):
        key_store.unlock(folder, "laptop", SECRET)


def test_another_users_key_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key_store.create(folder, "laptop", SECRET)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(PrivateFileError, match="another user"):
        key_store.unlock(folder, "laptop", SECRET)


def test_no_key_of_that_name(folder: Path) -> None:
    with pytest.raises(KeyFault, match="no key named phone"):
        key_store.unlock(folder, "phone", SECRET)


def test_a_public_key_is_read_from_a_line_and_from_pem() -> None:
    public = read_public(LINE)
    assert public.fingerprint == FINGERPRINT
    assert public.line("someone") == LINE
    body = "MCowBQYDK2VwAyEABUVJssQ4UVoFF0Y94u1TXscQGN9duNjdm5H8FT2J00Y="
    assert read_public(f"-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n") == public


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ssh-ed25519",
        LINE.replace("ssh-ed25519", "ssh-rsa", 1),
        LINE.replace("AAAAC3Nz", "AAAAC3N!"),
        LINE.replace("idNG", "id"),
        f"{LINE}\n{LINE}",
        "x" * 5000,
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
    ],
)
def test_other_text_is_no_public_key(text: str) -> None:
    with pytest.raises(KeyFault):
        read_public(text)


def test_a_private_key_is_recognised_and_refused(folder: Path) -> None:
    pem = key_store.create(folder, "laptop", None).path.read_text()
    with pytest.raises(KeyFault, match="this is a private key"):
        read_public(pem)


def _order_divides_8(encoded: bytes) -> bool:
    """Whether a point times eight is the neutral element, by schoolbook arithmetic on the curve."""
    prime = 2**255 - 19
    d = -121665 * pow(121666, -1, prime) % prime
    y = int.from_bytes(encoded, "little") % 2**255 % prime
    square = (y * y - 1) * pow(d * y * y + 1, -1, prime) % prime
    x = pow(square, (prime + 3) // 8, prime)
    if (x * x - square) % prime:
        x = x * pow(2, (prime - 1) // 4, prime) % prime
    assert (x * x - square) % prime == 0, "not on the curve"
    for _ in range(3):
        product = d * x * x * y * y % prime
        x, y = (
            2 * x * y * pow(1 + product, -1, prime) % prime,
            (y * y + x * x) * pow(1 - product, -1, prime) % prime,
        )
    return (x, y) == (0, 1)


def test_keys_under_which_anyone_can_sign_are_refused() -> None:
    from aileron_tui.signing.small_order import _SMALL_ORDER  # noqa: PLC0415  # the table itself is what is checked

    assert all(map(_order_divides_8, _SMALL_ORDER))
    assert not _order_divides_8(read_ed25519(LINE).raw)
    for point in _SMALL_ORDER:
        for raw in (point, point[:31] + bytes([point[31] | 0x80])):
            with pytest.raises(KeyFault, match="forged"):
                PublicKey(raw)


def test_the_process_cannot_be_dumped() -> None:
    program = (
        "import ctypes, resource\n"
        "from aileron_tui.signing.secret_memory import protect_process\n"
        "print(protect_process(), resource.getrlimit(resource.RLIMIT_CORE), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    if sys.platform == "linux":
        assert said == "Protection(no_core_dumps=True, not_dumpable=True) (0, 0) 0\n"
    else:
        assert re.match(r"Protection\(no_core_dumps=True", said)
