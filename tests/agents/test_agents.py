"""What `make agents` says about agents that are missing or fail, without any real agent."""

import json
from pathlib import Path

import pytest

from tests.agents import __main__ as command
from tests.agents import programs
from tests.agents.agent_lab import AgentLab, CaseFailed
from tests.agents.case_table import CaseResult, table
from tests.agents.open_cases import OPEN

DOCUMENTS = Path(__file__).parents[2]


def test_the_table_shows_each_case_and_counts() -> None:
    results = [
        CaseResult("claude", "allow", "ok"),
        CaseResult("claude", "deny", "FAILED"),
        CaseResult("codex", "allow", "open"),
        CaseResult("gemini", "allow", "not tried"),
    ]
    lines = table(results, ("claude", "codex", "gemini"))
    assert lines[2].split() == ["allow", "|", "ok", "|", "open", "|", "not", "tried"]
    assert lines[3].split() == ["deny", "|", "FAILED", "|", "–", "|", "–"]
    assert lines[-1] == "2 passed, 1 failed, 1 not tried"


def test_without_node_it_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert command.main(["--agent", "claude", "--case", "allow"]) == 1
    said = capsys.readouterr().out
    assert "node is not installed" in said
    assert "0 passed, 0 failed, 1 not tried" in said
    assert command.main(["--agent", "gemini", "--case", "allow"]) == 0


def test_only_the_tried_version_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(programs.VARIABLE, str(tmp_path))
    (tmp_path / "node").write_text("#!/bin/sh\n")
    (tmp_path / "node").chmod(0o755)
    package = tmp_path / "any" / "node_modules" / programs.PACKAGES["claude"]
    package.mkdir(parents=True)
    program = tmp_path / "any" / "node_modules" / ".bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (package / "package.json").write_text(json.dumps({"version": "0.0.1"}))
    with pytest.raises(programs.NotInstalled, match="npm is not installed"):
        programs.program("claude")
    (package / "package.json").write_text(json.dumps({"version": programs.version("claude")}))
    assert programs.program("claude") == program


def test_a_case_that_fails_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def fails(_: AgentLab) -> None:
        raise CaseFailed("the call ran")

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(command, "program", lambda word: tmp_path / word)
    monkeypatch.setattr(AgentLab, "set_up", lambda _: None)
    monkeypatch.setitem(command.CASES, "claude", {"deny": fails})
    assert command.main(["--agent", "claude"]) == 1
    said = capsys.readouterr().out
    assert "CaseFailed: the call ran" in said
    assert "0 passed, 1 failed" in said


@pytest.mark.parametrize(("agent", "case"), OPEN)
def test_open_cases_are_real_and_documented(agent: str, case: str) -> None:
    assert case in command.CASES[agent]
    assert f"| `{agent}` | {case} |" in (DOCUMENTS / "docs" / "agents.md").read_text()
