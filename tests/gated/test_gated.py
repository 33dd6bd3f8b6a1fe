"""Gated functions: nothing runs unapproved, what runs is what was approved, once, and its outcome is reported."""

import asyncio
import functools
import inspect
import os
import pickle
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import RuleVerdict
from aileron_tui.gated import (
    AnswerRefused,
    ArgumentRefused,
    Denied,
    GatedError,
    NobodyAnswered,
    NotAsked,
    OutcomeUnknown,
    Withdrawn,
    gated,
)
from aileron_tui.ledger.file_names import FILE
from aileron_tui.surface.agent_changes import rotate_agent
from tests.gated.answered_gate import APPROVE, AnsweredGate, deny, edit, nobody
from tests.gated.conftest import PROGRAM

RAN: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()


@gated
def send(to: str, body: str = "Hello") -> str:
    """Sends a mail."""
    RAN.append((to, body))
    return f"sent to {to}"


@gated
async def send_async(to: str, body: str = "Hello") -> str:
    await asyncio.sleep(0)
    RAN.append((to, body))
    return f"sent to {to}"


def original(function: Any) -> Any:
    """The function without the gate."""
    return function.original


def call(function: Any, *args: Any, **keywords: Any) -> Any:
    """Calls a function, async or not."""
    result = function(*args, **keywords)
    return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result


async def _awaited(value: Any) -> Any:
    return await asyncio.wait_for(value, 30)


both = pytest.mark.parametrize("function", [send, send_async], ids=["sync", "async"])


@both
def test_an_approved_call_runs_once_as_shown(gate: AnsweredGate, function: Any) -> None:
    assert call(function, "a@example.com") == "sent to a@example.com"
    assert RAN == [("a@example.com", "Hello")]
    prompt = gate.shown.prompt
    assert prompt.args == {"to": "a@example.com", "body": "Hello"}
    assert prompt.connector.name == PROGRAM
    assert prompt.action == f"{__name__}.{function.__name__}"
    assert prompt.asker.agent == "python"
    gate.outcome(gate.shown.id, "executed")


@both
def test_a_denied_call_does_not_run(gate: AnsweredGate, function: Any) -> None:
    gate.operator = deny("not\x1b[2J now")
    with pytest.raises(Denied) as denied:
        call(function, "a@example.com")
    assert denied.value.reason == "not\x1b[2J now"
    assert str(denied.value).endswith("so it was not run: not⟨ESC⟩[2J now")
    assert RAN == []


@both
def test_nobody_answering_is_not_a_denial(gate: AnsweredGate, function: Any) -> None:
    gate.operator = nobody
    with pytest.raises(NobodyAnswered, match="not a denial"):
        call(gated(timeout=1)(function.original), "a@example.com")
    assert RAN == []


@both
def test_an_edited_call_runs_as_edited(gate: AnsweredGate, function: Any) -> None:
    gate.operator = edit(to="b@example.com")
    assert call(function, "a@example.com") == "sent to b@example.com"
    assert RAN == [("b@example.com", "Hello")]


@both
def test_a_rule_answers_without_a_person(gate: AnsweredGate, function: Any) -> None:
    quiet = gated(name="look")(function.original)
    with gate.rule("look", PROGRAM):
        assert call(quiet, "a@example.com") == "sent to a@example.com"
        gated.flush()
    assert gate.seen == []
    with gate.rule("look", PROGRAM, RuleVerdict.DENY), pytest.raises(Denied):
        call(quiet, "a@example.com")
    assert len(RAN) == 1


@both
def test_a_new_token_is_used_at_once(gate: AnsweredGate, function: Any) -> None:
    call(function, "a")
    rotate_agent(gate.data / FILE, "python", gate.key)
    call(function, "b")
    assert len(RAN) == 2


@pytest.mark.parametrize(
    ("told", "rows"),
    [
        ("3 mails\nin all", [("Preview", "3 mails\nin all")]),
        ({"To": "a", "Body": "x\ny"}, [("To", "a"), ("Body", "x\ny")]),
        ({"Lone": "\ud800"}, [("Lone", "\\ud800")]),
    ],
    ids=["a text", "labels", "a surrogate"],
)
def test_what_the_program_tells_is_shown_as_told_by_it(gate: AnsweredGate, told: Any, rows: Any) -> None:
    gated(preview=lambda to, body: told)(original(send))("a")
    preview = gate.shown.prompt.preview
    assert preview is not None
    assert [(row.label, row.value) for row in preview.rows] == rows


def test_a_preview_gets_the_arguments_and_cannot_change_them(gate: AnsweredGate) -> None:
    def preview(mails: list[str]) -> str:
        mails.append("evil@example.com")
        return f"{len(mails) - 1} mails"

    @gated(preview=preview, name="send_all")
    def send_all(mails: list[str]) -> None:
        RAN.append(mails)

    send_all(["a"])
    assert RAN == [["a"]]
    assert gate.shown.prompt.args == {"mails": ["a"]}


