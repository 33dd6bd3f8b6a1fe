"""`lint` finds nothing in a new repository, and the right line in broken copies of it."""

import json
from base64 import b64encode
from pathlib import Path

import pytest

from aileron_tui.cli import main
from aileron_tui.cli.commands.lint import lint
from aileron_tui.cli.exit_codes import OK
from tests.packages.made_packages import PUBLISHER, private_pem, raw_public
from tests.skeletons.stored_module import built_repository

MANIFEST = "connector/manifest.toml"
GET = "actions/get-note/action.md"
PUBLISH = "actions/publish-note/action.md"

BROKEN = [
    (MANIFEST, 'name = "local://dev/notes"', 'name = "notes"', 'name = "notes"', "connector-name"),
    (MANIFEST, 'version = "0.1.0"', 'version = "v0.1"', 'version = "v0.1"', "version"),
    (MANIFEST, '"127.0.0.1:8730"', '"https://api.example.com"', "hosts =", "host-port"),
    (MANIFEST, '"127.0.0.1:8730"', '"*.example.com:443"', "hosts =", "host-port"),
    (MANIFEST, 'kind = "api_key"', 'kind = "apikey"', 'kind = "apikey"', "credential-kind"),
    (MANIFEST, 'kind = "api_key"', 'kind = "api_key"\nformat = "Token"', 'format = "Token"', "credential-format"),
    (MANIFEST, 'kind = "api_key"', 'kind = "api_key"\nheader = "X Key"', 'header = "X Key"', "credential-header"),
    (MANIFEST, 'default = "not_idempotent"', 'default = "never"', 'default = "never"', "idempotency"),
    (MANIFEST, "[capabilities.network]", "[capabilities.netwrok]", "[capabilities.netwrok]", "unknown-key"),
    (MANIFEST, "hosts = [", "hosts = ", "hosts = ", "toml"),
    (GET, 'name = "get-note"', 'name = "Get Note"', 'name = "Get Note"', "name"),
    (GET, "@0.1.0", "", 'source = "local://dev/notes/actions/get-note"', "source"),
    (GET, 'hash = "sha256:', 'hash = "sha512:', 'hash = "sha512:', "hash"),
    (GET, 'hash = "sha256:', 'hash = "sha256:0', 'hash = "sha256:0', "pin"),
    (GET, 'type = "string"', 'type = "text"', 'type = "text"', "input-type"),
    (GET, "${args.note_id}", "${args.noteid}", 'note_id = "${args.noteid}"', "undeclared-input"),
    (GET, 'op = "get_note"', 'op = "read_note"', 'op = "read_note"', "op-not-granted"),
    (GET, "idempotent = true", "idempotent = false", "", "preview-not-idempotent"),
    (GET, 'intent = "Read a note"', 'intent = ""', 'intent = ""', "required"),
    (PUBLISH, 'multiline = ["Text"]', 'multiline = ["Body"]', 'multiline = ["Body"]', "multiline-label"),
    (PUBLISH, '"Title" = "title"', '"Title" = ""', '"Title" = ""', "render-path"),
    (PUBLISH, 'op = "get_note"', 'op = "publish_note"', 'op = "publish_note"\nmultiline', "preview-gated"),
    (PUBLISH, "required = true", 'required = "yes"', 'required = "yes"', "wrong-type"),
    (PUBLISH, "[approval]", "[approvals]", "[approvals]", "unknown-key"),
    (PUBLISH, "+++\n\n# Publish", "\n# Publish", "name =", "unclosed-front-matter"),
]


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    made = built_repository(tmp_path / "notes")
    assert main(["pin", str(made)]) == OK
    capsys.readouterr()
    return made


def test_a_new_repository_is_clean(folder: Path) -> None:
    assert lint([str(folder)]) == (3, [])


@pytest.mark.parametrize("case", BROKEN, ids=[f"{index}-{case[4]}" for index, case in enumerate(BROKEN)])
def test_lint_names_the_line(folder: Path, case: tuple[str, str, str, str, str]) -> None:
    file, good, bad, line, rule = case
    path = folder / file
    before = path.read_text()
    assert good in before
    path.write_text(before.replace(good, bad, 1))
    found = {finding.rule: finding for finding in lint([str(folder)])[1]}
    assert rule in found, found
    finding = found[rule]
    assert finding.fix
    if rule == "preview-not-idempotent":  # what is wrong is said where the preview is
        assert finding.file == str(folder / PUBLISH)
        line = 'op = "get_note"\nmultiline'
    else:
        assert finding.file == str(path)
    text = Path(finding.file).read_text()
    assert finding.line == text[: text.index(line)].count("\n") + 1


def test_a_signature_of_another_build_is_found(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("AILERON_TUI_HOME", str(home))
    monkeypatch.setattr("aileron_tui.cli.commands.pin.protect_process", lambda: None)
    (tmp_path / "key.pem").write_bytes(private_pem(PUBLISHER))
    assert main(["pin", str(folder), "--sign", str(tmp_path / "key.pem")]) == OK
    module, signature = folder / "connector" / "connector.wasm", folder / "connector" / "signature.sig"
    module.write_bytes(module.read_bytes() + b"\0\x02\x01a")  # a custom section: still a module
    assert main(["pin", str(folder)]) == OK
    assert lint([str(folder)]) == (3, []), "nobody is trusted, so nothing is known about a signature"
    keys = {"local://dev": [b64encode(raw_public(PUBLISHER)).decode()]}
    (home / "keyring.json").write_text(json.dumps({"version": 1, "publishers": keys}))
    found = lint([str(folder)])[1]
    assert [Path(finding.file) for finding in found] == [
        signature,
        folder / "actions" / "get-note" / "signature.sig",
        folder / "actions" / "publish-note" / "signature.sig",
    ]
    assert {finding.message for finding in found} == {
        "no key that is trusted for local://dev signed this version of it"
    }
    assert main(["pin", str(folder), "--sign", str(tmp_path / "key.pem")]) == OK
    assert lint([str(folder)]) == (3, [])
    signature.write_bytes(b"short")
    assert [finding.message for finding in lint([str(folder)])[1]] == ["a signature has 64 bytes, and this file has 5"]
    signature.unlink()
    assert lint([str(folder)]) == (3, [])


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"<html>not found</html>", "this is not a WebAssembly module"), (b"\0asm\x0d\0\x01\0", "component")],
)
def test_a_module_that_is_none_is_found(folder: Path, data: bytes, words: str) -> None:
    module = folder / "connector" / "connector.wasm"
    module.write_bytes(data)
    assert main(["pin", str(folder)]) == OK
    (finding,) = lint([str(folder)])[1]
    assert (finding.rule, finding.file) == ("module", str(module))
    assert words in finding.message
