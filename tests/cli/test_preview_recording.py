"""`preview --record` and `--replay`: what a service answered once is enough for every later test."""

import json
import stat
from pathlib import Path

import pytest

from aileron_tui import cli
from aileron_tui.cli.exit_codes import FAILED, OK, USAGE
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.demo.sample_service import MAIL_CREDENTIAL, SampleService
from tests.compiled import shared_cache

CONFIG = '[connectors."local://aileron/mail".credential]\nenv = "TEST_MAIL_TOKEN"\n'


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_cache(tmp_path_factory)


@pytest.fixture
def home(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AILERON_TUI_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "cache").symlink_to(cache)
    monkeypatch.setattr("aileron_tui.cli.commands.preview.private_folder", lambda _: cache)
    (tmp_path / "home" / "config.toml").write_text(CONFIG)
    return tmp_path / "home"


@pytest.fixture
def mine(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Manifests for a service that has ended again, and a recording of it in `tape.json`."""
    with SampleService() as service:
        folder = materialise(tmp_path / "mine", service.port)
        monkeypatch.setenv("TEST_MAIL_TOKEN", MAIL_CREDENTIAL)
        assert preview(folder, "--record", str(tmp_path / "tape.json")) == OK
    monkeypatch.delenv("TEST_MAIL_TOKEN")
    return folder


def preview(folder: Path, *words: str, draft: str = "r-12345", action: str = "send-draft") -> int:
    return cli.main(["preview", action, "--manifests", str(folder), "--arg", f"draft_id={draft}", *words])


def test_a_replay_needs_neither_the_service_nor_its_credential(
    capsys: pytest.CaptureFixture[str], mine: Path, tmp_path: Path
) -> None:
    recorded = capsys.readouterr()
    tape = tmp_path / "tape.json"
    assert preview(mine) == FAILED
    capsys.readouterr()
    assert preview(mine, "--replay", str(tape)) == OK
    replayed = capsys.readouterr()
    assert replayed.out == recorded.out
    said = f"Recorded 1 request in {tape}. It contains what the services answered.\n"
    assert recorded.err == replayed.err + said


def test_a_recording_is_private_versioned_and_has_no_credential(mine: Path, tmp_path: Path) -> None:
    tape = tmp_path / "tape.json"
    text = tape.read_text()
    document = json.loads(text)
    assert (document["recording"], document["action"], len(document["exchanges"])) == (1, "send-draft", 1)
    assert document["exchanges"][0]["request"]["credential"] == "oauth2"
    assert MAIL_CREDENTIAL not in text
    assert "uthorization" not in text
    assert stat.S_IMODE(tape.stat().st_mode) == 0o600


def test_a_request_that_differs_is_named(mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert preview(mine, "--replay", str(tmp_path / "tape.json"), draft="r-777") == FAILED
    shown = capsys.readouterr().out
    assert "Preview unavailable: request 1 differs from the recording: its url is http://127.0.0.1:" in shown
    assert "r-777" in shown
    assert "r-12345" in shown


def test_requests_that_are_missing_or_left_over_are_named(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tape = tmp_path / "tape.json"
    document = json.loads(tape.read_text())
    first = document["exchanges"][0]
    tape.write_text(json.dumps(document | {"exchanges": []}))
    assert preview(mine, "--replay", str(tape)) == FAILED
    assert "Preview unavailable: request 1 is not in the recording: GET http://127.0.0.1:" in capsys.readouterr().out
    tape.write_text(json.dumps(document | {"exchanges": [first, first]}))
    assert preview(mine, "--replay", str(tape)) == FAILED
    assert "request 2 of the recording was not sent: GET http://127.0.0.1:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("not json", "cannot replay"),
        ("{}", "it is not a recording"),
        ('{"recording":2,"action":"send-draft","exchanges":[]}', "was written by a newer version of aileron-tui"),
        ('{"recording":1,"action":"other","exchanges":[]}', "is a recording of other, not of send-draft"),
        ('{"recording":1,"action":"send-draft","exchanges":[{}]}', "an exchange is not complete"),
        ('{"recording":1,"action":"send-draft","exchanges":7}', "it is not a recording"),
        (json.dumps({"recording": 1, "action": "send-draft", "exchanges": [{}] * 201}), "more than 200 requests"),
    ],
)
def test_a_file_that_is_not_a_recording(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, reason: str
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(text)
    assert preview(mine, "--replay", str(bad)) == FAILED
    assert reason in capsys.readouterr().err


def test_what_cannot_be_recorded_is_said_and_nothing_is_written(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = tmp_path / "new.json"
    assert preview(mine, "--record", str(tmp_path / "tape.json")) == FAILED
    assert "already exists" in capsys.readouterr().err
    assert preview(mine, "--record", str(new)) == FAILED
    assert "nothing was recorded\n  the preview failed" in capsys.readouterr().err
    assert preview(mine, "--replay", str(tmp_path / "none.json")) == FAILED
    assert "cannot read" in capsys.readouterr().err
    assert preview(mine, "--record", str(new), action="get-draft") == FAILED
    assert "nothing was recorded\n  get-draft has no preview" in capsys.readouterr().err
    assert preview(mine, "--record", str(new), "--mcp", "x") == USAGE
    assert not new.exists()


def test_both_at_once_are_refused(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        preview(mine, "--record", "a", "--replay", "b")
    assert "not allowed with" in capsys.readouterr().err


def test_an_error_of_the_service_is_recorded_like_any_answer(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TEST_MAIL_TOKEN", MAIL_CREDENTIAL)
    tape = tmp_path / "tape.json"
    with SampleService() as service:
        folder = materialise(tmp_path / "mine", service.port)
        assert preview(folder, "--record", str(tape), draft="r-none") == FAILED
    recorded = capsys.readouterr().out
    assert "Preview unavailable: Gmail API returned 404" in recorded
    assert preview(folder, "--replay", str(tape), draft="r-none") == FAILED
    assert capsys.readouterr().out == recorded


def test_a_misspelled_connector_in_the_configuration_is_an_error(
    mine: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "config.toml").write_text(CONFIG.replace("aileron/mail", "aileron/mial"))
    assert preview(mine) == FAILED
    shown = capsys.readouterr().err
    assert '[connectors."local://aileron/mial"] is not a connector that is installed' in shown
    assert 'Did you mean "local://aileron/mail"?' in shown
