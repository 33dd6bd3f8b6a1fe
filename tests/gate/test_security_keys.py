"""Decisions by security keys on a gate, what high risk needs, and denials without a signature."""

from typing import Any

import pytest

from aileron_tui.core.decision import Verdict, pae
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.key_change import is_security_key
from aileron_tui.core.rule import RuleReach
from aileron_tui.core.rule_change import made
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.files.config import Policy
from aileron_tui.gate import history_routes
from aileron_tui.gate.gate import Gate
from aileron_tui.ledger.full_check import audit
from aileron_tui.ledger.history_pages import past, read_search, search
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing.assertion import CONSOLE_ORIGIN
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.recorded_signers import RecordedSigners
from aileron_tui.surface.history_records import read_page
from aileron_tui.surface.key_enrolment import enroll_signed, revoke_signed
from tests.gate import tool_calls
from tests.gate.conftest import GateEnv, ask, code, previewed_request, result_of, run_async
from tests.gate.ruled_gate import offers
from tests.gate.served_gate import served_gate
from tests.signing.security_keys import PAGE, SoftwareKey

ONLY_KEYS = Policy(high_risk="key")


@pytest.fixture
def key(env: GateEnv) -> SoftwareKey:
    """A security key that may approve."""
    key = SoftwareKey()
    enroll_signed(env.data, "yubi", key.public, env.key, added_on="usb")
    return key


def body(env: GateEnv, item: JsonObject, key: SoftwareKey, verdict: Verdict = Verdict.APPROVE, **o: Any) -> JsonObject:
    """A decision by a security key in a terminal."""
    return {"approved": verdict is Verdict.APPROVE, "envelope": key.sign(env.statement(item, verdict), **o).fields()}


def page_body(gate: Gate, env: GateEnv, item: JsonObject, key: SoftwareKey, **options: Any) -> JsonObject:
    """A decision by a passkey on the page, over a challenge of this gate."""
    statement = env.statement(item, surface="page")
    challenged = gate.issue_challenge(pae(statement.payload_type, statement.payload()))
    envelope = key.sign(statement, **{"challenged": challenged, "origin": PAGE} | options)
    return {"approved": True, "envelope": envelope.fields()}


async def asked(gate: Gate) -> dict[str, Any]:
    return await previewed_request(gate, str((await ask(gate)).body["approval_id"]))


def verified(env: GateEnv) -> None:
    with open_reader(env.data / "ledger.db") as reader:
        assert audit(reader, RecordedSigners(), ()).fault is None


def test_a_security_key_approves_and_the_history_names_it(env: GateEnv, key: SoftwareKey) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            item = await asked(gate)
            assert (await gate.decide(item["id"], body(env, item, key))).status == 200
            assert (await result_of(gate, item["id"]))["status"] == "completed"

    run_async(work())
    assert len(env.service.sent) == 1
    verified(env)
    ledger = env.data / "ledger.db"
    (record,) = read_page(search(ledger, read_search({}))).requests
    assert (record.signed_by, record.signature) == ("yubi", "signed by a security key")
    assert is_security_key(record.signer)
    detail: Any = past(ledger, record.id)
    assert detail["request"]["signed_by"] == "yubi"


def test_a_passkey_approves_on_the_page_of_this_gate(env: GateEnv, key: SoftwareKey) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            gate.serve_page(PAGE)
            item = await asked(gate)
            good = page_body(gate, env, item, key)
            assert (await gate.decide(item["id"], good)).status == 200
            assert (await gate.decide(item["id"], good)).status == 200  # the same decision gets the same reply
            await result_of(gate, item["id"])

    run_async(work())
    assert len(env.service.sent) == 1
    verified(env)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"origin": "http://localhost:8766"}, "wrong_origin"),
        ({"origin": "https://localhost"}, "wrong_origin"),
        ({"origin": CONSOLE_ORIGIN}, "wrong_origin"),
        ({"challenged": None}, "not_issued"),
        ({"flags": 0x01}, "not_verified"),
        ({"rp_id": "example.com"}, "wrong_origin"),
    ],
)
def test_an_assertion_of_another_page_is_refused(
    env: GateEnv, key: SoftwareKey, options: dict[str, Any], named: str
) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            gate.serve_page(PAGE)
            item = await asked(gate)
            if "challenged" in options:
                bad: JsonObject = {
                    "approved": True,
                    "envelope": key.sign(env.statement(item, surface="page"), origin=PAGE).fields(),
                }
            else:
                bad = page_body(gate, env, item, key, **options)
            reply = await gate.decide(item["id"], bad)
            assert (reply.status, code(reply)) == (403, named)
            assert (await gate.decide(item["id"], page_body(gate, env, item, key))).status == 200
            await result_of(gate, item["id"])

    run_async(work())
    assert len(env.service.sent) == 1


