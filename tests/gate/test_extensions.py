"""Five more minutes: signed by an approver, recorded, never beyond the limit, and never after the deadline."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import moment, timestamp
from aileron_tui.gate import deadline_handler
from aileron_tui.gate.gate import LEDGER_FILE, Gate
from aileron_tui.gate.gate_state import GateState
from aileron_tui.ledger.full_check import audit
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing.key_store import for_this_run
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.gate.conftest import GateEnv, ask, code, dig, previewed_request, result_of, run_async
from tests.gate.failing_disk import eventually
from tests.gate.machine import Machine
from tests.gate.served_gate import DRAFT, SEND, WAITING, served_gate
from tests.gate.test_deadlines import check_expired

FIVE_MINUTES = timedelta(minutes=5)


async def waiting_request(gate: Gate) -> JsonObject:
    return await previewed_request(gate, str((await ask(gate)).body["approval_id"]))


async def extended(env: GateEnv, gate: Gate, item: JsonObject) -> JsonObject:
    """Extends a request and returns it."""
    reply = await gate.extend(str(item["id"]), env.extension(item))
    assert reply.status == 200, reply.body
    found: JsonObject = dig(reply.body, "item")
    assert found == gate.find_request(str(item["id"]))
    return found


def expires(item: JsonObject) -> Any:
    return moment(str(item["expires_at"]))


def decided_now(env: GateEnv, machine: Machine, item: JsonObject) -> JsonObject:
    """An approval that is signed at the time of the machine's clock."""
    now = machine.clock()
    return env.decision(item, time=timestamp(now), expires=timestamp(now + timedelta(minutes=2)))


def recorded(env: GateEnv) -> list[str]:
    """The kinds of all entries of a ledger that is good."""
    with open_reader(env.data / LEDGER_FILE) as reader:
        assert audit(reader, RecordedSigners()).fault is None
        return [entry.kind for entry in reader.entries()]


def test_an_extended_request_can_be_approved_after_its_first_deadline(env: GateEnv) -> None:
    machine = Machine()

    async def work() -> None:
        async with env.gate(**machine.options()) as gate:
            first = await waiting_request(gate)
            second = await extended(env, gate, first)
            assert expires(second) - expires(first) == FIVE_MINUTES
            assert (second["digest"], second["revision"]) == (first["digest"], first["revision"])
            machine.slept += 450
            assert gate.waiting()
            assert (await gate.decide(str(first["id"]), decided_now(env, machine, second))).status == 200
            assert (await result_of(gate, str(first["id"])))["status"] == "completed"

    run_async(work())
    assert len(env.service.sent) == 1
    assert recorded(env).count(EntryKind.EXTENDED) == 1


def test_extensions_end_at_the_longest_wait(env: GateEnv) -> None:
    env.policy = replace(env.policy, timeout=120, longest_wait=600)

    async def work() -> None:
        async with env.gate() as gate:
            first = item = await waiting_request(gate)
            item = await extended(env, gate, await extended(env, gate, item))
            assert expires(item) - expires(first) == timedelta(seconds=480)
            assert item["expires_at"] == item["extendable_until"]
            over: dict[str, Any] = {"before": item["expires_at"], "expires": timestamp(expires(item) + FIVE_MINUTES)}
            reply = await gate.extend(str(item["id"]), env.extension(first, **over))
            assert (reply.status, code(reply)) == (409, "DEADLINE_CHANGED")
            assert gate.find_request(str(item["id"])) == item

    run_async(work())
    assert recorded(env).count(EntryKind.EXTENDED) == 2


def test_a_timeout_as_long_as_the_longest_wait_cannot_be_extended(env: GateEnv) -> None:
    env.policy = replace(env.policy, longest_wait=300)

    async def work() -> None:
        async with env.gate() as gate:
            item = await waiting_request(gate)
            assert "extendable_until" not in item
            later = timestamp(expires(item) + FIVE_MINUTES)
            reply = await gate.extend(str(item["id"]), env.extension(item | {"extendable_until": later}))
            assert (reply.status, code(reply)) == (409, "DEADLINE_CHANGED")

    run_async(work())


