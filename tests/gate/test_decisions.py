"""Every way in which an answer can be wrong is refused with its own reason, and nothing runs."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.times import timestamp
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.ledger.store import open_ledger, open_reader
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import for_this_run
from tests.gate.conftest import Bench, ask, code, ending, shown, until


def later(seconds: float) -> str:
    return timestamp(datetime.now(UTC) + timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("changes", "status", "named"),
    [
        ({"instance": "gate-0000"}, 403, "wrong_instance"),
        ({"request": "act-another"}, 403, "wrong_request"),
        ({"digest": "sha256:" + "0" * 64}, 409, "PROMPT_CHANGED"),
        ({"time": later(-600), "expires": later(-300)}, 403, "expired"),
        ({"time": later(600), "expires": later(700)}, 403, "not_yet_valid"),
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
    bench: Bench, changes: dict[str, Any], status: int, named: str
) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await shown(gate, id_)
            body: JsonObject = {
                "approved": True,
                "envelope": sign(bench.statement(item, **changes), bench.key).fields(),
            }
            reply = await gate.decide(id_, body)
            assert (reply.status, code(reply)) == (status, named)
            assert [waiting["id"] for waiting in gate.waiting()] == [id_]
            assert (await gate.decide(id_, bench.answer(item))).status == 200

    until(work())
    assert len(bench.service.sent) == 1


def test_a_key_that_was_never_enrolled_is_refused(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await shown(gate, id_)
            with for_this_run("stranger") as stranger:
                envelope = sign(bench.statement(item), stranger).fields()
            reply = await gate.decide(id_, {"approved": True, "envelope": envelope})
            assert (reply.status, code(reply)) == (403, "unknown_key")

    until(work())
    assert bench.service.sent == ()


def test_a_key_revoked_beside_the_running_gate_is_refused_at_once(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await shown(gate, id_)
            with open_ledger(gate.ledger_path, guest=True) as ledger:
                ledger.append(EntryKind.KEY_REVOKED, gate.approvers().revocation("tester"))
            reply = await gate.decide(id_, bench.answer(item))
            assert (reply.status, code(reply)) == (403, "revoked_key")

    until(work())
    assert bench.service.sent == ()


def test_a_tampered_envelope_is_refused(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await shown(gate, id_)
            good: dict[str, Any] = bench.answer(item)
            other: dict[str, Any] = bench.answer(item)
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

    until(work())
    assert bench.service.sent == ()


def test_a_nonce_serves_once_also_after_a_restart(bench: Bench) -> None:
    async def first() -> str:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            statement = bench.statement(await shown(gate, id_), Verdict.DENY)
            body: JsonObject = {"approved": False, "envelope": sign(statement, bench.key).fields()}
            assert (await gate.decide(id_, body)).status == 200
            await ending(gate, id_)
            return statement.nonce

    async def second(nonce: str) -> None:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            reply = await gate.decide(id_, bench.answer(await shown(gate, id_), nonce=nonce))
            assert (reply.status, code(reply)) == (403, "replayed")

    until(second(until(first())))
    assert bench.service.sent == ()


def test_the_same_decision_twice_gets_the_same_answer_and_another_one_409(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await shown(gate, id_)
            body, other = bench.answer(item), bench.answer(item, Verdict.DENY)
            replies = await asyncio.gather(*(gate.decide(id_, body) for _ in range(5)), gate.decide(id_, other))
            assert [reply.status for reply in replies] == [200] * 5 + [409]
            assert len({str(reply.body) for reply in replies[:5]}) == 1
            await ending(gate, id_)
            assert (await gate.decide(id_, body)).body == replies[0].body
            late = await gate.decide(id_, other)
            assert (late.status, late.body["state"]) == (409, "executed")
            assert (await gate.decide("act-nobody", other)).status == 404

    until(work())
    assert len(bench.service.sent) == 1


def test_a_denial_sent_again_with_other_words_around_it_is_still_a_denial(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            body = bench.answer(await shown(gate, id_), Verdict.DENY)
            first = await gate.decide(id_, body)
            assert (await gate.decide(id_, body | {"approved": True})).body == first.body
            assert first.body["state"] == "denied"

    until(work())
    assert bench.service.sent == ()


def test_a_refused_decision_cannot_fill_the_ledger(bench: Bench) -> None:
    async def work() -> str:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            envelope = sign(bench.statement(await shown(gate, id_)), bench.key).fields() | {
                "payloadType": "x" * 2_000_000
            }
            reply = await gate.decide(id_, {"approved": True, "envelope": envelope})
            assert (reply.status, code(reply)) == (403, "wrong_type")
            return id_

    id_ = until(work())
    with open_reader(bench.data / LEDGER_FILE) as reader:
        refused = next(entry for entry in reader.of_request(id_) if entry.kind == EntryKind.REFUSED)
    assert len(str(refused.body)) < 1000
