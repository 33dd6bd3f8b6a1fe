"""A disk that fails before and after the effect: nobody is told anything that is not so, and nothing is lost."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from aileron_tui.core.action import Action
from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject, read_object
from aileron_tui.core.resolved_call import ResolvedCall
from aileron_tui.core.risk import RiskLevel, RiskRule
from aileron_tui.core.states import RequestState
from aileron_tui.demo.sample_service import ServiceFault
from aileron_tui.gate import gate as gate_module
from aileron_tui.gate import request_handler
from aileron_tui.gate.event_feed import FeedEvent, Subscription
from aileron_tui.gate.gate import LEDGER_FILE, Gate
from aileron_tui.gate.installed_bundle import InstalledBundle
from aileron_tui.gate.request_entries import request_entries
from aileron_tui.ledger.full_check import audit
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.gate.conftest import GateEnv, ask, code, dig, previewed_request, result_of, run_async
from tests.gate.failing_disk import FailingDisk, eventually, failing_disk

RETRIED = "this is not recorded yet, and the gate keeps trying"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the gate check its files often."""
    monkeypatch.setattr(gate_module, "_UPKEEP_SECONDS", 0.05)
    monkeypatch.setattr(gate_module, "_CLOSE_SECONDS", 1.0)


@pytest.fixture
def disk() -> Iterator[FailingDisk]:
    with failing_disk() as found:
        yield found


def outcome(env: GateEnv, id_: str) -> str:
    """The outcome in the history of a ledger that verifies."""
    with open_reader(env.data / LEDGER_FILE) as reader:
        assert audit(reader, RecordedSigners()).fault is None
        record = reader.find(id_)
        assert record is not None
        return record.outcome


def reason(gate: Gate, id_: str) -> str:
    """What approvers are told about the state of a request."""
    return str((gate.find_request(id_) or {}).get("reason", ""))


async def waiting(gate: Gate) -> str:
    id_ = str((await ask(gate)).body["approval_id"])
    await previewed_request(gate, id_)
    return id_


async def approve(env: GateEnv, gate: Gate, id_: str) -> int:
    return (await gate.decide(id_, env.decision(await previewed_request(gate, id_)))).status


def normal_risk(env: GateEnv) -> None:
    """Makes every action a normal risk, so that a fault of the service does not change the preview at approval."""
    env.risk = (RiskRule(RiskLevel.NORMAL, action="*"),)


ENDS = {
    "done": (None, EntryKind.EXECUTED, "the op ran", RequestState.EXECUTED, "completed"),
    "failed": (ServiceFault.NOT_FOUND, EntryKind.FAILED, "the op failed", RequestState.FAILED, "failed"),
    "unknown": (ServiceFault.HANG_UP, EntryKind.UNKNOWN, "may have taken effect", RequestState.UNKNOWN, "failed"),
}


@pytest.mark.parametrize("results", [False, True], ids=["ledger", "results"])
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
def test_an_end_that_cannot_be_recorded_is_retried_and_meanwhile_told_as_it_is(
    env: GateEnv,
    disk: FailingDisk,
    end: tuple[ServiceFault | None, EntryKind, str, RequestState, str],
    results: bool,
) -> None:
    fault, kind, words, state, status = end
    normal_risk(env)

    async def work() -> str:
        async with env.gate() as gate:
            id_ = await waiting(gate)
            if fault:
                env.service.faults["send"] = fault
            disk.fail(*(() if results else (kind,)), results=results)
            assert await approve(env, gate, id_) == 200
            await eventually(lambda: RETRIED in reason(gate, id_))
            poll = await gate.result(id_, agent="agent-1")
            assert (poll.status, poll.body["status"]) == (200, "running")
            assert words in str(poll.body["message"])
            assert RETRIED in str(poll.body["message"])
            held = await ask(gate, wait=0.05)
            assert (held.status, held.body["approval_id"]) == (202, id_)
            assert words in str(held.body["message"])
            assert "the disk is full" in gate.problem
            disk.repair()
            answer = await result_of(gate, id_)
            assert answer["status"] == status
            await eventually(lambda: not gate.problem)
            assert "reason" not in (gate.find_request(id_) or {})
            return id_

    assert outcome(env, run_async(work())) == state
    assert len(env.service.sent) == (fault is not ServiceFault.NOT_FOUND)


