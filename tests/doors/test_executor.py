"""What a program checks before it executes a call: any other answer than a signed one for this call is refused."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.rule import Rule, RuleReach
from aileron_tui.core.tool_call import ToolCall
from aileron_tui.doors.executor import GrantCheck, GrantRefused, approvers_of
from aileron_tui.files.agent_tokens import approvers_path
from aileron_tui.signing.approvers import Approver
from aileron_tui.surface.agent_changes import add_agent, revoke_agent, rotate_agent
from aileron_tui.surface.key_enrolment import enroll_signed
from tests.gate.conftest import GateEnv, run_async
from tests.gate.ruled_gate import make, offers
from tests.gate.served_gate import WAITING, ServedGate, served_gate
from tests.gate.tool_calls import ask, asked, decide, poll
from tests.signing.security_keys import SoftwareKey

AGENT = "default"
CALL = ToolCall("note", {"path": "/tmp/notes.txt", "count": 2}, "files", definition="sha256:" + "ab" * 32)


def question(call: ToolCall = CALL, **more: Any) -> dict[str, Any]:
    about = {"tool": call.tool, "input": dict(call.args), "server": call.server, "definition": call.definition}
    return about | {"door": "mcp-proxy"} | more


def keys(env: GateEnv) -> Mapping[str, Approver]:
    public = env.key.public
    return {public.fingerprint: Approver(env.key.name, public, "")}


async def approved(served: ServedGate, **more: Any) -> dict[str, Any]:
    item = await asked(served, question(**more))
    assert (await decide(served, item)).status_code == 200
    answer: dict[str, Any] = (await poll(served, item["id"])).json()
    return answer


async def allowed_by_rule(served: ServedGate, reach: RuleReach = RuleReach.ANY) -> tuple[Rule, dict[str, Any]]:
    item = await asked(served, question())
    rule = next(one.rule for one in (await offers(served.gate, item["id"])).offers if one.rule.reach is reach)
    await make(served.env, served.gate, rule)
    await decide(served, item, Verdict.DENY)
    answer: dict[str, Any] = (await ask(served, question())).json()
    assert answer["rule"] == rule.id
    return rule, answer


def test_a_signed_decision_for_this_call_counts_once(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            answer = await approved(served)
            check = GrantCheck(AGENT, keys(env))
            assert check.args(answer, answer["approval_id"], CALL) == CALL.args
            with pytest.raises(GrantRefused, match="not valid"):
                check.args(answer, answer["approval_id"], CALL)

    run_async(work())


def test_an_edited_call_is_executed_as_edited(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            item = await asked(served, question(can_edit=True))
            edits: JsonObject = {"path": "/tmp/other.txt"}
            url = f"{WAITING}/{item['id']}/refresh"
            edited = (await served.approver.post(url, json={"edited_payload": edits})).json()["item"]
            assert (await decide(served, edited, edits=edits)).status_code == 200
            answer = (await poll(served, item["id"])).json()
            assert GrantCheck(AGENT, keys(env)).args(answer, item["id"], CALL) == CALL.args | edits
            for args in (CALL.args, CALL.args | {"path": "/etc/passwd"}, CALL.args | edits | {"count": 3}):
                with pytest.raises(GrantRefused):
                    GrantCheck(AGENT, keys(env)).args(answer | {"input": args}, item["id"], CALL)

    run_async(work())


def test_nothing_else_counts(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            answer = await approved(served)
            other = await approved(served, says="another program")
            denied = await asked(served, question())
            await decide(served, denied, Verdict.DENY)
            id_ = answer["approval_id"]
            refused: list[Json] = [
                {},
                {"status": "allowed"},
                answer | {"status": "denied"},
                answer | {"approval_id": other["approval_id"]},
                answer | {"input": {"path": "/tmp/notes.txt"}},
                answer | {"input": CALL.args | {"count": "2"}},
                answer | {"input": CALL.args | {"count": 3}, "edited": True},
                answer | {"shown": other["shown"]},
                answer | {"shown": None},
                answer | {"shown": f"{answer['shown']}0"},
                answer | {"decision": None},
                answer | {"decision": other["decision"]},
                answer | {"rule": "rule-0000000000000000"},
                answer | {"rule": "rule-0000000000000000", "rule_envelope": answer["decision"]},
                answer | {"decision": answer["decision"] | {"payloadType": "text/plain"}},
            ]
            for reply in refused:
                assert isinstance(reply, dict)
                with pytest.raises(GrantRefused):
                    GrantCheck(AGENT, keys(env)).args(reply, id_, CALL)
            for call in (
                replace(CALL, tool="load"),
                replace(CALL, server="other"),
                replace(CALL, definition=""),
                replace(CALL, args={"path": "/tmp/notes.txt"}),
            ):
                with pytest.raises(GrantRefused):
                    GrantCheck(AGENT, keys(env)).args(answer, id_, call)
            with pytest.raises(GrantRefused):
                GrantCheck(AGENT, keys(env)).args(answer, id_, replace(CALL, kind=CallKind.DEFINITION))
            with pytest.raises(GrantRefused, match="not valid"):
                GrantCheck(AGENT, {}).args(answer, id_, CALL)
            later = lambda: datetime.now(UTC) + timedelta(hours=1)  # noqa: E731
            with pytest.raises(GrantRefused, match="not valid"):
                GrantCheck(AGENT, keys(env), later).args(answer, id_, CALL)
            assert GrantCheck(AGENT, keys(env)).args(answer, id_, CALL) == CALL.args

    run_async(work())


def test_a_rule_counts_for_calls_within_its_reach_until_it_ends(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            _, answer = await allowed_by_rule(served)
            check, id_ = GrantCheck(AGENT, keys(env)), answer["approval_id"]
            for _ in range(2):
                assert check.args(answer, id_, CALL) == CALL.args
            for call, agent in (
                (replace(CALL, tool="load"), AGENT),
                (replace(CALL, server="other"), AGENT),
                (replace(CALL, definition="sha256:" + "cd" * 32), AGENT),
                (CALL, "other"),
            ):
                with pytest.raises(GrantRefused, match="does not allow this call"):
                    GrantCheck(agent, keys(env)).args(answer, id_, call)
            with pytest.raises(GrantRefused, match="not valid"):
                GrantCheck(AGENT, {}).args(answer, id_, CALL)
            later = lambda: datetime.now(UTC) + timedelta(days=40)  # noqa: E731
            with pytest.raises(GrantRefused, match="ended"):
                GrantCheck(AGENT, keys(env), later).args(answer, id_, CALL)
            with pytest.raises(GrantRefused, match="cannot allow"):
                check.args(answer | {"edited": True}, id_, CALL)
            with pytest.raises(GrantRefused):
                check.args(answer | {"rule_envelope": None}, id_, CALL)

    run_async(work())


def test_a_program_knows_who_may_approve_from_the_file_beside_its_token(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env):
            add_agent(env.data / "ledger.db", "python", env.key)
            assert set(approvers_of(env.data, "python")) == {env.key.public.fingerprint}

    run_async(work())
    ledger = env.data / "ledger.db"
    path = approvers_path(env.data, "python")
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("not a key\n")
    with pytest.raises(GrantRefused, match="cannot be read"):
        approvers_of(env.data, "python")
    rotate_agent(ledger, "python", env.key)
    assert set(approvers_of(env.data, "python")) == {env.key.public.fingerprint}
    path.write_text("")
    with pytest.raises(GrantRefused, match="no key may approve"):
        approvers_of(env.data, "python")
    revoke_agent(ledger, "python", env.key)
    assert not path.exists()
    with pytest.raises(GrantRefused, match="cannot be read") as caught:
        approvers_of(env.data, "python")
    assert "aileron-tui agent rotate python" in caught.value.hint


def test_a_decision_by_a_security_key_counts_where_its_line_is_known(env: GateEnv) -> None:
    key = SoftwareKey()

    async def work() -> None:
        async with served_gate(env) as served:
            enroll_signed(env.data, "yubi", key.public, env.key, added_on="usb")
            item = await asked(served, question())
            body = {"approved": True, "envelope": key.sign(env.statement(item)).fields()}
            assert (await served.approver.post(f"{WAITING}/{item['id']}/decide", json=body)).status_code == 200
            answer = (await poll(served, item["id"])).json()
            known = approvers_of(env.data, AGENT)
            assert set(known) == {env.key.public.fingerprint, key.public.fingerprint}
            for part in ("authenticatorData", "clientDataJSON", "sig"):
                (signature,) = answer["decision"]["signatures"]
                spoiled = signature | {part: signature[part][:8] + "AAAA" + signature[part][12:]}
                bad = answer | {"decision": answer["decision"] | {"signatures": [spoiled]}}
                with pytest.raises(GrantRefused, match="not valid"):
                    GrantCheck(AGENT, known).args(bad, item["id"], CALL)
            with pytest.raises(GrantRefused, match="not valid"):
                GrantCheck(AGENT, keys(env)).args(answer, item["id"], CALL)
            check = GrantCheck(AGENT, known)
            assert check.args(answer, item["id"], CALL) == CALL.args
            with pytest.raises(GrantRefused, match="not valid"):
                check.args(answer, item["id"], CALL)

    run_async(work())
