"""The command `new`: repositories that are valid from the start, and actions that fit them."""

import json
from pathlib import Path

import pytest

from aileron_tui.cli import main
from aileron_tui.cli.commands.lint import lint
from aileron_tui.cli.exit_codes import FAILED, OK, USAGE
from aileron_tui.core.action import read_action
from aileron_tui.files.paths import bundled
from aileron_tui.packages.new_repository import LANGUAGES, filled, new_repository
from tests.skeletons.stored_module import SUMS, built_repository, sums


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A repository that was built and pinned."""
    folder = built_repository(tmp_path / "notes")
    assert main(["pin", str(folder)]) == OK
    return folder


def test_the_stored_module_was_built_from_the_skeleton() -> None:
    assert SUMS.read_text() == sums(), "run `make skeletons`"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_new_repository_is_valid_before_it_is_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], language: str
) -> None:
    folder = tmp_path / "tickets"
    words = ["new", "connector", str(folder), "--language", language, "--name", "github://owner/tickets"]
    assert main([*words, "--json"]) == OK
    files = tree(folder)
    assert sorted(files) == json.loads(capsys.readouterr().out)["files"]
    assert not any(b"@@" in data for data in files.values())
    assert LANGUAGES[language].main in files
    assert lint([str(folder)]) == (3, [])
    assert b'name = "github://owner/tickets"' in files["connector/manifest.toml"]
    assert b"connector.wasm" in files[".gitignore"]
    compile(files["tests/test_connector.py"], "test_connector.py", "exec")
    assert main(words) == FAILED
    printed = capsys.readouterr().err
    assert "files exist already" in printed
    assert "connector/manifest.toml" in printed
    assert tree(folder) == files


def test_templates_and_languages_are_the_same() -> None:
    assert {path.name for path in bundled("skeletons").iterdir()} == {"repository", *LANGUAGES}


def test_only_markers_are_replaced() -> None:
    text = b"{name} $name ${args.name} %s @name@ @@name@@ {{}}"
    assert filled(text, {"name": "$1 \\1 {}"}) == b"{name} $name ${args.name} %s @name@ $1 \\1 {} {{}}"


@pytest.mark.parametrize("name", ["", "A", "ä", "a b", "-a", ".a", "a\nb", 'a"b', "a$b", "a'b", "\x1b[31m"])
def test_odd_names_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    here = tmp_path / "Home"
    here.mkdir()
    assert main(["new", "connector", f"{here}/{name}"]) == FAILED
    printed = capsys.readouterr().err
    assert "is not a valid name for a connector" in printed
    assert "Use lower-case letters" in printed
    assert "\x1b" not in printed
    assert tree(tmp_path) == {}


@pytest.mark.parametrize(
    "name", ["tickets", "github://owner", "ftp://a/b", 'local://a/b"', "local://a/b@1.0.0", "local://a/b c"]
)
def test_odd_full_names_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["new", "connector", str(tmp_path / "a"), "--name", name]) == FAILED
    assert "is not the full name of a connector" in capsys.readouterr().err
    assert tree(tmp_path) == {}


def test_a_new_action_is_pinned_and_passes_what_the_others_pass(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["new", "action", "send-note", "--in", str(built), "--op", "publish_note", "--gated"]
    words += ["--input", "note_id", "--input", "count:integer:How often.", "--preview", "get_note"]
    assert main([*words, "--show", "Title=title", "--show", "The text=text"]) == OK
    assert "pinned to local://dev/notes" in capsys.readouterr().out
    assert lint([str(built)]) == (4, [])
    action = read_action((built / "actions" / "send-note" / "action.md").read_bytes(), "").value
    assert action
    assert action.intent == "Send note"
    assert [(each.name, each.type, each.description) for each in action.inputs] == [
        ("note_id", "string", "The note id."),
        ("count", "integer", "How often."),
    ]
    assert action.gated
    assert action.execute[0].idempotent is False
    assert action.execute[0].inputs["base_url"] == "http://127.0.0.1:8730"
    assert action.approval.preview
    assert action.approval.preview.args["base_url"] == "http://127.0.0.1:8730"
    assert action.approval.preview.render == (("Title", "title"), ("The text", "text"))
    assert main(["pin", str(built), "--check"]) == OK


def test_a_new_action_that_reads_is_idempotent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "notes"
    new_repository(folder, "", "go")
    assert main(["new", "action", "list-notes", "--in", str(folder)]) == OK
    printed = capsys.readouterr().out
    assert "not pinned: local://dev/notes is not built" in printed
    assert f"aileron-tui pin {folder}" in printed
    action = read_action((folder / "actions" / "list-notes" / "action.md").read_bytes(), "").value
    assert action
    assert (action.gated, action.execute[0].op, action.execute[0].idempotent) == (False, "list_notes", True)


def test_only_what_every_action_passes_is_passed_on(built: Path) -> None:
    file = built / "actions" / "get-note" / "action.md"
    file.write_text(file.read_text().replace("[execute.inputs]\n", '[execute.inputs]\nformat = "short"\n'))
    assert main(["new", "action", "list-notes", "--in", str(built)]) == OK
    action = read_action((built / "actions" / "list-notes" / "action.md").read_bytes(), "").value
    assert action
    assert action.execute[0].inputs == {"base_url": "http://127.0.0.1:8730"}


def test_an_action_joins_a_bundle_in_its_own_layout(tmp_path: Path) -> None:
    home = built_repository(tmp_path / "source") / "connector"
    folder = tmp_path / "bundle"
    (folder / "connectors").mkdir(parents=True)
    home.rename(folder / "connectors" / "notes")
    (folder / "actions").mkdir()
    (tmp_path / "source" / "actions" / "get-note" / "action.md").rename(folder / "actions" / "get-note.md")
    assert main(["new", "action", "list-notes", "--in", str(folder)]) == OK
    assert (folder / "actions" / "list-notes.md").is_file()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["../evil"], '"../evil" is not a valid action name'),
        (["a b"], '"a b" is not a valid action name'),
        (["get-note"], 'action "get-note" is also declared in'),
        (["x", "--input", "a:text"], '"text" is not a valid input type'),
        (["x", "--input", "a", "--input", "a"], 'input "a" is declared twice'),
        (["x", "--input", "A B"], '"A B" is not a valid input name'),
        (["x", "--gated", "--preview", "publish_note", "--show", "A=a"], "as idempotent"),
        (["x", "--connector", "local://dev/note"], 'Did you mean "local://dev/notes"?'),
    ],
)
def test_an_action_that_does_not_fit_is_refused(
    built: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    before = tree(built)
    assert main(["new", "action", *words, "--in", str(built)]) == FAILED
    assert sentence in capsys.readouterr().err
    assert tree(built) == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--preview", "get_note", "--show", "A=a"], "add --gated"),
        (["--gated", "--preview", "get_note"], "belong together"),
        (["--gated", "--show", "A=a"], "belong together"),
        (["--gated", "--preview", "get_note", "--show", "A"], "--show A: expected LABEL=FIELD"),
    ],
)
def test_options_that_do_not_fit_are_said(capsys: pytest.CaptureFixture[str], words: list[str], sentence: str) -> None:
    assert main(["new", "action", "x", *words]) == USAGE
    assert sentence in capsys.readouterr().err


def test_an_action_needs_one_connector(tmp_path: Path, built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "action", "x", "--in", str(tmp_path)]) == FAILED
    assert "there is no connector in" in capsys.readouterr().err
    assert main(["new", "action", "x", "--in", str(bundled("manifests"))]) == FAILED
    printed = capsys.readouterr().err
    assert "local://aileron/files, local://aileron/mail" in printed
    assert "--connector" in printed
    (built / "connector" / "manifest.toml").write_text("[connector]\nname = 7\n")
    assert main(["new", "action", "x", "--in", str(built)]) == FAILED
    assert "line 2" in capsys.readouterr().err
