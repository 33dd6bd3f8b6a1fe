"""Setting up an agent, as its user meets it: with a home of their own and a program that only says its version."""

import json
import os
import pty
import select
import stat
import sys
import time
from pathlib import Path

import pytest

from aileron_tui import cli
from aileron_tui.cli.exit_codes import FAILED, INTERRUPTED, NOT_FOUND, OK, USAGE
from aileron_tui.doors.setup_record import read_records
from aileron_tui.files.agent_tokens import read_token, token_path
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing.agents import Agents
from aileron_tui.signing.rules import Rules

VERSIONS = {"claude": "2.1.325 (Claude Code)", "gemini": "0.61.0", "copilot": "GitHub Copilot CLI 1.0.102.\nx"}
VERSIONS |= {"opencode": "1.18.33", "codex": "codex-cli 0.166.0"}
SETTINGS = {
    "claude": ".claude/settings.json",
    "gemini": ".gemini/settings.json",
    "copilot": ".copilot/hooks/aileron-tui.json",
    "opencode": ".config/opencode/opencode.json",
}
EXISTING = [
    None,
    "{}",
    '{\n    "model": "opus",\n    "permissions": {"allow": ["Bash(ls:*)"], "deny": []}\n}\n',
    '{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"mine"}]}]},"z":1.50}',
    '{\r\n\t"b": 1,\r\n\t"a": "\\u00e9é"\r\n}',
    "  \n",
]


