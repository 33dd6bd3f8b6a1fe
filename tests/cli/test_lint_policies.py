"""The output of `aileron-tui lint` for policies of MCP servers."""

import json
from pathlib import Path

import pytest

from aileron_tui.cli import main
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.mcp_tools import pinned
from aileron_tui.doors.known_servers import KnownServer, write_server
from aileron_tui.files.paths import HOME_VARIABLE
from tests.corpus.cases import base

POLICY = base("policy")["base.toml"]


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    (tmp_path / "home" / "mcp").mkdir(parents=True)
    return tmp_path / "home"


def test_a_good_policy(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "policy.toml").write_text(POLICY)
    assert main(["lint", str(home / "policy.toml")]) == 0
    assert capsys.readouterr().out == "1 file checked: no problems\n"


def test_a_bad_policy_names_file_line_rule_and_fix(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = home / "mcp" / "notes.toml"
    file.write_text(POLICY.replace('risk = "high"', 'risk = "low"'))
    assert main(["lint", str(file)]) == 1
    out = capsys.readouterr().out
    assert out.startswith(f'{file}:5:1: error: "low" is not a valid risk [risk]\n  5 │ risk = "low"\n')
    assert "Use one of normal, high. A policy can only raise the risk." in out


def test_a_folder_with_manifests_and_policies(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in base("bundle").items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    (home / "mcp" / "good.toml").write_text(POLICY)
    (home / "mcp" / "bad.toml").write_text("server = 3")
    assert main(["lint", "--json", str(home)]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["files"] == len(base("bundle")) + 2
    assert [(finding["file"], finding["rule"]) for finding in report["findings"]] == [
        (str(home / "mcp" / "bad.toml"), "wrong-type"),
        (str(home / "mcp" / "bad.toml"), "required"),
    ]


def test_a_policy_in_use_is_checked_against_the_tools_of_its_server(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / "mcp" / "notes.toml"
    file.write_text(POLICY)
    tools: list[JsonObject] = [{"name": "write_file"}, {"name": "delete_file"}, {"name": "read_file"}]
    server = KnownServer("notes", "mcp-notes", ("x",), policy=str(file), tools=tuple(map(pinned, tools)))
    write_server(home / "data", server)
    monkeypatch.chdir(home)
    assert main(["lint", "--json", "mcp/notes.toml"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["rule"], finding["line"]) == ("preview-not-read-only", 8)
    (home / "data" / "mcp" / "notes.json").write_text("{")
    assert main(["lint", str(file)]) == 0, "the server's file is not what is checked"
