"""The keyring of trusted publishers, and the forms in which a publisher's key is given."""

import base64
import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aileron_tui.core.errors import AileronError
from aileron_tui.packages.keyring_file import add_key, read_publisher_key, remove_key
from aileron_tui.sandbox.connector_package import load_keyring
from aileron_tui.signing.errors import KeyFault
from aileron_tui.signing.public_key import PublicKey
from tests.packages.made_packages import PUBLISHER, STRANGER, private_pem, public_pem, raw_public

RAW, OTHER = raw_public(PUBLISHER), raw_public(STRANGER)


@pytest.fixture
def keyring(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir(mode=0o700)
    return tmp_path / "home" / "keyring.json"


@pytest.mark.parametrize(
    "content",
    [
        public_pem(PUBLISHER),
        RAW,
        base64.b64encode(RAW),
        base64.urlsafe_b64encode(RAW).rstrip(b"=") + b"\n",
        PublicKey(RAW).line("publisher").encode(),
    ],
)
def test_a_key_is_read_in_every_form_from_a_file_and_as_text(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "publisher.pub"
    file.write_bytes(content)
    assert read_publisher_key(str(file)).raw == RAW
    if content != RAW:
        assert read_publisher_key(content.decode()).raw == RAW


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (private_pem(PUBLISHER), "this is a private key"),
        (b"x" * 31, "not an Ed25519 public key"),
        (b"\xff" * 33, "not a public key"),
        (b"", "not an Ed25519 public key"),
        (b"?" * 44, "not a public key"),
        (b"x" * 5000, "cannot read"),
        (bytes(32), "this public key would accept forged signatures"),
        (b"ssh-rsa AAAA", "not an Ed25519 public key"),
    ],
)
def test_what_is_not_a_key_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "publisher.pub"
    file.write_bytes(content)
    with pytest.raises(KeyFault) as refused:
        read_publisher_key(str(file))
    assert refused.value.title.startswith(reason)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    for name in (str(tmp_path / "none"), "publisher.pub"):
        with pytest.raises(KeyFault, match="there is no such file"):
            read_publisher_key(name)


def test_keys_are_added_and_removed_and_the_rest_stays(keyring: Path) -> None:
    add_key(keyring, "github://example", RAW)
    assert stat.S_IMODE(keyring.stat().st_mode) == 0o600
    assert json.loads(keyring.read_text()) == {
        "version": 1,
        "publishers": {"github://example": [base64.b64encode(RAW).decode()]},
    }
    unpadded = base64.urlsafe_b64encode(OTHER).decode().rstrip("=")
    table = {"version": 1, "note": "mine", "publishers": {"github://a": [unpadded], "github://example": [unpadded]}}
    keyring.write_text(json.dumps(table))
    add_key(keyring, "github://example", RAW)
    add_key(keyring, "github://a", OTHER)  # is there, in another form
    assert load_keyring(keyring).publishers == {"github://a": (OTHER,), "github://example": (OTHER, RAW)}
    assert json.loads(keyring.read_text())["note"] == "mine"
    remove_key(keyring, "github://a", OTHER)
    remove_key(keyring, "github://example", OTHER)
    assert load_keyring(keyring).publishers == {"github://example": (RAW,)}


@pytest.mark.parametrize("content", ['{"version": 2}', "{", '{"version":1,"publishers":{"github://a":["x"]}}'])
def test_a_keyring_that_cannot_be_read_is_not_changed(keyring: Path, content: str) -> None:
    keyring.write_text(content)
    with pytest.raises(AileronError):
        add_key(keyring, "github://example", RAW)
    assert keyring.read_text() == content


def test_two_changes_at_once_are_both_kept(keyring: Path) -> None:
    names = [f"github://owner-{number}" for number in range(20)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: add_key(keyring, name, RAW), names))
    assert sorted(load_keyring(keyring).publishers) == sorted(names)
    assert os.listdir(keyring.parent) == ["keyring.json"]  # noqa: PTH208  # nothing temporary is left
