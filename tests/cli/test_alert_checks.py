"""What `doctor` says about notifications and the webhook."""

import json
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.cli import main
from aileron_tui.files.extras import install_command
from tests.alerts.receiver import SECRET, running_receiver


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("AILERON_TUI_HOME", str(home))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/no-bus")
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    monkeypatch.setattr("aileron_tui.signing.secret_memory.protect_process", lambda: None)
    return home


def checks(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    main(["doctor", "--json", *options])
    return {check["id"]: check for check in json.loads(capsys.readouterr().out)["checks"]}


def test_notifications_are_off_with_the_reason(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = checks(capsys)
    assert found["notifications"]["status"] == "ok"
    assert found["notifications"]["words"].startswith("off, because cannot connect to the session bus")
    assert "webhook" not in found
    assert checks(capsys, "--alerts")["notifications"]["status"] == "warn"


def test_extras_that_are_not_installed_are_off_and_the_command_is_printed(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "page" not in checks(capsys)
    monkeypatch.setattr("aileron_tui.cli.alert_checks.find_spec", lambda _: None)
    monkeypatch.setattr("aileron_tui.alerts.desktop.find_spec", lambda _: None)
    found = checks(capsys)
    for extra in ("page", "notifications"):
        words = f"off, because the {extra} extra is not installed: {install_command(extra)}"
        assert found[extra]["words"] == words


def test_the_order_of_surfaces_is_printed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "alerts console, then page, then notification, then webhook, then prompt"
    assert checks(capsys)["surfaces"]["words"] == words
    (home / "config.toml").write_text('[surfaces]\norder = ["page"]\nshare = 20\n')
    assert checks(capsys)["surfaces"]["words"] == "alerts page, then prompt, each for 20 s"


def test_a_webhook_that_is_not_in_the_order_is_a_warning(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    webhook = '[webhook]\nurl = "https://hooks.example.com/a"\n[webhook.secret]\nenv = "HOOK_SECRET"\n'
    (home / "config.toml").write_text(f'[surfaces]\norder = ["console"]\n{webhook}')
    assert checks(capsys)["surfaces"]["status"] == "warn"


def test_the_webhook_is_tried_only_if_it_is_asked_for(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running_receiver((204, {}), (500, {})) as receiver:
        config = f'[webhook]\nurl = "{receiver.url}"\n[webhook.secret]\nenv = "HOOK_SECRET"\n'
        (home / "config.toml").write_text(config)
        assert checks(capsys)["webhook"]["words"] == f"tells http://127.0.0.1:{receiver.port}"
        assert receiver.messages == []
        tried = checks(capsys, "--alerts")["webhook"]
        assert (tried["status"], len(receiver.messages)) == ("ok", 1)
        assert receiver.messages[0].signed_with(SECRET)
        refused = checks(capsys, "--alerts")["webhook"]
    assert (refused["status"], refused["words"]) == ("fail", f"http://127.0.0.1:{receiver.port} answered 500")
    assert "path-secret" not in json.dumps([tried, refused])


def test_a_webhook_without_its_secret_fails(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOOK_SECRET")
    (home / "config.toml").write_text(
        '[webhook]\nurl = "https://hooks.example.com/x"\n[webhook.secret]\nenv = "HOOK_SECRET"\n'
    )
    check = checks(capsys)["webhook"]
    assert check["status"] == "fail"
    assert "HOOK_SECRET is empty or not set" in check["words"]