def test_an_end_that_is_not_recorded_at_the_stop_is_found_after_the_next_start(env: GateEnv, disk: FailingDisk) -> None:
    async def runs() -> str:
        async with env.gate() as gate:
            id_ = await waiting(gate)
            disk.fail(EntryKind.EXECUTED, EntryKind.STOPPED)
            await approve(env, gate, id_)
            await eventually(lambda: RETRIED in reason(gate, id_))
            return id_

    async def finds(id_: str) -> None:
        async with env.gate() as gate:
            assert (await gate.result(id_, agent="agent-1")).body["status"] == "completed"
            assert not gate.waiting()

    id_ = run_async(runs())
    disk.repair()
    run_async(finds(id_))
    assert outcome(env, id_) == RequestState.EXECUTED
    assert len(env.service.sent) == 1


def test_an_end_that_becomes_possible_at_the_stop_is_recorded_then(env: GateEnv, disk: FailingDisk) -> None:
    async def work() -> str:
        async with env.gate() as gate:
            id_ = await waiting(gate)
            disk.fail(EntryKind.EXECUTED)
            await approve(env, gate, id_)
            await eventually(lambda: RETRIED in reason(gate, id_))
            disk.repair()
            return id_

    assert outcome(env, run_async(work())) == RequestState.EXECUTED


def test_an_expiry_that_cannot_be_recorded_is_no_longer_listed_and_cannot_be_approved(
    env: GateEnv, disk: FailingDisk
) -> None:
    env.policy = replace(env.policy, timeout=1)

    async def work() -> str:
        async with env.gate() as gate:
            id_ = await waiting(gate)
            item = await previewed_request(gate, id_)
            disk.fail(EntryKind.EXPIRED)
            await eventually(lambda: not gate.waiting())
            for verdict in Verdict:
                late = await gate.decide(id_, env.decision(item, verdict))
                assert (late.status, code(late)) == (409, "INVALID_STATE")
            await eventually(lambda: RETRIED in reason(gate, id_))
            poll = await gate.result(id_, agent="agent-1")
            assert poll.body["status"] == "pending_approval"
            assert "nobody answered in time, so nothing was run" in str(poll.body["message"])
            disk.repair()
            assert dig(await result_of(gate, id_), "failure", "error", "class") == "approval_timeout"
            return id_

    assert outcome(env, run_async(work())) == RequestState.EXPIRED
    assert not env.service.sent


def test_a_request_that_cannot_be_recorded_is_listed_nowhere(env: GateEnv, disk: FailingDisk) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            disk.fail(EntryKind.REQUESTED)
            subscription = gate.feed.subscribe()
            for wait in (None, 1.0):
                reply = await ask(gate, wait=wait)
                assert (reply.status, code(reply)) == (503, "not_recorded")
            assert gate.waiting() == []
            assert [event.name for event in await subscription.batch()] == ["snapshot"]
            assert dig(gate.status(), "waiting") == 0
            disk.repair()
            assert (await ask(gate)).status == 202

    run_async(work())


