"""The fake daemon runs as a real one does: it is found by its file, stopped, killed and started again."""

import hashlib
import http.client
import json
import os
import re
import select
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.daemon.listener import Listener, answer
from tests.daemon.process import PATIENCE, ROOT, FakeDaemon

LIST = "/v1/action-approvals"


def test_daemon_json_is_private_and_true(home: Path) -> None:
    with FakeDaemon(home) as daemon:
        told = json.loads(daemon.file.read_bytes())
        assert set(told) == {"url", "pid", "version", "started_at", "token"}
        assert (told["url"], told["token"], told["pid"]) == (daemon.url, daemon.token, daemon.pid)
        assert re.fullmatch(r"[0-9a-f]{64}", daemon.token)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", told["started_at"])
        assert stat.S_IMODE(daemon.file.stat().st_mode) == 0o600
        assert stat.S_IMODE(daemon.file.parent.stat().st_mode) == 0o700
        daemon.stop()
        assert not daemon.file.exists()


def test_a_restart_has_a_new_port_and_a_new_token(home: Path) -> None:
    with FakeDaemon(home) as daemon:
        before = daemon.url, daemon.token
        daemon.restart()
        assert daemon.url != before[0]
        assert daemon.token != before[1]
        assert json.loads(daemon.file.read_bytes())["token"] == daemon.token
        after = daemon.url, daemon.token
        daemon.restart(same_port=True, same_token=True)
        assert (daemon.url, daemon.token) == after


def test_after_a_kill_the_file_lies(home: Path) -> None:
    with FakeDaemon(home) as daemon:
        address = daemon.address
        daemon.kill()
        assert daemon.file.exists()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address, PATIENCE)


def test_one_home_has_one_daemon(home: Path) -> None:
    with FakeDaemon(home), pytest.raises(AssertionError, match="already running"):
        FakeDaemon(home)


def test_it_ends_with_whoever_started_it(home: Path) -> None:
    program = "import os, sys; from pathlib import Path; from tests.daemon.process import FakeDaemon\n"
    program += "daemon = FakeDaemon(Path(sys.argv[1])); print(daemon.pid, flush=True); os.kill(os.getpid(), 9)"
    starter = subprocess.run([sys.executable, "-c", program, str(home)], cwd=ROOT, capture_output=True, check=False)
    assert starter.returncode == -signal.SIGKILL
    pid = int(starter.stdout)

    def gone() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        # In a container nobody may reap it.
        status = Path(f"/proc/{pid}/stat")
        return status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z"

    FakeDaemon.wait_until(gone)


def test_the_command_line_says_where_it_is(home: Path, tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text(json.dumps([{"kind": "shell"}]))
    command = [sys.executable, "-m", "tests.daemon", "--home", str(home), "--seed", str(seed), "--until-eof"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], PATIENCE)[0]
        said = json.loads(process.stdout.readline())
        assert said["pid"] == process.pid
        host, port = said["url"].removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
        connection.request("GET", LIST, headers={"Authorization": f"Bearer {said['token']}"})
        assert json.loads(connection.getresponse().read())["items"][0]["kind"] == "shell"
        connection.close()
        process.terminate()
        assert process.wait(PATIENCE) == 0


# Restart


def test_a_stream_outlives_the_listener(home: Path) -> None:
    """On SIGTERM nobody can connect any more, and an open stream goes on."""
    with FakeDaemon(home, heartbeat=0.05, linger=PATIENCE) as daemon, Listener(daemon) as stream:
        stream.event()
        daemon.end()

        def refused() -> bool:
            try:
                socket.create_connection(daemon.address, PATIENCE).close()
            except ConnectionRefusedError:
                return True
            return False

        daemon.wait_until(refused)
        assert [stream.frame() for _ in range(3)] == [b": heartbeat"] * 3
        assert daemon.file.exists()


