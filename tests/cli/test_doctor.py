"""`aileron-tui doctor` as its user meets it: against real servers on loopback, real files and a real terminal."""

import json
import os
import pty
import re
import socket
import struct
import subprocess
import sys
import termios
import threading
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fcntl import ioctl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from aileron_tui.cli import main
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.visible_text import cells
from aileron_tui.files.extras import install_command
from aileron_tui.files.private_files import write_private
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.open_store import open_ledger
from aileron_tui.signing import key_store
from aileron_tui.signing.approvers import Approvers
from aileron_tui.surface.key_enrolment import changing_keys, enroll_signed
from aileron_tui.surface.security_key_registration import read_registration
from tests.daemon.process import FakeDaemon
from tests.project.test_layers import loaded_by
from tests.runtime.opencode.fake_server import FakeOpencode
from tests.software_authenticator import SoftwareAuthenticator

TOKEN = "5e" * 32
HOSTILE = "1.0\x1b[2J\u202e⏎\nok"
VARIABLES = ("AILERON_API_URL", "AILERON_TOKEN", "TMUX", "STY", "ZELLIJ", "NO_COLOR")


@dataclass
class Runtime:
    """Somebody on loopback who answers as a daemon does, or as told."""

    answers: dict[str, tuple[int, object]] = field(default_factory=dict)
    token: str = TOKEN
    asked: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""

    def answer(self, path: str, authorization: str) -> tuple[int, object]:
        path = path.partition("?")[0]
        self.asked.append((path, authorization))
        if path in self.answers:
            return self.answers[path]
        if path == "/v1/health":
            now = datetime.now(UTC).isoformat()
            return 200, {"status": "ok", "service": "aileron", "version": "0.4.0", "timestamp": now}
        if self.token and authorization != f"Bearer {self.token}":
            return 401, {"error": {"code": "unauthorized", "message": f"bad token {authorization}"}}
        usual: dict[str, object] = {
            "/v1/action-approvals": {"items": [{"id": "act-1"}, {"id": "act-2"}]},
            "/v1/vault/status": {"locked": False, "state": "unlocked"},
            "/v1/sessions": {"items": []},
        }
        return (200, usual[path]) if path in usual else (404, "<html>")


@contextmanager
def serving(runtime: Runtime) -> Iterator[Runtime]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, document = runtime.answer(self.path, self.headers.get("Authorization", ""))
            body = document.encode() if isinstance(document, str) else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html" if isinstance(document, str) else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name is the parent's
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    runtime.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield runtime
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def daemon() -> Iterator[Runtime]:
    with serving(Runtime()) as runtime:
        yield runtime


@pytest.fixture
def nobody() -> Iterator[str]:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home where nothing is set up."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AILERON_TUI_HOME", str(tmp_path / "ours"))
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "ours").mkdir(mode=0o700)
    return tmp_path


class Outcome(NamedTuple):
    code: int
    checks: dict[str, dict[str, str]]
    text: str

    def status(self, id_: str) -> str:
        return self.checks[id_]["status"]

    def words(self, id_: str) -> str:
        check = self.checks[id_]
        return " ".join((check["words"], check["detail"], check["fix"]))


Doctor = Callable[[], Outcome]


