"""`aileron-tui preview` for tools of MCP servers, with a real server process."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aileron_tui.cli import main, mcp_preview
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.mcp_tools import PinnedTool, pinned
from aileron_tui.core.prompt import read_prompt
from aileron_tui.core.tool_call import ToolCall
from aileron_tui.core.tool_prompts import tool_prompt, with_claims
from aileron_tui.doors.known_servers import KnownServer, write_server
from aileron_tui.doors.mcp_session import McpSession, SessionLimits
from aileron_tui.doors.mcp_session_process import SessionProcess
from aileron_tui.files.paths import HOME_VARIABLE
from aileron_tui.gate.door_claims import read_claims
from tests.doors.fake_gate import deny, fake_gate
from tests.doors.proxy_process import Conversation

SERVER = Path(__file__).parents[1] / "doors" / "small_mcp_server.py"
POLICY = """
server = "notes"

[tools.write_note.preview]
tool = "read_note"
args = { name = "${args.name}" }
render = { "Present text" = "content.0.text" }
multiline = ["Present text"]
absent = ["no note called"]
"""


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "notes.toml").write_text(POLICY)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a").write_text("old\ntext")
    return tmp_path


def command(home: Path, fault: str = "") -> list[str]:
    return [sys.executable, "-I", str(SERVER), str(home / "notes"), fault]


def trial(home: Path, *words: str, fault: str = "") -> list[str]:
    """The command line of an author who tries a policy."""
    return ["preview", *words, "--policy", str(home / "mcp" / "notes.toml"), "--", *command(home, fault)]


def set_up(home: Path, tools: tuple[PinnedTool, ...]) -> None:
    policy = str(home / "mcp" / "notes.toml")
    write_server(home / "data", KnownServer("notes", "mcp-notes", tuple(command(home)), policy=policy, tools=tools))


def listed(home: Path) -> dict[str, PinnedTool]:
    with McpSession(SessionProcess(command(home))) as session:
        session.start()
        return session.tools()


def test_an_author_sees_what_the_operator_would(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(trial(home, "write_note", "--arg", "name=a", "--arg", "text=new")) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out == (
        "Approve write_note?\n"
        "agent sent\n"
        "  Server: notes\n"
        "  Tool:   write_note\n"
        "  name:   a\n"
        "  text:   new\n"
        "told by mcp-notes: fetched by the proxy from notes · read_note\n"
        "  Present text:\n"
        "    > old\n"
        "    > text\n"
        "Not shown: 1 fetched field\n"
        "\n"
        "risk        high: may change something\n"
        "server      notes\n"
        f"definition  {listed(home)['write_note'].hash}\n"
    )
    assert (home / "notes" / "a").read_text() == "old\ntext", "nothing is executed"
    assert (home / "notes" / "calls").read_text() == "read_note\n"


def test_something_new_is_not_a_failure(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(trial(home, "write_note", "--arg", "name=b", "--arg", "text=new")) == 0
    out = capsys.readouterr().out
    assert "  Present text: n/a\n" in out
    assert "  Server says:  no note called b\n" in out


def test_a_server_that_is_set_up(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tools = listed(home)
    set_up(home, tuple(tools.values()))
    assert main(["preview", "--mcp", "notes", "write_note", "--args", '{"name": "a", "text": "x"}', "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    prompt = read_prompt(document["prompt"])
    assert prompt.digest == document["digest"]
    assert prompt.connector.hash == document["definition"] == tools["write_note"].hash
    assert prompt.preview
    assert (prompt.preview.told_by, prompt.preview.source) == ("mcp-proxy", "read_note")
    assert document["preview_call"] == {"tool": "read_note", "args": {"name": "a"}}
    assert (document["notes"], document["findings"]) == ([], [])


def test_the_preview_tool_must_be_pinned_and_unchanged(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tools = listed(home)
    words = ["preview", "--mcp", "notes", "write_note", "--arg", "name=a"]
    set_up(home, (tools["write_note"],))
    assert main(words) == 1
    assert (
        'Preview unavailable: mcp-notes says: "read_note is not a pinned tool of this server"\n'
        in capsys.readouterr().out
    )
    set_up(home, (pinned({**tools["read_note"].definition, "description": "another"}),))
    assert main(words) == 1
    shown = capsys.readouterr()
    assert 'mcp-notes says: "the definition of read_note has changed"\n' in shown.out
    assert "note: write_note is not pinned yet" in shown.err
    assert not (home / "notes" / "calls").exists(), "nothing was called"


def test_a_preview_tool_that_is_not_read_only_is_never_called(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "mcp" / "notes.toml").write_text(POLICY.replace("read_note", "touch_note"))
    assert main(trial(home, "write_note", "--arg", "name=a")) == 1
    shown = capsys.readouterr()
    assert 'Preview unavailable: mcp-notes says: "the server does not say that touch_note is read-only"\n' in shown.out
    assert "notes.toml:5:1: error: the server does not say that touch_note only reads" in shown.err
    assert "[preview-not-read-only]" in shown.err
    assert not (home / "notes" / "calls").exists()


def test_a_tool_without_a_preview(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(trial(home, "count", "--arg", "number=3", "--arg", "on=true")) == 0
    shown = capsys.readouterr()
    assert "  number: 3\n  on:     true\n\nrisk        normal: " in shown.out
    assert shown.err == "note: the policy has no preview for count\n"
    assert main(["preview", "count", "--mcp", "mine", "--", *command(home)]) == 0
    shown = capsys.readouterr()
    assert "  Server: mine\n" in shown.out
    assert shown.err == "note: no policy is used, so there is no preview\n"


@pytest.mark.parametrize(
    ("fault", "words"),
    [("slow call", "read_note: the server did not answer tools/call"), ("call error", "read_note: the server refused")],
)
def test_a_preview_that_fails_is_unavailable(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, fault: str, words: str
) -> None:
    monkeypatch.setattr(mcp_preview, "LIMITS", SessionLimits(call=0.3))
    assert main(trial(home, "write_note", "--arg", "name=a", fault=fault)) == 1
    out = capsys.readouterr().out
    assert f'Preview unavailable: mcp-notes says: "{words}' in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["write_note", "--policy", "x.toml"], "--policy also needs a server"),
        (["write_note", "--url", "http://localhost", "--", "x"], "either a URL or a command"),
        (["write_note", "--demo", "--mcp", "notes"], "--demo and --manifests are for actions"),
    ],
)
def test_wrong_usage(home: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    assert main(["preview", *words]) == 2
    assert message in capsys.readouterr().err


def test_what_cannot_be_found(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(trial(home, "writenote")) == 5
    assert capsys.readouterr().err == 'error: notes has no tool "writenote"\n  Did you mean "write_note"?\n'
    assert main(trial(home, "write_note", "--arg", "path=a")) == 2
    assert "write_note has no input path; its inputs are: name, text" in capsys.readouterr().err
    assert main(["preview", "write_note", "--mcp", "other"]) == 5
    assert "the MCP server other is not set up" in capsys.readouterr().err
    (home / "mcp" / "notes.toml").write_text(POLICY.replace("render", "rendr"))
    assert main(trial(home, "write_note")) == 1
    assert 'has errors\n  line 7: "tools.write_note.preview.rendr" is not a known key' in capsys.readouterr().err


def test_a_server_that_ends_is_reported_with_its_last_words(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(trial(home, "write_note", fault="crash")) == 1
    shown = capsys.readouterr()
    assert "exited with code 3\n  it says: the disk is" in shown.err
    assert "\x1b" not in shown.err
    assert shown.out == ""


def test_an_interrupt_ends_the_server_too(home: Path) -> None:
    words = [sys.executable, "-m", "aileron_tui", *trial(home, "write_note", fault="hang")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 30
        while not (home / "notes" / "received").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_it_is_the_prompt_that_the_proxy_asks_for(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    set_up(home, tuple(listed(home).values()))
    args: JsonObject = {"name": "a", "text": "new\ntext"}
    proxy = [sys.executable, "-m", "aileron_tui", "mcp-proxy", "--name", "notes", "--data", str(home / "data")]
    with fake_gate(home, "mcp-notes") as gate, Conversation(proxy) as talk:
        gate.answer = deny("no")
        talk.request(0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={})
        talk.message()
        talk.request(1, "tools/call", name="write_note", arguments=args)
        assert "denied" in talk.text()
        (asked,) = gate.bodies("/v1/permissions")
    call = ToolCall(asked["tool"], asked["input"], asked["server"], definition=asked["definition"])
    shown = with_claims(tool_prompt(call, {}), read_claims(asked, "mcp-notes", asked["door"], call.kind))
    assert main(["preview", "--mcp", "notes", "write_note", "--args", json.dumps(args), "--json"]) == 0
    printed = read_prompt(json.loads(capsys.readouterr().out)["prompt"])
    assert (printed.action, printed.args, printed.connector) == (call.tool, call.args, call.connector)
    assert (printed.question, printed.inputs, printed.risk, printed.warnings, printed.preview) == (
        shown.question,
        shown.rows,
        shown.risk,
        shown.warnings,
        shown.preview,
    )
    assert printed.preview
    assert printed.preview.rows