def _unsigned(env: GateEnv, item: JsonObject) -> JsonObject:
    envelope = dig(env.extension(item), "envelope")
    return {"envelope": envelope | {"signatures": []}}


def _of_an_unknown_key(env: GateEnv, item: JsonObject) -> JsonObject:
    with for_this_run("stranger") as key:
        return env.extension(item, key)


def _of_another_key_under_this_name(env: GateEnv, item: JsonObject) -> JsonObject:
    body = _of_an_unknown_key(env, item)
    dig(body, "envelope")["signatures"][0]["keyid"] = env.key.public.fingerprint
    return body


def _changed_after_signing(env: GateEnv, item: JsonObject) -> JsonObject:
    longer = timestamp(expires(item) + 2 * FIVE_MINUTES)
    payload = dig(env.extension(item, expires=longer), "envelope", "payload")
    return {"envelope": dig(env.extension(item), "envelope") | {"payload": payload}}


def _for_another_request(env: GateEnv, item: JsonObject) -> JsonObject:
    return env.extension(item, request="act-other")


def _for_another_run(env: GateEnv, item: JsonObject) -> JsonObject:
    return env.extension(item, instance="gate-other")


def _a_decision(env: GateEnv, item: JsonObject) -> JsonObject:
    return {"envelope": env.decision(item)["envelope"]}


def _without_an_envelope(env: GateEnv, item: JsonObject) -> JsonObject:
    return {"expires": timestamp(expires(item) + FIVE_MINUTES)}


def _longer(env: GateEnv, item: JsonObject) -> JsonObject:
    return env.extension(item, expires=timestamp(expires(item) + timedelta(minutes=6)))


def _shorter(env: GateEnv, item: JsonObject) -> JsonObject:
    return env.extension(item, expires=timestamp(expires(item) - timedelta(minutes=1)))


def _over_a_foreign_ledger(env: GateEnv, item: JsonObject) -> JsonObject:
    return env.extension(item, head="sha256:" + "ab" * 32)


@pytest.mark.parametrize(
    ("attack", "status", "why"),
    [
        (_unsigned, 403, "malformed"),
        (_of_an_unknown_key, 403, "unknown_key"),
        (_of_another_key_under_this_name, 403, "bad_signature"),
        (_changed_after_signing, 403, "bad_signature"),
        (_for_another_request, 403, "wrong_request"),
        (_for_another_run, 403, "wrong_instance"),
        (_a_decision, 403, "wrong_type"),
        (_over_a_foreign_ledger, 403, "not_admitted"),
        (_without_an_envelope, 400, "invalid_body"),
        (_longer, 409, "DEADLINE_CHANGED"),
        (_shorter, 409, "DEADLINE_CHANGED"),
    ],
)
def test_what_no_approver_signed_for_this_deadline_extends_nothing(
    env: GateEnv, attack: Callable[[GateEnv, JsonObject], JsonObject], status: int, why: str
) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            item = await waiting_request(gate)
            reply = await gate.extend(str(item["id"]), attack(env, item))
            assert (reply.status, code(reply)) == (status, why)
            assert dig(gate.find_request(str(item["id"])), "expires_at") == item["expires_at"]

    run_async(work())
    assert EntryKind.EXTENDED not in recorded(env)


