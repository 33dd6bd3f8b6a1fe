"""What doctor, lint, preview and installed say about what is in use, found, trusted and configured."""

import json
from pathlib import Path

import pytest

from aileron_tui import cli
from aileron_tui.cli.bundle_checks import bundle
from aileron_tui.cli.exit_codes import FAILED, OK
from aileron_tui.core.publisher_change import key_text
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from tests.packages.made_packages import AUTHORITY, PUBLISHER, STRANGER, MadeFrom, made_release, raw_public
from tests.packages.package_home import PackageHome
from tests.sandbox.guests import WRONG_IMPORT
from tests.skeletons.stored_module import built_repository


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AILERON_TUI_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir(mode=0o700)
    return tmp_path / "home"


def checks() -> dict[str, tuple[str, str, str]]:
    here = paths()
    found = bundle(here, load_config(here.config))
    return {check.id: (str(check.status), check.words, f"{check.detail}\n{check.fix}") for check in found}


def configure(home: Path, text: str) -> None:
    (home / "config.toml").write_text(text)
    (home / "config.toml").chmod(0o600)


def test_a_new_home_uses_the_samples(home: Path) -> None:
    found = checks()
    assert found["manifests"][:2] == ("ok", "15 bundled, no problems; nothing is installed")
    assert found["publishers"][0] == "ok"
    assert set(found) == {"manifests", "publishers"}


def test_what_is_installed_is_checked_with_its_signatures(home: Path, tmp_path: Path) -> None:
    package = PackageHome(home / "data")
    package.add(made_release().write_bundle(tmp_path / "bundle"))
    status, words, detail = checks()["manifests"]
    assert (status, words) == ("ok", "4 actions of 1 installed package, no problems")
    assert f"{AUTHORITY} 1.0.0: unknown publisher" in detail
    (home / "keyring.json").write_text(
        json.dumps({"version": 1, "publishers": {AUTHORITY: [key_text(raw_public(PUBLISHER))]}})
    )
    found = checks()
    assert f"{AUTHORITY} 1.0.0: signed by {AUTHORITY}" in found["manifests"][2]
    assert found["publishers"][0] == "warn"
    assert "nobody signed for 1 key" in found["publishers"][1]
    (home / "keyring.json").write_text(
        json.dumps({"version": 1, "publishers": {AUTHORITY: [key_text(raw_public(STRANGER))]}})
    )
    status, words, detail = checks()["manifests"]
    assert (status, words) == ("fail", "4 actions of 1 installed package, 1 problem")
    assert "is wrong" in detail


def test_after_the_last_package_was_removed_the_samples_are_not_used(home: Path, tmp_path: Path) -> None:
    package = PackageHome(home / "data")
    package.add(made_release().write_bundle(tmp_path / "bundle"))
    package.remove("mail")
    status, words, detail = checks()["manifests"]
    assert (status, words) == ("warn", "no action: every package was removed")
    assert "aileron-tui add SOURCE" in detail


def test_a_connector_that_cannot_be_loaded_is_said(home: Path, tmp_path: Path) -> None:
    folder = built_repository(tmp_path / "notes")
    (folder / "connector" / "connector.wasm").write_bytes(WRONG_IMPORT)
    assert cli.main(["pin", str(folder)]) == OK
    PackageHome(home / "data").add(folder)
    status, words, detail = checks()["manifests"]
    assert (status, words) == ("fail", "2 actions of 1 installed package, 1 problem")
    assert "local://dev/notes: unknown import: `aileron_host::steal`" in detail


def test_what_is_found_and_not_approved_is_said_everywhere(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = made_release(made_from=MadeFrom()).write_repository(tmp_path / "repo")
    configure(home, f'manifests = ["{folder}"]\n')
    status, words, fix = checks()["found"]
    assert status == "warn"
    assert "nobody has approved" in words
    assert f"aileron-tui add {folder}" in fix
    capsys.readouterr()
    assert cli.main(["installed"]) == OK
    assert f"aileron-tui add {folder}" in " ".join(capsys.readouterr().out.split())
    assert cli.main(["installed", "--json"]) == OK
    assert json.loads(capsys.readouterr().out)["not_used"][0]["folder"] == str(folder)
    configure(home, f'manifests = ["{tmp_path / "none"}"]\n')
    assert checks()["found"][0] == "fail"


def test_names_and_credentials_of_connectors_are_checked(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = '[connectors."{name}".credential]\n{source}\n'
    configure(home, settings.format(name="local://aileron/mial", source='env = "X"'))
    status, words, fix = checks()["connectors"]
    assert (status, words) == ("fail", '[connectors."local://aileron/mial"] is not a connector that is installed')
    assert fix.strip() == 'Did you mean "local://aileron/mail"?'
    capsys.readouterr()
    assert cli.main(["lint"]) == FAILED
    assert 'Did you mean "local://aileron/mail"?' in capsys.readouterr().out
    monkeypatch.delenv("MAIL_TOKEN", raising=False)
    for source, expected in (
        ('env = "MAIL_TOKEN"', "warn"),
        ('command = ["no-such-program-here"]', "fail"),
        ('command = ["sh", "-c", "exit 1"]', "ok"),
        ('keyring = "a/b"', "ok"),
    ):
        configure(home, settings.format(name="local://aileron/mail", source=source))
        assert checks()["credentials"][0] == expected, source
    assert cli.main(["lint"]) == OK


def test_lint_checks_what_is_in_use(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made_release().write_repository(tmp_path / "repo")
    configure(home, f'manifests = ["{folder}"]\n')
    assert cli.main(["lint"]) == OK
    assert capsys.readouterr().out == "5 files checked: no problems\n"
    other = made_release().write_bundle(tmp_path / "other")
    configure(home, f'manifests = ["{folder}", "{other}"]\n')
    assert cli.main(["lint"]) == FAILED
    assert f'action "send-draft" is also declared in {folder}' in capsys.readouterr().out


def test_lint_reads_an_action_of_a_repository_in_its_context(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = made_release().write_repository(tmp_path / "repo")
    assert cli.main(["lint", str(folder / "actions" / "send-draft" / "action.md")]) == OK
    assert cli.main(["lint", str(folder)]) == OK
    assert "5 files checked" in capsys.readouterr().out


def test_preview_uses_a_repository_several_folders_and_what_is_installed(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = made_release().write_repository(tmp_path / "repo")
    (tmp_path / "empty").mkdir()
    words = ["preview", "list-drafts", "--manifests", str(folder), "--manifests", str(tmp_path / "empty")]
    assert cli.main(words) == OK
    assert "needs no approval" in capsys.readouterr().out
    assert cli.main(["preview", "send-drafts", *words[2:]]) == 5
    assert f'no action "send-drafts" in {folder}, {tmp_path / "empty"}' in capsys.readouterr().err
    PackageHome(home / "data").add(made_release().write_bundle(tmp_path / "bundle"))
    assert cli.main(["preview", "move-file"]) == 5
    assert "in what is installed" in capsys.readouterr().err