def test_a_restart_keeps_what_there_was(home: Path) -> None:
    with FakeDaemon(home) as daemon:
        waiting, shell, message = daemon.register(), daemon.register("shell"), daemon.register("comms_send")
        denied, done, running = daemon.register(), daemon.register(), daemon.register(outcome="running")
        daemon.decide(denied, approved=False, reason="no")
        daemon.decide(done, approved=True)
        daemon.decide(running, approved=True)
        ended = daemon.result(done)
        listed = daemon.items()
        for clean in (True, False):
            daemon.restart(clean=clean)
            assert daemon.items() == listed
            assert daemon.result(done) == ended
            assert daemon.result(denied) == {"status": "denied", "reason": "no"}
            assert daemon.result(running)["status"] == "failed"
            assert "look for yourself" in daemon.result(running)["reason"]
        for id_, effects, status in ((waiting, 1, "completed"), (shell, 0, "running"), (message, 0, "running")):
            assert daemon.decide(id_, approved=True)[0] == 204
            assert len(daemon.effects(id_)) == effects
            assert daemon.result(id_)["status"] == status
        assert daemon.pending() == []


def test_approved_and_not_started_before_a_restart_waits_for_the_vault(home: Path) -> None:
    with FakeDaemon(home, hold_start=True) as daemon:
        id_ = daemon.register()
        daemon.decide(id_, approved=True)
        assert daemon.result(id_) == {"status": "running"}
        daemon.restart(clean=False, hold_start=False, vault="locked")
        assert daemon.result(id_) == {"status": "awaiting_vault"}
        assert daemon.ask("POST", "/v1/vault/unlock", {"passphrase": "open sesame"})[0] == 200
        assert daemon.result(id_)["status"] == "completed"
        assert len(daemon.effects(id_)) == 1


def test_switches_stay_over_a_restart_but_counts_do_not(home: Path) -> None:
    with FakeDaemon(home, omit_kind=True) as daemon:
        daemon.switch(hang_up={"list": 1}, offset="Z")
        daemon.session("s-3")
        daemon.restart()
        daemon.register()
        assert "kind" not in daemon.items()[0]
        assert daemon.items()[0]["requested_at"].endswith("Z")
        assert daemon.ask("GET", "/v1/sessions/s-3")[0] == 200


def test_a_seed(home: Path) -> None:
    seed = {"items": [{"kind": "shell"}, {"kind": "comms_send"}], "sessions": [], "actions": [], "bindings": []}
    with FakeDaemon(home, seed=seed) as daemon:
        assert [one["kind"] for one in daemon.items()] == ["shell", "comms_send"]
        assert daemon.ask("GET", "/v1/sessions")[1] == {"items": []}
        daemon.restart()
        assert len(daemon.pending()) == 2
        assert daemon.ask("GET", "/v1/actions")[1] == {"items": []}


def test_the_seed_of_the_real_one_runs_nothing(home: Path) -> None:
    with FakeDaemon(
        home, dev_seed=[{"kind": "action", "action_name": "send-draft", "args": {"draft_id": "x"}}]
    ) as daemon:
        (item,) = daemon.items()
        assert set(item) == {"id", "kind", "action_name", "args", "requested_at"}
        daemon.decide(item["id"], approved=True)
        assert daemon.result(item["id"]) == {"status": "running"}
        assert daemon.effects() == []
        assert [one["event_type"] for one in daemon.ask("GET", "/v1/audit")[1]["events"]] == ["approval.approved"]
    with pytest.raises(AssertionError, match="cannot seed a shell"):
        FakeDaemon(home, dev_seed={"items": [{"kind": "shell", "action_name": "shell"}]})


def test_the_side_door_needs_its_own_secret(daemon: FakeDaemon) -> None:
    id_ = daemon.register()
    order = json.dumps({"do": "resolve", "id_": id_}).encode()
    for secret in ("", daemon.token, hashlib.sha256(b"guess").hexdigest()):
        assert answer(daemon, "POST", "/_control", daemon.headers | {"X-Control": secret}, order)[0].status == 404
    assert daemon.pending() == [id_]
