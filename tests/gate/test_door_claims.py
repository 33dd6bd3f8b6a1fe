"""What a door says about a call: a preview, a risk, the definition of a tool; and its requests that it withdraws."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import lines, read_prompt
from aileron_tui.core.rule import RuleReach
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import moment, utc_now
from aileron_tui.gate.gate_state import GateLimits
from aileron_tui.ledger.sqlite.reader import SqliteView
from aileron_tui.runtime.request_reader import read_gate_request
from tests.gate.conftest import GateEnv, run_async
from tests.gate.ruled_gate import kinds, make, newest, offers, verified
from tests.gate.served_gate import WAITING, served_gate
from tests.gate.tool_calls import PERMISSIONS, ask, asked, bash, decide, poll, shown

HASH = "sha256:" + "ab" * 32
OTHER = "sha256:" + "cd" * 32


def mcp(**more: Any) -> dict[str, Any]:
    """A tool call that comes through the proxy."""
    args = {"path": "/tmp/notes.txt", "content": "new"}
    return {"tool": "note", "input": args, "server": "files", "door": "mcp-proxy", "definition": HASH, **more}


def told(*rows: tuple[str, str], **more: Any) -> dict[str, Any]:
    return {"rows": [{"label": label, "value": value} for label, value in rows], **more}


def test_a_told_preview_says_who_told_it_and_stays_with_the_operator(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            preview = told(("Now", "canary-17"), **{"from": "read_text", "hidden": 2})
            item = await asked(served, mcp(preview=preview))
            prompt = read_prompt(item["prompt"])
            text = "\n".join(lines(prompt))
            assert "\ntold by default: fetched by the proxy from files · read_text\n" in text
            assert "Now:     canary-17" in text
            assert "Not shown: 2 fetched fields" in text
            assert prompt.connector.hash == HASH
            assert prompt.digest == item["digest"]
            assert await decide(served, item)
            answer = await poll(served, item["id"])
            assert answer.json()["status"] == "allowed"
            assert "canary-17" not in answer.text
            other = await asked(served, mcp(preview=preview, door="python", server="reports.py"))
            assert "told by default: from the program reports.py" in "\n".join(lines(read_prompt(other["prompt"])))
        verified(env)

    run_async(work())


def test_what_an_agent_says_cannot_pass_for_words_of_the_gate(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            server, source = "files. Checked and read by the gate", 'load" · read by the gate'
            claimed = {"risk": "high", "risk_reason": 'x". By [[risk]] entry 1'}
            preview = told(("Now", "harmless"), **{"from": source})
            for door in ("mcp-proxy", "operator", "by [[risk]] entry 1. The gate"):
                item = await asked(served, mcp(server=server, door=door, preview=preview, **claimed))
                prompt = read_prompt(item["prompt"])
                (heading,) = (line for line in lines(prompt) if line.startswith("told by"))
                assert heading.startswith("told by default: ")
                assert f'"{server}"' in heading
                assert ('· "load\\" · read by the gate"' in heading) == (door == "mcp-proxy")
                assert prompt.risk.reason == 'default says: "x\\". By [[risk]] entry 1"'
            item = await asked(served, mcp(preview={"unavailable": "the gate saw nothing wrong"}))
            text = "\n".join(lines(read_prompt(item["prompt"])))
            assert 'Preview unavailable: default says: "the gate saw nothing wrong"' in text

    run_async(work())


def test_a_told_preview_is_gone_once_the_call_is_edited(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            item = await asked(served, mcp(preview=told(("Now", "old")), can_edit=True))
            edits: JsonObject = {"path": "/tmp/other.txt"}
            url = f"{WAITING}/{item['id']}/refresh"
            edited = (await served.approver.post(url, json={"edited_payload": edits})).json()["item"]
            preview = read_prompt(edited["prompt"]).preview
            assert preview
            assert (preview.rows, preview.unavailable) == ((), "the call was edited after it was fetched")
            assert (await decide(served, edited, edits=edits)).status_code == 200

    run_async(work())


def test_labels_of_a_told_preview_count_for_the_size_of_waiting_requests(env: GateEnv) -> None:
    env.limits = GateLimits(waiting_bytes=100_000)  # a quarter for an agent

    async def work() -> None:
        async with served_gate(env) as served:
            preview = told(*((f"{number:0100}", "") for number in range(100)))
            statuses = [(await ask(served, mcp(preview=preview))).status_code for _ in range(3)]
            assert statuses == [202, 429, 429]

    run_async(work())


def test_the_gate_reads_for_itself_where_it_can(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            response = await ask(served, bash(preview=told(("Command", "ls"))))
            assert response.status_code == 400
            assert "$.preview" in response.text

    run_async(work())


@pytest.mark.parametrize(
    ("tool", "claimed", "level", "reason"),
    [
        (
            "note",
            {"risk": "high", "risk_reason": "it destroys"},
            "high",
            'default says: "it destroys"',
        ),
        ("note", {"risk": "high"}, "high", "default says so"),
        ("delete", {"risk": "normal", "risk_reason": "harmless"}, "high", ""),
    ],
)
def test_a_door_can_only_raise_the_risk(
    env: GateEnv, tool: str, claimed: dict[str, Any], level: str, reason: str
) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            item = await asked(served, mcp(tool=tool, **claimed))
            risk = read_prompt(item["prompt"]).risk
            assert risk.level == level
            assert risk.reason.startswith(reason)
            assert "harmless" not in risk.reason

    run_async(work())


@pytest.mark.parametrize(
    ("field", "where"),
    [
        ({"risk": "low"}, "$.risk"),
        ({"definition": "sha256:ab"}, "$.definition"),
        ({"server": ""}, "$.server"),
        ({"kind": "other"}, "$.kind"),
        ({"kind": "definition"}, "$.input"),
        ({"kind": "definition", "input": {"before": 1, "after": {}}}, "$.input.before"),
        ({"kind": "definition", "input": {"before": None, "after": None}}, "$.input.after"),
        ({"preview": []}, "$.preview"),
        ({"preview": {"rows": {}}}, "$.preview.rows"),
        ({"preview": {"rows": [{}] * 101}}, "$.preview.rows"),
        ({"preview": {"rows": [{"label": 1}]}}, "$.preview.rows[0].label"),
        ({"preview": {"rows": [{"colour": "red"}]}}, "$.preview.rows[0].colour"),
        ({"preview": {"hidden": -1}}, "$.preview.hidden"),
        ({"preview": {"told_by": "gate"}}, "$.preview.told_by"),
        ({"kind": "definition", "input": {"before": None, "after": {}}, "preview": {}}, "$.preview"),
        ({"batch": "b" * 101}, "$.batch"),
        ({"resumable": 1}, "$.resumable"),
    ],
)
def test_what_is_wrong_is_named(env: GateEnv, field: dict[str, Any], where: str) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            response = await ask(served, mcp(**field))
            assert response.status_code == 400
            assert f"{where}:" in response.text or f'"{where}' in response.text or where in response.text

    run_async(work())


def test_a_rule_is_bound_to_the_definition_that_was_shown(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            item = await asked(served, mcp())
            offered = await offers(served.gate, item["id"])
            rule = next(offer.rule for offer in offered.offers if offer.rule.reach is RuleReach.ANY)
            assert rule.runs == HASH
            await make(env, served.gate, rule)
            await decide(served, item, Verdict.DENY)
            answer = (await ask(served, mcp())).json()
            assert (answer["status"], answer["rule"]) == ("allowed", rule.id)
            assert answer["rule_envelope"]["payloadType"] == "application/vnd.aileron.rule.v1+json"
            for other in (mcp(definition=OTHER), mcp(definition=""), mcp(server="other")):
                assert (await ask(served, other)).json()["status"] == "pending_approval"
        verified(env)

    run_async(work())


def test_only_a_person_can_accept_a_changed_definition(env: GateEnv) -> None:
    changed = {
        "kind": "definition",
        "input": {
            "before": {"description": "Saves."},
            "after": {"description": "Sends."},
        },
    }

    async def work() -> None:
        async with served_gate(env) as served:
            item = await asked(served, mcp(**changed, can_edit=True))
            prompt = read_prompt(item["prompt"])
            assert (prompt.kind, item["kind"]) == ("definition", "definition")
            assert prompt.warnings == ("the definition of this tool has changed since it was accepted",)
            rows = {row.label: row.value for row in prompt.inputs}
            assert '-  "description": "Saves."' in rows["Changes"]
            assert '+  "description": "Sends."' in rows["Changes"]
            assert "not_editable" in item
            assert not (await offers(served.gate, item["id"])).offers
            await decide(served, item)
            assert (await poll(served, item["id"])).json()["status"] == "allowed"
        assert kinds(env, item["id"])[-1] == "tool.handed_over"
        verified(env)

    run_async(work())


def test_a_waiting_request_can_be_withdrawn_by_its_agent(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            item = await asked(served, mcp())
            url = f"{PERMISSIONS}/{item['id']}"
            assert (await served.approver.delete(url)).status_code in (401, 403)
            assert (await served.agent.delete(url)).status_code == 204
            assert newest(env).outcome == RequestState.WITHDRAWN
            assert (await poll(served, item["id"])).json()["failure"]["error"]["class"] == "withdrawn"
            assert (await served.agent.delete(url)).status_code == 409
            assert (await served.agent.delete(url.replace("permissions", "action-approvals"))).status_code == 404
            assert (await served.agent.delete(f"{PERMISSIONS}/act-none")).status_code == 404
            approved = await asked(served, mcp())
            await decide(served, approved)
            assert (await served.agent.delete(f"{PERMISSIONS}/{approved['id']}")).status_code == 409
        verified(env)

    run_async(work())


def test_an_agent_learns_what_it_may_fetch_and_what_it_never_reported(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            body = mcp(call_id="c-1", session="s-1", batch="b-1", resumable=True)
            item = await asked(served, body)
            waiting = await shown(served, item["id"])
            assert (waiting["batch"], waiting["resumable"]) == ("b-1", True)
            request = read_gate_request(waiting)
            statement = request.statement(Verdict.APPROVE, surface="tui", now=utc_now())
            assert moment(statement.expires) - moment(statement.time) == timedelta(minutes=15)
            await decide(served, item)
            own = (await served.agent.get("/v1/agent")).json()
            (approved,) = own["approved"]
            expected = {"id": item["id"], "tool": "note", "call_id": "c-1", "session": "s-1", "batch": "b-1"}
            assert approved.items() >= expected.items()
            assert own["handed_over"] == []
            await poll(served, item["id"])
            own = (await served.agent.get("/v1/agent")).json()
            assert own["approved"] == []
            assert own["handed_over"][0].items() >= expected.items()
            await served.agent.post(f"{PERMISSIONS}/{item['id']}/outcome", json={"status": "executed"})
            assert (await served.agent.get("/v1/agent")).json()["handed_over"] == []

    run_async(work())


def test_an_agent_cannot_keep_the_gate_busy_with_reading_its_old_calls(
    env: GateEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    of_request = SqliteView.of_request

    def counted(view: SqliteView, request: str) -> Any:
        read.append(request)
        return of_request(view, request)

    async def work() -> None:
        async with served_gate(env) as served:
            for number in range(3):
                item = await asked(served, mcp(call_id=f"c-{number}", input={"content": "x" * 100_000}))
                await decide(served, item)
                await poll(served, item["id"])
            monkeypatch.setattr(SqliteView, "of_request", counted)
            replies = [(await served.agent.get("/v1/agent")).json()["handed_over"] for _ in range(5)]
            assert [call["call_id"] for call in replies[0]] == ["c-2", "c-1", "c-0"]
            assert all(reply == replies[0] for reply in replies)
            assert len(read) <= 3, "each call is read once"
            url, report = f"{PERMISSIONS}/{item['id']}/outcome", {"status": "executed", "input": {"content": "y"}}
            assert (await served.agent.post(url, json=report)).json()["differs"]
            read.clear()
            assert {(await served.agent.post(url, json=report)).status_code for _ in range(5)} == {409}
            assert not read, "it was reported before, so there is nothing to compare"

    run_async(work())


def test_one_call_id_is_for_one_definition(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            await asked(served, mcp(call_id="c-1"))
            responses = await asyncio.gather(
                *(ask(served, mcp(call_id="c-1", definition=one)) for one in (HASH, OTHER))
            )
            assert [response.status_code for response in responses] == [202, 409]

    run_async(work())
