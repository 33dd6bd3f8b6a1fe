"""The trust command: at a terminal, signed, in the ledger and in the keyring."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aileron_tui import cli
from aileron_tui.cli.exit_codes import FAILED, NOT_FOUND, OK, USAGE
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.publisher_change import PublisherChange, key_text
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.ledger.store import EntryDraft
from aileron_tui.sandbox.connector_package import load_keyring
from aileron_tui.signing import key_store
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.public_key import PublicKey
from aileron_tui.signing.trusted_publishers import TrustedPublishers
from aileron_tui.surface.publisher_changes import remove_publisher, trust_publisher
from tests.cli.test_key import on_a_terminal
from tests.packages.made_packages import AUTHORITY, PUBLISHER, STRANGER, public_pem, raw_public

PASSPHRASE = "correct horse"
KEY = PublicKey(raw_public(PUBLISHER))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, with a key that has a passphrase."""
    home = tmp_path / "home"
    monkeypatch.setenv("AILERON_TUI_HOME", str(home))
    for module in ("key", "trust"):
        monkeypatch.setattr(f"aileron_tui.cli.commands.{module}.protect_process", lambda: None)
    monkeypatch.setattr("aileron_tui.cli.commands.key.ask_new_passphrase", lambda _: bytearray(PASSPHRASE.encode()))
    assert cli.main(["key", "init"]) == OK
    (tmp_path / "publisher.pub").write_bytes(public_pem(PUBLISHER))
    return home


def unlocked(home: Path) -> UnlockedKey:
    return key_store.unlock(home / "keys", "default", bytearray(PASSPHRASE.encode()))


def recorded(home: Path) -> TrustedPublishers:
    with open_reader(home / "data" / "ledger.db") as reader:
        return TrustedPublishers.of(reader)


def listed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    capsys.readouterr()
    assert cli.main(["trust", "--list", "--json"]) == OK
    rows: list[dict[str, str]] = json.loads(capsys.readouterr().out)["publishers"]
    return rows


