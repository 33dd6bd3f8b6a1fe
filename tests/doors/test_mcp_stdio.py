"""The conversation of the MCP server with clients that send anything: every line gets an answer or is ignored."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from aileron_tui import cli
from aileron_tui.doors.action_calls import GateAccess
from aileron_tui.doors.mcp_stdio import LARGEST_LINE, MOST_REQUESTS
from aileron_tui.files.extras import install_command
from tests.doors.fake_gate import fake_gate
from tests.doors.mcp_client import META, RawClient, conversation
from tests.gate.conftest import run_async

INVALID_REQUEST, PARSE_ERROR, INVALID_PARAMS, NO_METHOD = -32600, -32700, -32602, -32601


def talk(tmp_path: Path, work: Callable[[RawClient], Awaitable[None]], **options: Any) -> None:
    """A conversation with a server that has no gate."""

    async def main() -> None:
        async with conversation(GateAccess("mcp", tmp_path / "data"), **options) as client:
            await work(client)

    run_async(main())


@pytest.mark.parametrize(
    ("line", "code", "id_"),
    [
        (b"garbage", PARSE_ERROR, None),
        (b"\xff\xfe{}", PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"', PARSE_ERROR, None),
        (b"[" * 100_000, PARSE_ERROR, None),
        (b'{"a":' * 500 + b"1" + b"}" * 500, PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', PARSE_ERROR, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', INVALID_REQUEST, None),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', INVALID_REQUEST, 7),
        (b'{"jsonrpc":"2.0","id":"x","method":5}', INVALID_REQUEST, "x"),
        (b'{"jsonrpc":"2.0","id":true,"method":5}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"tools/list"}', INVALID_REQUEST, None),
        (b"5", INVALID_REQUEST, None),
        (b"x" * (LARGEST_LINE + 1), INVALID_REQUEST, None),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_line_that_is_no_message_is_answered(tmp_path: Path, line: bytes, code: int, id_: Any) -> None:
    async def work(client: RawClient) -> None:
        await client.handshake()
        await client.send(line)
        reply = await client.receive()
        assert (reply["error"]["code"], reply["id"]) == (code, id_)
        assert (await client.ask("ping"))["result"] == {}

    talk(tmp_path, work)


def test_blank_lines_and_other_line_ends_are_accepted(tmp_path: Path) -> None:
    async def work(client: RawClient) -> None:
        await client.handshake()
        await client.send(b"\n  \r\n" + b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r')
        assert (await client.receive())["id"] == 1

    talk(tmp_path, work)


@pytest.mark.parametrize(
    ("asked", "given"),
    [("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), ("2026-07-28", "2025-11-25"), ("x", "2025-11-25")],
)
def test_the_revision_is_negotiated(tmp_path: Path, asked: str, given: str) -> None:
    async def work(client: RawClient) -> None:
        result = (await client.handshake(asked))["result"]
        assert result["protocolVersion"] == given
        assert result["serverInfo"]["name"] == "aileron-tui"
        assert "do not ask for confirmation in chat" in result["instructions"]
        assert result["capabilities"] == {"tools": {"listChanged": True}}

    talk(tmp_path, work)


def test_the_revision_without_a_handshake_needs_its_fields(tmp_path: Path) -> None:
    async def work(client: RawClient) -> None:
        found = (await client.ask("server/discover"))["result"]
        assert found["supportedVersions"] == ["2026-07-28"]
        await client.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
        assert (await client.reply(1))["error"]["code"] == INVALID_PARAMS
        assert (await client.ask("resources/list"))["error"]["code"] == NO_METHOD
        assert (await client.ask("tools/list"))["result"]["resultType"] == "complete"

    talk(tmp_path, work, modern=True)


@contextmanager
def holding_gate(home: Path) -> Iterator[threading.Event]:
    """A gate that lists one action, and answers calls of it once the event is set."""
    answering = threading.Event()

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if not body:
            return 200, {"items": [{"name": "send-draft"}]}
        answering.wait()
        return 200, {"status": "denied"}

    with fake_gate(home, "mcp") as gate:
        gate.answer = answer
        try:
            yield answering
        finally:
            answering.set()


def call_message(id_: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": "send-draft", "arguments": {}}}


def test_an_id_in_use_is_refused_and_the_first_request_is_still_answered(tmp_path: Path) -> None:
    async def work(client: RawClient) -> None:
        await client.handshake()
        await client.send(call_message(7))
        await client.send({"jsonrpc": "2.0", "id": "7", "method": "ping"})
        refused = await client.receive()
        assert (refused["id"], refused["error"]["code"]) == (None, INVALID_REQUEST)
        answering.set()
        answered = await client.receive()
        assert (answered["id"], answered["result"]["structuredContent"]["status"]) == (7, "denied")
        await client.send({"jsonrpc": "2.0", "id": 7, "method": "ping"})
        assert (await client.receive())["result"] == {}

    with holding_gate(tmp_path) as answering:
        talk(tmp_path, work)


def test_open_requests_are_limited(tmp_path: Path) -> None:
    async def work(client: RawClient) -> None:
        await client.handshake()
        for number in range(MOST_REQUESTS + 1):
            await client.send(call_message(number))
        refused = await client.receive()
        assert (refused["id"], refused["error"]["code"]) == (MOST_REQUESTS, INVALID_REQUEST)
        for number in range(MOST_REQUESTS):
            cancelled = {"method": "notifications/cancelled", "params": {"requestId": number}}
            await client.send({"jsonrpc": "2.0", **cancelled})
        assert (await client.ask("ping"))["result"] == {}

    with holding_gate(tmp_path):
        talk(tmp_path, work)


@pytest.mark.slow
def test_a_client_that_does_not_read_cannot_keep_the_command(tmp_path: Path) -> None:
    with start(tmp_path) as process:
        open_conversation(process)
        assert process.stdin
        for _ in range(100):
            process.stdin.write(b"garbage\n" * 20)  # the answers are larger than a pipe
        process.stdin.close()
        assert process.wait(15) == 0


def start(home: Path, *words: str) -> subprocess.Popen[bytes]:
    """The command as a client starts it, with the few variables that clients pass on."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "AILERON_TUI_HOME": str(home)}
    command, pipe = [sys.executable, "-m", "aileron_tui", "mcp", *words], subprocess.PIPE
    return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe)


