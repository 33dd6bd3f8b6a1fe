"""`lint` finds nothing in a new repository, and the right line in broken copies of it."""

from pathlib import Path

import pytest

from aileron_tui.cli import main
from aileron_tui.cli.commands.lint import lint
from aileron_tui.cli.exit_codes import OK
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
