"""Tool calls: the gate decides and records, hands over an approved call once, and executes nothing."""

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import read_prompt
from aileron_tui.core.states import RequestState
from aileron_tui.demo.sample_service import ServiceFault
from aileron_tui.files.config import Policy
from aileron_tui.gate import permission_handler, recovery
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.gate.gate_state import GateLimits
from aileron_tui.ledger.open_store import open_reader
from tests.gate.conftest import GateEnv, run_async
from tests.gate.ruled_gate import kinds, newest, verified
from tests.gate.served_gate import DRAFT, SEND, WAITING, ServedGate, error_code, served_gate
from tests.gate.tool_calls import PERMISSIONS, ask, asked, bash, decide, only_waiting, poll, shown, write

CANARY = "canary-3f1c-content-of-a-file"


def test_an_approved_call_is_handed_over_exactly_as_shown(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            held = asyncio.create_task(ask(served, bash(call_id="c-1"), wait=30))
            item = await only_waiting(served)
            assert (item["kind"], item["action_name"], item["door"]) == ("tool", "Bash", "claude")
            assert (await decide(served, item)).status_code == 200
            answer = (await held).json()
            assert answer["status"] == "allowed"
            assert answer["input"] == {"command": "make test"}
            assert not answer["edited"]
            assert answer["decision"]["payload"]
            assert newest(env).outcome == RequestState.HANDED_OVER
        assert kinds(env, item["id"])[-2:] == ["decision.made", "tool.handed_over"]
        verified(env)

    run_async(work())


def test_a_denied_call_gets_the_reason(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            item = await asked(served, bash())
            await decide(served, item, Verdict.DENY, reason="use the Makefile")
            answer = (await poll(served, item["id"])).json()
            assert (answer["status"], answer["reason"]) == ("denied", "use the Makefile")
        verified(env)

    run_async(work())


def test_nobody_answering_is_not_a_denial(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            answer = (await ask(served, bash(seconds=1), wait=20)).json()
            assert answer["failure"]["error"]["class"] == "approval_timeout"
            assert "nobody answered" in answer["failure"]["error"]["message"]
        verified(env)

    run_async(work())


def test_a_door_limits_how_long_the_operator_has(env: GateEnv) -> None:
    env.policy = Policy(timeout=60, longest_wait=600)

    async def work() -> None:
        async with served_gate(env) as served:
            short, long = await asked(served, bash(seconds=30)), await asked(served, bash(seconds=300))
            assert "extendable_until" not in short
            assert long["extendable_until"] > long["expires_at"]

    run_async(work())


def test_polling_hands_over_once(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            response = await ask(served, bash())
            assert response.headers["location"] == response.json()["result_url"]
            assert int(response.headers["retry-after"]) > 0
            item = await shown(served, response.json()["approval_id"])
            assert (await poll(served, item["id"])).status_code == 202
            await decide(served, item)
            assert (await served.agent.get(response.headers["location"])).json()["status"] == "allowed"
            again = (await poll(served, item["id"])).json()
            assert again["failure"]["error"]["class"] == "already_handed_over"
        assert kinds(env, item["id"]).count("tool.handed_over") == 1

    run_async(work())


def test_two_hooks_of_one_call_share_one_request(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            both = [asyncio.create_task(ask(served, bash(call_id="c-1"), wait=30)) for _ in range(2)]
            await decide(served, await only_waiting(served))
            assert [(await one).json()["status"] for one in both] == ["allowed", "allowed"]
        verified(env)

    run_async(work())


def test_two_equal_calls_are_two_requests(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            items = [await asked(served, body) for body in (bash(), bash(), bash(call_id="1"), bash(call_id="2"))]
            assert len({item["id"] for item in items}) == 4

    run_async(work())


@pytest.mark.parametrize("other", [{"input": {"command": "rm -r /"}}, {"tool": "Write"}, {"folder": "/"}], ids=str)
def test_another_call_under_the_same_id_is_refused(env: GateEnv, other: dict[str, Any]) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            await asked(served, bash(call_id="c-1"))
            response = await ask(served, bash(call_id="c-1") | other)
            assert (response.status_code, error_code(response)) == (409, "call_id_reused")

    run_async(work())


def test_a_door_that_disconnects_withdraws_its_call(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            held = asyncio.create_task(ask(served, bash(), wait=60))
            item = await only_waiting(served)
            held.cancel()
            for _ in range(300):
                if (await shown(served, item["id"]))["state"] == "withdrawn":
                    break
                await asyncio.sleep(0.01)
            refused = await decide(served, item)
            assert (refused.status_code, error_code(refused)) == (409, "INVALID_STATE")

    run_async(work())


def test_an_approval_that_nobody_fetches_is_withdrawn(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permission_handler, "_COLLECTION_SECONDS", 0.05)

    async def work() -> None:
        async with served_gate(env) as served:
            item = await asked(served, bash())
            await decide(served, item)
            await asyncio.sleep(0.3)
            answer = (await poll(served, item["id"])).json()
            assert answer["failure"]["error"]["class"] == "withdrawn"
        assert "tool.handed_over" not in kinds(env, item["id"])
        verified(env)

    run_async(work())


def test_a_restarted_gate_hands_over_nothing(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            waits, approved = await asked(served, bash()), await asked(served, bash("ls"))
            await decide(served, approved)
        async with served_gate(env) as served:
            for item in (waits, approved):
                answer = (await poll(served, item["id"])).json()
                assert answer["failure"]["error"]["class"] == "withdrawn"
        verified(env)

    run_async(work())


def test_an_edited_call_is_handed_over_as_edited(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            item = await asked(served, bash("rm -r build", can_edit=True))
            assert [field["name"] for field in item["inputs"]] == ["command"]
            edits: JsonObject = {"command": "ls build"}
            edited = (
                await served.approver.post(f"{WAITING}/{item['id']}/refresh", json={"edited_payload": edits})
            ).json()
            assert read_prompt(edited["item"]["prompt"]).args == edits
            assert (await decide(served, edited["item"], edits=edits)).status_code == 200
            answer = (await poll(served, item["id"])).json()
            assert (answer["input"], answer["edited"]) == (edits, True)
        verified(env)

    run_async(work())


def test_a_door_that_cannot_carry_an_edit_gets_none(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            item = await asked(served, bash())
            assert item["inputs"] == []
            assert "cannot pass on an edit" in item["not_editable"]
            edits: JsonObject = {"command": "ls"}
            response = await served.approver.post(f"{WAITING}/{item['id']}/refresh", json={"edited_payload": edits})
            assert (response.status_code, error_code(response)) == (409, "NOT_EDITABLE")

    run_async(work())


def test_the_prompt_shows_the_file_as_the_gate_reads_it(env: GateEnv, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one\ntwo\n")

    async def work() -> None:
        async with served_gate(env) as served:
            item = await asked(served, write(tmp_path / "notes.txt", "one\nthree\n", tmp_path))
            preview = read_prompt(item["prompt"]).preview
            assert preview
            text = "\n".join(row.value for row in preview.rows)
            assert "-two" in text
            assert "+three" in text

    run_async(work())


def test_a_file_that_changed_since_it_was_shown_is_a_new_prompt(env: GateEnv, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one\n")

    async def work() -> None:
        async with served_gate(env) as served:
            item = await asked(served, write(tmp_path / "notes.txt", "two\n", tmp_path))
            (tmp_path / "notes.txt").write_text("another\n")
            refused = await decide(served, item)
            assert (refused.status_code, error_code(refused)) == (409, "PROMPT_CHANGED")
            now = await shown(served, item["id"])
            assert now["digest"] != item["digest"]
            assert (await decide(served, now)).status_code == 200
            assert (await poll(served, item["id"])).json()["status"] == "allowed"
        verified(env)

    run_async(work())


def test_what_the_gate_read_is_only_in_the_prompt(env: GateEnv, tmp_path: Path) -> None:
    env.policy = replace(env.policy, keep_previews=True)
    (tmp_path / "secret.txt").write_text(f"{CANARY}\n")

    async def work() -> None:
        async with served_gate(env) as served:
            body = write(tmp_path / "secret.txt", "new\n", tmp_path)
            response = await ask(served, body)
            item = await shown(served, response.json()["approval_id"])
            assert CANARY in str(item["prompt"]["preview"])
            assert CANARY not in str(item["prompt"]["inputs"])
            await decide(served, item)
            assert CANARY not in response.text + (await poll(served, item["id"])).text
            assert CANARY not in served.log.getvalue()
        with open_reader(env.data / LEDGER_FILE) as reader:
            assert CANARY.encode() not in b"".join(data for _, data, _ in reader.rows())

    run_async(work())


def test_the_gate_reads_neither_its_own_files_nor_pipes(env: GateEnv, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(env.data / LEDGER_FILE)

    async def work() -> None:
        async with served_gate(env) as served:
            for path in (tmp_path / "pipe", tmp_path / "link", Path("/proc/self/environ"), env.data / LEDGER_FILE):
                item = await asked(served, write(path, "x\n", tmp_path))
                preview = read_prompt(item["prompt"]).preview
                assert preview
                assert preview.unavailable
                assert not preview.rows

    run_async(work())


def test_a_small_call_that_shows_large_files_counts_as_large(env: GateEnv, tmp_path: Path) -> None:
    """Each request would otherwise take megabytes of the gate's memory, and of what every console is sent."""
    files = [tmp_path / f"{number}" for number in range(15)]
    for file in files:
        file.write_text("a line\n" * 24_000)
    deleted = "".join(f"*** Delete File: {file}\n" for file in files)
    patch = f"*** Begin Patch\n{deleted}*** End Patch"
    body = {"tool": "apply_patch", "input": {"input": patch}, "folder": str(tmp_path)}

    async def work() -> None:
        async with served_gate(env) as served:
            assert len(json.dumps(await asked(served, body))) > 2_000_000
            for _ in range(3):
                refused = await ask(served, body)
                assert (refused.status_code, error_code(refused)) == (429, "too_many_waiting")
                assert "too large in total" in refused.text
            assert (await ask(served, bash())).status_code == 202, "what is not recorded does not use up the ledger"

    run_async(work())


def test_paths_that_are_recorded_count_for_what_an_agent_writes(env: GateEnv, tmp_path: Path) -> None:
    env.limits = GateLimits(ledger_bytes_per_second=1, ledger_bytes_burst=9000)
    deep = tmp_path.joinpath(*["d" * 200] * 10)
    deep.mkdir(parents=True)
    (tmp_path / "link").symlink_to(deep)

    async def work() -> None:
        async with served_gate(env) as served:
            linked = write("link/a", "x", tmp_path)
            assert [(await ask(served, linked)).status_code for _ in range(3)] == [202, 202, 429]

    run_async(work())


def test_an_outcome_is_recorded_and_compared(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            item = await handed_over(served, bash(call_id="c-1"))
            report = {"status": "executed", "session": "s-1", "call_id": "c-1", "input": {"command": "make test"}}
            response = await served.agent.post(f"{PERMISSIONS}/outcome", json=report)
            assert response.json() == {"state": "executed", "differs": False}
            assert (newest(env).outcome, newest(env).error) == ("executed", "")
            again = await served.agent.post(f"{PERMISSIONS}/{item['id']}/outcome", json={"status": "failed"})
            assert (again.status_code, error_code(again)) == (409, "INVALID_STATE")
        verified(env)

    run_async(work())


def test_what_an_agent_reports_does_not_pass_for_words_of_the_gate(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            for executed in ({}, {"input": {"command": "make deploy"}}):
                item = await handed_over(served, bash())
                report = {"status": "failed", "error": "nothing was executed: the operator withdrew it", **executed}
                await served.agent.post(f"{PERMISSIONS}/{item['id']}/outcome", json=report)
                own = f"{permission_handler.DIFFERS}; " if executed else ""
                assert newest(env).error == f"{own}default says: nothing was executed: the operator withdrew it"
                assert (await shown(served, item["id"]))["error"] == newest(env).error
        verified(env)

    run_async(work())


def test_executing_something_else_is_a_warning(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            item = await handed_over(served, bash())
            report = {"status": "executed", "input": {"command": "make deploy"}}
            response = await served.agent.post(f"{PERMISSIONS}/{item['id']}/outcome", json=report)
            assert response.json()["differs"]
            assert "not what was approved" in newest(env).error
            assert "not what was approved" in (await shown(served, item["id"]))["error"]
        verified(env)

    run_async(work())


def test_an_outcome_counts_only_for_what_was_handed_over_to_this_agent(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            item = await asked(served, bash())
            early = await served.agent.post(f"{PERMISSIONS}/{item['id']}/outcome", json={"status": "executed"})
            assert (early.status_code, error_code(early)) == (409, "INVALID_STATE")
            unknown = await served.agent.post(f"{PERMISSIONS}/act-1/outcome", json={"status": "executed"})
            assert unknown.status_code == 404
            never = {"status": "executed", "session": "s-1", "call_id": "never asked"}
            assert (await served.agent.post(f"{PERMISSIONS}/outcome", json=never)).status_code == 404
            other = await served.gate.report_outcome(item["id"], {"status": "executed"}, agent="other")
            assert other.status == 404
            assert (await served.gate.permission(item["id"], agent="other")).status == 404

    run_async(work())


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"tool": ""}, "$.tool"),
        ({"tool": 1}, "$.tool"),
        ({"tool": "x" * 201}, "$.tool"),
        ({"input": []}, "$.input"),
        ({"input": {"n": 2**60}}, "n"),
        ({"can_edit": "yes"}, "$.can_edit"),
        ({"seconds": -1}, "$.seconds"),
        ({"seconds": 4000}, "$.seconds"),
        ({"seconds": True}, "$.seconds"),
        ({"approved": True}, "approved"),
    ],
    ids=str,
)
def test_a_bad_question_is_refused_with_its_place(env: GateEnv, change: dict[str, Any], where: str) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            response = await ask(served, bash() | change)
            assert (response.status_code, error_code(response)) == (400, "invalid_body")
            assert where in response.json()["error"]["message"]

    run_async(work())


def test_an_agent_knows_its_own_requests_only(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            item = await asked(served, bash())
            mine = (await served.agent.get("/v1/agent")).json()
            assert mine["agent"] == "default"
            assert [one["id"] for one in mine["waiting"]] == [item["id"]]
            assert served.gate.own_requests("other")["waiting"] == []

    run_async(work())


async def handed_over(served: ServedGate, body: dict[str, Any]) -> dict[str, Any]:
    """A tool call that was approved and handed over."""
    item = await asked(served, body)
    assert (await decide(served, item)).status_code == 200
    assert (await poll(served, item["id"])).json()["status"] == "allowed"
    return item


def test_an_interrupted_tool_call_says_nothing_about_an_action_with_its_name(
    env: GateEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "_MAX_RESTORED", 1)
    body = {**bash(), "tool": "send-draft", "input": DRAFT["args"]}

    async def work() -> str:
        async with served_gate(env) as served:
            env.service.faults["send"] = ServiceFault.HANG_UP
            id_ = str((await served.agent.post(SEND, json=DRAFT)).json()["approval_id"])
            await decide(served, await served.previewed_request(id_))
            assert (await served.result(id_))["status"] == "failed"
            item = await asked(served, body)
            await decide(served, item)
            await poll(served, item["id"])
            report = await served.agent.post(f"{PERMISSIONS}/{item['id']}/outcome", json={"status": "unknown"})
            assert report.json()["state"] == "unknown"
            return id_

    async def after_a_restart() -> str:
        async with served_gate(env) as served:
            again = str((await served.agent.post(SEND, json=DRAFT)).json()["approval_id"])
            return str((await served.previewed_request(again)).get("asked_again", ""))

    id_ = run_async(work())
    assert run_async(after_a_restart()) == id_


def test_an_interrupted_call_has_an_unknown_outcome(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            item = await asked(served, bash(call_id="c-1"))
            assert (await served.agent.get("/v1/agent")).json()["waiting"][0]["session"] == "s-1"
            await decide(served, item)
            await poll(served, item["id"])
            report = {"status": "unknown", "error": "interrupted"}
            reply = await served.agent.post(f"{PERMISSIONS}/{item['id']}/outcome", json=report)
            assert (reply.status_code, reply.json()["state"]) == (200, "unknown")
            assert newest(env).outcome == RequestState.UNKNOWN
        verified(env)

    run_async(work())


def test_an_approval_is_handed_over_even_if_the_program_leaves_at_that_moment(env: GateEnv) -> None:
    """What is recorded and what the gate knows must not differ, or it could never be fetched nor end."""

    async def work() -> None:
        async with served_gate(env) as served:
            item = await asked(served, bash())
            await decide(served, item)
            record = served.gate._gate_state.recorder.record

            async def slow(*drafts: Any) -> Any:
                fetching.cancel()
                await asyncio.sleep(0.05)
                return await record(*drafts)

            served.gate._gate_state.recorder.record = slow  # type: ignore[method-assign, assignment]
            fetching = asyncio.create_task(served.gate.permission(item["id"], agent="default"))
            with pytest.raises(asyncio.CancelledError):
                await fetching
            await asyncio.sleep(0.2)
            served.gate._gate_state.recorder.record = record  # type: ignore[method-assign]
            known = (await served.agent.get("/v1/agent")).json()
            assert (known["approved"], [call["id"] for call in known["handed_over"]]) == ([], [item["id"]])
        verified(env)

    run_async(work())
