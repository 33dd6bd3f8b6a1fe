"""Setting up MCP clients and servers, as their user meets it: with a home of their own and a small real server."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli

from aileron_tui import cli
from aileron_tui.cli.exit_codes import FAILED, NOT_FOUND, OK, USAGE
from aileron_tui.core.json_edit import parse
from aileron_tui.core.rule import Rule
from aileron_tui.doors.mcp_clients import CLIENTS
from aileron_tui.doors.setup_record import read_records
from aileron_tui.files.agent_tokens import read_token, token_path
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing.rules import Rules
from tests.cli.test_setup import Answers, answers, home, tree
from tests.doors.test_mcp_listing import SERVER

__all__ = ["answers", "home"]

FILES = {
    "claude": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "opencode": ".config/opencode/opencode.json",
    "vscode": ".config/Code/User/mcp.json",
    "cursor": ".cursor/mcp.json",
}
TOML = '# mine\nmodel = "o3"  # best\n\n[mcp_servers.other]\ncommand = "x"\n'
JSONC = '{\n  // mine\n  "theme": "dark",\n}\n'
JSON = '{\n    "numStartups": 12,\n    "z": 1.50\n}'


@pytest.fixture(autouse=True)
def quick(home: Path, answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("server_writing", "proxy_writing"):
        monkeypatch.setattr(f"aileron_tui.cli.commands.setup.{module}.protect_process", lambda: None)
        monkeypatch.setattr(f"aileron_tui.cli.commands.setup.{module}.check_command", lambda _: None)
    monkeypatch.setattr("aileron_tui.cli.commands.setup.server_writing.find_spec", lambda _: True)
    monkeypatch.setattr("sys.platform", "linux")


def set_up(*words: str) -> int:
    options, separator, command = list(words), [], []
    if "--" in options:
        at = options.index("--")
        options, separator, command = options[:at], ["--"], options[at + 1 :]
    return cli.main(["setup", "mcp", "--no-check", *options, *separator, *command])


def write_settings(home: Path, client: str, text: str) -> Path:
    path = home / FILES[client]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def servers(home: Path, client: str) -> dict[str, dict[str, Any]]:
    path = home / FILES[client]
    text = path.read_text()
    found: Any = tomli.loads(text) if path.suffix == ".toml" else parse(text, comments=True).value
    for key in CLIENTS[client].servers:
        found = found[key]
    return dict(found)


def words_of(entry: dict[str, Any]) -> list[str]:
    command, args = entry["command"], entry.get("args", [])
    assert isinstance(args, list)
    return [*command, *args] if isinstance(command, list) else [str(command), *map(str, args)]


def rules(home: Path) -> list[Rule]:
    with open_reader(home / "aileron" / "data" / "ledger.db") as reader:
        return [known.rule for known in Rules.of(reader).values()]


def existing(client: str) -> str:
    return TOML if client == "codex" else JSONC if CLIENTS[client].comments else JSON


@pytest.mark.parametrize("client", FILES)
@pytest.mark.parametrize("empty", [True, False])
def test_a_client_gets_our_server_twice_changes_nothing_and_undo_restores_every_byte(
    home: Path, answers: Answers, client: str, empty: bool
) -> None:
    if not empty:
        write_settings(home, client, existing(client))
    before = tree(home)
    assert set_up("--client", client) == OK
    after = tree(home)
    text = (home / FILES[client]).read_text()
    assert empty or "mine" in text or "numStartups" in text
    entry = servers(home, client)["aileron"]
    words = words_of(entry)
    data = str(home / "aileron" / "data")
    assert words[:7] == ["/usr/bin/env", "-i", sys.executable, "-I", "-m", "aileron_tui", "mcp"]
    assert words[7:11] == ["--agent", f"{client}-mcp", "--data", data]
    if client == "codex":
        assert entry["tool_timeout_sec"] == 3600
    assert read_token(token_path(home / "aileron" / "data", f"{client}-mcp"))
    answers.questions.clear()
    assert set_up("--client", client) == OK
    assert tree(home) == after
    assert not answers.questions
    assert cli.main(["setup", "mcp", "--client", client, "--undo"]) == OK
    assert tree(home) == before
    assert read_records(home / "aileron" / "data") == ()
    assert cli.main(["setup", "mcp", "--client", client, "--undo"]) == NOT_FOUND


@pytest.mark.parametrize("client", [word for word, client in CLIENTS.items() if client.project])
def test_a_project_gets_an_entry_of_its_own(home: Path, client: str, tmp_path: Path) -> None:
    before = tree(home)
    assert set_up("--client", client, "--project") == OK
    assert tree(home) == before
    assert (tmp_path / "project" / CLIENTS[client].project[-1]).exists()
    assert cli.main(["setup", "mcp", "--client", client, "--project", "--undo"]) == OK
    assert not list((tmp_path / "project").iterdir())


@pytest.mark.parametrize(
    ("client", "text", "words"),
    [
        ("claude", '{"a": 1,}', "line 1"),
        ("claude", "[]", "not an object"),
        ("claude", '{"mcpServers": []}', "mcpServers is not an object"),
        ("claude", '{"mcpServers": {"aileron": {"command": "mine"}}}', "already has another"),
        ("codex", "a = ", "not valid TOML"),
        ("codex", 'mcp_servers = "x"', "is not an object"),
        ("codex", 'mcp_servers = { b = { command = "c" } }', "cannot be changed"),
        ("vscode", '{"servers": /* never ends', "does not end"),
    ],
)
def test_settings_that_cannot_be_changed_are_refused(
    home: Path, capsys: pytest.CaptureFixture[str], client: str, text: str, words: str
) -> None:
    write_settings(home, client, text)
    before = tree(home)
    assert set_up("--client", client) == FAILED
    assert words in capsys.readouterr().err
    assert tree(home) == before


MISUSES = [
    ["--name", "Small", "--", "x"],
    ["--name", "a" * 29, "--", "x"],
    ["--name", "../x", "--", "x"],
    ["--name", "aileron", "--", "x"],
    ["--", "x"],
    ["--url", "https://x/"],
    ["--name", "x", "--url", "ftp://x/"],
    ["--name", "x", "--url", "https://x/", "--", "y"],
    ["--wrap", "x"],
    ["--name", "x", "--", "caf\udce9"],
    ["--project"],
    ["--client", "claude-desktop", "--project"],
    ["--client", "claude", "--agent", "Gate"],
    ["--client", "claude", "--agent", "gate"],
]


def test_options_that_do_not_fit_are_refused(home: Path, answers: Answers) -> None:
    before = tree(home)
    assert [words for words in MISUSES if set_up(*words) != USAGE] == []
    assert tree(home) == before
    assert not answers.questions


def test_the_entry_is_printed_without_a_key_or_terminal(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("aileron_tui.cli.confirmation._has_terminal", lambda: False)
    monkeypatch.setenv("AILERON_TUI_HOME", str(home / "other"))
    before = tree(home)
    capsys.readouterr()
    assert cli.main(["setup", "mcp"]) == OK
    screen = capsys.readouterr()
    assert words_of(json.loads(screen.out)["mcpServers"]["aileron"])[6] == "mcp"
    assert "--client claude" in screen.err
    assert "--client cursor" not in screen.err
    for client in CLIENTS:
        assert cli.main(["setup", "mcp", "--client", client, "--print"]) == OK
        assert "mcp" in capsys.readouterr().out
        assert cli.main(["setup", "mcp", "--client", client]) == FAILED
        assert "needs a terminal" in capsys.readouterr().err
    assert cli.main(["setup", "mcp", "--name", "x", "--print", "--url", "https://x/y"]) == OK
    assert words_of(json.loads(capsys.readouterr().out)["mcpServers"]["x"])[-2:] == ["--url", "https://x/y"]
    assert tree(home) == before
    assert not (home / "other" / "data").exists()


def test_two_setups_in_one_file_are_taken_back_in_any_order(home: Path) -> None:
    path = write_settings(home, "gemini", JSONC)
    assert set_up("--client", "gemini") == OK
    assert set_up("--name", "small", "--client", "gemini", "--", *SERVER) == OK
    assert cli.main(["setup", "mcp", "--client", "gemini", "--undo"]) == OK
    assert list(servers(home, "gemini")) == ["small"]
    assert cli.main(["setup", "mcp", "--client", "gemini", "--name", "small", "--undo"]) == OK
    assert servers(home, "gemini") == {}
    assert "// mine" in path.read_text()


def test_a_file_that_cannot_be_read_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / ".cursor" / "mcp.json").mkdir(parents=True)
    assert set_up("--client", "cursor") == FAILED
    assert "is a directory" in capsys.readouterr().err


def test_setup_says_that_hooks_ask_as_well(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set_up("--client", "claude") == OK
    assert "asked twice" not in capsys.readouterr().err
    assert cli.main(["setup", "gemini", "--no-check"]) == OK
    assert set_up("--client", "gemini") == OK
    assert "asked twice" in capsys.readouterr().err
