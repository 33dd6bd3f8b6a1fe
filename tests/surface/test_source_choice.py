"""What the console opens, for every way to ask for it."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.files.config import Config, SourceConfig
from aileron_tui.files.private_files import write_private
from aileron_tui.runtime.daemon.daemon_discovery import NoDaemon
from aileron_tui.runtime.errors import InvalidReply, NoGate, RuntimeFault
from aileron_tui.surface.source_choice import (
    ConflictingOptions,
    DaemonChoice,
    GateChoice,
    SourceChoice,
    SourceOptions,
    choose_sources,
    source_kind,
)

TOKEN = "5e" * 32
DAEMON = {"status": "ok", "service": "aileron", "version": "0.4.0", "timestamp": "2026-05-12T10:15:30Z"}
GATE = DAEMON | {"instance": "gate-1"}


@contextmanager
def answering(health: object, kind: str = "application/json") -> Iterator[str]:
    """Somebody on loopback who answers everything with this, and refuses whoever sends a token."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(health).encode()
            self.send_response(500 if "authorization" in self.headers else 200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name is the parent's
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def daemon() -> Iterator[str]:
    with answering(DAEMON) as url:
        yield url


@pytest.fixture
def gate() -> Iterator[str]:
    with answering(GATE) as url:
        yield url


@pytest.fixture
def nobody() -> Iterator[str]:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home where nothing runs yet."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AILERON_TUI_HOME", str(tmp_path / "ours"))
    for name in ("AILERON_API_URL", "AILERON_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def only(config: Config | None = None, **given: Any) -> SourceChoice:
    (choice,) = choose_sources(config or Config(), SourceOptions(**given))
    return choice


def daemon_runs(home: Path, url: str, **changed: object) -> None:
    fields = {"url": url, "pid": os.getpid(), "token": TOKEN} | changed
    write_private(home / ".aileron" / "daemon.json", json.dumps(fields).encode())


def gate_runs(home: Path, url: str) -> None:
    fields = {"url": url, "instance": "gate-1", "agent_token_file": "/nowhere"}
    write_private(home / "ours" / "data" / "gate.json", json.dumps(fields).encode())


# Nothing was asked for.


def test_nothing_runs(home: Path) -> None:
    choice = only()
    assert (choice.kind, choice.name, choice.note) == ("embedded", "", "")


def test_a_daemon_runs_and_a_gate_too(home: Path, daemon: str, gate: str) -> None:
    daemon_runs(home, daemon)
    gate_runs(home, gate)
    choice = only()
    assert isinstance(choice, DaemonChoice)
    assert (choice.find().url, choice.find().token) == (daemon, TOKEN)


def test_only_a_gate_runs(home: Path, gate: str) -> None:
    gate_runs(home, gate)
    choice = only()
    assert isinstance(choice, GateChoice)
    assert choice.find().instance == "gate-1"
    assert choice.note == ""


@pytest.mark.parametrize("gate_too", [True, False])
def test_what_a_dead_daemon_left_is_passed_over_and_said(home: Path, nobody: str, gate: str, gate_too: bool) -> None:
    daemon_runs(home, nobody)
    if gate_too:
        gate_runs(home, gate)
    choice = only()
    assert choice.kind == ("gate" if gate_too else "embedded")
    assert "cannot connect to" in choice.note
    assert TOKEN not in choice.note


def test_what_a_dead_gate_left_is_passed_over(home: Path, nobody: str) -> None:
    gate_runs(home, nobody)
    assert only().kind == "embedded"


def test_a_file_that_cannot_be_trusted_is_not_passed_over(home: Path, daemon: str) -> None:
    daemon_runs(home, daemon)
    (home / ".aileron" / "daemon.json").chmod(0o644)
    with pytest.raises(NoDaemon, match="open to others"):
        only()


def test_nobody_where_the_environment_says(home: Path, nobody: str, gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gate_runs(home, gate)
    monkeypatch.setenv("AILERON_API_URL", f"{nobody}/v1")
    with pytest.raises(NoDaemon, match="cannot connect to") as caught:
        only()
    assert "AILERON_API_URL" in caught.value.hint


def test_the_environment(daemon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AILERON_API_URL", f"{daemon}/v1")
    monkeypatch.setenv("AILERON_TOKEN", TOKEN)
    choice = only()
    assert isinstance(choice, DaemonChoice)
    assert (choice.find().url, choice.find().token) == (daemon, TOKEN)


def test_the_environment_may_name_a_gate(gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AILERON_API_URL", gate)
    choice = only()
    assert isinstance(choice, GateChoice)
    assert choice.find().url == gate


def test_a_restart_is_found(home: Path, daemon: str, gate: str) -> None:
    daemon_runs(home, daemon)
    choice = only()
    (home / ".aileron" / "daemon.json").unlink()
    daemon_runs(home, gate, token="c0" * 32)
    assert isinstance(choice, DaemonChoice)
    assert (choice.find().url, choice.find().token) == (gate, "c0" * 32)


# The command line.


@pytest.mark.parametrize("ending", ["", "/", "/v1"])
def test_what_answers_there_says_what_it_is(daemon: str, gate: str, ending: str) -> None:
    at_daemon, at_gate = only(url=daemon + ending), only(url=gate + ending)
    assert isinstance(at_daemon, DaemonChoice)
    assert at_daemon.find().url == daemon
    assert isinstance(at_gate, GateChoice)
    assert at_gate.find().url == gate


def test_the_gate_of_this_home_is_known_better(home: Path, gate: str) -> None:
    gate_runs(home, gate)
    choice = only(url=gate)
    assert isinstance(choice, GateChoice)
    assert choice.find().instance == "gate-1"


def test_an_address_beats_everything_else(home: Path, daemon: str, gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AILERON_API_URL", daemon)
    daemon_runs(home, daemon)
    choice = only(Config(sources=(SourceConfig("here", "daemon"),)), url=gate)
    assert (choice.kind, choice.name) == ("gate", "")


def test_nobody_at_the_address(nobody: str) -> None:
    with pytest.raises(NoGate, match="cannot connect to"):
        only(url=nobody)


@pytest.mark.parametrize("text", ["127.0.0.1:5", "http://x:s3cret@127.0.0.1:5", "http://127.0.0.1:5/v1?t=s3cret"])
def test_no_address(text: str) -> None:
    with pytest.raises(NoGate, match="invalid address") as caught:
        only(url=text)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("health", [{"status": "up"}, {}, ["x"], "<html>"])
def test_somebody_else_answers(health: object) -> None:
    with answering(health) as url, pytest.raises(RuntimeFault):
        source_kind(url)


def test_a_web_page_answers() -> None:
    with answering(DAEMON, "text/html") as url, pytest.raises(InvalidReply):
        source_kind(url)


def test_a_token_for_the_address(home: Path, daemon: str, gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write_private(home / "s" / "token", TOKEN.encode())
    from_file = only(url=daemon, token_file=home / "s" / "token")
    assert isinstance(from_file, DaemonChoice)
    assert from_file.find().token == TOKEN
    with pytest.raises(ConflictingOptions, match="takes no token"):
        only(url=gate, token_file=home / "s" / "token")
    with pytest.raises(NoDaemon, match="cannot be read"):
        only(url=daemon, token_file=home / "none")
    monkeypatch.setenv("AILERON_TOKEN", TOKEN)
    from_variable = only(url=daemon)
    assert isinstance(from_variable, DaemonChoice)
    assert from_variable.find().token == TOKEN
    monkeypatch.setenv("AILERON_API_URL", gate)
    not_for_it = only(url=daemon)
    assert isinstance(not_for_it, DaemonChoice)
    assert not_for_it.find().token == ""


def test_a_token_alone_is_for_the_daemon_here(home: Path, daemon: str) -> None:
    write_private(home / "s" / "token", b"c0" * 32)
    with pytest.raises(NoDaemon):
        only(token_file=home / "s" / "token")
    daemon_runs(home, daemon)
    choice = only(Config(sources=(SourceConfig("g", "gate"),)), token_file=home / "s" / "token")
    assert isinstance(choice, DaemonChoice)
    assert choice.find().token == "c0" * 32


def test_an_embedded_gate(home: Path, daemon: str, gate: str) -> None:
    daemon_runs(home, daemon)
    gate_runs(home, gate)
    assert only(Config(sources=(SourceConfig("here", "daemon"),)), embedded=True).kind == "embedded"
    for more in ({"url": gate}, {"token_file": Path("x")}):
        with pytest.raises(ConflictingOptions, match="together"):
            only(None, embedded=True, **more)


# The configuration.


def test_several_sources_are_opened_whatever_their_state(home: Path, daemon: str, gate: str, nobody: str) -> None:
    daemon_runs(home, daemon)
    gate_runs(home, gate)
    write_private(home / "s" / "token", TOKEN.encode())
    config = Config(
        sources=(
            SourceConfig("here", "daemon"),
            SourceConfig("far", "daemon", nobody, token_file=home / "s" / "token"),
            SourceConfig("ours", "gate"),
            SourceConfig("other", "gate", nobody),
        )
    )
    here, far, ours, other = choose_sources(config)
    assert [choice.name for choice in (here, far, ours, other)] == ["here", "far", "ours", "other"]
    assert isinstance(here, DaemonChoice)
    assert here.find().url == daemon
    assert isinstance(far, DaemonChoice)
    with pytest.raises(NoDaemon, match="cannot connect to"):
        far.find()
    assert isinstance(ours, GateChoice)
    assert ours.find().instance == "gate-1"
    assert isinstance(other, GateChoice)
    assert other.find().url == nobody
