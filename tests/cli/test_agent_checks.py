"""What `doctor` says about agents that were set up."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aileron_tui import cli
from aileron_tui.cli.exit_codes import OK
from aileron_tui.files.agent_tokens import token_path
from tests.cli.test_setup import SETTINGS, Answers, answers, home, install, set_up

__all__ = ["answers", "home"]


def doctor(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    capsys.readouterr()
    cli.main(["doctor", "--json"])
    checks = json.loads(capsys.readouterr().out)["checks"]
    return {check["id"]: check["status"] for check in checks if check["id"].startswith("agent.")}


def test_doctor_checks_what_was_set_up(
    home: Path, answers: Answers, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aileron_tui.signing.secret_memory.protect_process", lambda: None)
    assert doctor(capsys) == {}
    assert set_up("claude") == OK
    assert set(doctor(capsys).values()) == {"ok"}
    path = home / SETTINGS["claude"]
    good = path.read_text()

    def after(edit: Callable[[Any], object]) -> str:
        settings = json.loads(good)
        edit(settings)
        path.write_text(json.dumps(settings))
        return doctor(capsys)["agent.claude.settings"]

    def hook(settings: Any) -> Any:
        return settings["hooks"]["PreToolUse"][0]["hooks"][0]

    assert after(lambda settings: settings.update(model="x")) == "ok"
    assert after(lambda settings: hook(settings).update({"timeout": 60})) == "fail"
    assert after(lambda settings: hook(settings).update(onFailure="ignore")) == "fail"
    assert after(lambda settings: hook(settings).update(command="/bin/true")) == "fail"
    assert after(lambda settings: hook(settings).update({"async": True})) == "fail"
    assert after(lambda settings: settings["hooks"]["PreToolUse"][0].update(matcher="Bash")) == "fail"
    assert after(lambda settings: settings["hooks"]["PreToolUse"].append(settings["hooks"]["PreToolUse"][0])) == "warn"
    assert after(lambda settings: settings["permissions"].update(defaultMode="auto")) == "fail"
    assert after(lambda settings: settings["permissions"].update(allow=["Bash"])) == "fail"
    assert after(lambda settings: settings.update(disableAllHooks=True)) == "fail"
    path.unlink()
    assert doctor(capsys)["agent.claude.settings"] == "fail"
    path.write_text(good)
    token_path(home / "aileron" / "data", "claude").unlink()
    assert doctor(capsys)["agent.claude.token"] == "fail"
    install(home, "claude", "2.1.100")
    assert doctor(capsys)["agent.claude"] == "fail"