def open_conversation(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin
    assert process.stdout
    message = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": META}}
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGTERM, 0),
        pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, 0, marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_the_command_while_its_input_is_open(tmp_path: Path, number: signal.Signals, code: int) -> None:
    with start(tmp_path) as process:
        open_conversation(process)
        began = time.monotonic()
        process.send_signal(number)
        assert process.wait(10) == code
        assert time.monotonic() - began < 4
        assert process.stdout
        assert process.stdout.read() == b""


@pytest.mark.slow
def test_what_is_printed_goes_to_standard_error() -> None:
    code = (
        "import os\nfrom aileron_tui.doors.mcp_stdio import take_standard_streams\n"
        "print('before')\nwire = take_standard_streams()\nprint('stray')\nos.system('echo child')\n"
        "os.write(wire.writes, b'message\\n' + os.read(wire.reads, 100))\nassert not os.read(0, 1)"
    )
    done = subprocess.run([sys.executable, "-c", code], input=b"sent", capture_output=True, check=True)
    assert done.stdout == b"before\nmessage\nsent"
    assert sorted(done.stderr.split()) == [b"child", b"stray"]


@pytest.mark.slow
def test_the_end_of_input_ends_the_command(tmp_path: Path) -> None:
    with start(tmp_path) as process:
        open_conversation(process)
        out, error = process.communicate(b"", timeout=10)
    assert (process.returncode, out, error) == (0, b"", b"")


@pytest.mark.parametrize(
    ("words", "said"), [(["--hold", "0"], "from 1 to 86,400"), (["--agent", "../x"], "not a valid name")]
)
def test_wrong_options_are_refused(tmp_path: Path, words: list[str], said: str) -> None:
    with start(tmp_path, *words) as process:
        out, error = process.communicate(timeout=20)
    assert process.returncode in (1, 2)
    assert out == b""
    assert said in error.decode()


def test_without_the_sdk_the_command_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("aileron_tui.cli.commands.mcp.find_spec", lambda _: None)
    assert cli.main(["mcp"]) == 1
    assert install_command("mcp") in capsys.readouterr().err
