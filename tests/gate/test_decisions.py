"""Every kind of invalid decision is refused with its own reason, and nothing runs."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.times import timestamp
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import for_this_run
from tests.gate.conftest import GateEnv, ask, code, previewed_request, result_of, run_async


def later(seconds: float) -> str:
    return timestamp(datetime.now(UTC) + timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("changes", "status", "named"),
    [
        ({"instance": "gate-0000"}, 403, "wrong_instance"),
        ({"request": "act-another"}, 403, "wrong_request"),
        ({"digest": "sha256:" + "0" * 64}, 409, "PROMPT_CHANGED"),
        ({"time": later(-600), "expires": later(-300)}, 403, "expired"),
        ({"time": later(864000), "expires": later(864100)}, 403, "not_yet_valid"),
        ({"expires": later(86400)}, 403, "malformed"),
        ({"action": "delete-draft"}, 403, "malformed"),
        ({"connector": "sha256:" + "1" * 64}, 403, "malformed"),
        ({"edits": {"draft_id": "r-2"}}, 403, "malformed"),
        ({"verdict": Verdict.DENY}, 403, "malformed"),
        ({"reason": "other"}, 403, "malformed"),
        ({"head": "sha256:" + "2" * 64}, 403, "not_admitted"),
    ],
)
def test_a_decision_bound_to_something_else_is_refused(
    env: GateEnv, changes: dict[str, Any], status: int, named: str
) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await previewed_request(gate, id_)
            body: JsonObject = {
                "approved": True,
                "envelope": sign(env.statement(item, **changes), env.key).fields(),
            }
            reply = await gate.decide(id_, body)
            assert (reply.status, code(reply)) == (status, named)
            assert [waiting["id"] for waiting in gate.waiting()] == [id_]
            assert (await gate.decide(id_, env.decision(item))).status == 200

    run_async(work())
    assert len(env.service.sent) == 1


def test_a_key_that_was_never_enrolled_is_refused(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await previewed_request(gate, id_)
            with for_this_run("anonymous") as anonymous:
                envelope = sign(env.statement(item), anonymous).fields()
            reply = await gate.decide(id_, {"approved": True, "envelope": envelope})
            assert (reply.status, code(reply)) == (403, "unknown_key")

    run_async(work())
    assert env.service.sent == ()


def test_a_key_revoked_by_another_process_is_refused_at_once(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await previewed_request(gate, id_)
            with open_ledger(gate.ledger_path, guest=True) as ledger:
                ledger.append(EntryKind.KEY_REVOKED, gate.approvers().revocation("tester"))
            reply = await gate.decide(id_, env.decision(item))
            assert (reply.status, code(reply)) == (403, "revoked_key")

    run_async(work())
    assert env.service.sent == ()


def test_a_tampered_envelope_is_refused(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await previewed_request(gate, id_)
            good: dict[str, Any] = env.decision(item)
            other: dict[str, Any] = env.decision(item)
            good["envelope"]["signatures"] = other["envelope"]["signatures"]
            bodies: list[JsonObject] = [
                good,
                {"approved": True},
                {"approved": True, "envelope": {}},
                {"envelope": {}},
                {"approved": 1},
            ]
            for body in bodies:
                reply = await gate.decide(id_, body)
                assert reply.status in (400, 403)
            assert len(gate.waiting()) == 1

    run_async(work())
    assert env.service.sent == ()


def test_a_nonce_can_be_used_once_even_across_a_restart(env: GateEnv) -> None:
    async def first() -> str:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            statement = env.statement(await previewed_request(gate, id_), Verdict.DENY)
            body: JsonObject = {"approved": False, "envelope": sign(statement, env.key).fields()}
            assert (await gate.decide(id_, body)).status == 200
            await result_of(gate, id_)
            return statement.nonce

    async def second(nonce: str) -> None:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            reply = await gate.decide(id_, env.decision(await previewed_request(gate, id_), nonce=nonce))
            assert (reply.status, code(reply)) == (403, "replayed")

    run_async(second(run_async(first())))
    assert env.service.sent == ()


def test_the_same_decision_twice_gets_the_same_answer_and_another_one_409(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await previewed_request(gate, id_)
            body, other = env.decision(item), env.decision(item, Verdict.DENY)
            replies = await asyncio.gather(*(gate.decide(id_, body) for _ in range(5)), gate.decide(id_, other))
            assert [reply.status for reply in replies] == [200] * 5 + [409]
            assert len({str(reply.body) for reply in replies[:5]}) == 1
            await result_of(gate, id_)
            assert (await gate.decide(id_, body)).body == replies[0].body
            late = await gate.decide(id_, other)
            assert (late.status, late.body["state"]) == (409, "executed")
            assert (await gate.decide("act-nobody", other)).status == 404

    run_async(work())
    assert len(env.service.sent) == 1


def test_a_repeated_denial_with_other_fields_is_still_a_denial(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            body = env.decision(await previewed_request(gate, id_), Verdict.DENY)
            first = await gate.decide(id_, body)
            assert (await gate.decide(id_, body | {"approved": True})).body == first.body
            assert first.body["state"] == "denied"

    run_async(work())
    assert env.service.sent == ()


def test_refused_decisions_cannot_fill_the_ledger(env: GateEnv) -> None:
    async def work() -> str:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            envelope = sign(env.statement(await previewed_request(gate, id_)), env.key).fields() | {
                "payloadType": "x" * 2_000_000
            }
            reply = await gate.decide(id_, {"approved": True, "envelope": envelope})
            assert (reply.status, code(reply)) == (403, "wrong_type")
            return id_

    id_ = run_async(work())
    with open_reader(env.data / LEDGER_FILE) as reader:
        refused = next(entry for entry in reader.of_request(id_) if entry.kind == EntryKind.REFUSED)
    assert len(str(refused.body)) < 1000
