"""The pin command: hashes into actions, byte for byte, signatures and archives that can be installed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from aileron_tui import cli
from aileron_tui.cli.exit_codes import FAILED, OK, USAGE
from aileron_tui.core.action import read_action
from aileron_tui.core.action_pins import PinError, with_pins
from aileron_tui.packages.offer import read_offer
from aileron_tui.packages.publishers import SignatureState, action_publisher, connector_publisher
from tests.cli.test_key import on_a_terminal
from tests.packages.made_packages import AUTHORITY, PUBLISHER, MadeRelease, keyring, made_release, private_pem

PLACEHOLDER = b"sha256:bound-at-release"
MODULE = b"\0asm\x01\0\0\0"


@pytest.fixture(scope="module")
def release() -> MadeRelease:
    """A release whose module is small, because only its bytes matter here."""
    made = made_release()
    small = replace(made, package=replace(made.package, wasm=MODULE))
    return replace(small, actions={n: d.replace(made.hash.encode(), PLACEHOLDER) for n, d in made.actions.items()})


@pytest.fixture
def repository(release: MadeRelease, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("aileron_tui.cli.commands.pin.protect_process", lambda: None)
    return release.write_repository(tmp_path / "repo")


def test_every_action_is_pinned_and_nothing_else_changes(repository: Path, release: MadeRelease) -> None:
    assert cli.main(["pin", str(repository), "--check"]) == FAILED
    files = sorted(repository.glob("actions/*/action.md"))
    assert all(PLACEHOLDER in file.read_bytes() for file in files)
    assert cli.main(["pin", str(repository)]) == OK
    for file in files:
        expected = release.actions[file.parent.name].replace(PLACEHOLDER, release.hash.encode())
        assert file.read_bytes() == expected
    assert cli.main(["pin", str(repository), "--check"]) == OK


def test_only_the_named_actions_are_pinned(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = repository / "actions" / "send-draft"
    assert cli.main(["pin", str(repository), str(named), "--json"]) == OK
    found = json.loads(capsys.readouterr().out)
    assert [action["file"] for action in found["actions"]] == [str(named / "action.md")]
    assert PLACEHOLDER in (repository / "actions" / "get-draft" / "action.md").read_bytes()


def test_a_release_is_signed_and_packed_and_can_be_installed(repository: Path, tmp_path: Path) -> None:
    key, out = tmp_path / "publisher.pem", tmp_path / "dist"
    key.write_bytes(private_pem(PUBLISHER))
    assert cli.main(["pin", str(repository), "--sign", str(key), "--pack", str(out)]) == OK
    archives = sorted(str(path.relative_to(out)) for path in out.rglob("*.tar.gz"))
    assert archives[-1] == "v1.0.0/aileron.tar.gz"
    assert "actions/send-draft/v1.0.0/aileron.tar.gz" in archives
    offered = read_offer(str(out / "v1.0.0" / "aileron.tar.gz")).connectors[0]
    assert connector_publisher(offered.package, offered.connector, keyring()).state is SignatureState.TRUSTED
    action = read_offer(str(out / "actions/send-draft/v1.0.0/aileron.tar.gz")).actions[0]
    assert action.action.requires[0].hash == offered.hash
    assert action_publisher(action.data, action.action, action.signature, keyring()).state is SignatureState.TRUSTED
    offer = read_offer(str(repository))
    assert offer.connectors[0].package == offered.package
    assert not offer.findings
    before = (out / "v1.0.0" / "aileron.tar.gz").read_bytes()
    assert cli.main(["pin", str(repository), "--sign", str(key), "--pack", str(out)]) == OK
    assert (out / "v1.0.0" / "aileron.tar.gz").read_bytes() == before


def test_a_key_with_a_passphrase_is_asked_for_at_the_terminal(repository: Path, tmp_path: Path) -> None:
    key = tmp_path / "publisher.pem"
    key.write_bytes(PUBLISHER.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")))
    code, screen = on_a_terminal(tmp_path, ["pin", str(repository), "--sign", str(key)], ["secret\n"])
    assert code == OK, screen
    assert "secret" not in screen
    assert (repository / "signature.sig").stat().st_size == 64


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"nothing", "is not a private key in PEM"), (b"", "is not a private key in PEM"), (None, "cannot read")],
)
def test_a_bad_key_changes_nothing(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, said: str
) -> None:
    key = tmp_path / "publisher.pem"
    if content is not None:
        key.write_bytes(content)
    assert cli.main(["pin", str(repository), "--sign", str(key)]) == FAILED
    assert said in capsys.readouterr().err
    assert PLACEHOLDER in (repository / "actions" / "send-draft" / "action.md").read_bytes()


def test_what_cannot_be_pinned_is_said(
    release: MadeRelease, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["pin", str(tmp_path)]) == FAILED
    assert "there is no connector in" in capsys.readouterr().err
    unbuilt = release.write_repository(tmp_path / "unbuilt", built=False)
    assert cli.main(["pin", str(unbuilt)]) == FAILED
    assert "the connector is not built" in capsys.readouterr().err
    built = release.write_repository(tmp_path / "built")
    assert cli.main(["pin", str(built), "--pack", str(tmp_path / "out")]) == FAILED
    assert "Give the publisher's key with --sign." in capsys.readouterr().err
    assert cli.main(["pin", str(built), "--check", "--pack", "x"]) == USAGE
    file = built / "actions" / "send-draft" / "action.md"
    file.write_bytes(file.read_bytes().replace(b'version = "1.0.0"', b'version = "0.0.0-dev"'))
    capsys.readouterr()
    assert cli.main(["pin", str(built)]) == OK
    assert "requires version 0.0.0-dev" in capsys.readouterr().out


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "requires",
    [
        (
            "[[requires.connectors]]\nhash    =  'sha256:x'   # kept\n"
            'name = "{name}"\nversion = "1.0.0"\ncapabilities = ["a"]'
        ),
        '[requires]\nconnectors = [{{ name = "{name}", version = "1.0.0", hash = "sha256:x", capabilities = ["a"] }}]',
    ],
)
def test_pins_are_set_however_they_are_written(requires: str, newline: str) -> None:
    text = (
        f'\ufeff+++\nname = "x"\nversion = "1.0.0"\nsource = "{AUTHORITY}/actions/x@1.0.0"\n'
        f'{requires.format(name=AUTHORITY)}\n[match]\nintent = "hash = \\"sha256:x\\""\n'
        f'[[execute]]\nid = "a"\nconnector = "{AUTHORITY}"\nop = "a"\n+++\nhash = "sha256:x"\n'
    ).replace("\n", newline)
    pin = "sha256:" + "a" * 64
    changed = with_pins(text.encode(), "x.md", {AUTHORITY: pin, "github://o/r": "other"})
    action = read_action(changed, "x.md").value
    assert action
    assert action.requires[0].hash == pin
    quoted = "'sha256:x'" if "'sha256:x'" in text else '"sha256:x"'
    assert changed == text.replace(quoted, f'"{pin}"', 1).encode()


def test_an_action_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(PinError):
        with_pins(b"+++\nname = 1\n+++\n", "x.md", {})