@pytest.fixture
def doctor(home: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> Doctor:
    """Runs it both ways; what it prints is fit for a terminal, and holds no token."""

    def run() -> Outcome:
        code = main(["doctor", "--json"])
        out, err = capsysbinary.readouterr()
        assert err == b""
        assert main(["doctor"]) == code
        text, err = capsysbinary.readouterr()
        assert err == b""
        for told in (out, text):
            assert TOKEN.encode() not in told
            assert b"Traceback" not in told
        odd = {letter for letter in text.decode() if unicodedata.category(letter)[0] == "C" and letter != "\n"}
        assert not odd
        document = json.loads(out)
        assert set(document) == {"checks", "failed", "warnings"}
        for check in document["checks"]:
            assert list(check) == ["id", "status", "words", "detail", "fix"]
            assert check["status"] in {"ok", "warn", "fail"}
            assert check["fix"] or check["status"] == "ok", "what is not well has something to do about it"
        checks = {check["id"]: check for check in document["checks"]}
        assert len(checks) == len(document["checks"])
        statuses = [check["status"] for check in document["checks"]]
        assert (document["failed"], document["warnings"]) == (statuses.count("fail"), statuses.count("warn"))
        assert code == (1 if document["failed"] else 0)
        return Outcome(code, checks, text.decode())

    return run


def configure(home: Path, text: str) -> None:
    (home / "ours" / "config.toml").write_text(text)


def runs_here(home: Path, url: str, **changed: object) -> Path:
    file = home / ".aileron" / "daemon.json"
    write_private(file, json.dumps({"url": url, "pid": os.getpid(), "token": TOKEN} | changed).encode(), replace=True)
    return file


def gate_file(home: Path, url: str) -> None:
    fields = {"url": url, "instance": "gate-1", "agent_token_file": "/nowhere"}
    write_private(home / "ours" / "data" / "gate.json", json.dumps(fields).encode())


# This machine.


def test_nothing_is_set_up_and_nothing_is_made(home: Path, doctor: Doctor) -> None:
    done = doctor()
    assert done.code == 0
    assert {id_ for id_, check in done.checks.items() if check["status"] == "warn"} == {"terminal", "keys"}
    assert "key init" in done.words("keys")
    assert "AILERON_API_URL: not set" in done.words("daemon")
    assert done.text.endswith("nothing failed, 2 warnings\n")
    assert list(home.iterdir()) == [home / "ours"]
    assert not list((home / "ours").iterdir())


def test_a_bad_configuration_is_one_failing_check(home: Path, doctor: Doctor) -> None:
    configure(home, "[policy]\nkeep_preview = true\n")
    done = doctor()
    assert (done.code, done.status("config")) == (1, "fail")
    assert 'Did you mean "keep_previews"?' in done.words("config")
    assert done.status("ledger") == "ok"
    assert done.text.endswith("1 failed, 2 warnings\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[console]\ntheme = "aileron-drak"', "unknown theme"),
        ('[console]\nkeys = { aprove = "x" }', "aprove"),
        ('[console]\ntheme = "\\u001b[2J"', "unknown theme"),
    ],
)
def test_what_the_console_would_refuse(home: Path, doctor: Doctor, text: str, words: str) -> None:
    configure(home, text)
    assert words in doctor().words("config")


def test_a_configuration_that_others_can_change(home: Path, doctor: Doctor) -> None:
    configure(home, "")
    assert doctor().status("config") == "ok"
    (home / "ours" / "config.toml").chmod(0o666)
    done = doctor()
    assert done.status("config") == "warn"
    assert "chmod 600" in done.words("config")


def test_folders_that_are_open(home: Path, doctor: Doctor) -> None:
    for name in ("data", "keys", "cache"):
        (home / "ours" / name).mkdir(mode=0o700)
    (home / ".aileron").mkdir(mode=0o700)
    done = doctor()
    assert [done.status(f"folder.{name}") for name in ("data", "keys", "cache", "aileron")] == ["ok"] * 4
    (home / "ours" / "data").chmod(0o755)
    (home / ".aileron").chmod(0o755)
    done = doctor()
    assert (done.status("folder.data"), done.status("folder.aileron")) == ("fail", "warn")
    assert f"chmod 700 {home / 'ours' / 'data'}" in done.words("folder.data")


def test_keys(home: Path, doctor: Doctor) -> None:
    key_store.create(home / "ours" / "keys", "mine", bytearray(b"correct horse"))
    done = doctor()
    assert done.status("keys") == "ok"
    assert "mine (passphrase)" in done.words("keys")
    key_store.create(home / "ours" / "keys", "bare", None)
    done = doctor()
    assert done.status("keys") == "warn"
    assert "key passphrase bare" in done.words("keys")
    (home / "ours" / "keys" / "bare.pem").chmod(0o644)
    assert doctor().status("keys") == "fail"


@pytest.mark.parametrize(("variable", "name"), [("TMUX", "tmux"), ("STY", "screen"), ("ZELLIJ", "zellij")])
def test_a_terminal_that_others_can_type_into(
    home: Path, doctor: Doctor, monkeypatch: pytest.MonkeyPatch, variable: str, name: str
) -> None:
    assert "multiplexer" not in doctor().checks
    monkeypatch.setenv(variable, "x")
    done = doctor()
    assert done.status("multiplexer") == "warn"
    assert name in done.words("multiplexer")
    configure(home, '[policy]\nhigh_risk = "passphrase"')
    assert doctor().status("multiplexer") == "ok"


