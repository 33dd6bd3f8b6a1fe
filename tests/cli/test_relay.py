"""A hostile gate that passes on the challenge of another, tried for real: two gates and a relay between them and us."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from aileron_tui import cli
from aileron_tui.signing import key_store
from tests.cli.test_gate_commands import Home, command, compiled, gate

__all__ = ["compiled"]

SESSION = "/v1/approver/session"


class Relay(ThreadingHTTPServer):
    """Passes everything on to a target, and keeps the sessions it could use there itself."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.target = target
        self.sessions: list[str] = []
        self.proofs = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def listed(self, token: str) -> int:
        """The status of asking the target for what waits, with a session that was caught."""
        connection = http.client.HTTPConnection(self.target.removeprefix("http://"), timeout=20)
        connection.request("GET", "/v1/action-approvals", headers={"Authorization": f"Bearer {token}"})
        status = connection.getresponse().status
        connection.close()
        return status


class _Passing(BaseHTTPRequestHandler):
    server: Relay

    def log_message(self, *_: object) -> None:
        """Nothing is written."""

    def _pass(self) -> None:
        relay, body = self.server, self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.command == "DELETE":
            self.send_response(204)  # what was caught is kept
            self.end_headers()
            return
        kept = {name: value for name, value in self.headers.items() if name in ("Authorization", "Content-Type")}
        connection = http.client.HTTPConnection(relay.target.removeprefix("http://"), timeout=20)
        connection.request(self.command, self.path, body or None, kept)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if self.path == SESSION:
            relay.proofs += 1
            if answer.status == 200:
                relay.sessions.append(json.loads(content)["token"])
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = _pass  # noqa: N815  # so the server calls them


@contextmanager
def relaying(target: str) -> Iterator[Relay]:
    with Relay(target) as relay:
        thread = threading.Thread(target=relay.serve_forever, daemon=True)
        thread.start()
        try:
            yield relay
        finally:
            relay.shutdown()
            thread.join()


@pytest.fixture
def operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a key and no gate of its own."""
    home = tmp_path / "operator"
    home.mkdir(mode=0o700)
    key_store.create(home / "keys", "default", None)
    monkeypatch.setenv("AILERON_TUI_HOME", str(home))
    monkeypatch.setattr("aileron_tui.cli.source_options.protect_process", lambda: None)
    return home


def enrol(home: Home, operator: Path) -> str:
    done = command(home, "key", "enroll", str(operator / "keys" / "default.pub"), "--name", "operator")
    assert done.returncode == 0, done.stderr
    return str(home.place["url"])


def test_a_gate_cannot_pass_on_what_another_asks_to_be_signed(
    tmp_path: Path, operator: Path, compiled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def listing(url: str) -> tuple[int, str]:
        capsys.readouterr()
        code = cli.main(["list", "--url", url])
        return code, capsys.readouterr().err

    with (
        gate(tmp_path / "good", None, compiled=compiled) as good,
        gate(tmp_path / "bad", None, compiled=compiled) as bad,
    ):
        first, second = enrol(good, operator), enrol(bad, operator)
        assert listing(first)[0] == 0
        with relaying(first) as relay:
            # It says that it is a gate that is known at another address.
            code, said = listing(relay.url)
            assert (code, relay.proofs) == (1, 0)
            assert f"claims to be the gate at {first}" in said
        with relaying(second) as relay:
            # It is an honest gate at first, or so it seems.
            assert listing(relay.url)[0] == 0
            assert [relay.listed(token) for token in relay.sessions] == [200]  # at its own gate; that is its right
            relay.target, relay.proofs = first, 0
            code, said = listing(relay.url)
            assert (code, relay.proofs) == (1, 0)
            assert "has changed" in said
        assert listing(first)[0] == 0


def test_doctor_tells_of_a_gate_that_is_another(
    tmp_path: Path, operator: Path, compiled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def checks(relay: Relay) -> dict[str, Any]:
        text = f'[[sources]]\nname = "team"\nkind = "gate"\nurl = "{relay.url}"\n'
        (operator / "config.toml").write_text(text)
        capsys.readouterr()
        cli.main(["doctor", "--json"])
        return {check["id"]: check for check in json.loads(capsys.readouterr().out)["checks"]}

    with gate(tmp_path / "good", None, compiled=compiled) as good, relaying(good.place["url"]) as relay:
        assert checks(relay)["source.team.identity"]["words"] == "not seen before"
        enrol(good, operator)
        assert cli.main(["list", "--url", relay.url]) == 0
        assert checks(relay)["source.team.identity"]["words"] == "the same as before"
        (operator / "data" / "known-gates.json").write_text(json.dumps({"gates": {relay.url: "sha256:0"}}))
        found = checks(relay)["source.team"]
        assert (found["status"], "has changed" in found["words"]) == ("fail", True)
        (operator / "data" / "known-gates.json").chmod(0o666)
        found = checks(relay)["source.team"]
        assert (found["status"], "open to others" in found["words"]) == ("fail", True)
