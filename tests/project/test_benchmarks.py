"""How benchmarks are run: what is printed, what a disturbed run means, and how a run ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks import _machine, _report, names
from benchmarks._machine import Disturbance, Sample
from benchmarks._report import Finished, Measured
from benchmarks._result import Result, against, grown
from benchmarks._runner import quieter, run

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "benchmarks"]
QUIET, BUSY = Disturbance(1.0, 0.0), Disturbance(40.0, 0.0)


def _finished(*measured: Measured, name: str = "hook", trouble: str = "") -> Finished:
    return Finished(name, list(measured), 1.0, trouble)


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    done = subprocess.run([*COMMAND, "hok", "lint"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "unknown benchmark hok: did you mean hook?" in done.stderr
    assert not done.stdout


def test_a_run_prints_a_table_and_writes_json(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    command = [*COMMAND, "lint", "--quick", "--once", "--json", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    written = json.loads(file.read_text("utf-8"))
    (lint,) = written["benchmarks"]
    titles = [result["title"] for result in lint["results"]]
    assert "lint / tomli" in titles
    assert all(title in done.stdout.partition("measurement")[2] for title in titles)
    assert written["quick"] is True
    assert done.returncode == (0 if all(result["good"] for result in lint["results"]) else 1)


def test_a_benchmark_that_fails_is_named() -> None:
    into = Finished("no_such_benchmark")
    run("no_such_benchmark", quick=True, say=lambda _: None, into=into)
    assert into.trouble == "ended with exit code 1"
    assert into.misses == 1
    assert "FAILED" in _report.table([into])


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_an_interrupted_run_leaves_nothing_behind() -> None:
    process = subprocess.Popen(
        [*COMMAND, "idle", "--quick"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    started: set[int] = set()
    while len(started) < 3 and process.poll() is None:  # the benchmark, an empty app and a console
        started = _below(process.pid)
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in out + err
    assert "FAILED  idle: interrupted" in out
    assert not any(Path(f"/proc/{pid}").exists() for pid in started)


def _below(pid: int) -> set[int]:
    """Every process that this one has started, directly or not."""
    try:
        children = {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    except (FileNotFoundError, ProcessLookupError):
        return set()
    return children.union(*(_below(child) for child in children))


def test_a_miss_is_a_miss_in_either_direction() -> None:
    assert not Result("memory", 121.0, 120.0).good
    assert Result("calls", 250.0, 200.0, at_least=True).good
    assert not Result("calls", 199.0, 200.0, at_least=True).good
    table = _report.table([_finished(Measured(Result("calls", 199.0, 200.0, unit="/s", at_least=True), BUSY))])
    assert "UNDER" in table
    assert "disturbed" in table
    assert "≥ 200 /s" in table


def test_growth_compares_the_largest_size_with_the_smallest() -> None:
    result = grown("moving", {100: 0.006, 1_000: 0.009, 10_000: 0.012}, 2.0)
    assert result.figure == pytest.approx(2.0)
    assert [size for size, _ in result.points] == [100, 1_000, 10_000]
    assert Result.read(json.loads(json.dumps(result.fields))) == result


def test_what_others_use_is_what_this_process_does_not() -> None:
    processors = os.cpu_count() or 1
    before = Sample(clock=0.0, busy=0.0, stolen=0.0, ours=0.0)
    ours_only = Sample(clock=10.0, busy=8.0, stolen=0.0, ours=8.0)
    others = Sample(clock=10.0, busy=8.0, stolen=0.0, ours=8.0 - 2.0 * processors)
    stolen = Sample(clock=10.0, busy=8.0, stolen=0.5 * processors, ours=8.0)
    assert not _machine.disturbance(before, ours_only).too_much
    assert _machine.disturbance(before, others) == Disturbance(20.0, 0.0)
    assert _machine.disturbance(before, others).too_much
    assert _machine.disturbance(before, stolen).too_much
    assert not _machine.disturbance(None, None).too_much


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the times of all processes")
def test_the_time_of_processes_that_have_ended_is_ours() -> None:
    before = _machine.sample()
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"], check=True)
    after = _machine.sample()
    assert before is not None
    assert after is not None
    assert after.ours - before.ours >= 0.25


_ORPHAN = """
import os, subprocess, sys
from benchmarks import _machine

BUSY = "import time\\nwhile time.process_time() < 0.3: pass\\nprint('done', flush=True)\\ntime.sleep(WAIT)"
PARENT = "import subprocess, sys\\nsubprocess.Popen([sys.executable, '-c', sys.argv[1]])\\nsys.stdin.read()"
_machine.adopt_orphans()
for wait in ("60", "0"):
    before = _machine.sample().ours
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", PARENT, BUSY.replace("WAIT", wait)]
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, start_new_session=True) as parent:
        parent.stdout.readline()
        group = parent.pid
        parent.kill()
        parent.wait()
    print(_machine.sample().ours - before)
    os.killpg(group, 9)
    _machine.reap_orphans()
    print(_machine.sample().ours - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the times of all processes")
def test_the_time_of_a_process_is_ours_after_its_parent_was_killed() -> None:
    done = subprocess.run([sys.executable, "-c", _ORPHAN], cwd=ROOT, capture_output=True, text=True, check=True)
    assert len(done.stdout.split()) == 4
    assert all(float(seconds) >= 0.25 for seconds in done.stdout.split()), done.stdout


def test_the_quieter_of_two_measurements_counts_even_if_it_is_the_miss() -> None:
    good, bad = against("hook", 1.0, 1.0, 1.5), against("hook", 2.0, 1.0, 1.5)
    chosen = quieter(_finished(Measured(bad, QUIET)), _finished(Measured(good, BUSY)))
    assert [one.result for one in chosen.measured] == [bad]
    assert chosen.repeated
    chosen = quieter(_finished(Measured(bad, BUSY)), _finished(Measured(good, QUIET)))
    assert [one.result for one in chosen.measured] == [good]


def test_every_benchmark_is_listed() -> None:
    assert {"answers", "gate", "hook", "history", "load", "mcp_proxy"} <= set(names())
