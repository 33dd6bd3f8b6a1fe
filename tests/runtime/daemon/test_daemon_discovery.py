"""Finding a daemon: what is asked first, which token goes where, and what is said when there is none."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.files.private_files import write_private
from aileron_tui.runtime.daemon.daemon_discovery import (
    Daemon,
    NamedDaemon,
    NoDaemon,
    NoDaemonReason,
    StepOutcome,
    find,
    search,
    search_steps,
)
from aileron_tui.runtime.errors import NoGate
from tests.daemon.process import FakeDaemon

TOKEN = "5e" * 32
OTHER = "c0" * 32


@pytest.fixture
def port() -> Iterator[int]:
    """A port at which somebody answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed() -> Iterator[int]:
    """A port at which nobody answers, and which nobody else gets meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def wrote(home: Path, port: int, **changed: object) -> Path:
    """What a daemon of this home writes when it starts."""
    fields: dict[str, Any] = {
        "url": f"http://127.0.0.1:{port}",
        "pid": os.getpid(),
        "version": "0.4.0",
        "started_at": "2026-05-12T10:15:30Z",
        "token": TOKEN,
    }
    file = home / ".aileron" / "daemon.json"
    kept = {name: value for name, value in (fields | changed).items() if value is not ...}
    write_private(file, json.dumps(kept).encode(), replace=True)
    return file


def dead_process() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def outcomes(
    home: Path, env: dict[str, str] | None = None, wanted: NamedDaemon | None = None
) -> list[tuple[str, StepOutcome]]:
    return [(step.about, step.outcome) for step in search_steps(wanted or NamedDaemon(), env or {}, home)]


# Where it is.


def test_the_one_that_runs_here(tmp_path: Path, port: int) -> None:
    file = wrote(tmp_path, port)
    assert find(env={}, home=tmp_path) == Daemon(
        f"http://127.0.0.1:{port}", TOKEN, str(file), "2026-05-12T10:15:30Z", os.getpid(), "0.4.0", file
    )


def test_the_home_is_that_of_the_environment(tmp_path: Path, port: int) -> None:
    wrote(tmp_path, port)
    assert find(env={"HOME": str(tmp_path)}).token == TOKEN


def test_a_home_of_ours_does_not_move_the_daemons(tmp_path: Path, port: int) -> None:
    wrote(tmp_path, port)
    assert find(env={"HOME": str(tmp_path), "AILERON_TUI_HOME": str(tmp_path / "x")}).token == TOKEN


def test_little_is_needed_and_unknown_fields_do_no_harm(tmp_path: Path, port: int) -> None:
    wrote(tmp_path, port, pid=..., version=..., started_at=..., token=..., new={"a": [1]})
    found = find(env={}, home=tmp_path)
    assert (found.url, found.token, found.pid, found.version) == (f"http://127.0.0.1:{port}", "", 0, "")


@pytest.mark.parametrize("pid", [0, -1, True, "7", 1.5, None, 2**70])
def test_a_process_number_that_is_none_is_not_asked_for(tmp_path: Path, port: int, pid: object) -> None:
    wrote(tmp_path, port, pid=pid)
    assert find(env={}, home=tmp_path).pid == 0


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "//"])
def test_the_environment_comes_before_the_file(tmp_path: Path, port: int, ending: str) -> None:
    wrote(tmp_path, 9, pid=dead_process())
    env = {"AILERON_API_URL": f"http://127.0.0.1:{port}{ending}", "AILERON_TOKEN": OTHER}
    found = find(env=env, home=tmp_path)
    assert (found.url, found.token, found.how) == (f"http://127.0.0.1:{port}", OTHER, "AILERON_API_URL")


def test_what_was_named_comes_before_the_environment(tmp_path: Path, port: int, closed: int) -> None:
    env = {"AILERON_API_URL": f"http://127.0.0.1:{closed}", "AILERON_TOKEN": OTHER}
    found = find(NamedDaemon(f"http://127.0.0.1:{port}/v1"), env, tmp_path)
    assert (found.url, found.token, found.how) == (f"http://127.0.0.1:{port}", "", "named")


def test_a_restart_is_found(tmp_path: Path, port: int) -> None:
    wrote(tmp_path, port)
    assert find(env={}, home=tmp_path).token == TOKEN
    with socket.create_server(("127.0.0.1", 0)) as server:
        new = server.getsockname()[1]
        wrote(tmp_path, new, token=OTHER)
        found = find(env={}, home=tmp_path)
    assert (found.url, found.token) == (f"http://127.0.0.1:{new}", OTHER)


# Which token.


def test_a_token_of_the_environment_replaces_the_one_in_the_file(tmp_path: Path, port: int) -> None:
    wrote(tmp_path, port)
    assert find(env={"AILERON_TOKEN": f" {OTHER}\n"}, home=tmp_path).token == OTHER


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_files_token_goes_to_the_files_address(tmp_path: Path, port: int, host: str) -> None:
    wrote(tmp_path, port)
    found = find(env={"AILERON_API_URL": f"http://{host}:{port}/v1"}, home=tmp_path)
    assert (found.url, found.token) == (f"http://127.0.0.1:{port}", TOKEN)
    assert found.how == "AILERON_API_URL"


def test_the_files_token_goes_nowhere_else(tmp_path: Path, port: int, closed: int) -> None:
    wrote(tmp_path, closed)
    assert find(env={"AILERON_API_URL": f"http://127.0.0.1:{port}"}, home=tmp_path).token == ""
    assert find(NamedDaemon(f"http://127.0.0.1:{port}"), {}, tmp_path).token == ""


def test_the_environments_token_goes_to_its_own_daemon_only(tmp_path: Path, port: int, closed: int) -> None:
    named = NamedDaemon(f"http://127.0.0.1:{port}")
    assert find(named, {"AILERON_TOKEN": OTHER}, tmp_path).token == ""
    same = {"AILERON_API_URL": f"http://localhost:{port}/v1", "AILERON_TOKEN": OTHER}
    assert find(named, same, tmp_path).token == OTHER
    another = {"AILERON_API_URL": f"http://127.0.0.1:{closed}", "AILERON_TOKEN": OTHER}
    assert find(named, another, tmp_path).token == ""


def test_a_token_that_was_named(tmp_path: Path, port: int) -> None:
    url = f"http://127.0.0.1:{port}"
    wrote(tmp_path, port)
    write_private(tmp_path / "secret" / "token", f"{OTHER}\n".encode())
    in_file = NamedDaemon(url, token_file=tmp_path / "secret" / "token")
    assert find(in_file, {"AILERON_TOKEN": "no"}, tmp_path).token == OTHER
    assert find(NamedDaemon(url, token_env="WORK"), {"WORK": OTHER, "AILERON_TOKEN": "no"}, tmp_path).token == OTHER
    assert find(NamedDaemon(token_env="WORK"), {"WORK": OTHER}, tmp_path).token == OTHER, "for the one that runs here"


def test_a_token_file_in_the_home(tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_private(tmp_path / ".secret" / "token", OTHER.encode())
    assert (
        find(NamedDaemon(f"http://127.0.0.1:{port}", token_file=Path("~/.secret/token")), {}, tmp_path).token == OTHER
    )


@pytest.mark.parametrize("content", [b"", b"\n", b"two words", b"x" * 5000, b"a\x1bb", "é".encode()])
def test_what_cannot_be_a_token(tmp_path: Path, port: int, content: bytes) -> None:
    write_private(tmp_path / "s" / "token", content)
    wanted = NamedDaemon(f"http://127.0.0.1:{port}", token_file=tmp_path / "s" / "token")
    with pytest.raises(NoDaemon) as caught:
        find(wanted, {}, tmp_path)
    assert caught.value.why is NoDaemonReason.UNUSABLE


def test_a_token_that_is_not_where_it_should_be(tmp_path: Path, port: int) -> None:
    url = f"http://127.0.0.1:{port}"
    with pytest.raises(NoDaemon, match="cannot be read"):
        find(NamedDaemon(url, token_file=tmp_path / "none"), {}, tmp_path)
    with pytest.raises(NoDaemon, match="token is missing"):
        find(NamedDaemon(url, token_env="WORK"), {}, tmp_path)
    with pytest.raises(NoDaemon, match="given twice"):
        find(NamedDaemon(url, tmp_path / "token", "WORK"), {"WORK": OTHER}, tmp_path)


def test_a_token_file_that_others_can_read(tmp_path: Path, port: int) -> None:
    write_private(tmp_path / "s" / "token", OTHER.encode())
    (tmp_path / "s" / "token").chmod(0o644)
    with pytest.raises(NoDaemon) as caught:
        find(NamedDaemon(f"http://127.0.0.1:{port}", token_file=tmp_path / "s" / "token"), {}, tmp_path)
    assert "open to others" in caught.value.detail
    assert "chmod 600" in caught.value.hint


# In the clear.


@pytest.mark.parametrize("host", ["192.0.2.1", "daemon.example.com", "127.0.0.1.example.com"])
def test_no_token_crosses_a_network_in_the_clear(tmp_path: Path, host: str) -> None:
    env = {"AILERON_API_URL": f"http://{host}:5", "AILERON_TOKEN": OTHER}
    with pytest.raises(NoDaemon, match="unencrypted") as caught:
        find(env=env, home=tmp_path)
    assert "ssh" in caught.value.hint
    assert "https" in caught.value.hint
    assert caught.value.why is NoDaemonReason.UNUSABLE


def test_nor_the_one_in_the_file(tmp_path: Path) -> None:
    wrote(tmp_path, 5, url="http://192.0.2.1:5")
    with pytest.raises(NoDaemon, match="unencrypted"):
        find(env={}, home=tmp_path)


def test_a_secret_may_go_where_nobody_listens() -> None:
    assert Daemon("http://127.0.0.1:5").private
    assert Daemon("https://daemon.example.com").private
    assert not Daemon("http://192.0.2.1:5").private


@pytest.mark.parametrize(
    "env",
    [
        {"AILERON_API_URL": "http://192.0.2.1:5", "AILERON_TOKEN": OTHER},
        {"AILERON_API_URL": f"http://x:{OTHER}@127.0.0.1:5", "AILERON_TOKEN": OTHER},
        {"AILERON_API_URL": OTHER, "AILERON_TOKEN": OTHER},
        {"AILERON_API_URL": "http://127.0.0.1:1", "AILERON_TOKEN": f"{OTHER} {OTHER}"},
        {"AILERON_API_URL": "http://127.0.0.1:1", "AILERON_TOKEN": OTHER},
        {"AILERON_TOKEN": OTHER},
        {},
    ],
)
def test_no_token_is_ever_told(tmp_path: Path, port: int, env: dict[str, str]) -> None:
    wrote(tmp_path, port, token=TOKEN)
    result = search(env=env, home=tmp_path)
    told = f"{result!r} {result.steps!r} {result.fault!r} {result.fault} {result.daemon!r} {result.daemon}"
    if result.fault:
        told += f"{result.fault.title} {result.fault.detail} {result.fault.hint} {result.fault.args}"
    assert TOKEN not in told
    assert OTHER not in told


# When there is none.


def test_none_at_all(tmp_path: Path) -> None:
    with pytest.raises(NoDaemon) as caught:
        find(env={}, home=tmp_path)
    assert caught.value.why is NoDaemonReason.ABSENT
    assert isinstance(caught.value, NoGate)
    assert str(tmp_path / ".aileron" / "daemon.json") in caught.value.detail
    assert "AILERON_API_URL: not set" in caught.value.detail
    assert "doctor" in caught.value.hint
    assert not (tmp_path / ".aileron").exists(), "looking leaves nothing behind"


def test_a_file_that_a_dead_daemon_left(tmp_path: Path, port: int) -> None:
    gone = dead_process()
    file = wrote(tmp_path, port, pid=gone)
    with pytest.raises(NoDaemon, match="not running") as caught:
        find(env={}, home=tmp_path)
    assert caught.value.why is NoDaemonReason.LEFT_OVER
    assert f"process {gone}" in caught.value.detail
    assert str(file) in caught.value.detail


def test_a_file_whose_process_number_was_given_to_another(tmp_path: Path, closed: int) -> None:
    wrote(tmp_path, closed)
    with pytest.raises(NoDaemon, match="cannot connect to") as caught:
        find(env={}, home=tmp_path)
    assert caught.value.why is NoDaemonReason.LEFT_OVER


def test_nobody_where_one_was_said_to_be(tmp_path: Path, closed: int) -> None:
    url = f"http://127.0.0.1:{closed}"
    for wanted, env in ((NamedDaemon(url), {}), (NamedDaemon(), {"AILERON_API_URL": url})):
        with pytest.raises(NoDaemon, match="cannot connect to") as caught:
            find(wanted, env, tmp_path)
        assert caught.value.why is NoDaemonReason.UNANSWERED
        assert ("unset AILERON_API_URL" in caught.value.hint) == bool(env)


def test_a_dead_daemon_that_was_named_is_not_merely_left_over(tmp_path: Path, port: int) -> None:
    wrote(tmp_path, port, pid=dead_process())
    with pytest.raises(NoDaemon) as caught:
        find(env={"AILERON_API_URL": f"http://127.0.0.1:{port}"}, home=tmp_path)
    assert caught.value.why is NoDaemonReason.UNANSWERED


def test_an_address_that_is_none_is_not_passed_over(tmp_path: Path, port: int) -> None:
    wrote(tmp_path, port)
    for wanted, env in ((NamedDaemon("127.0.0.1:5"), {}), (NamedDaemon(), {"AILERON_API_URL": "ftp://x"})):
        with pytest.raises(NoDaemon, match="not a valid daemon address") as caught:
            find(wanted, env, tmp_path)
        assert caught.value.why is NoDaemonReason.UNUSABLE


@pytest.mark.parametrize(
    "odd",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"url": 1}',
        b'{"url": "ftp://x"}',
        b'{"url": "http://127.0.0.1:5", "token": 7}',
        b'{"url": "http://127.0.0.1:5", "url": "http://127.0.0.1:6"}',
        b" " * 70_000,
        b"\xff",
    ],
)
def test_a_file_that_makes_no_sense(tmp_path: Path, odd: bytes) -> None:
    write_private(tmp_path / ".aileron" / "daemon.json", odd)
    with pytest.raises(NoDaemon, match="cannot use the daemon's address file") as caught:
        find(env={}, home=tmp_path)
    assert caught.value.why is NoDaemonReason.UNUSABLE


def test_a_file_that_others_can_read_is_not_used(tmp_path: Path, port: int) -> None:
    wrote(tmp_path, port).chmod(0o644)
    with pytest.raises(NoDaemon) as caught:
        find(env={}, home=tmp_path)
    assert "open to others" in caught.value.detail
    assert "chmod 600" in caught.value.hint


def test_a_link_is_not_followed(tmp_path: Path, port: int) -> None:
    file = wrote(tmp_path, port)
    file.rename(tmp_path / "elsewhere.json")
    file.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(NoDaemon, match="symbolic link"):
        find(env={}, home=tmp_path)


def test_a_folder_in_which_others_write_is_not_trusted(tmp_path: Path, port: int) -> None:
    wrote(tmp_path, port)
    (tmp_path / ".aileron").chmod(0o755)
    assert find(env={}, home=tmp_path).token == TOKEN, "a file of ours in it is still private"
    (tmp_path / ".aileron").chmod(0o770)
    with pytest.raises(NoDaemon) as caught:
        find(env={}, home=tmp_path)
    assert "chmod 700" in caught.value.hint


def test_a_bad_file_does_not_hide_a_daemon_that_was_named(tmp_path: Path, port: int) -> None:
    wrote(tmp_path, port).chmod(0o644)
    found = find(env={"AILERON_API_URL": f"http://127.0.0.1:{port}"}, home=tmp_path)
    assert found.token == ""


# The way there.


def test_the_steps_of_a_search(tmp_path: Path, port: int) -> None:
    file = str(wrote(tmp_path, port))
    assert outcomes(tmp_path) == [
        ("named address", StepOutcome.PASSED),
        ("AILERON_API_URL", StepOutcome.PASSED),
        (file, StepOutcome.TAKEN),
        ("AILERON_TOKEN", StepOutcome.PASSED),
        (f"token in {file}", StepOutcome.TAKEN),
        (f"process {os.getpid()}", StepOutcome.TAKEN),
        (f"http://127.0.0.1:{port}", StepOutcome.TAKEN),
    ]


def test_the_last_step_is_the_one_that_failed(tmp_path: Path, closed: int) -> None:
    wrote(tmp_path, closed)
    last = search_steps(env={}, home=tmp_path)[-1]
    assert (last.about, last.outcome) == (f"http://127.0.0.1:{closed}", StepOutcome.FAILED)
    assert "aileron daemon start" in last.hint
    file = str(tmp_path / ".aileron" / "daemon.json")
    assert outcomes(tmp_path, wanted=NamedDaemon(f"http://127.0.0.1:{closed + 1 if closed < 65535 else 1}"))[2] == (
        file,
        StepOutcome.PASSED,
    )


# The life of a daemon.


def test_through_the_lives_of_a_daemon(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with FakeDaemon(home) as daemon:
        env = daemon.environment
        first = find(env=env)
        assert (first.url, first.token, first.pid) == (daemon.url, daemon.token, daemon.pid)
        daemon.restart()
        second = find(env=env)
        assert (second.url, second.token) == (daemon.url, daemon.token)
        assert second.token != first.token
        daemon.kill()
        with pytest.raises(NoDaemon) as caught:
            find(env=env)
        assert caught.value.why is NoDaemonReason.LEFT_OVER
        daemon.start()
        assert find(env=env).token == daemon.token
        daemon.stop()
        with pytest.raises(NoDaemon) as caught:
            find(env=env)
        assert caught.value.why is NoDaemonReason.ABSENT
