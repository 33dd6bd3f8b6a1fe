"""Setting up MCP clients and servers, as their user meets it: with a home of their own and a small real server."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli

from aileron_tui import cli
from aileron_tui.cli.exit_codes import FAILED, INTERRUPTED, NOT_FOUND, OK, USAGE
from aileron_tui.core.json_edit import parse
from aileron_tui.core.mcp_tools import definition_hash
from aileron_tui.core.rule import Rule
from aileron_tui.doors.known_servers import read_server, server_names
from aileron_tui.doors.mcp_clients import CLIENTS
from aileron_tui.doors.setup_record import read_records
from aileron_tui.files.agent_tokens import approvers_path, read_token, token_path
from aileron_tui.files.policy_files import policy_path
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing.agents import Agents
from aileron_tui.signing.rules import Rules
from tests.cli.test_setup import Answers, answers, home, tree
from tests.doors.listing_server import TOOLS
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
def _quick(home: Path, answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert words[7:11] == ["--agent", "mcp", "--data", data]
    if client == "codex":
        assert entry["tool_timeout_sec"] == 3600
    assert read_token(token_path(home / "aileron" / "data", "mcp"))
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


def test_a_server_is_pinned_and_its_entry_starts_the_proxy(
    home: Path, answers: Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set_up("--name", "small", "--client", "claude", "--", *SERVER) == OK
    screen = capsys.readouterr()
    assert "\x1b" not in screen.err
    assert "\u202e" not in screen.err
    assert "Reads a file." in screen.err
    assert "more characters" in screen.err
    data = home / "aileron" / "data"
    server = read_server(data, "small")
    assert (server.agent, server.command, server.url) == ("mcp-small", SERVER, "")
    assert {tool.hash for tool in server.tools} == {definition_hash(tool) for tool in TOOLS}
    words = words_of(servers(home, "claude")["small"])
    assert words == [
        *(sys.executable, "-I", "-m", "aileron_tui", "mcp-proxy", "--name", "small", "--data", str(data)),
        *("--hold", "1500", "--", *SERVER),
    ]
    with open_reader(data / "ledger.db") as reader:
        assert not Agents.of(reader).named("mcp-small").revoked
    made = rules(home)
    assert [(rule.action, rule.connector, rule.runs) for rule in made] == [("read", "small", definition_hash(TOOLS[0]))]
    assert cli.main(["history", "verify"]) == OK
    answers.questions.clear()
    assert set_up("--name", "small", "--client", "claude") == OK
    assert not answers.questions
    assert cli.main(["setup", "mcp", "--name", "small", "--undo"]) == OK
    assert server_names(data) == ()
    assert not (home / ".claude.json").exists()


def test_a_changed_tool_is_shown_and_pinned_again_with_a_new_rule(
    home: Path, answers: Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set_up("--name", "small", "--", *SERVER) == OK
    assert '"mcpServers"' in capsys.readouterr().out
    answers.given = ["n"]
    assert set_up("--name", "small", "--", *SERVER, "changed") == FAILED
    assert read_server(home / "aileron" / "data", "small").command == SERVER
    assert "+ " in (said := capsys.readouterr().err)
    assert "sends it away" in said
    assert "another command" in said
    assert "Writes." not in said
    assert set_up("--name", "small", "--", *SERVER, "changed") == OK
    assert len({rule.runs for rule in rules(home)}) == 2


@pytest.mark.parametrize("client", FILES)
def test_an_entry_is_wrapped_with_everything_that_is_in_it_and_restored(
    home: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    monkeypatch.setenv("SMALL_SECRET", "s3")
    entry: dict[str, object] = {
        "command": SERVER[0],
        "args": [SERVER[1], "env"],
        "env": {"SMALL_KEY": "${SMALL_SECRET}"},
    }
    if client == "opencode":
        entry = {"type": "local", "command": [*SERVER, "env"], "environment": {"SMALL_KEY": "${SMALL_SECRET}"}}
    if client == "codex":
        text = f"# mine\n[mcp_servers.'Small One'] # here\ncommand = {json.dumps(SERVER[0])}\nargs = [\n"
        text += (
            f"  {json.dumps(SERVER[1])}, # the server\n  'env',\n]\n[mcp_servers.'Small One'.env]\nSMALL_KEY = 's3'\n"
        )
    else:
        listed: object = {"Small One": entry, "b": {"command": "b"}}
        for key in reversed(CLIENTS[client].servers):
            listed = {key: listed}
        text = json.dumps(listed, indent=3)
    path = write_settings(home, client, text)
    before = tree(home)
    assert set_up("--client", client, "--wrap", "Small One") == USAGE
    assert tree(home) == before
    assert set_up("--client", client, "--wrap", "Small One", "--name", "small") == OK
    wrapped = servers(home, client)["Small One"]
    assert words_of(wrapped)[-4:] == ["--", *SERVER, "env"]
    assert words_of(wrapped)[4:7] == ["mcp-proxy", "--name", "small"]
    kept = wrapped.get("env") or wrapped.get("environment")
    assert kept == ({"SMALL_KEY": "s3"} if client == "codex" else {"SMALL_KEY": "${SMALL_SECRET}"})
    server = read_server(home / "aileron" / "data", "small")
    assert server.tools[0].definition["description"] == "s3"
    after = tree(home)
    assert set_up("--client", client, "--wrap", "Small One", "--name", "small") == OK
    assert tree(home) == after
    assert cli.main(["setup", "mcp", "--client", client, "--name", "small", "--undo"]) == OK
    assert tree(home) == before
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"command": "${input:key}"}, "only Claude Code"),
        ({"command": "x", "args": ["${NO_SUCH_VARIABLE}"]}, "NO_SUCH_VARIABLE"),
        ({"type": "http", "url": "https://x/", "headers": {"Authorization": "Bearer secret"}}, "headers"),
        ({"command": ["x", 1]}, "no command"),
        ("x", "no command"),
        ({"command": "aileron-tui", "args": ["mcp-proxy", "--name", "a", "--", "b"]}, "already"),
        (None, "has no MCP server named a"),
    ],
)
def test_an_entry_that_cannot_be_wrapped_is_refused(
    home: Path, answers: Answers, capsys: pytest.CaptureFixture[str], entry: object, words: str
) -> None:
    write_settings(home, "claude", json.dumps({"mcpServers": {"a": entry} if entry else {}}))
    before = tree(home)
    assert set_up("--client", "claude", "--wrap", "a") == FAILED
    said = capsys.readouterr().err
    assert words in said
    assert "secret" not in said
    assert tree(home) == before
    assert not answers.questions


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


@pytest.mark.parametrize("mode", ["crash", "garbage", "refuses", "double"])
def test_a_server_that_misbehaves_is_not_set_up(
    home: Path, answers: Answers, capsys: pytest.CaptureFixture[str], mode: str
) -> None:
    before = tree(home)
    assert set_up("--name", "small", "--client", "cursor", "--", *SERVER, mode) == FAILED
    assert "\x1b" not in capsys.readouterr().err
    assert tree(home) == before
    assert server_names(home / "aileron" / "data") == ()
    assert not answers.questions


@pytest.mark.parametrize("given", [["n"], ["y", "n"], ["y", "y", KeyboardInterrupt], [KeyboardInterrupt], ["y", ""]])
def test_without_every_yes_nothing_is_touched(
    home: Path, answers: Answers, given: list[str | type[BaseException]]
) -> None:
    write_settings(home, "cursor", "{}")
    before = tree(home)
    answers.given = [*given]
    code = set_up("--name", "small", "--client", "cursor", "--", *SERVER)
    assert code == (INTERRUPTED if KeyboardInterrupt in given else FAILED)
    assert tree(home) == before
    data = home / "aileron" / "data"
    assert server_names(data) == ()
    assert read_records(data) == ()
    with open_reader(data / "ledger.db") as reader:
        assert not Agents.of(reader).active


def test_rules_are_only_made_if_they_are_wanted(home: Path, answers: Answers) -> None:
    answers.given = ["y", "n"]
    assert set_up("--name", "small", "--", *SERVER) == OK
    assert rules(home) == []


@pytest.mark.parametrize(
    "words",
    [
        ["--name", "Small", "--", "x"],
        ["--name", "a" * 29, "--", "x"],
        ["--name", "../x", "--", "x"],
        ["--name", "aileron", "--", "x"],
        ["--", "x"],
        ["--url", "https://x/"],
        ["--name", "x", "--url", "ftp://x/"],
        ["--name", "x", "--url", "https://x/", "--", "y"],
        ["--wrap", "x"],
        ["--project"],
        ["--client", "claude-desktop", "--project"],
        ["--client", "claude", "--agent", "Gate"],
        ["--client", "claude", "--agent", "gate"],
    ],
)
def test_options_that_do_not_fit_are_refused(home: Path, answers: Answers, words: list[str]) -> None:
    before = tree(home)
    assert set_up(*words) == USAGE
    assert tree(home) == before
    assert not answers.questions


def test_a_server_without_a_command_must_have_been_set_up(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set_up("--name", "small") == FAILED
    assert "is not set up" in capsys.readouterr().err


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


def checked(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, tuple[str, str]]:
    """What doctor says about MCP, by the id of the check."""
    capsys.readouterr()
    cli.main(["doctor", "--json", *words])
    checks = json.loads(capsys.readouterr().out)["checks"]
    return {check["id"]: (check["status"], check["words"]) for check in checks if check["id"].startswith("mcp.")}


def test_doctor_checks_clients_and_servers_again(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_settings(home, "cursor", json.dumps({"mcpServers": {"one": {"command": SERVER[0], "args": [SERVER[1]]}}}))
    assert set_up("--client", "codex") == OK
    assert set_up("--client", "cursor", "--wrap", "one") == OK
    found = checked(capsys)
    assert {id_: status for id_, (status, _) in found.items()} == {
        "mcp.codex.aileron": "ok",
        "mcp.codex.aileron.token": "ok",
        "mcp.cursor.one": "ok",
        "mcp.one": "ok",
        "mcp.one.token": "ok",
        "mcp.one.approvers": "ok",
    }
    assert checked(capsys, "--start-servers")["mcp.one.tools"][0] == "ok"
    write_settings(home, "cursor", json.dumps({"mcpServers": {"one": {"command": SERVER[0], "args": [SERVER[1]]}}}))
    (home / FILES["codex"]).unlink()
    token_path(home / "aileron" / "data", "mcp-one").write_text("0" * 64)
    approvers_path(home / "aileron" / "data", "mcp-one").unlink()
    found = checked(capsys)
    assert found["mcp.one.approvers"][0] == "fail"
    assert "without asking" in found["mcp.cursor.one"][1]
    assert "no longer has" in found["mcp.codex.aileron"][1]
    assert found["mcp.one.token"][0] == "fail"
    (home / "aileron" / "data" / "mcp" / "one.json").write_text("{}")
    assert checked(capsys)["mcp.one"][0] == "fail"


def test_doctor_says_which_tools_have_changed(home: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_text(Path(SERVER[1]).read_text())
    assert set_up("--name", "small", "--", SERVER[0], str(program)) == OK
    program.write_text(program.read_text().replace("Writes. ", "Wrote. "))
    status, words = checked(capsys, "--start-servers")["mcp.small.tools"]
    assert (status, words) == ("warn", "its tools are not as they were pinned: changed: write")
    program.unlink()
    status, words = checked(capsys, "--start-servers")["mcp.small.tools"]
    assert status == "warn"
    assert words.endswith("exited with code 2")


def test_a_server_that_claude_code_has_for_one_folder_is_wrapped(home: Path, tmp_path: Path) -> None:
    entry = {"type": "stdio", "command": SERVER[0], "args": [SERVER[1]], "env": {}}
    listed = {"projects": {str(tmp_path / "project"): {"mcpServers": {"one": entry}}}}
    path = write_settings(home, "claude", json.dumps(listed))
    assert set_up("--client", "claude", "--wrap", "one") == OK
    found = json.loads(path.read_text())["projects"][str(tmp_path / "project")]["mcpServers"]["one"]
    assert words_of(found)[4] == "mcp-proxy"
    assert "mcpServers" not in json.loads(path.read_text())
    assert cli.main(["setup", "mcp", "--wrap", "one", "--client", "claude", "--undo"]) == OK
    assert json.loads(path.read_text()) == listed


def test_a_server_of_a_client_is_not_started_without_a_yes(home: Path, answers: Answers, tmp_path: Path) -> None:
    started = tmp_path / "started"
    entry = {"command": "touch", "args": [str(started)], "env": {"LD_PRELOAD": "x"}}
    write_settings(home, "cursor", json.dumps({"mcpServers": {"one": entry}}))
    answers.given = ["n"]
    assert set_up("--client", "cursor", "--wrap", "one") == FAILED
    assert not started.exists()


def test_a_policy_that_ships_is_offered_and_copied(
    home: Path, answers: Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("--name", "files", "--", *SERVER, "@modelcontextprotocol/server-filesystem@2026.8.31")
    answers.given = ["y", "n"]
    assert set_up(*command) == OK
    assert read_server(home / "aileron" / "data", "files").policy == ""
    assert cli.main(["setup", "mcp", "--name", "files", "--undo"]) == OK
    assert set_up(*command) == OK
    assert 'the server has no tool "write_file"' in capsys.readouterr().err
    path = policy_path("files")
    assert read_server(home / "aileron" / "data", "files").policy == str(path)
    assert "write_file" in path.read_text()
    path.write_text("tools = 1\n")
    assert set_up(*command) == FAILED
    assert "has errors" in capsys.readouterr().err


def test_a_policy_of_the_user_is_used(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "mine.toml"
    assert set_up("--name", "small", "--policy", str(policy), "--", *SERVER) == FAILED
    policy.write_text('server = "small"\n[tools.write.preview]\ntool = "read"\nargs = { path = "${args.path}" }\n')
    capsys.readouterr()
    policy.write_text(policy.read_text() + 'render = { "Text" = "content.0.text" }\n')
    assert set_up("--name", "small", "--policy", str(policy), "--", *SERVER) == OK
    assert read_server(home / "aileron" / "data", "small").policy == str(policy)
    assert set_up("--name", "small") == OK
    assert read_server(home / "aileron" / "data", "small").policy == str(policy)


def test_what_a_server_says_cannot_look_like_our_own_lines(
    home: Path, answers: Answers, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("aileron_tui.cli.output.columns", lambda _: 40)
    answers.given = ["n"]
    assert set_up("--name", "small", "--", *SERVER, "liar") == FAILED
    lines = capsys.readouterr().err.splitlines()
    said = [line for line in lines if line.endswith("says that it only reads") and not line.startswith("    > ")]
    assert said == ['  "read" says that it only reads']
    assert all(line.startswith(("    > ", '  "')) for line in lines if "harmless" in line)


def test_the_check_starts_what_the_client_would_start(
    home: Path, answers: Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["setup", "mcp", "--name", "small", "--client", "cursor", "--", *SERVER]) == OK
    assert "listed 3 tools" in capsys.readouterr().out
    answers.given = ["y"]
    assert cli.main(["setup", "mcp", "--name", "small", "--client", "cursor"]) == OK
    assert "listed 3 tools" in capsys.readouterr().out


def test_ctrl_c_while_the_server_is_listed_leaves_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    before = tree(home)
    monkeypatch.setattr("aileron_tui.doors.mcp_session.McpSession.tools", interrupted)
    assert set_up("--name", "small", "--client", "cursor", "--", *SERVER) == INTERRUPTED
    assert tree(home) == before
    assert server_names(home / "aileron" / "data") == ()


def test_a_file_that_cannot_be_read_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / ".cursor" / "mcp.json").mkdir(parents=True)
    assert set_up("--client", "cursor") == FAILED
    assert "is a directory" in capsys.readouterr().err
