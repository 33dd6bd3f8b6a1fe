"""The conformance suite takes any daemon by address and token, accepts what may vary, and notices what is wrong."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.process import ROOT, FakeDaemon

SEED = json.loads((ROOT / "tests" / "conformance" / "seed.json").read_bytes())

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def check(home: Path) -> Run:
    """Runs the suite on a daemon with some switches turned; gives its exit code and its words."""

    def run(*words: str, **switches: Any) -> tuple[int, str]:
        with FakeDaemon(home, dev_seed=SEED, heartbeat=0.3, **switches) as daemon:
            command = [sys.executable, "-m", "pytest", "tests/conformance", "-q", "-p", "no:cacheprovider"]
            command += ["--daemon", daemon.url, "--token", daemon.token or "0" * 64, *words]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100)
            return done.returncode, done.stdout + done.stderr

    return run


def counted(words: str, what: str) -> int:
    found = re.search(rf"(\d+) {what}", words)
    return int(found[1]) if found else 0


def test_a_daemon_that_runs_nothing_it_was_seeded_with(check: Run) -> None:
    code, words = check("--may-approve")
    assert code == 0, words
    assert counted(words, "skipped") == 0, words


def test_it_approves_only_when_it_may(check: Run, home: Path) -> None:
    code, words = check()
    assert code == 0, words
    assert "needs --may-approve" in words
    assert counted(words, "skipped") == 7, words
    lines = [json.loads(line) for line in (home / "witness.jsonl").read_text().splitlines()]
    applied = [line for line in lines if line["applied"]]
    assert len(applied) == 8
    assert not any(json.loads(line["body"]).get("approved") for line in applied)


def test_a_daemon_with_all_its_oddities(check: Run) -> None:
    code, words = check(
        decide_code=200,
        omit_kind=True,
        webapp=False,
        sessions_disabled=True,
        duplicate_events=1,
        repeat_snapshot=True,
        extra_fields={"priority": 7},
        offset="-03:30",
        vault="locked",
    )
    assert code == 0, words
    assert counted(words, "passed") > 25


@pytest.mark.parametrize(
    ("switches", "failing"),
    [
        ({"answers": {"decide": {"status": 204}}}, "test_a_denial"),
        ({"garbage": {"list": "wrong_types"}}, "test_the_list"),
        ({"unprotected": True}, "test_nothing_is_told_without_the_token"),
        ({"silent_streams": True}, "test_the_stream_is_kept_alive"),
        ({"result_status": "running"}, "test_what_is_listed_waits"),
    ],
)
def test_what_is_wrong_is_noticed(check: Run, switches: dict[str, Any], failing: str) -> None:
    code, words = check("-x", "-k", failing, **switches)
    assert code == 1, words
    assert f"::{failing}" in words


def test_several_workers_are_refused(check: Run) -> None:
    code, words = check("-n", "2")
    assert code == pytest.ExitCode.USAGE_ERROR, words
    assert "leave -n out" in words
