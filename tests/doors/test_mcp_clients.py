"""Where MCP clients keep their servers, on every system."""

from pathlib import Path

import pytest

from aileron_tui.doors.mcp_clients import CLIENTS
from aileron_tui.doors.mcp_entries import is_own
from aileron_tui.doors.setup_plan import SetupContext

HOME = Path("/home/me")


def context(**env: str) -> SetupContext:
    return SetupContext("mcp", ("aileron-tui",), HOME, Path("/src"), env, Path("/data"))


@pytest.mark.parametrize(
    ("system", "client", "env", "path"),
    [
        ("linux", "claude-desktop", {}, HOME / ".config/Claude/claude_desktop_config.json"),
        ("linux", "claude-desktop", {"XDG_CONFIG_HOME": "/c"}, Path("/c/Claude/claude_desktop_config.json")),
        ("darwin", "claude-desktop", {}, HOME / "Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", "claude-desktop", {"APPDATA": "/a"}, Path("/a/Claude/claude_desktop_config.json")),
        ("darwin", "vscode", {}, HOME / "Library/Application Support/Code/User/mcp.json"),
        ("linux", "vscode", {}, HOME / ".config/Code/User/mcp.json"),
        ("darwin", "opencode", {}, HOME / ".config/opencode/opencode.json"),
        ("linux", "claude", {"CLAUDE_CONFIG_DIR": "/c"}, Path("/c/.claude.json")),
        ("linux", "codex", {"CODEX_HOME": "/c"}, Path("/c/config.toml")),
        ("linux", "gemini", {"GEMINI_CLI_HOME": "/c"}, Path("/c/.gemini/settings.json")),
    ],
)
def test_the_file_of_the_user(
    monkeypatch: pytest.MonkeyPatch, system: str, client: str, env: dict[str, str], path: Path
) -> None:
    monkeypatch.setattr("sys.platform", system)
    assert CLIENTS[client].path(context(**env)) == path


def test_an_existing_file_is_used_before_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "opencode").mkdir()
    (tmp_path / "opencode" / "opencode.jsonc").write_text("{}")
    assert CLIENTS["opencode"].path(context(XDG_CONFIG_HOME=str(tmp_path))).name == "opencode.jsonc"


@pytest.mark.parametrize(
    ("words", "own"),
    [
        (["aileron-tui", "mcp"], True),
        (["/usr/bin/env", "-i", "/p/python", "-I", "-m", "aileron_tui", "mcp", "--agent", "mcp"], True),
        (["/p/python", "-I", "-m", "aileron_tui", "mcp-proxy", "--name", "a", "--", "b"], True),
        (["evil", "aileron-tui", "mcp"], False),
        (["aileron-tui", "hook"], False),
        (["/usr/bin/env", "X=1", "aileron-tui", "mcp"], False),
    ],
)
def test_our_own_entries_are_recognised_and_imitations_are_not(words: list[str], own: bool) -> None:
    assert is_own({"command": words[0], "args": list(words[1:])}) is own
    assert is_own({"type": "local", "command": list(words)}) is own