def test_publishers(home: Path, doctor: Doctor) -> None:
    (home / "ours" / "keyring.json").write_text("[")
    assert doctor().status("publishers") == "fail"


# Ledgers.


def recorded(path: Path, count: int = 3) -> None:
    with open_ledger(path, role="test") as ledger:
        for number in range(count):
            made = key_store.for_this_run(f"k{number}")
            ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment(made.name, made.public))


def test_a_ledger_that_is_well(home: Path, doctor: Doctor) -> None:
    recorded(home / "ours" / "data" / FILE)
    recorded(home / "ours" / "data" / "daemons" / "work" / FILE, 1)
    done = doctor()
    assert done.status("ledger") == "ok"
    assert "3 entries" in done.words("ledger")
    assert "history verify" in done.words("ledger")
    assert "1 entries" in done.words("ledger.work") or "1 entry" in done.words("ledger.work")


def test_a_ledger_that_was_cut_or_changed(home: Path, doctor: Doctor) -> None:
    path = home / "ours" / "data" / FILE
    recorded(path)
    statements = {
        "UPDATE entries SET data = CAST(replace(CAST(data AS TEXT), 'k2', 'k9') AS BLOB) WHERE seq = 3": "changed",
        "DELETE FROM entries WHERE seq = 3": "missing",
    }
    for statement, words in statements.items():
        alter(path, statement)
        done = doctor()
        assert (done.code, done.status("ledger")) == (1, "fail")
        assert words in done.words("ledger")


def alter(path: Path, statement: str) -> None:
    """Changes entries as somebody would who wants to."""
    import sqlite3  # noqa: PLC0415  # only to do harm

    db = sqlite3.connect(path)
    for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        db.execute(f'DROP TRIGGER "{name}"')
    changed = db.execute(statement).rowcount
    db.commit()
    db.close()
    assert changed == 1


def test_a_ledger_that_is_no_database(home: Path, doctor: Doctor) -> None:
    write_private(home / "ours" / "data" / FILE, b"x" * 100)
    assert doctor().status("ledger") == "fail"


# The daemon.


def test_a_daemon_that_is_well(home: Path, doctor: Doctor, daemon: Runtime) -> None:
    file = runs_here(home, daemon.url)
    done = doctor()
    assert done.code == 0
    parts = ("daemon", "daemon.health", "daemon.clock", "daemon.auth", "daemon.waiting", "daemon.vault")
    assert [done.status(part) for part in (*parts, "daemon.sessions")] == ["ok"] * 7
    assert "2 waiting" in done.words("daemon.waiting")
    assert "0.4.0" in done.words("daemon.health")
    assert f"token in {file}: used" in done.words("daemon")
    assert all(authorization == "" for path, authorization in daemon.asked if path == "/v1/health")