def test_a_gate_without_a_page_takes_no_assertion_of_one(env: GateEnv, key: SoftwareKey) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            item = await asked(gate)
            assert code(await gate.decide(item["id"], page_body(gate, env, item, key))) == "wrong_origin"

    run_async(work())
    assert env.service.sent == ()


def test_a_challenge_counts_once_and_only_for_what_it_was_issued(env: GateEnv, key: SoftwareKey) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            gate.serve_page(PAGE)
            first, second = await asked(gate), await asked_again(gate)
            statement = env.statement(first, surface="page")
            challenged = gate.issue_challenge(pae(statement.payload_type, statement.payload()))
            other = env.statement(second, surface="page")
            stolen = key.sign(other, challenged=challenged, origin=PAGE).fields()
            reply = await gate.decide(second["id"], {"approved": True, "envelope": stolen})
            assert code(reply) == "bad_signature"
            good = key.sign(statement, challenged=challenged, origin=PAGE).fields()
            assert (await gate.decide(first["id"], {"approved": True, "envelope": good})).status == 200
            again = key.sign(other, nonce=challenged[:32], origin=PAGE).fields()
            assert code(await gate.decide(second["id"], {"approved": True, "envelope": again})) == "not_issued"
            await result_of(gate, first["id"])

    run_async(work())
    assert len(env.service.sent) == 1


async def asked_again(gate: Gate) -> dict[str, Any]:
    reply = await ask(gate, "send-draft", draft_id="r-67890")
    return await previewed_request(gate, str(reply.body["approval_id"]))


def test_a_copied_key_is_noticed(env: GateEnv, key: SoftwareKey) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            first, second = await asked(gate), await asked_again(gate)
            assert (await gate.decide(first["id"], body(env, first, key, counter=5))).status == 200
            await result_of(gate, first["id"])
            reply = await gate.decide(second["id"], body(env, second, key, counter=5))
            assert (reply.status, code(reply)) == (403, "counter_went_back")
            assert (await gate.decide(second["id"], body(env, second, key, Verdict.DENY, counter=6))).status == 200

    run_async(work())
    verified(env)


def test_a_removed_key_is_refused_at_once(env: GateEnv, key: SoftwareKey) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            item = await asked(gate)
            revoke_signed(env.data, "yubi", env.key)
            assert code(await gate.decide(item["id"], body(env, item, key))) == "revoked_key"

    run_async(work())
    assert env.service.sent == ()


def test_high_risk_can_need_a_security_key(env: GateEnv, key: SoftwareKey) -> None:
    env.policy = ONLY_KEYS

    async def work() -> None:
        async with env.gate() as gate:
            item = await asked(gate)
            reply = await gate.decide(item["id"], env.decision(item))
            assert (reply.status, code(reply)) == (403, "needs_security_key")
            assert (await gate.decide(item["id"], body(env, item, key))).status == 200
            await result_of(gate, item["id"])
            other = await asked_again(gate)
            assert (await gate.decide(other["id"], env.decision(other, Verdict.DENY))).status == 200

    run_async(work())
    assert len(env.service.sent) == 1