def test_a_key_is_trusted_and_removed_at_the_terminal(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["trust", AUTHORITY, str(home.parent / "publisher.pub")]
    code, screen = on_a_terminal(home, words, ["n\n"])
    assert code == FAILED
    assert "nothing was changed" in screen
    assert listed(capsys) == []

    code, screen = on_a_terminal(home, words, ["y\n", f"{PASSPHRASE}\n"])
    assert code == OK, screen
    assert KEY.fingerprint in screen
    assert "Trust this key? [y/N]" in screen
    assert load_keyring(home / "keyring.json").publishers == {AUTHORITY: (KEY.raw,)}
    assert recorded(home)[AUTHORITY, key_text(KEY.raw)].signed_by == "default"
    assert [(row["state"], row["trusted_by"]) for row in listed(capsys)] == [("trusted", "default")]

    code, screen = on_a_terminal(home, words, [])
    assert (code, "is already trusted with this key" in screen) == (OK, True)

    code, screen = on_a_terminal(home, ["trust", "--remove", AUTHORITY], ["y\n", f"{PASSPHRASE}\n"])
    assert code == OK, screen
    assert load_keyring(home / "keyring.json").publishers == {}
    assert recorded(home) == {}
    assert cli.main(["history", "verify"]) == OK


def test_a_key_added_by_hand_works_and_is_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = home / "keyring.json"
    file.write_text(json.dumps({"version": 1, "publishers": {AUTHORITY: [key_text(KEY.raw)]}}))
    assert [row["state"] for row in listed(capsys)] == ["unsigned"]
    assert cli.main(["trust", "--list"]) == OK
    out = capsys.readouterr().out
    assert "nobody signed for it here" in out
    assert f"aileron-tui trust {AUTHORITY} {key_text(KEY.raw)}" in out
    with unlocked(home) as key:
        trust_publisher(home / "data" / "ledger.db", file, AUTHORITY, KEY, key)
    assert [row["state"] for row in listed(capsys)] == ["trusted"]
    file.unlink()
    assert [row["state"] for row in listed(capsys)] == ["missing"]
    assert cli.main(["trust", "--list"]) == OK
    assert "no longer in the keyring" in capsys.readouterr().out


def test_one_of_several_keys_is_removed_by_its_fingerprint(home: Path) -> None:
    ledger, file, other = home / "data" / "ledger.db", home / "keyring.json", PublicKey(raw_public(STRANGER))
    with unlocked(home) as key:
        trust_publisher(ledger, file, AUTHORITY, KEY, key)
        trust_publisher(ledger, file, AUTHORITY, other, key)
        code, screen = on_a_terminal(home, ["trust", "--remove", AUTHORITY], [])
        assert (code, "has several trusted keys" in screen) == (FAILED, True)
        answers = ["y\n", f"{PASSPHRASE}\n"]
        code, screen = on_a_terminal(home, ["trust", "--remove", AUTHORITY, other.fingerprint], answers)
        assert code == OK, screen
        assert load_keyring(file).publishers == {AUTHORITY: (KEY.raw,)}
        remove_publisher(ledger, file, AUTHORITY, KEY, key)
    code, screen = on_a_terminal(home, ["trust", "--remove", AUTHORITY], [])
    assert (code, "is trusted" in screen) == (NOT_FOUND, True)


def test_without_a_terminal_nothing_is_trusted(home: Path) -> None:
    words = [sys.executable, "-m", "aileron_tui", "trust", AUTHORITY, key_text(KEY.raw)]
    done = subprocess.run(words, input="y\n", capture_output=True, text=True, check=False, start_new_session=True)
    assert done.returncode == FAILED
    assert done.stderr.startswith("error: changing trusted publishers needs a terminal\n")
    assert not (home / "keyring.json").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["github://example"], USAGE, "give the publisher's key"),
        (["--remove"], USAGE, "name the publisher"),
        (["--list", "github://example"], USAGE, "--list takes no publisher"),
        (["https://github.com/example/repo", "x"], FAILED, "Write github://example/repo."),
        (["github://example/repo/actions/x", "x"], FAILED, "is not a publisher"),
        (["github://\x1b[2Jexample", "x"], FAILED, "is not a publisher"),
    ],
)
def test_bad_words_are_refused(
    home: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    capsys.readouterr()
    assert cli.main(["trust", *words]) == code
    error = capsys.readouterr().err
    assert said in error
    assert "\x1b" not in error


def test_an_empty_list_says_what_to_do(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert cli.main(["trust"]) == OK
    assert "no publisher is trusted yet" in capsys.readouterr().out


def forged(home: Path, change: Callable[[str], tuple[PublisherChange, UnlockedKey]]) -> None:
    """Appends an entry as somebody with access to the file could."""
    with open_ledger(home / "data" / "ledger.db", role="test", guest=True) as ledger:
        ledger.append_given(
            lambda view: [
                EntryDraft(EntryKind.PUBLISHER_TRUSTED, made.body(sign(made, key).fields()))
                for made, key in [change(view.head().hash)]
            ]
        )


def test_a_change_that_no_approver_signed_says_nothing_and_is_found(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key_store.create(tmp_path / "stranger", "stranger", None)
    with key_store.unlock(tmp_path / "stranger", "stranger", None) as stranger:
        time = "2026-05-12T10:15:30.000000Z"
        forged(
            home,
            lambda head: (
                PublisherChange(EntryKind.PUBLISHER_TRUSTED, AUTHORITY, key_text(KEY.raw), head, time),
                stranger,
            ),
        )
        elsewhere = "sha256:" + "1" * 64
        copied = PublisherChange(EntryKind.PUBLISHER_TRUSTED, AUTHORITY, key_text(KEY.raw), elsewhere, time)
        with unlocked(home) as key, pytest.raises(EntryRefused, match="not signed over the head"):
            forged(home, lambda _: (copied, key))
    assert recorded(home) == {}
    assert recorded(home).invalid
    capsys.readouterr()
    assert cli.main(["history", "verify"]) == FAILED
    assert "the trusted publishers were changed without a valid signature" in capsys.readouterr().out