def test_a_whole_daemon(home: Path, doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeDaemon(home, vault="locked") as runtime:
        runtime.register("shell")
        done = doctor()
        assert done.code == 0
        assert "1 waiting" in done.words("daemon.waiting")
        assert (done.status("daemon.vault"), done.status("daemon.sessions")) == ("warn", "ok")
        assert done.status("daemon.clock") == "ok"
        assert runtime.token not in done.text
        monkeypatch.setenv("AILERON_TOKEN", runtime.caveat("01J0ABCDEFGHJKMNPQRSTVWXYZ", ("actions:run",)))
        assert "an agent's" in doctor().words("daemon.auth")
        monkeypatch.setenv("AILERON_TOKEN", TOKEN)
        assert "the token is not accepted" in doctor().words("daemon.auth")
        monkeypatch.delenv("AILERON_TOKEN")
        runtime.kill()
        assert doctor().status("daemon") == "warn"


def test_a_daemon_that_needs_no_token(home: Path, doctor: Doctor, daemon: Runtime) -> None:
    daemon.token = ""
    runs_here(home, daemon.url, token=None)
    done = doctor()
    assert done.code == 0
    assert "needs no token" in done.words("daemon.auth")


def test_a_token_that_is_not_known(
    home: Path, doctor: Doctor, daemon: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.token = "c0" * 32
    runs_here(home, daemon.url)
    done = doctor()
    assert done.status("daemon.auth") == "fail"
    assert "daemon.json" in done.words("daemon.auth")
    monkeypatch.setenv("AILERON_TOKEN", TOKEN)
    assert "AILERON_TOKEN" in doctor().words("daemon.auth")
    assert "daemon.vault" not in done.checks


def test_a_token_that_is_missing_or_an_agents(home: Path, doctor: Doctor, daemon: Runtime) -> None:
    runs_here(home, daemon.url, token=None)
    assert "--token-file" in doctor().words("daemon.auth")
    daemon.answers["/v1/action-approvals"] = 403, {"error": {"code": "forbidden", "message": "no"}}
    runs_here(home, daemon.url)
    assert "an agent's" in doctor().words("daemon.auth")


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        (("/v1/health", (200, "<html>")), ("daemon.health", "fail", "that is not JSON")),
        (("/v1/health", (500, {"error": {"message": f"x {TOKEN}"}})), ("daemon.health", "fail", "refused")),
        (("/v1/health", (200, {"instance": "gate-1"})), ("daemon.health", "ok", "is a gate")),
        (("/v1/health", (200, {"version": HOSTILE})), ("daemon.health", "ok", "1.0")),
        (("/v1/health", (200, {})), ("daemon.health", "ok", "healthy")),
        (("/v1/action-approvals", (200, "<html>")), ("daemon.auth", "fail", "not JSON")),
        (("/v1/action-approvals", (200, {"items": 1})), ("daemon.auth", "fail", "not a list")),
        (("/v1/action-approvals", (500, {"error": {"message": f"x {TOKEN}"}})), ("daemon.auth", "fail", "⟨token⟩")),
        (("/v1/vault/status", (200, {"locked": True, "state": "locked"})), ("daemon.vault", "warn", "Press U")),
        (("/v1/vault/status", (200, {"locked": True, "state": "missing"})), ("daemon.vault", "warn", "missing")),
        (("/v1/vault/status", (200, {"locked": True})), ("daemon.vault", "warn", "locked")),
        (("/v1/vault/status", (200, {"state": TOKEN})), ("daemon.vault", "ok", "⟨token⟩")),
        (("/v1/vault/status", (404, "<html>")), ("daemon.vault", "ok", "not reported")),
        (("/v1/sessions", (503, {"error": {"code": "sessions_disabled"}})), ("daemon.sessions", "warn", "503")),
        (("/v1/sessions", (200, "<html>")), ("daemon.sessions", "warn", "without agent")),
    ],
)
def test_what_may_be_odd_about_a_daemon(
    home: Path, doctor: Doctor, daemon: Runtime, odd: tuple[str, tuple[int, object]], told: tuple[str, str, str]
) -> None:
    daemon.answers |= [odd]
    check, status, words = told
    runs_here(home, daemon.url)
    done = doctor()
    assert done.status(check) == status
    assert words in done.words(check)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell who listens")