class Answers:
    """What the user answers, in order; afterwards yes."""

    def __init__(self) -> None:
        self.given: list[str | type[BaseException]] = []
        self.questions: list[str] = []

    def __call__(self, question: str) -> str:
        self.questions.append(question)
        answer = self.given.pop(0) if self.given else "y"
        if isinstance(answer, str):
            return answer
        raise answer


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with all agents installed, a key, and a terminal."""
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    for name, version in VERSIONS.items():
        install(home, name, version)
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("AILERON_TUI_HOME", str(home / "aileron"))
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setattr("aileron_tui.cli.commands.setup.writing.protect_process", lambda: None)
    monkeypatch.setattr("aileron_tui.cli.commands.key.protect_process", lambda: None)
    monkeypatch.setattr("aileron_tui.cli.commands.setup.settings_text.SHOWN_SECONDS", 0)
    monkeypatch.setattr("aileron_tui.cli.confirmation._has_terminal", lambda: True)
    assert cli.main(["key", "init", "--no-passphrase"]) == OK
    return home


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    answers = Answers()
    monkeypatch.setattr("aileron_tui.cli.commands.setup.settings_text.ask_line", answers)
    return answers


def install(home: Path, name: str, version: str) -> None:
    program = home / "bin" / name
    program.write_text(f"#!/bin/sh\ncat <<'X'\n{version}\nX\n")
    program.chmod(0o755)


def set_up(word: str, *more: str) -> int:
    return cli.main(["setup", word, "--no-check", *more])


def tree(home: Path) -> dict[str, bytes]:
    """Every file outside of our own folder."""
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and "aileron" not in path.relative_to(home).parts[0]
    }


def write_settings(home: Path, word: str, text: str) -> Path:
    path = home / SETTINGS[word]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("existing", EXISTING, ids=range(len(EXISTING)))
@pytest.mark.parametrize("word", SETTINGS)
def test_undo_restores_every_byte_and_twice_changes_nothing(
    home: Path, answers: Answers, word: str, existing: str | None
) -> None:
    if existing is not None:
        write_settings(home, word, existing)
    before = tree(home)
    folders = {path for path in home.rglob("*") if path.is_dir()}
    assert set_up(word) == OK
    after = tree(home)
    assert after != before
    assert json.loads((home / SETTINGS[word]).read_text())
    asked = len(answers.questions)
    assert set_up(word) == OK
    assert tree(home) == after
    assert len(answers.questions) == asked
    assert cli.main(["setup", word, "--undo"]) == OK
    assert tree(home) == before
    assert {path for path in home.rglob("*") if path.is_dir() and "aileron" not in str(path)} == {
        folder for folder in folders if "aileron" not in str(folder)
    }
    assert read_records(home / "aileron" / "data") == ()


def test_claude_gets_hooks_for_everything_a_token_and_rules(
    home: Path, answers: Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_settings(home, "claude", json.dumps({"model": "opus", "permissions": {"allow": ["Bash(ls:*)"]}}))
    path.chmod(0o640)
    assert set_up("claude") == OK
    settings = json.loads(path.read_text())
    assert list(settings) == ["model", "permissions", "hooks"]
    assert settings["permissions"] == {
        "allow": [],
        "defaultMode": "default",
        "disableBypassPermissionsMode": "disable",
        "disableAutoMode": "disable",
    }
    group = settings["hooks"]["PreToolUse"][0]
    assert group["matcher"] == "*"
    handler = group["hooks"][0]
    assert (handler["timeout"], handler["onFailure"]) == (3600, "block")
    words = [handler["command"], *handler["args"]]
    assert words[:4] == ["/usr/bin/env", "-i", sys.executable, "-I"]
    data = home / "aileron" / "data"
    assert words[6:] == ["hook", "claude", "--agent", "claude", "--timeout", "3600", "--data", str(data)]
    assert "PermissionRequest" not in settings["hooks"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    backup = path.with_name("settings.json.before-aileron")
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert "Bash(ls:*)" in backup.read_text()
    assert stat.S_IMODE((data / "doors.json").stat().st_mode) == 0o600
    with open_reader(data / "ledger.db") as reader:
        assert not Agents.of(reader).named("claude").revoked
        assert {known.rule.action for known in Rules.of(reader).values()} == {"Read", "Grep", "Glob", "LS"}
    assert len(read_token(token_path(data, "claude"))) == 64
    screen = capsys.readouterr()
    assert "Bash(ls:*)" in screen.err
    assert any(line.startswith("+ ") and '"onFailure": "block"' in line for line in screen.err.splitlines())
    assert cli.main(["history", "verify"]) == OK


def test_rules_are_made_only_if_they_are_wanted(home: Path, answers: Answers) -> None:
    answers.given = ["y", "n"]
    assert set_up("claude") == OK
    with open_reader(home / "aileron" / "data" / "ledger.db") as reader:
        assert not Rules.of(reader)


@pytest.mark.parametrize("answer", ["n", "", "yess", KeyboardInterrupt])
def test_without_a_yes_nothing_is_touched(home: Path, answers: Answers, answer: str | type[BaseException]) -> None:
    write_settings(home, "claude", "{}")
    before = tree(home)
    answers.given = [answer]
    assert set_up("claude") != OK
    assert tree(home) == before
    assert not (home / "aileron" / "data" / "doors.json").exists()
    with open_reader(home / "aileron" / "data" / "ledger.db") as reader:
        assert not Agents.of(reader).active


def test_a_file_edited_by_hand_loses_only_what_setup_wrote(
    home: Path, answers: Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_settings(home, "claude", '{\n  "permissions": {\n    "allow": [\n      "Read"\n    ]\n  }\n}\n')
    assert set_up("claude") == OK
    settings = json.loads(path.read_text())
    settings["model"] = "opus"
    settings["permissions"]["defaultMode"] = "plan"
    path.write_text(json.dumps(settings, indent=2))
    capsys.readouterr()
    assert cli.main(["setup", "claude", "--undo"]) == OK
    assert json.loads(path.read_text()) == {
        "permissions": {"allow": ["Read"], "defaultMode": "plan"},
        "model": "opus",
    }
    said = capsys.readouterr().out
    assert "edited since the setup" in said
    assert "left as it is: permissions.defaultMode" in said
    assert path.with_name("settings.json.before-aileron").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{\n  "a": 1,\n}', "line 3"),
        ('{\n  // mine\n  "a": 1\n}', "line 2"),
        ("[]", "not an object"),
        ('{"hooks": []}', "hooks is not an object"),
        ('{"a": 1, "a": 2}', "twice"),
    ],
)
def test_settings_that_are_not_valid_are_refused(
    home: Path, answers: Answers, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    write_settings(home, "claude", text)
    before = tree(home)
    assert set_up("claude") == FAILED
    assert words in capsys.readouterr().err
    assert tree(home) == before
    assert not answers.questions


def test_comments_of_opencode_stay(home: Path, answers: Answers, capsys: pytest.CaptureFixture[str]) -> None:
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True)
    text = '{\n  // mine\n  "permission": {"bash": {"rm *": "deny", "*": "allow"}, "edit": "deny"},\n}\n'
    (folder / "opencode.jsonc").write_text(text)
    assert set_up("opencode") == OK
    written = (folder / "opencode.jsonc").read_text()
    assert "// mine" in written
    assert '"allow"' not in written
    assert written.count('"deny"') == 2
    assert 'kind = "opencode"' in capsys.readouterr().out
    assert not (folder / "opencode.json").exists()


def test_old_and_missing_programs_are_refused_and_print_works(
    home: Path, answers: Answers, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(home, "claude", "2.1.197 (Claude Code)")
    assert set_up("claude") == FAILED
    assert "onFailure" in capsys.readouterr().err
    (home / "bin" / "claude").unlink()
    assert set_up("claude") == FAILED
    assert "is not installed" in capsys.readouterr().err
    monkeypatch.setattr("aileron_tui.cli.confirmation._has_terminal", lambda: False)
    before = tree(home)
    assert cli.main(["setup", "claude", "--print"]) == OK
    printed = capsys.readouterr().out
    assert json.loads(printed.partition(":\n")[2])["hooks"]["PreToolUse"]
    assert tree(home) == before


def test_without_a_terminal_nothing_is_written(
    home: Path, answers: Answers, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("aileron_tui.cli.confirmation._has_terminal", lambda: False)
    before = tree(home)
    assert set_up("claude") == FAILED
    assert "needs a terminal" in capsys.readouterr().err
    assert tree(home) == before


def on_a_terminal(words: list[str], answers: list[tuple[str, str]]) -> tuple[int, str]:
    """Runs a command on a terminal of its own, and types each answer when its question is asked."""
    process, terminal = pty.fork()
    if process == 0:
        os.execv(sys.executable, [sys.executable, "-m", "aileron_tui", *words])
    screen, deadline, waiting = "", time.monotonic() + 60, [*answers]
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            data = os.read(terminal, 4096)
        except OSError:
            break
        screen += data.decode(errors="replace")
        if data and waiting and screen.rstrip().endswith(waiting[0][0]):
            os.write(terminal, waiting.pop(0)[1].encode())
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), screen


def test_on_a_terminal_ctrl_c_changes_nothing_and_yes_writes(home: Path) -> None:
    words, before = ["setup", "claude", "--no-check"], tree(home)
    question, rules = "Write these settings? [y/N]", "Make these rules? [y/N]"
    code, screen = on_a_terminal(words, [(question, "\x03")])
    assert code == INTERRUPTED, screen
    assert tree(home) == before
    code, screen = on_a_terminal(words, [(question, "y\n"), (rules, "\x03")])
    assert code == INTERRUPTED, screen
    assert tree(home) == before
    code, screen = on_a_terminal(words, [(question, "y\n"), (rules, "y\n")])
    assert code == OK, screen
    assert '"onFailure": "block"' in (home / SETTINGS["claude"]).read_text()


def test_a_symbolic_link_is_followed_and_named(
    home: Path, answers: Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    real = home / "dotfiles.json"
    real.write_text("{}\n")
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").symlink_to(real)
    assert set_up("claude") == OK
    assert "is a symbolic link to" in capsys.readouterr().err
    assert (home / ".claude" / "settings.json").is_symlink()
    assert "PreToolUse" in real.read_text()
    assert cli.main(["setup", "claude", "--undo"]) == OK
    assert real.read_text() == "{}\n"


def test_a_full_disk_loses_nothing(home: Path, answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    write_settings(home, "claude", '{"a": 1}')

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    before = tree(home)
    monkeypatch.setattr("aileron_tui.doors.settings_file.os.fsync", full)
    assert set_up("claude") == FAILED
    assert tree(home) == before


def test_a_folder_that_cannot_be_written_to_is_reported(
    home: Path, answers: Answers, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr("aileron_tui.doors.settings_file._write_new", refused)
        assert set_up("claude") == FAILED
    assert "cannot write" in capsys.readouterr().err
    assert not (home / SETTINGS["claude"]).exists()
    assert read_records(home / "aileron" / "data") == ()
    assert set_up("claude") == OK  # the agent that was added is used


def test_what_changed_while_the_question_was_open_is_not_overwritten(
    home: Path, answers: Answers, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_settings(home, "claude", "{}")

    def edit(question: str) -> str:
        path.write_text('{"edited": true}')
        return "y"

    monkeypatch.setattr("aileron_tui.cli.commands.setup.settings_text.ask_line", edit)
    assert set_up("claude") == FAILED
    assert "was changed in the meantime" in capsys.readouterr().err
    assert path.read_text() == '{"edited": true}'


def test_project_settings_and_another_name(home: Path, answers: Answers, tmp_path: Path) -> None:
    assert set_up("claude", "--project", "--agent", "laptop") == OK
    project = tmp_path / "project" / ".claude" / "settings.json"
    assert "laptop" in project.read_text()
    assert not (home / ".claude").exists()
    assert cli.main(["setup", "claude", "--undo"]) == NOT_FOUND
    assert cli.main(["setup", "claude", "--undo", "--project"]) == OK
    assert not project.parent.exists()
    assert set_up("claude", "--agent", "../evil") == USAGE


def test_another_name_replaces_the_hook(home: Path, answers: Answers) -> None:
    path = write_settings(home, "claude", '{\n  "a": 1\n}\n')
    assert set_up("claude") == OK
    assert set_up("claude", "--agent", "laptop") == OK
    hooks = json.loads(path.read_text())["hooks"]["PreToolUse"]
    assert len(hooks) == 1
    assert "laptop" in hooks[0]["hooks"][0]["args"]
    assert cli.main(["setup", "claude", "--undo"]) == OK
    assert path.read_text() == '{\n  "a": 1\n}\n'


def test_the_policy_of_gemini_is_asked_for_by_itself(home: Path, answers: Answers) -> None:
    answers.given = ["y", "n"]
    assert set_up("gemini") == OK
    assert not (home / ".gemini" / "policies").exists()
    assert (
        json.loads((home / ".gemini" / "settings.json").read_text())["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"]
        == 3600_000
    )
    assert set_up("gemini") == OK
    assert (home / ".gemini" / "policies" / "aileron-tui.toml").exists()


def test_what_weakens_the_gate_is_named(
    home: Path, answers: Answers, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "project" / ".claude"
    folder.mkdir()
    weak = {
        "disableAllHooks": True,
        "permissions": {"allow": ["Bash(\x1b[2J*)"], "defaultMode": "acceptEdits"},
        "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "changes-input"}]}]},
    }
    (folder / "settings.json").write_text(json.dumps(weak))
    monkeypatch.setenv("CLAUDE_CODE_SIMPLE", "1")
    assert set_up("claude") == OK
    said = capsys.readouterr().err
    for words in ("disableAllHooks", "⟨ESC⟩[2J", "acceptEdits", "changes-input", "CLAUDE_CODE_SIMPLE is set"):
        assert words in said
    assert "\x1b[2J" not in said
