"""What an agent, a preview, another source or another user of the machine may try."""

import socket
import sys
import threading
from pathlib import Path

import pytest

from aileron_tui.cli import agent_calls
from aileron_tui.cli.request_lookup import NoSuchRequest, find_waiting
from aileron_tui.cli.request_text import answer_commands
from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import Json
from aileron_tui.runtime import port_owner
from aileron_tui.runtime.daemon.daemon_discovery import Daemon
from aileron_tui.runtime.daemon.daemon_source import DaemonSource
from aileron_tui.runtime.errors import NoGate, PromptChanged
from aileron_tui.runtime.gate_discovery import FoundGate
from aileron_tui.runtime.http_connection import HttpConnection
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.surface.source import Connect
from aileron_tui.surface.source_connection import OpenSources
from tests.daemon.process import FakeDaemon
from tests.runtime.daemon.consoles import Console

DRAFT: dict[str, Json] = {"service": "slack", "channel": "#team", "draft_body": "ok"}


@pytest.mark.parametrize("edits", [None, {"draft_body": "my text"}])
def test_a_request_that_was_replaced_under_its_id_is_not_approved(
    daemon: FakeDaemon, folder: Path, edits: dict[str, Json] | None
) -> None:
    id_ = daemon.register("comms_draft", args=DRAFT)
    with Console(daemon, folder) as console:
        shown = console.item(id_)
        shown = console.source.refresh(id_, edits) if edits else shown
        daemon.register("comms_draft", id=id_, args=DRAFT | {"channel": "#public"})
        console.until(lambda: console.item(id_).prompt.args["channel"] == "#public")
        with pytest.raises(PromptChanged):
            console.source.decide(shown, Verdict.APPROVE, edits=edits)
        assert daemon.decisions(id_) == []
        assert console.source.decide(shown, Verdict.DENY)


def test_a_request_that_was_replaced_by_one_python_takes_for_the_same_is_seen(daemon: FakeDaemon, folder: Path) -> None:
    at = "2026-05-12T10:15:30Z"
    id_ = daemon.register("action", action_name="move-files", args={"force": 1}, requested_at=at)
    with Console(daemon, folder) as console:
        shown = console.item(id_)
        daemon.register("action", id=id_, action_name="move-files", args={"force": True}, requested_at=at)
        console.until(lambda: console.item(id_).prompt.args["force"] is True)
        with pytest.raises(PromptChanged):
            console.source.decide(shown, Verdict.APPROVE)
        assert daemon.decisions(id_) == []


def test_a_request_that_was_replaced_under_its_id_is_seen_by_its_event(daemon: FakeDaemon, folder: Path) -> None:
    id_ = daemon.register("comms_draft", args=DRAFT)
    with Console(daemon, folder, list_every=1000.0) as console:
        daemon.wait_for_watchers()
        daemon.register("comms_draft", id=id_, args=DRAFT | {"channel": "#public"})
        console.until(lambda: console.item(id_).prompt.args["channel"] == "#public")


def test_what_one_daemon_asked_is_not_approved_at_the_next(tmp_path: Path, folder: Path) -> None:
    with FakeDaemon(tmp_path / "home") as daemon, Console(daemon, folder, again=False) as console:
        id_ = daemon.register("comms_draft", args=DRAFT)
        console.until_waiting(id_)
        shown = console.item(id_)
        daemon.restart()
        daemon.register("comms_draft", id=id_, args=DRAFT | {"channel": "#public"})
        with console.connect() as fresh:  # before its first list
            with pytest.raises(PromptChanged):
                fresh.decide(shown, Verdict.APPROVE)
            assert daemon.decisions(id_) == []
            assert fresh.decide(shown, Verdict.DENY)


def test_one_request_that_cannot_be_read_hides_no_other(daemon: FakeDaemon, folder: Path) -> None:
    deep: Json = "x"
    for _ in range(90):
        deep = [deep]
    good = daemon.register()
    with Console(daemon, folder) as console:
        bad = daemon.register(args={"draft_id": deep})
        other = daemon.register()
        console.until(lambda: [item.id for item in console.source.waiting()] == [good, bad, other])
        assert [bool(item.deny_only) for item in console.source.waiting()] == [False, True, False]


def test_blanks_in_a_preview_s_failure_cost_no_time(daemon: FakeDaemon, folder: Path) -> None:
    said = "preview unavailable: external_api_error: it" + " " * 400_000 + "failed (boundary=sandbox)"
    id_ = daemon.register(preview={"unavailable": said})
    with Console(daemon, folder) as console:
        preview = console.item(id_).prompt.preview
        assert preview is not None
        assert "boundary" not in preview.unavailable


def test_an_id_that_two_sources_have_names_neither(tmp_path: Path) -> None:
    with FakeDaemon(tmp_path / "a") as good, FakeDaemon(tmp_path / "b") as evil, for_this_run("alice") as key:
        id_ = good.register()
        evil.register(id=id_, requested_at="2020-01-01T00:00:00Z")
        evil.register(id=id_[-8:])

        def reach(daemon: FakeDaemon, name: str) -> Connect:
            def connect(key: UnlockedKey) -> DaemonSource:
                return DaemonSource(Daemon(daemon.url, daemon.token), key, tmp_path / name, name=name)

            return connect

        sources = OpenSources({"good": reach(good, "good"), "evil": reach(evil, "evil")}, key, print)
        for text in (id_, id_[-8:]):
            with pytest.raises(NoSuchRequest, match=r"matches \d requests"):
                find_waiting(sources, text)
        odd = find_waiting(sources, evil.register(id="x;reboot;"))
        assert all("'x;reboot;'" in line for line in answer_commands(odd))
        sources.close()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell who listens")
@pytest.mark.parametrize("token", ["secret", ""])
def test_another_user_on_the_port_is_told_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setattr(port_owner, "trusted_users", lambda: frozenset({4_000_000}))
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            connection, _ = server.accept()
            with connection:
                heard.append(connection.recv(4096))

        thread = threading.Thread(target=listen)
        thread.start()
        rogue = Daemon(f"http://127.0.0.1:{server.getsockname()[1]}", token)
        with DaemonSource(rogue, for_this_run("alice"), folder) as source, pytest.raises(NoGate):
            source.waiting()
        thread.join()
    assert heard == [b""]


def test_a_localhost_that_is_another_machine_is_told_nothing() -> None:
    class Elsewhere:
        closed = False

        def getpeername(self) -> tuple[str, int]:
            return "192.0.2.7", 80

        def get_extra_info(self, _: str) -> "Elsewhere":
            return self

        def close(self) -> None:
            self.closed = True

    connection = Elsewhere()
    wire = HttpConnection("http://localhost:8722")
    with pytest.raises(NoGate, match="refused to connect"):
        wire._on_trace("connection.connect_tcp.complete", {"return_value": connection})
    assert connection.closed
    wire.close()


@pytest.mark.parametrize(
    ("meant_for", "told"),
    [("", "master"), ("http://127.0.0.1:9999/v1", "master"), ("http://127.0.0.1:54321", ""), ("nonsense", "")],
)
def test_an_environment_token_token_goes_to_no_gate_that_it_is_not_for(
    monkeypatch: pytest.MonkeyPatch, meant_for: str, told: str
) -> None:
    monkeypatch.setenv("AILERON_TOKEN", "master")
    monkeypatch.setenv("AILERON_API_URL", meant_for)
    assert agent_calls._environment_token(FoundGate("http://127.0.0.1:9999")) == told
    assert agent_calls._environment_token(FoundGate("http://127.0.0.1:9999", token_file=Path("x"))) == ""