def test_another_user_on_the_port_is_named_and_told_nothing(
    home: Path, doctor: Doctor, daemon: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_here(home, daemon.url)
    assert doctor().status("daemon.listener") == "ok"
    daemon.asked.clear()
    monkeypatch.setattr("aileron_tui.runtime.port_owner.trusted_users", lambda: frozenset({4_000_000}))
    monkeypatch.setattr("aileron_tui.cli.connection_checks.trusted_users", lambda: frozenset({4_000_000}))
    done = doctor()
    assert done.status("daemon.listener") == "fail"
    assert "not you or the system" in done.words("daemon.listener")
    assert daemon.asked == []


def test_a_clock_that_is_wrong(home: Path, doctor: Doctor, daemon: Runtime) -> None:
    runs_here(home, daemon.url)
    late = datetime.now(UTC) - timedelta(hours=2)
    daemon.answers["/v1/health"] = 200, {"status": "ok", "timestamp": late.isoformat() + "junk"}
    assert "daemon.clock" not in doctor().checks
    daemon.answers["/v1/health"] = 200, {"status": "ok", "timestamp": late.strftime("%Y-%m-%dT%H:%M:%S.123456789Z")}
    done = doctor()
    assert done.status("daemon.clock") == "warn"
    assert re.search(r"differs from ours by 7,[12]\d\d s", done.words("daemon.clock"))


def test_what_a_dead_daemon_left(home: Path, doctor: Doctor, nobody: str) -> None:
    runs_here(home, nobody, version=HOSTILE)
    done = doctor()
    assert (done.code, done.status("daemon")) == (0, "warn")
    assert "aileron daemon start" in done.words("daemon")


def test_a_daemon_that_was_named_and_is_not_there(
    home: Path, doctor: Doctor, nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AILERON_API_URL", nobody)
    done = doctor()
    assert (done.code, done.status("daemon")) == (1, "fail")
    assert "unset AILERON_API_URL" in done.words("daemon")


def test_a_file_that_others_can_read(home: Path, doctor: Doctor, daemon: Runtime) -> None:
    runs_here(home, daemon.url).chmod(0o644)
    done = doctor()
    assert done.status("daemon") == "fail"
    assert "chmod 600" in done.words("daemon")
    assert not daemon.asked


# The gate, and the sources of the configuration.


def test_a_gate_and_who_may_approve_on_it(home: Path, doctor: Doctor) -> None:
    health = {"status": "ok", "service": "aileron", "instance": "gate-1"}
    with serving(Runtime({"/v1/health": (200, health)})) as runtime:
        gate_file(home, runtime.url)
        done = doctor()
        assert (done.status("gate"), done.status("gate.keys")) == ("ok", "warn")
        assert "gate-1" in done.words("gate")
        made = key_store.create(home / "ours" / "keys", "mine", None)
        assert "key enroll" in doctor().words("gate.keys")
        with open_ledger(home / "ours" / "data" / FILE, role="test") as ledger:
            ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment("mine", made.public))
        done = doctor()
        assert done.status("gate.keys") == "ok"
        assert "mine may approve" in done.words("gate.keys")


def test_what_a_dead_gate_left(home: Path, doctor: Doctor, nobody: str) -> None:
    gate_file(home, nobody)
    done = doctor()
    assert (done.code, done.status("gate")) == (0, "warn")


def test_each_source_is_looked_at(home: Path, doctor: Doctor, daemon: Runtime, nobody: str) -> None:
    write_private(home / "secret" / "token", TOKEN.encode())
    configure(
        home,
        f"""
[[sources]]
name = "work"
kind = "daemon"
url = "{daemon.url}"
token_file = "~/secret/token"

[[sources]]
name = "here"
kind = "daemon"

[[sources]]
name = "far"
kind = "gate"
url = "{nobody}"

[[sources]]
name = "mistaken"
kind = "gate"
url = "{daemon.url}/"
""",
    )
    done = doctor()
    assert done.code == 1
    assert (done.status("source.work"), done.status("source.work.auth")) == ("ok", "ok")
    assert done.status("source.here") == "fail", "what was configured must be there"
    assert done.status("source.far") == "fail"
    assert done.status("gate") == "ok"
    assert "daemon" not in done.checks


def test_opencode_with_and_without_a_password(
    home: Path, doctor: Doctor, nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PW", TOKEN)
    with FakeOpencode() as unprotected, FakeOpencode(TOKEN) as protected:
        sources = {"plain": unprotected.url, "safe": protected.url, "wrong": protected.url + "/", "gone": nobody}
        unprotected.broken_list = True
        for name, url in sources.items():
            password = 'password_env = "PW"' if name == "safe" else ""
            configure(home, f'[[sources]]\nname = "{name}"\nkind = "opencode"\nurl = "{url}"\n{password}')
            done = doctor()
            match name:
                case "plain":
                    assert done.code == 0
                    assert done.status("source.plain.password") == done.status("source.plain.waiting") == "warn"
                    assert "can answer its requests" in done.words("source.plain.password")
                case "safe":
                    assert done.status("source.safe") == done.status("source.safe.password") == "ok"
                    assert done.status("source.safe.permission") == "ok"
                case "wrong":
                    assert "a password is needed" in done.words("source.wrong")
                case "gone":
                    assert done.status("source.gone") == "fail"


def test_a_gate_that_is_configured_as_a_daemon(home: Path, doctor: Doctor) -> None:
    with serving(Runtime({"/v1/health": (200, {"instance": "gate-1"})})) as runtime:
        configure(home, f'[[sources]]\nname = "a"\nkind = "daemon"\nurl = "{runtime.url}"')
        done = doctor()
    assert done.status("source.a.health") == "fail"
    assert 'kind = "gate"' in done.words("source.a.health")


def test_the_gate_of_this_home_is_looked_at_once(home: Path, doctor: Doctor) -> None:
    configure(home, '[[sources]]\nname = "a"\nkind = "gate"')
    done = doctor()
    assert done.status("source.a") == "fail"
    assert "gate" not in done.checks


# On a terminal.


def on_terminal(home: Path, columns: int, lines: int = 30, **variables: str) -> str:
    """What a terminal of this size is sent."""
    leader, follower = pty.openpty()
    ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES} | variables
    environment |= {"PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "aileron_tui", "doctor"]
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(leader)
    process.wait()
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("width", [40, 59, 60, 80])
def test_no_line_is_wider_than_the_terminal(home: Path, daemon: Runtime, width: int) -> None:
    runs_here(home, daemon.url, version="日本" * 30)
    shown = on_terminal(home, width, NO_COLOR="1")
    assert "\x1b" not in shown
    assert f"{width}×30" in shown
    assert "daemon auth" in shown
    assert max(map(cells, shown.split("\n"))) <= width


def test_words_are_not_torn(home: Path) -> None:
    shown = on_terminal(home, 40, NO_COLOR="1")
    assert "  → Create one with `aileron-tui key\n    init`.\n" in shown
    assert {"NO_COLOR", "colours", "console"} <= set(re.split(r"\s+|[:;,()]", shown))


def test_colours_and_a_terminal_that_is_too_small(home: Path) -> None:
    shown = on_terminal(home, 38, 10, TERM="xterm-256color")
    assert "\x1b[33m! terminal" in shown
    assert "256 colours" in shown
    assert "at least 40×15" in shown
    assert "type is unknown" in on_terminal(home, 80, TERM="dumb").replace("\n" + " " * 16, " ")


def test_help_loads_nothing_heavy() -> None:
    code = "from aileron_tui.cli import main\ntry:\n    main(['doctor', '--help'])\nexcept SystemExit:\n    pass"
    assert not loaded_by(code) & {"textual", "httpx", "wasmtime", "cryptography", "sqlite3", "platformdirs"}


def test_high_risk_that_needs_a_security_key_and_has_none(
    home: Path, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "keys.security" not in doctor().checks
    configure(home, '[policy]\nhigh_risk = "key"')
    done = doctor()
    assert done.status("keys.security") == "fail"
    assert "nothing at high risk can be approved" in done.words("keys.security")
    assert "key security-key add" in done.words("keys.security")
    data = home / "ours" / "data"
    with key_store.for_this_run() as key:
        with changing_keys(data) as (ledger, approvers):
            ledger.append(EntryKind.KEY_ENROLLED, approvers.enrolment("default", key.public))
        made = SoftwareAuthenticator().registration(b"")
        public = read_registration(made.authenticator_data).public
        enroll_signed(data, "blue", public, key, added_on="usb")
    done = doctor()
    assert (done.status("keys.security"), "blue may approve here" in done.words("keys.security")) == ("ok", True)
    monkeypatch.setattr("aileron_tui.cli.security_key_checks.find_spec", lambda _: None)
    done = doctor()
    assert done.status("keys.security") == "fail"
    assert install_command("page") in done.words("keys.security")


def test_metrics_that_cannot_be_served_are_a_warning(
    home: Path, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "metrics" not in doctor().checks
    configure(home, "[metrics]\nenabled = true")
    assert doctor().status("metrics") == "ok"
    monkeypatch.setattr("aileron_tui.cli.metrics_checks.find_spec", lambda _: None)
    done = doctor()
    assert done.status("metrics") == "warn"
    assert install_command("metrics") in done.words("metrics")
