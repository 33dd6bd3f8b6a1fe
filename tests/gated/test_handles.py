"""Calls that are asked about and not waited for, calls of earlier runs, forked processes, and the end of a program."""

import asyncio
import os
import subprocess
import sys
import textwrap
import threading

import pytest

from aileron_tui.gated import AnswerRefused, Denied, Withdrawn, gated
from aileron_tui.gated.program import is_running, session
from tests.gated.answered_gate import AnsweredGate, approve, deny, edit, nobody, until
from tests.gated.conftest import PROGRAM

RAN: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()


@gated(wait=False, name="later")
def later(text: str) -> str:
    RAN.append(text)
    return text.upper()


@gated(wait=False, name="later_async")
async def later_async(text: str) -> str:
    RAN.append(text)
    return text.upper()


def test_a_handle_runs_the_call_when_its_result_is_wanted(gate: AnsweredGate) -> None:
    handle = later("a")
    until(lambda: handle.state() == "approved", "the approval")
    assert RAN == []
    assert [handle.result(), handle.result()] == ["A", "A"]
    assert RAN == ["a"]
    assert handle.state() == "done"
    assert handle.tool == "later"
    gate.outcome(handle.id, "executed")


def test_an_async_handle_runs_the_call_when_its_result_is_wanted(gate: AnsweredGate) -> None:
    async def work() -> None:
        handle = await later_async("a")
        while await handle.state() == "waiting":
            await asyncio.sleep(0.01)
        assert RAN == []
        assert [*await asyncio.gather(handle.result(), handle.result())] == ["A", "A"]
        assert await handle.state() == "done"

    asyncio.run(work())
    assert RAN == ["a"]
    gate.outcome(gate.shown.id, "executed")


def test_a_handle_can_be_waited_for_in_parts(gate: AnsweredGate) -> None:
    gate.operator = nobody
    handle = later("a")
    assert handle.state() == "waiting"
    with pytest.raises(TimeoutError):
        handle.result(timeout=0.5)
    gate.operator = approve
    assert handle.result() == "A"


def test_an_async_handle_survives_the_end_of_a_task_that_waited(gate: AnsweredGate) -> None:
    gate.operator = nobody

    async def work() -> None:
        handle = await later_async("a")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(handle.result(), 0.3)
        gate.operator = approve
        await asyncio.sleep(0.5)  # the answer arrives while nobody waits for it
        assert await handle.result() == "A"

    asyncio.run(work())


