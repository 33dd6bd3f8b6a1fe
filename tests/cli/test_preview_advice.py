"""What authors read when a preview of their own connector does not work: what is wrong, and what to do."""

from pathlib import Path

import pytest

from aileron_tui.cli import main
from aileron_tui.cli.exit_codes import FAILED, NOT_FOUND, OK
from aileron_tui.files.paths import Paths
from tests.sandbox.guests import EXIT_ONE, GARBAGE, TRAP, WRONG_IMPORT, guest, http_guest, printing
from tests.skeletons.stored_module import built_repository

WORDS = ["preview", "publish-note", "--arg", "note_id=n-1", "--arg", "channel=news", "--manifests"]
NOTE = b'{"output":{"title":"Hello","author":{"name":"Sam","mail":"sam@example.com"},"text":"Hi"}}'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository as it is after `make`, in a home where nothing is set up."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    here = Paths(home / "config.toml", home / "keyring.json", home / "data", home / "keys", home / "cache")
    monkeypatch.setattr("aileron_tui.cli.commands.preview.paths", lambda: here)
    made = built_repository(tmp_path / "notes")
    assert main(["pin", str(made)]) == OK
    return made


def use(folder: Path, module: bytes) -> None:
    """Exchanges the module, and pins it."""
    (folder / "connector" / "connector.wasm").write_bytes(module)
    assert main(["pin", str(folder)]) == OK


def preview(folder: Path, capsys: pytest.CaptureFixture[str], code: int = FAILED) -> str:
    """What the author reads, without line breaks."""
    capsys.readouterr()
    assert main([*WORDS, str(folder)]) == code
    printed = capsys.readouterr()
    return " ".join((printed.out + printed.err).split())


def test_a_module_that_is_not_built(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "connector" / "connector.wasm").unlink()
    shown = preview(folder, capsys)
    assert "Preview unavailable: the connector local://dev/notes is not installed" in shown
    assert f"Build it first, for example with `make`: the folder {folder} has no connector.wasm for it." in shown


def test_a_wrong_pin(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "connector" / "connector.wasm").write_bytes(printing(NOTE))
    shown = preview(folder, capsys, NOT_FOUND)
    assert "error: publish-note cannot be used" in shown
    assert f"{folder}/actions/publish-note/action.md:9: the pin sha256:" in shown
    assert "Set it with `aileron-tui pin`" in shown


def test_an_action_that_cannot_be_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "actions" / "publish-note" / "action.md"
    file.write_text(file.read_text().replace('type = "string"', 'type = "text"', 1))
    shown = preview(folder, capsys, NOT_FOUND)
    assert f'{file}:17: "text" is not a valid input type Use one of string' in shown


@pytest.mark.parametrize("module", [b"", b"not wasm at all", b"\0asm\x0d\0\x01\0", WRONG_IMPORT])
def test_what_is_no_module_for_the_sandbox(folder: Path, capsys: pytest.CaptureFixture[str], module: bytes) -> None:
    use(folder, module)
    shown = preview(folder, capsys)
    assert "Preview unavailable: connector crashed" in shown
    assert "Build a program for WASI preview 1" in shown
    assert "GOOS=wasip1 GOARCH=wasm" in shown
    assert "-target wasm32-wasi" in shown


def test_what_is_wrong_with_a_module_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for module, words in (
        (b"not wasm at all", "this is not a WebAssembly module"),
        (b"\0asm\x0d\0\x01\0", "this is a WebAssembly component"),
        (WRONG_IMPORT, "unknown import: `aileron_host::steal`"),
    ):
        use(folder, module)
        assert words in preview(folder, capsys)


def test_a_module_that_traps(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    use(folder, TRAP)
    assert "The module trapped in get_note: look for a panic" in preview(folder, capsys)


def test_a_module_that_exits_with_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    use(folder, EXIT_ONE)
    shown = preview(folder, capsys)
    assert "connector exited 1; stderr: ...xxx" in shown
    assert "Check that the module has an op get_note." in shown
    assert "exit with 0" in shown


def test_a_wrong_op(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for action in ("get-note", "publish-note"):
        file = folder / "actions" / action / "action.md"
        file.write_text(file.read_text().replace("get_note", "get_nota"))
    shown = preview(folder, capsys)
    assert "connector exited 1; stderr: unknown op" in shown
    assert "Check that the module has an op get_nota." in shown


@pytest.mark.parametrize("module", [GARBAGE, printing(b'debug {"output":{}}'), printing(b'{"output":[1]}')])
def test_a_module_that_prints_something_else(folder: Path, capsys: pytest.CaptureFixture[str], module: bytes) -> None:
    use(folder, module)
    shown = preview(folder, capsys)
    assert "connector stdout is not a valid JSON envelope" in shown
    assert 'Write only {"output": {…}} or {"error": {…}} to standard output' in shown


def test_a_module_that_prints_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    use(folder, guest(""))
    assert "get_note wrote nothing to standard output, so every field is n/a" in preview(folder, capsys, OK)


def test_a_field_that_is_not_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "actions" / "publish-note" / "action.md"
    text = file.read_text().replace('"Title" = "title"', '"Title" = "titel"')
    file.write_text(text.replace('"Author" = "author"', '"Author" = "author.address"'))
    use(folder, printing(NOTE))
    shown = preview(folder, capsys, OK)
    assert 'Title is n/a: there is no "titel" in what get_note returned; it has title, author, text' in shown
    assert 'Author is n/a: there is no "author.address" in what get_note returned; author has name, mail' in shown
    assert "Text is n/a" not in shown


def test_a_host_that_is_not_granted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    use(folder, http_guest({"url": "https://other.example.com/"}))
    shown = preview(folder, capsys)
    assert "the connector may not reach other.example.com:443" in shown
    assert f"Add the host to [capabilities.network] in the manifest, then run `aileron-tui pin {folder}`." in shown


def test_a_preview_that_changes_something(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    use(folder, http_guest({"url": "http://127.0.0.1:8730/", "method": "POST"}))
    shown = preview(folder, capsys)
    assert "the preview tried to POST; previews may only read" in shown
    assert "`preview_may_post = true`" in shown


def test_a_missing_credential(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = preview(folder, capsys)
    assert 'set [connectors."local://dev/notes".credential] in the configuration' in shown


def test_a_good_preview_says_nothing_more(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    use(folder, printing(NOTE))
    capsys.readouterr()
    assert main([*WORDS, str(folder)]) == OK
    assert capsys.readouterr().err == ""
