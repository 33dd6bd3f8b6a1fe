"""Putting an MCP server behind the gate, as its user meets it: with a small real server."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from aileron_tui import cli
from aileron_tui.cli.exit_codes import FAILED, INTERRUPTED, NOT_FOUND, OK, USAGE
from aileron_tui.core.mcp_tools import definition_hash
from aileron_tui.doors.known_servers import read_server, server_names
from aileron_tui.doors.mcp_clients import CLIENTS
from aileron_tui.doors.setup_record import read_records
from aileron_tui.files.agent_tokens import approvers_path, token_path
from aileron_tui.files.policy_files import policy_path
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing.agents import Agents
from tests.cli.test_setup import Answers, answers, home, tree
from tests.cli.test_setup_mcp import FILES, quick, rules, servers, set_up, words_of, write_settings
from tests.doors.listing_server import TOOLS
from tests.doors.test_mcp_listing import SERVER
from tests.doors.test_mcp_session_http import Server, server

__all__ = ["answers", "home", "quick", "server"]


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
    capsys.readouterr()
    assert cli.main(["setup", "mcp", "--client", "codex", "--name", "small", "--undo"]) == NOT_FOUND
    assert "`aileron-tui setup mcp --name small --undo` takes back everything" in capsys.readouterr().err
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


REFERENCES = {
    "claude": "${SMALL_SECRET:-x}",
    "gemini": "$SMALL_SECRET",
    "opencode": "{env:SMALL_SECRET}",
    "vscode": "${env:SMALL_SECRET}",
    "cursor": "${env:SMALL_SECRET}",
}
"""How entries refer to variables."""


@pytest.mark.parametrize("client", FILES)
def test_an_entry_is_wrapped_with_everything_that_is_in_it_and_restored(
    home: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    monkeypatch.setenv("SMALL_SECRET", "s3")
    variables = {"SMALL_KEY": REFERENCES.get(client, "s3")}
    entry: dict[str, object] = {"command": SERVER[0], "args": [SERVER[1], "env"], "env": variables}
    if client == "opencode":
        entry = {"type": "local", "command": [*SERVER, "env"], "environment": variables}
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
    assert kept == variables
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
        ({"command": "x", "env": {"KEY": "secret ${input:key}"}}, "it has ${input:key}"),
        ({"command": "${input:key}"}, "only Claude Code"),
        ({"command": "x", "args": ["${NO_SUCH_VARIABLE}"]}, "NO_SUCH_VARIABLE"),
        ({"type": "http", "url": "https://x/", "headers": {"Authorization": "Bearer secret"}}, "headers"),
        ({"command": ["x", 1]}, "no command"),
        ({"type": "http", "command": "x", "url": "https://x/"}, "without the gate"),
        ({"command": "x", "httpUrl": "https://x/"}, "without the gate"),
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


def test_a_server_without_a_command_must_have_been_set_up(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set_up("--name", "small") == FAILED
    assert "is not set up" in capsys.readouterr().err


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


def test_a_server_of_a_client_is_not_started_without_a_yes(
    home: Path, answers: Answers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    started = tmp_path / "started"
    entry = {"command": "touch", "args": [str(started)], "env": {"LD_PRELOAD": "x"}, "cwd": "/tmp/else\x1b[2Jwhere"}
    write_settings(home, "cursor", json.dumps({"mcpServers": {"one": entry}}))
    answers.given = ["n"]
    assert set_up("--client", "cursor", "--wrap", "one") == FAILED
    assert not started.exists()
    said = capsys.readouterr().err
    assert "LD_PRELOAD" in said
    assert "in the folder /tmp/else" in said
    assert "\x1b" not in said


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


def test_a_server_with_an_address_is_set_up_and_wrapped(
    home: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"http://127.0.0.1:{server.server_port}/mcp"
    monkeypatch.setenv("DOCS_URL", url)
    assert set_up("--client", "codex", "--name", "docs", "--url", url) == OK
    assert words_of(servers(home, "codex")["docs"])[-2:] == ["--url", url]
    text = f'[mcp_servers.notes]\nurl = "{url}" # mine\nenabled = true\n'
    write_settings(home, "codex", text)
    assert set_up("--client", "codex", "--wrap", "notes") == OK
    assert "url" not in servers(home, "codex")["notes"]
    write_settings(home, "cursor", json.dumps({"mcpServers": {"web": {"type": "http", "url": "${env:DOCS_URL}"}}}))
    assert set_up("--client", "cursor", "--wrap", "web") == OK
    assert words_of(servers(home, "cursor")["web"])[-2:] == ["--url", "${env:DOCS_URL}"]
    assert read_server(home / "aileron" / "data", "web").url == url
    assert cli.main(["setup", "mcp", "--client", "codex", "--name", "notes", "--undo"]) == OK
    assert (home / FILES["codex"]).read_text() == text


def test_doctor_says_if_another_command_is_started(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set_up("--client", "cursor", "--name", "small", "--", *SERVER) == OK
    path = home / FILES["cursor"]
    path.write_text(path.read_text().replace("listing_server.py", "other_server.py"))
    status, words = checked(capsys)["mcp.cursor.small"]
    assert status == "warn"
    assert "another command" in words


@pytest.mark.parametrize("words", [("--client", "cursor"), ("--name", "small", "--client", "cursor", "--", *SERVER)])
def test_without_a_key_nothing_is_started_or_touched(
    home: Path, answers: Answers, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    shutil.rmtree(home / "aileron" / "keys")
    before = tree(home)
    assert set_up(*words) == FAILED
    assert "key init" in capsys.readouterr().err
    assert tree(home) == before
    assert not answers.questions


def test_a_damaged_file_of_a_server_is_written_anew(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = home / "aileron" / "data"
    assert set_up("--name", "small", "--", *SERVER) == OK
    (data / "mcp" / "small.json").write_text("{")
    assert set_up("--name", "small") == FAILED
    assert set_up("--name", "small", "--", *SERVER) == OK
    assert "written anew" in capsys.readouterr().err
    assert len(read_server(data, "small").tools) == 3


def test_the_agent_that_was_chosen_stays(home: Path) -> None:
    assert set_up("--client", "cursor", "--agent", "mine") == OK
    assert set_up("--client", "cursor") == OK
    assert words_of(servers(home, "cursor")["aileron"])[8] == "mine"
    assert set_up("--name", "small", "--agent", "other", "--", *SERVER) == OK
    assert set_up("--name", "small", "--client", "cursor") == OK
    assert read_server(home / "aileron" / "data", "small").agent == "other"