def test_a_preview_that_fails_is_said_and_the_operator_still_decides(gate: AnsweredGate) -> None:
    def preview(to: str, body: str) -> str:
        raise LookupError("no such\x07 list")

    async def preview_async(to: str, body: str) -> str:
        return preview(to, body)

    gated(preview=preview)(original(send))("a")
    asyncio.run(gated(preview=preview_async)(original(send_async))("a"))
    for shown in gate.seen:
        assert shown.prompt.preview is not None
        assert shown.prompt.preview.unavailable == "LookupError: no such\x07 list"
    assert len(RAN) == 2


def test_risk_can_be_raised(gate: AnsweredGate) -> None:
    gated(risk="high", name="look")(lambda: RAN.append(1))()
    gated(name="look")(lambda: RAN.append(1))()
    assert [shown.prompt.risk.level for shown in gate.seen] == [RiskLevel.HIGH, RiskLevel.NORMAL]


@both
def test_exceptions_pass_through_and_are_reported(gate: AnsweredGate, function: Any) -> None:
    error = ValueError("no such\udc80 mailbox")

    def fails(to: str) -> None:
        raise error

    async def fails_async(to: str) -> None:
        raise error

    gated_function = gated(name="fails")(fails_async if function is send_async else fails)
    with pytest.raises(ValueError, match="no such") as raised:
        call(gated_function, "a")
    assert raised.value is error
    gate.outcome(gate.shown.id, "failed")
    assert gate.problem(gate.shown.id) == "ValueError: no such\\udc80 mailbox"


def test_an_interrupted_function_has_an_unknown_outcome(gate: AnsweredGate) -> None:
    @gated(name="interrupted")
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    gate.outcome(gate.shown.id, "unknown")


def test_a_cancelled_function_has_an_unknown_outcome(gate: AnsweredGate) -> None:
    begun = asyncio.Event()

    @gated(name="cancelled")
    async def cancelled() -> None:
        begun.set()
        await asyncio.sleep(30)

    async def work() -> None:
        task = asyncio.create_task(cancelled())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())
    gate.outcome(gate.shown.id, "unknown")


def test_cancelling_while_it_waits_withdraws(gate: AnsweredGate) -> None:
    gate.operator = nobody

    async def work() -> None:
        task = asyncio.create_task(send_async("a"))
        while not gate.seen:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())
    gate.outcome(gate.shown.id, "withdrawn")
    assert RAN == []


def test_an_interrupt_while_it_waits_withdraws(gate: AnsweredGate) -> None:
    def interrupt(_: Any) -> None:
        gate.operator = nobody
        os.kill(os.getpid(), signal.SIGINT)

    gate.operator = interrupt
    with pytest.raises(KeyboardInterrupt):
        send("a")
    gate.outcome(gate.shown.id, "withdrawn")
    assert RAN == []


@pytest.mark.parametrize("approves", [True, False])
def test_an_answer_that_comes_while_it_is_cancelled_is_not_run(gate: AnsweredGate, approves: bool) -> None:
    """Whatever comes first, the call does not run, and the gate knows it."""
    tasks: list[asyncio.Task[str]] = []

    def cancel(_: Any) -> Any:
        if len(tasks) == 1:
            tasks.append(tasks[0])
            loop.call_soon_threadsafe(tasks[0].cancel)
        return APPROVE if approves else None

    async def work() -> None:
        tasks.append(asyncio.create_task(send_async("a")))
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]

    gate.operator = cancel
    loop = asyncio.new_event_loop()
    loop.run_until_complete(work())
    loop.close()
    gated.flush()
    assert RAN == []
    assert gate.record(gate.shown.id).outcome in ("withdrawn", "failed")


def test_many_at_once_in_threads(gate: AnsweredGate) -> None:
    with ThreadPoolExecutor(12) as threads:
        results = list(threads.map(send, [f"a{number}" for number in range(24)]))
    assert results == [f"sent to a{number}" for number in range(24)]
    assert len(RAN) == len(gate.seen) == 24


def test_many_at_once_in_a_loop(gate: AnsweredGate) -> None:
    async def work() -> list[str]:
        return await asyncio.gather(*(send_async(f"a{number}") for number in range(24)))

    assert asyncio.run(work()) == [f"sent to a{number}" for number in range(24)]
    assert len(RAN) == 24


def test_a_function_that_is_not_async_works_inside_a_loop(gate: AnsweredGate) -> None:
    async def work() -> str:
        return send("a")

    assert asyncio.run(work()) == "sent to a"


class Mailbox:
    def __init__(self, name: str) -> None:
        self.name = name

    @gated
    def send(self, to: str) -> str:
        return f"{self.name} to {to}"

    @gated
    async def send_async(self, to: str) -> str:
        return f"{self.name} to {to}"

    @classmethod
    @gated
    def made(cls, name: str) -> str:
        return f"{cls.__name__} {name}"

    @gated
    @classmethod
    def made_too(cls, name: str) -> str:
        return f"{cls.__name__} {name}"

    @staticmethod
    @gated
    def plain(name: str) -> str:
        return name

    @gated
    @staticmethod
    def plain_too(name: str) -> str:
        return name

    def __call__(self, to: str) -> str:
        return f"called {self.name} to {to}"