def test_an_extension_counts_once(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            item = await waiting_request(gate)
            body = env.extension(item)
            replies = await asyncio.gather(*(gate.extend(str(item["id"]), body) for _ in range(4)))
            assert sorted(reply.status for reply in replies) == [200, 409, 409, 409]
            assert expires(gate.waiting()[0]) - expires(item) == FIVE_MINUTES

    run_async(work())
    assert recorded(env).count(EntryKind.EXTENDED) == 1


def test_an_answered_request_cannot_be_extended(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            item = await waiting_request(gate)
            body = env.extension(item)
            assert (await gate.decide(str(item["id"]), env.decision(item, Verdict.DENY))).status == 200
            reply = await gate.extend(str(item["id"]), body)
            assert (reply.status, code(reply), reply.body["state"]) == (409, "INVALID_STATE", "denied")
            assert (await gate.extend("act-unknown", body)).status == 404

    run_async(work())


def sleep_over_the_end(machine: Machine) -> None:
    machine.slept += 601


def sleep_and_set_the_clock_back(machine: Machine) -> None:
    machine.slept += 601
    machine.set_by -= timedelta(hours=1)


def set_the_clock_forward(machine: Machine) -> None:
    machine.set_by += timedelta(minutes=59)


@pytest.mark.parametrize("then", ["approve", "extend"])
@pytest.mark.parametrize("change", [sleep_over_the_end, sleep_and_set_the_clock_back, set_the_clock_forward])
def test_nothing_counts_after_an_extended_deadline(
    env: GateEnv, change: Callable[[Machine], None], then: str, boot: str
) -> None:
    machine = Machine(boot=boot)

    async def work() -> str:
        async with env.gate(**machine.options()) as gate:
            item = await extended(env, gate, await waiting_request(gate))
            id_ = str(item["id"])
            change(machine)
            if then == "approve":
                reply = await gate.decide(id_, env.decision(item))
            else:
                reply = await gate.extend(id_, env.extension(item))
            assert (reply.status, code(reply), reply.body.get("state")) == (409, "INVALID_STATE", "expired")
            assert dig(await result_of(gate, id_), "failure", "error", "class") == "approval_timeout"
            return id_

    check_expired(env, run_async(work()))


def test_the_ledger_refuses_a_late_extension_even_if_the_gate_does_not_notice(
    env: GateEnv, monkeypatch: pytest.MonkeyPatch, boot: str
) -> None:
    machine = Machine(boot=boot)
    monkeypatch.setattr(GateState, "is_late", lambda *_: False)

    async def work() -> None:
        async with env.gate(**machine.options()) as gate:
            item = await waiting_request(gate)
            machine.slept += 301
            machine.set_by -= timedelta(seconds=301)  # the wall clock shows nothing of it
            reply = await gate.extend(str(item["id"]), env.extension(item))
            assert (reply.status, code(reply)) == (409, "INVALID_STATE")

    run_async(work())
    assert EntryKind.EXTENDED not in recorded(env)


def test_the_ledger_refuses_a_repeated_extension_even_if_the_gate_does_not_notice(
    env: GateEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline_handler, "objection", lambda *_: "")

    async def work() -> None:
        async with env.gate() as gate:
            item = await waiting_request(gate)
            body = env.extension(item)
            assert (await gate.extend(str(item["id"]), body)).status == 200
            reply = await gate.extend(str(item["id"]), body)
            assert (reply.status, code(reply)) == (403, "not_admitted")
            assert expires(gate.waiting()[0]) - expires(item) == FIVE_MINUTES

    run_async(work())
    assert recorded(env).count(EntryKind.EXTENDED) == 1


@pytest.mark.parametrize("case", ["in time", "late", "late by the other clock", "restarted machine"])
def test_a_restarted_gate_knows_the_extended_deadline(env: GateEnv, case: str) -> None:
    machine = Machine()

    async def first() -> JsonObject:
        async with env.gate(**machine.options()) as gate:
            return await extended(env, gate, await waiting_request(gate))

    async def second(item: JsonObject) -> None:
        async with env.gate(**machine.options()) as gate:
            id_ = str(item["id"])
            if case != "in time":
                assert gate.waiting() == []
                assert dig(await result_of(gate, id_), "failure", "error", "class") == "approval_timeout"
                return
            again = await previewed_request(gate, id_)
            assert again["expires_at"] == item["expires_at"]
            old = await gate.extend(id_, env.extension(item))
            assert (old.status, code(old)) == (403, "wrong_instance")
            longer = await extended(env, gate, again)
            assert expires(longer) - expires(item) == FIVE_MINUTES
            assert (await gate.decide(id_, decided_now(env, machine, longer))).status == 200
            assert (await result_of(gate, id_))["status"] == "completed"

    item = run_async(first())
    if case == "in time":
        machine.slept += 450
    elif case == "late":
        machine.slept += 601
    elif case == "late by the other clock":
        machine.slept += 601
        machine.set_by -= timedelta(seconds=601)
    else:
        machine.boot = "boot-2"
    run_async(second(item))
    if case == "in time":
        assert len(env.service.sent) == 1
    else:
        check_expired(env, str(item["id"]))


def test_an_expiry_that_waits_for_an_extension_ends_nothing(env: GateEnv) -> None:
    """The timer may fire while the extension is being recorded."""

    async def work() -> None:
        async with env.gate() as gate:
            item = await waiting_request(gate)
            request = gate._gate_state.find(str(item["id"]))  # no client can time this
            assert request is not None
            async with request.end_lock:  # both wait for it, in this order
                extending = asyncio.create_task(gate.extend(request.id, env.extension(item)))
                await asyncio.sleep(0.01)
                gate._requests.expire(request)
                await asyncio.sleep(0.01)
            assert (await extending).status == 200
            await asyncio.sleep(0.05)
            assert request.state is RequestState.PENDING

    run_async(work())
    assert EntryKind.EXPIRED not in recorded(env)


def test_an_extended_request_expires_by_itself(env: GateEnv) -> None:
    env.policy = replace(env.policy, timeout=1, longest_wait=2)

    async def work() -> str:
        async with env.gate() as gate:
            item = await extended(env, gate, await waiting_request(gate))
            await asyncio.sleep(max(0.0, (expires(item) - moment(str(item["requested_at"]))).total_seconds() - 0.6))
            assert gate.waiting()
            await result_of(gate, str(item["id"]))
            return str(item["id"])

    check_expired(env, run_async(work()))


def test_agents_see_the_new_deadline_and_cannot_set_it(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            held = asyncio.create_task(served.agent.post(SEND, json=DRAFT, headers={"Prefer": "wait=20"}))
            await eventually(lambda: bool(served.gate.waiting()))
            item = await served.previewed_request(str(served.gate.waiting()[0]["id"]))
            path = f"{WAITING}/{item['id']}"
            refused = await served.agent.post(f"{path}/extend", json=env.extension(item))
            assert refused.status_code == 403
            assert (await served.anonymous.post(f"{path}/extend", json=env.extension(item))).status_code == 401
            assert (await served.agent.get(f"{path}/result")).json()["expires_at"] == item["expires_at"]
            reply = await served.approver.post(f"{path}/extend", json=env.extension(item))
            assert reply.status_code == 200
            longer = reply.json()["item"]
            assert expires(longer) - expires(item) == FIVE_MINUTES
            assert (await served.agent.get(f"{path}/result")).json()["expires_at"] == longer["expires_at"]
            assert not held.done()
            assert (await served.approver.post(f"{path}/decide", json=env.decision(longer))).status_code == 200
            assert (await held).json()["status"] == "completed"

    run_async(work())


def test_watchers_are_told_about_the_new_deadline(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            item = await waiting_request(gate)
            subscription = gate.feed.subscribe()
            longer = await extended(env, gate, item)
            snapshot, updated = await anext(subscription), await anext(subscription)
            assert str(item["expires_at"]).encode() in snapshot.encoded
            assert updated.name == "updated"
            assert str(longer["expires_at"]).encode() in updated.encoded

    run_async(work())