def test_a_request_is_listed_only_once_it_is_recorded(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            entry = request_entries

            def while_recording(request: object) -> object:
                assert gate.waiting() == []
                assert not gate.feed._history
                return entry(request)  # type: ignore[arg-type]

            monkeypatch.setattr(request_handler, "request_entries", while_recording)
            assert (await ask(gate)).status == 202
            assert len(gate.waiting()) == 1

    run_async(work())


EXCEPTIONS: dict[str, Callable[[], BaseException]] = {
    "no memory": MemoryError,
    "a value that cannot be written": lambda: ValueError("Exceeds the limit (4300 digits)"),
    "an error of the system": lambda: OSError(5, "Input/output error"),
    "recursion": RecursionError,
    "a cancelled write": KeyboardInterrupt,
}


@pytest.mark.parametrize("error", EXCEPTIONS.values(), ids=EXCEPTIONS.keys())
def test_no_exception_ends_the_recorder(env: GateEnv, disk: FailingDisk, error: Callable[[], BaseException]) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            disk.error = error
            disk.fail(EntryKind.REQUESTED)
            reply = await ask(gate)
            assert (reply.status, code(reply)) == (503, "not_recorded")
            disk.repair()
            id_ = await waiting(gate)
            assert await approve(env, gate, id_) == 200
            assert (await result_of(gate, id_))["status"] == "completed"
            await eventually(lambda: not gate.problem)

    run_async(work())


def data(event: FeedEvent) -> JsonObject:
    return read_object(event.encoded)


def test_watchers_are_told_that_the_gate_is_failing_and_that_it_works_again(env: GateEnv, disk: FailingDisk) -> None:
    async def next_health(watcher: Subscription) -> JsonObject:
        return await anext(data(event) async for event in watcher if event.name == "health")

    async def work() -> None:
        async with env.gate() as gate:
            watcher = gate.feed.subscribe()
            assert data(await anext(watcher)) == {"items": [], "readers": {}}
            disk.fail(EntryKind.REQUESTED)
            assert (await ask(gate)).status == 503
            assert "the disk is full" in str((await next_health(watcher))["problem"])
            late = gate.feed.subscribe()
            assert "the disk is full" in str(data(await anext(late))["problem"])
            disk.repair()
            assert await next_health(watcher) == await next_health(late) == {"problem": ""}
            assert data(await anext(gate.feed.subscribe())) == {"items": [], "readers": {}}

    run_async(work())


def test_a_withdrawal_after_a_reload_that_cannot_be_recorded_is_retried(env: GateEnv, disk: FailingDisk) -> None:
    async def work() -> str:
        async with env.gate() as gate:
            id_ = await waiting(gate)
            item = await previewed_request(gate, id_)
            disk.fail(EntryKind.WITHDRAWN)
            (env.manifests / "actions" / "send-draft.md").unlink()
            await eventually(lambda: RETRIED in reason(gate, id_))
            assert "its action was removed, so nothing was run" in reason(gate, id_)
            assert (await gate.decide(id_, env.decision(item))).status == 409
            disk.repair()
            assert dig(await result_of(gate, id_), "failure", "error", "class") == "withdrawn"
            return id_

    assert outcome(env, run_async(work())) == RequestState.WITHDRAWN
    assert env.service.sent == ()


def rename_a_row(env: GateEnv) -> None:
    """Changes the manifest of `send-draft` so that its prompt is another one."""
    manifest = env.manifests / "actions" / "send-draft.md"
    manifest.write_text(manifest.read_text().replace('"Subject" =', '"About" =', 1))


def test_a_prompt_that_cannot_be_made_again_is_not_approvable_until_it_can(env: GateEnv, disk: FailingDisk) -> None:
    """The reload is recorded, and then the disk is full."""

    async def work() -> None:
        async with env.gate() as gate:
            id_ = await waiting(gate)
            old = await previewed_request(gate, id_)
            disk.fails = lambda draft: draft.kind == EntryKind.CONFIG_CHANGED and draft.request == id_
            installed = gate._gate_state.installed
            rename_a_row(env)
            await eventually(lambda: gate._gate_state.installed is not installed)
            reply = await gate.decide(id_, env.decision(old))
            assert (reply.status, code(reply)) == (409, "PROMPT_PENDING")
            await eventually(lambda: "the disk is full" in gate.problem)
            assert code(await gate.decide(id_, env.decision(old))) == "PROMPT_PENDING"
            disk.fails = lambda _: False
            await eventually(lambda: dig(gate.find_request(id_), "digest") != old["digest"])
            assert code(await gate.decide(id_, env.decision(old))) in {"PROMPT_CHANGED", "PREVIEW_PENDING"}
            assert not env.service.sent
            assert await approve(env, gate, id_) == 200
            assert (await result_of(gate, id_))["status"] == "completed"

    run_async(work())
    with open_reader(env.data / LEDGER_FILE) as reader:
        assert audit(reader, RecordedSigners()).fault is None


def test_an_error_in_one_request_leaves_no_other_with_its_old_prompt(
    env: GateEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            first, second = await waiting(gate), str((await ask(gate, draft_id="r-67890")).body["approval_id"])
            old = {id_: await previewed_request(gate, id_) for id_ in (first, second)}
            resolve = InstalledBundle.resolve

            def fail_for_first(bundle: InstalledBundle, action: Action, args: JsonObject) -> ResolvedCall:
                if args["draft_id"] == "r-12345":
                    raise ZeroDivisionError
                return resolve(bundle, action, args)

            monkeypatch.setattr(InstalledBundle, "resolve", fail_for_first)
            rename_a_row(env)
            await eventually(lambda: dig(gate.find_request(second), "revision") != old[second]["revision"])
            await eventually(lambda: "reloading the manifests failed" in gate.problem)
            assert code(await gate.decide(first, env.decision(old[first]))) == "PROMPT_PENDING"
            assert (await gate.decide(first, env.decision(old[first], Verdict.DENY))).status == 200
            await eventually(lambda: not gate.problem)

    run_async(work())
    assert env.service.sent == ()


def test_results_that_cannot_be_stored_stop_approvals(env: GateEnv, disk: FailingDisk) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            first, second = await waiting(gate), str((await ask(gate, draft_id="r-67890")).body["approval_id"])
            disk.fail(results=True)
            assert await approve(env, gate, first) == 200
            await eventually(lambda: gate.problem)
            refused = await gate.decide(second, env.decision(await previewed_request(gate, second)))
            assert (refused.status, code(refused)) == (503, "not_recorded")
            disk.repair()
            await eventually(lambda: not gate.problem)
            assert await approve(env, gate, second) == 200
            assert (await result_of(gate, first))["status"] == "completed"

    run_async(work())


def test_a_result_is_handed_over_once_even_if_its_delivery_cannot_be_recorded(env: GateEnv, disk: FailingDisk) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            id_ = await waiting(gate)
            await approve(env, gate, id_)
            await eventually(lambda: dig(gate.find_request(id_), "state") == "executed")
            disk.fail(EntryKind.DELIVERED)
            assert (await ask(gate)).body["status"] == "completed"
            assert (await ask(gate)).status == 202  # a new request
            disk.repair()
            await eventually(lambda: not gate._ends.retried)

    run_async(work())
    with open_reader(env.data / LEDGER_FILE) as reader:
        kinds = [entry.kind for entry in reader.entries()]
    assert kinds.count(EntryKind.DELIVERED) == 1


def test_a_call_that_may_have_taken_effect_says_so_when_it_is_asked_again(env: GateEnv) -> None:
    normal_risk(env)

    async def first() -> str:
        async with env.gate() as gate:
            id_ = await waiting(gate)
            env.service.faults["send"] = ServiceFault.HANG_UP
            await approve(env, gate, id_)
            assert (await result_of(gate, id_))["status"] == "failed"
            env.service.faults.clear()
            again = await waiting(gate)
            assert dig(gate.find_request(again), "asked_again") == id_
            await gate.decide(again, env.decision(await previewed_request(gate, again), Verdict.DENY))
            return id_

    async def after_a_restart(id_: str) -> None:
        async with env.gate() as gate:
            other = str((await ask(gate, draft_id="r-67890")).body["approval_id"])
            assert "asked_again" not in (gate.find_request(other) or {})

    run_async(after_a_restart(run_async(first())))
    assert len(env.service.sent) == 1