class Special(Mailbox):
    pass


def test_methods(gate: AnsweredGate) -> None:
    box = Special("box")
    assert box.send("a") == "box to a"
    assert asyncio.run(box.send_async("a")) == "box to a"
    assert [box.made("b"), Special.made("b"), Special.made_too("b")] == ["Special b"] * 3
    assert [Mailbox.plain("c"), box.plain_too("c")] == ["c", "c"]
    assert gate.seen[0].prompt.args == {"to": "a"}
    assert gate.seen[0].prompt.action == f"{__name__}.Mailbox.send"
    assert gate.seen[2].prompt.args == {"name": "b"}


def test_other_callables(gate: AnsweredGate) -> None:
    assert gated(functools.partial(original(send), body="Fixed"))("a") == "sent to a"
    assert gated(name="box")(Mailbox("box"))("a") == "called box to a"
    assert gated(name="bound")(original(Mailbox.send).__get__(Mailbox("bound")))("a") == "bound to a"
    assert gate.seen[0].prompt.args == {"to": "a", "body": "Fixed"}
    assert gate.seen[0].prompt.action == f"{__name__}.send"


def test_the_original_stays_reachable() -> None:
    assert send.__name__ == "send"
    assert send.__doc__ == "Sends a mail."
    assert inspect.signature(send) == inspect.signature(original(send))
    assert inspect.iscoroutinefunction(send_async)
    assert original(send) is inspect.unwrap(send)
    assert original(send)("a") == "sent to a"
    assert pickle.loads(pickle.dumps(send)) is send


def generator() -> Any:
    yield 1


async def async_generator() -> Any:
    yield 1


@pytest.mark.parametrize("function", [generator, async_generator], ids=["sync", "async"])
def test_generators_are_refused(function: Any) -> None:
    with pytest.raises(TypeError, match="is a generator"):
        gated(function)


@pytest.mark.parametrize(
    "later", [generator, async_generator, original(send_async)], ids=["gen", "async gen", "coroutine"]
)
def test_a_result_that_has_not_run_yet_is_refused(gate: AnsweredGate, later: Any) -> None:
    """The work of a generator or a coroutine begins after the call has returned, with nobody to report it."""
    with pytest.raises(TypeError, match="has not run yet"):
        gated(name="later")(lambda: later("a") if later is original(send_async) else later())()
    assert RAN == []
    gate.outcome(gate.shown.id, "failed")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"risk": "low"}, ValueError),
        ({"timeout": 0}, ValueError),
        ({"timeout": 1e9}, ValueError),
        ({"name": "x" * 201}, ValueError),
        ({"name": "two\nlines"}, ValueError),
        ({"name": "\u202egnp.exe"}, ValueError),
        ({"batch": "x" * 101}, ValueError),
        ({"context": ["nothing"]}, TypeError),
        ({"preview": send_async}, TypeError),
    ],
    ids=[
        "risk",
        "no time",
        "too much time",
        "long name",
        "two lines",
        "hidden character",
        "batch",
        "context",
        "preview",
    ],
)
def test_wrong_options_are_refused_at_once(options: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        gated(**options)(original(send))


def test_a_function_needs_a_name_and_a_signature() -> None:
    with pytest.raises(TypeError, match="no name"):
        gated(lambda: None)
    with pytest.raises(TypeError, match="no signature"):
        gated(min)


def test_an_argument_that_is_not_json_is_refused_before_anybody_is_asked(gate: AnsweredGate) -> None:
    with pytest.raises(ArgumentRefused, match=r"the argument to .* of type set"):
        call(send, {"a"})
    assert gate.seen == []


def test_errors_can_be_pickled() -> None:
    denied = pickle.loads(pickle.dumps(Denied.because("send", "no")))
    assert (str(denied), denied.reason) == ("the operator denied send, so it was not run: no", "no")
    for kind in (NobodyAnswered, Withdrawn, NotAsked, AnswerRefused, OutcomeUnknown, ArgumentRefused):
        made: GatedError = pickle.loads(pickle.dumps(kind("a", "b", "Do it.")))
        assert (type(made), str(made)) == (kind, "a: b. Do it.")
        assert repr(made) == f"{kind.__name__}('a: b. Do it.')"


def test_batches_share_an_id(gate: AnsweredGate) -> None:
    @gated(wait=False, batch="own", name="later")
    def later(to: str) -> None: ...

    with gated.batch("nightly") as name:
        handles = [later("a"), later("b")]
    assert name == "nightly"
    assert [handle.batch for handle in (*handles, later("c"))] == ["nightly", "nightly", "own"]
    with gated.batch() as made:
        assert later("d").batch == made
    assert made.startswith("batch-")