def test_threads_share_the_one_run_of_a_handle(gate: AnsweredGate) -> None:
    handle, results = later("a"), list[str]()
    threads = [threading.Thread(target=lambda: results.append(handle.result())) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (RAN, results) == (["a"], ["A"] * 5)


def test_a_denied_handle_says_so_each_time(gate: AnsweredGate) -> None:
    gate.operator = deny("no")
    handle = later("a")
    for _ in range(2):
        with pytest.raises(Denied):
            handle.result()
    assert handle.state() == "ended"


def test_a_withdrawn_handle_never_runs(gate: AnsweredGate) -> None:
    gate.operator = nobody
    handle = later("a")
    handle.withdraw()
    gate.outcome(handle.id, "withdrawn")
    with pytest.raises(Withdrawn):
        handle.result()
    assert RAN == []


def test_withdrawing_what_was_approved_tells_that_it_was_not_run(gate: AnsweredGate) -> None:
    handle = later("a")
    until(lambda: handle.state() == "approved", "the approval")
    handle.withdraw()
    gate.outcome(handle.id, "failed")
    assert "not run" in gate.problem(handle.id)
    with pytest.raises(Exception, match="not"):
        handle.result()
    assert RAN == []


def test_withdrawing_while_another_thread_waits(gate: AnsweredGate) -> None:
    gate.operator = nobody
    handle, errors = later("a"), list[BaseException]()

    def wait() -> None:
        try:
            handle.result()
        except Withdrawn as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    handle.withdraw()
    thread.join(10)
    assert len(errors) == 1
    assert RAN == []


def test_withdrawing_what_ran_changes_nothing(gate: AnsweredGate) -> None:
    handle = later("a")
    assert handle.result() == "A"
    handle.withdraw()
    gate.outcome(handle.id, "executed")
    assert handle.result() == "A"


def test_a_call_that_a_rule_allowed_and_that_never_ran_is_reported(gate: AnsweredGate) -> None:
    with gate.rule("look_later", PROGRAM):

        @gated(wait=False, name="look_later")
        def look_later() -> None: ...

        handle = look_later()
        id_ = handle.id
        assert handle.state() == "approved"
    del handle
    gate.outcome(id_, "failed")
    assert gate.problem(id_) == "python says: the program never ran the call"


def test_a_forked_process_does_not_run_the_calls_of_the_other(gate: AnsweredGate) -> None:
    handle = later("a")
    reads, writes = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            handle.result()
        except AnswerRefused as error:
            os.write(writes, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert b"another process" in os.read(reads, 1000)
    assert handle.result() == "A"
    os.close(reads)
    os.close(writes)


def test_a_forked_process_asks_for_itself(gate: AnsweredGate) -> None:
    """It has neither the thread nor the connections of the other process, and reports before it ends."""
    run = gated(name="run")(lambda text: text)
    assert run("before") == "before"
    if (pid := os.fork()) == 0:
        os._exit(0 if run("inside") == "inside" else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert run("after") == "after"
    gated.flush()
    assert [gate.outcome(shown.id, "executed").outcome for shown in gate.seen] == ["executed"] * 3


def program(gate: AnsweredGate, code: str) -> subprocess.CompletedProcess[str]:
    """Runs a program that uses gated functions."""
    text = "from aileron_tui.gated import *\n" + textwrap.dedent(code)
    command = [sys.executable, "-c", text]
    return subprocess.run(command, env=gate.environment, capture_output=True, text=True, check=False)


CRASHING = """
    import os
    gated.configure(program="job")
    @gated(wait=False)
    def copy(name: str, more: int = 1) -> str:
        print("ran", name, more, flush=True)
        return name
    class Box:
        @gated(wait=False)
        def copy(self, name: str) -> str:
            return name
"""


def test_after_a_crash_nothing_runs_by_itself_and_resume_finds_what_was_approved(gate: AnsweredGate) -> None:
    gate.operator = nobody
    done = program(gate, CRASHING + "    with gated.batch('b1'): copy('a')\n    Box().copy('b')\n    os._exit(9)")
    assert (done.returncode, done.stdout, done.stderr) == (9, "", "")
    until(lambda: len(gate.seen) == 2 or None, "both requests")
    gate.operator = approve
    gate.outcome(gate.seen[0].id, "approved")
    resuming = """
    left = gated.resume()
    print([(call.tool, call.batch, call.state()) for call in left.calls], [call.why for call in left.other])
    print([call.result() for call in left.calls])
    print(gated.resume().calls)
    """
    done = program(gate, CRASHING + resuming)
    assert done.stderr == ""
    first, ran, results, again = done.stdout.splitlines()
    assert first.startswith("[('copy', 'b1', 'approved')] ['it needs self")
    assert (ran, results, again) == ("ran a 1", "['a']", "()")
    gate.outcome(gate.seen[0].id, "executed")


def test_resume_runs_what_was_edited(gate: AnsweredGate) -> None:
    gate.operator = nobody
    program(gate, CRASHING + "    copy('a')\n    os._exit(9)")
    until(lambda: gate.seen or None, "the request")
    gate.operator = edit(more=7)
    gate.outcome(gate.shown.id, "approved")
    done = program(gate, CRASHING + "    print([call.result() for call in gated.resume().calls])")
    assert (done.stdout, done.stderr) == ("ran a 7\n['a']\n", "")


def test_resume_tells_what_may_have_been_run(gate: AnsweredGate) -> None:
    crashing = CRASHING.replace('print("ran"', 'os._exit(9); print("ran"') + "    copy('a').result()"
    assert program(gate, crashing).returncode == 9
    done = program(
        gate, CRASHING + "    left = gated.resume()\n    print(left.calls, [call.id for call in left.unknown])"
    )
    assert done.stdout == f"() ['{gate.shown.id}']\n"


def test_resume_leaves_the_calls_of_running_programs_alone(gate: AnsweredGate) -> None:
    gate.operator = nobody
    handle = later("a")
    assert all(call.id != handle.id for call in gated.resume().calls)
    done = program(gate, "print(gated.resume().calls)")
    assert handle.id not in done.stdout
    handle.withdraw()


@pytest.mark.parametrize("ending", ["1/0", "", "raise SystemExit(3)"])
def test_outcomes_are_reported_before_a_program_ends(gate: AnsweredGate, ending: str) -> None:
    program(gate, f"gated(name='end')(lambda: 1)()\n{ending}")
    assert gate.record(gate.shown.id).outcome == "executed"


def test_a_gated_call_while_a_program_ends_is_reported_too(gate: AnsweredGate) -> None:
    code = """
    import atexit
    run = gated(name='end')(lambda: print('ran'))
    atexit.register(run)
    """
    done = program(gate, code)
    assert (done.stdout, done.stderr) == ("ran\n", "")
    assert gate.record(gate.shown.id).outcome == "executed"


def test_it_is_known_which_processes_run() -> None:
    assert is_running(session())
    host, pid, started = session().split("/")
    assert is_running(f"another-host/{pid}/{started}")
    assert not is_running(f"{host}/{pid}/1{started}")
    assert not is_running(f"{host}/{2**22 + 5}/1")
    for odd in ("", "x", "a/b/c", f"{host}/-1/1", f"{host}/{'9' * 40}/1", f"{host}/²/1"):
        assert not is_running(odd)