def test_a_rule_at_high_risk_can_need_a_security_key(env: GateEnv, key: SoftwareKey) -> None:
    async def rule(gate: Gate, by: SoftwareKey | None) -> Any:
        item = await asked(gate)
        offered = (await offers(gate, item["id"])).offers
        exact = next(one.rule for one in offered if one.rule.reach is RuleReach.CALL)
        change = made(exact, str((await gate.rules())["head"]), timestamp(utc_now()))
        envelope = by.sign(change).fields() if by else sign(change, env.key).fields()
        reply = await gate.change_rule({"envelope": envelope})
        assert (await gate.decide(item["id"], env.decision(item, Verdict.DENY))).status == 200
        assert (await result_of(gate, item["id"]))["status"] == "denied"
        return reply

    async def loose() -> None:
        async with env.gate() as gate:
            assert (await rule(gate, None)).status == 200

    async def strict() -> None:
        async with env.gate() as gate:
            reply = await rule(gate, None)  # the rule of before is no longer enough, so this asks
            assert (reply.status, code(reply)) == (403, "needs_security_key")
            assert (await rule(gate, key)).status == 200
            assert (await ask(gate, wait=5)).body["status"] == "completed"

    run_async(loose())
    env.policy = ONLY_KEYS
    run_async(strict())
    assert len(env.service.sent) == 1
    verified(env)


def test_an_edit_can_make_a_security_key_necessary(env: GateEnv, key: SoftwareKey) -> None:
    env.policy = ONLY_KEYS

    async def work() -> None:
        async with served_gate(env) as served:
            item = await tool_calls.asked(served, tool_calls.bash("ls", can_edit=True))
            assert item["prompt"]["risk"]["level"] != "high"
            edits: JsonObject = {"command": "rm -rf /"}
            reply = await served.gate.refresh(item["id"], {"edited_payload": edits})
            edited: Any = reply.body["item"]
            assert edited["prompt"]["risk"]["level"] == "high"
            reply = await served.gate.decide(item["id"], env.decision(edited, edits=edits))
            assert (reply.status, code(reply)) == (403, "needs_security_key")
            assert (await served.gate.decide(item["id"], env.decision(item))).status == 200

    run_async(work())


def test_a_tool_call_can_be_denied_without_a_signature(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            item = await tool_calls.asked(served, tool_calls.bash())
            reply = await served.gate.deny_unsigned(item["id"], **denial(item, reason="not now"))
            assert reply.status == 200
            answer = (await tool_calls.poll(served, item["id"])).json()
            assert (answer["status"], answer["reason"]) == ("denied", "not now")
            assert "decision" not in answer

    run_async(work())
    verified(env)


def denial(item: JsonObject, **changes: str) -> dict[str, str]:
    about = {"digest": str(item["digest"]), "reason": "", "surface": "page", "session": "page-1", "opened_by": ""}
    return about | changes


def test_a_denial_needs_no_signature(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            item = await asked(gate)
            wrong = await gate.deny_unsigned(item["id"], **denial(item, digest="sha256:" + "0" * 64))
            assert code(wrong) == "PROMPT_CHANGED"
            assert (await gate.deny_unsigned(item["id"], **denial(item, session=""))).status == 400
            reply = await gate.deny_unsigned(item["id"], **denial(item, reason="wrong recipient"))
            assert (reply.status, reply.body["state"]) == (200, "denied")
            assert code(await gate.deny_unsigned(item["id"], **denial(item))) == "INVALID_STATE"
            assert code(await gate.decide(item["id"], env.decision(item))) == "INVALID_STATE"
            assert (await result_of(gate, item["id"]))["status"] == "denied"
            assert (await gate.deny_unsigned("act-none", **denial(item))).status == 404

    run_async(work())
    assert env.service.sent == ()
    verified(env)
    (record,) = read_page(search(env.data / "ledger.db", read_search({}))).requests
    assert record.answered == "denied on the page, without a signature"
    assert (record.signature, record.signed_by, record.reason) == ("not signed", "", "wrong recipient")
    events: Any = history_routes.audit(env.data / "ledger.db", history_routes.AuditQuery())["events"]
    (denied,) = [event for event in events if event["event_type"] == "approval.denied"]
    assert (denied["payload"]["aileron.approval.surface"], denied["actor"]["type"]) == ("page", "human")
    assert "aileron.signing.key_id" not in denied["payload"]
