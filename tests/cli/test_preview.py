"""The preview command: the operator's prompt, for whoever writes the action."""

import json
import shutil
from pathlib import Path

import pytest

from aileron_tui import cli
from aileron_tui.core.prompt import read_prompt
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.demo.sample_data import HOSTILE, NOT_A_DRAFT
from aileron_tui.demo.sample_service import FILES_CREDENTIAL, MAIL_CREDENTIAL, SampleService
from aileron_tui.files.paths import Paths, bundled
from tests.compiled import shared_cache

CONFIG = f"""
[connectors."local://aileron/mail".credential]
env = "TEST_MAIL_TOKEN"

[connectors."local://aileron/files".credential]
command = ["printf", "%s", "{FILES_CREDENTIAL}"]

[[risk]]
action = "move-*"
level = "high"
"""


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_cache(tmp_path_factory)


@pytest.fixture
def home(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home where nothing is set up."""
    here = Paths(tmp_path / "config.toml", tmp_path / "keyring.json", tmp_path / "data", tmp_path / "keys", cache)
    monkeypatch.setattr("aileron_tui.cli.commands.preview.paths", lambda: here)
    return tmp_path


def test_an_author_sees_the_worked_example_with_nothing_set_up(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["preview", "send-draft", "--demo", "--arg", "draft_id=r-12345"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(
        "Approve send-draft?\n"
        "agent sent\n"
        "  Draft id:          r-12345\n"
        "fetched by connector mail\n"
        "  To:                team@example.com\n"
        "  Subject:           Weekly recap\n"
        "  Cc, Bcc, Reply-To: n/a\n"
        "  From:              sam@example.com\n"
        "  Attachments:       none\n"
        "  Other parts:       n/a\n"
        "  Body:\n"
        "    > Here's the recap from this week's standup…\n"
    )
    assert shown.err == ""
    assert list(home.iterdir()) == []


def test_an_unavailable_preview_is_printed_and_fails(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["preview", "send-draft", "--demo", "--arg", f"draft_id={NOT_A_DRAFT}"]) == 1
    shown = capsys.readouterr()
    prompt, _, would_run = shown.out.partition("\nwould run ")
    assert prompt.splitlines() == [
        "Approve send-draft?",
        "agent sent",
        f"  Draft id: {NOT_A_DRAFT}",
        "Preview unavailable: Gmail API returned 404",
    ]
    assert would_run.startswith("send_draft · local://aileron/mail 0.1.0 · sha256:")
    assert "\n  base_url: http://127.0.0.1:" in would_run
    assert shown.err.count("\n") == 1
    assert "Requested entity was not found" in shown.err


def test_hostile_content_reaches_the_terminal_only_made_visible(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["preview", "send-draft", "--demo", "--arg", f"draft_id={HOSTILE}"]) == 0
    shown = capsys.readouterr().out
    assert "⟨U+202E⟩" in shown
    assert "⟨412 blank lines⟩" in shown
    assert not {character for character in shown if ord(character) < 32 or ord(character) == 0x202E} - {"\n"}


def test_the_json_document_holds_prompt_digest_answer_and_details(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["preview", "send-draft", "--demo", "--json", "--args", '{"draft_id":"r-12345"}']) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document) == ["action", "gated", "digest", "prompt", "lines", "output", "details"]
    assert read_prompt(document["prompt"]).digest == document["digest"]
    assert document["output"]["message"]["payload"]["headers"][1] == {"name": "To", "value": "team@example.com"}
    assert {"seconds", "log", "stderr"} <= document["details"].keys()
    assert MAIL_CREDENTIAL not in json.dumps(document)


def test_the_json_document_says_why_there_is_no_preview(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["preview", "send-draft", "--json", "--arg", "draft_id=r-12345"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["prompt"]["preview"]["unavailable"] == "no credential is set up for local://aileron/mail"
    assert document["details"]["class"] == "binding_required"
    assert document["output"] is None


def test_an_action_of_ones_own_is_fetched_with_ones_own_configuration(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TEST_MAIL_TOKEN", MAIL_CREDENTIAL)
    (home / "config.toml").write_text(CONFIG)
    with SampleService() as service:
        mine = materialise(tmp_path / "mine", service.port)
        words = ["preview", "move-file", "--manifests", str(mine), "--json"]
        assert cli.main([*words, "--arg", "file_id=f-1001", "--arg", "folder_id=d-archive"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "  Name:        Quarterly report.pdf" in document["lines"]
    assert document["prompt"]["risk"] == {"level": "high", "reason": "by [[risk]] entry 1"}


def test_an_ungated_action_asks_nobody(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["preview", "list-drafts"]) == 0
    assert capsys.readouterr().out == "list-drafts needs no approval, so there is no prompt.\n"


def test_an_unknown_action_is_told_the_nearest(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["preview", "send-darft"]) == 5
    assert 'Did you mean "send-draft"?' in capsys.readouterr().err


def test_an_action_that_is_rejected_points_to_lint(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    shutil.copy(bundled("manifests") / "actions" / "send-draft.md", mine)
    text = (mine / "send-draft.md").read_text()
    (mine / "send-draft.md").write_text(text.replace('op = "send_draft"', 'op = ""'))
    assert cli.main(["preview", "send-draft", "--manifests", str(mine)]) == 5
    assert f"aileron-tui lint {mine}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["send-draft"], '"draft_id" is required'),
        (["send-draft", "--arg", "draft_id"], "--arg draft_id: expected NAME=VALUE"),
        (["send-draft", "--arg", "id=r-1"], "send-draft has no input id; its inputs are: draft_id"),
        (["send-draft", "--args", '{"draft_id":7}'], '"draft_id" must be a string, not an integer'),
        (["send-draft", "--args", "{"], "--args: "),
        (["list-drafts", "--arg", "limit=many"], "--arg limit: expected JSON of type integer, found 'many'"),
        (["list-drafts", "--arg", "limit=true"], "--arg limit: expected JSON of type integer, found 'true'"),
    ],
)
def test_wrong_inputs_are_named(
    home: Path, words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["preview", *words]) == 2
    assert complaint in capsys.readouterr().err


def test_values_are_read_by_the_declared_type(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["preview", "list-drafts", "--json", "--arg", "limit=3"]) == 0
    assert json.loads(capsys.readouterr().out)["prompt"]["args"] == {"limit": 3}


def test_a_folder_that_is_not_there(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["preview", "send-draft", "--manifests", str(home / "none")]) == 1
    assert "no such folder" in capsys.readouterr().err
