"""`gate --service`: the file for systemd or launchd, and when it is written."""

import argparse
import os
import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aileron_tui.cli import service_file as service_module
from aileron_tui.cli import service_setup
from aileron_tui.cli.commands import gate as gate_command
from aileron_tui.cli.exit_codes import DENIED, FAILED, OK, USAGE
from aileron_tui.cli.service_file import NoService, service_file
from aileron_tui.core.proxy_settings import VARIABLES
from aileron_tui.files.config import Config, ConnectorSettings, CredentialSource, WebhookConfig, WebhookSecret


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    gate_command.arguments(parser)
    return parser.parse_args(["--service", *words])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("AILERON_TUI_HOME", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(service_module.service_file, "__defaults__", ("linux",))
    return tmp_path


def unit(home: Path) -> Path:
    return home / "config/systemd/user/aileron-tui.service"


def test_the_unit_starts_the_gate_with_the_options_that_were_given(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setenv("AILERON_TUI_HOME", str(home / "my home"))
    words = ("--port", "9000", "--manifests", "100% mine $HOME", "--log-json")
    assert service_setup.run(options(*words), Config()) == OK
    text = unit(home).read_text()
    folder = str(home / "100% mine $HOME").replace("%", "%%").replace("$", "$$")
    command = f'-P -m aileron_tui gate --port 9000 --manifests "{folder}" --log-json\n'
    assert command in text
    assert f'Environment="AILERON_TUI_HOME={home}/my home"\n' in text
    assert "Type=notify\n" in text
    shown = capsys.readouterr().out
    for part in ("enable --now aileron-tui", "journalctl --user", "stop aileron-tui", f"rm {unit(home)}"):
        assert part in shown


def test_nothing_is_written_with_print(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert service_setup.run(options("--print"), Config()) == OK
    assert capsys.readouterr().out.startswith("[Unit]\n")
    assert not unit(home).exists()


def test_another_file_is_replaced_only_after_a_yes(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert service_setup.run(options(), Config()) == OK
    first = unit(home).read_text()
    assert service_setup.run(options(), Config()) == OK  # the same one
    assert service_setup.run(options("--port", "1"), Config()) == FAILED  # nobody can be asked
    assert "nobody can be asked" in capsys.readouterr().err
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    for answer, status in (("", DENIED), ("n", DENIED), ("y", OK)):
        monkeypatch.setattr(service_setup, "ask_line", lambda _, answer=answer: answer)
        assert unit(home).read_text() == first
        assert service_setup.run(options("--port", "1"), Config()) == status
    assert "--port 1\n" in unit(home).read_text()
    assert [path.name for path in unit(home).parent.iterdir()] == ["aileron-tui.service"]


def test_a_folder_that_cannot_be_written_is_an_error(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "config").write_text("")
    assert service_setup.run(options(), Config()) == FAILED
    assert "cannot write" in capsys.readouterr().err


def test_it_names_the_variables_that_the_service_does_not_have(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = Config(
        connectors={"a": ConnectorSettings(CredentialSource(env="MY_TOKEN"))},
        webhook=WebhookConfig("https://example.com/", secret=WebhookSecret(env="MY_SECRET")),
    )
    assert service_setup.run(options(), config) == OK
    assert "the configuration needs MY_SECRET, MY_TOKEN." in " ".join(capsys.readouterr().out.split())


def test_it_names_proxies_and_certificates_of_the_shell(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*VARIABLES, *map(str.lower, VARIABLES), "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert service_setup.run(options(), Config()) == OK
    assert "Your shell has" not in capsys.readouterr().out
    monkeypatch.setenv("https_proxy", "http://me:secret@proxy.example")
    monkeypatch.setenv("NO_PROXY", "example.com")
    monkeypatch.setenv("SSL_CERT_FILE", "/etc/company.pem")
    assert service_setup.run(options(), Config()) == OK
    said = capsys.readouterr().out
    assert "Your shell has NO_PROXY, https_proxy, SSL_CERT_FILE." in said
    assert "secret@" not in said


def test_the_plist_can_be_read(home: Path) -> None:
    found = service_file(["--port", "1"], {"HOME": str(home), "AILERON_TUI_HOME": "/x & y"}, "darwin")
    assert found.path == home / "Library/LaunchAgents/aileron-tui.gate.plist"
    table = plistlib.loads(found.content.encode())
    assert table["ProgramArguments"][1:] == ["-P", "-m", "aileron_tui", "gate", "--port", "1"]
    assert table["EnvironmentVariables"] == {"AILERON_TUI_HOME": "/x & y"}
    assert table["KeepAlive"] == {"SuccessfulExit": False}


@pytest.mark.parametrize("word", ["a\nExecStartPre=/bin/evil", "a\x1b", "a\u2028"])
def test_a_control_character_is_refused(word: str) -> None:
    with pytest.raises(NoService):
        service_file(["--manifests", word], os.environ, "linux")


def test_other_systems_are_refused() -> None:
    with pytest.raises(NoService):
        service_file([], os.environ, "win32")


def test_print_needs_service(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    gate_command.arguments(parser)
    assert gate_command.run(parser.parse_args(["--print"])) == USAGE
    assert "--service" in capsys.readouterr().err


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
def test_systemd_accepts_the_unit(home: Path) -> None:
    assert service_setup.run(options(), Config()) == OK
    command = ["systemd-analyze", "--user", "verify", str(unit(home))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert not re.search(r"aileron-tui\.service", done.stderr), done.stderr
