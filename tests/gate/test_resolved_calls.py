"""What is shown is what runs: steps, inputs and numbers, from the agent's call to what the service receives."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import JsonObject, read_object
from aileron_tui.core.prompt import read_prompt
from aileron_tui.gate.gate import Gate
from tests.gate.conftest import GateEnv, ask, code, dig, previewed_request, result_of, run_async
from tests.gate.served_gate import served_gate

MAIL = "local://aileron/mail"
FILES = "local://aileron/files"
JSON = {"Content-Type": "application/json"}


def change(env: GateEnv, action: str, edit: Callable[[str], str]) -> Path:
    """Changes a manifest of the environment."""
    path = env.manifests / "actions" / f"{action}.md"
    before = path.read_text()
    after = edit(before)
    assert after != before
    path.write_text(after)
    return path


async def approved(gate: Gate, env: GateEnv, item: JsonObject) -> JsonObject:
    """The result of a request after its approval."""
    reply = await gate.decide(str(item["id"]), env.decision(item))
    assert reply.status == 200, reply.body
    return await result_of(gate, str(item["id"]))


async def shown(gate: Gate, action: str, **args: Any) -> JsonObject:
    """A waiting request with its preview."""
    reply = await ask(gate, action, **args)
    assert reply.status == 202, reply.body
    return await previewed_request(gate, str(reply.body["approval_id"]))


def test_an_input_of_the_call_cannot_replace_an_input_of_the_step(env: GateEnv) -> None:
    """The preview reads the draft that the template names; the agent adds the id of another one for the op."""

    def other_template(text: str) -> str:
        text = text.replace('name = "draft_id"', 'name = "number"', 1).replace("${args.draft_id}", "r-${args.number}")
        extra = '[[inputs]]\nname = "draft_id"\ntype = "string"\nrequired = false\ndescription = "x"\n\n[[execute]]'
        return text.replace("[[execute]]", extra, 1)

    change(env, "send-draft", other_template)

    async def work() -> None:
        async with env.gate() as gate:
            item = await shown(gate, "send-draft", number="12345", draft_id="r-18220")
            assert dig(item, "preview", "fields")[0]["value"] == "team@example.com"
            (step,) = read_prompt(item["prompt"]).steps
            assert step.inputs["draft_id"] == "r-12345"
            assert (await approved(gate, env, item))["status"] == "completed"

    run_async(work())
    assert len(env.service.sent) == 1
    assert "r-12345" not in env.service.mailbox.drafts
    assert "r-18220" in env.service.mailbox.drafts


@pytest.mark.parametrize("number", ["12345", "1.2345e4", "12345.0", "123450e-1", "1.2345E+4"])
def test_a_number_is_spelled_once(env: GateEnv, number: str) -> None:
    def numbered(text: str) -> str:
        text = text.replace('name = "draft_id"\ntype = "string"', 'name = "draft_id"\ntype = "number"', 1)
        return text.replace("${args.draft_id}", "r-${args.draft_id}")

    change(env, "send-draft", numbered)

    async def work() -> None:
        async with served_gate(env) as served:
            asked = await served.agent.post(
                "/v1/actions/send-draft/run", content=f'{{"args":{{"draft_id":{number}}}}}', headers=JSON
            )
            item = await served.previewed_request(asked.json()["approval_id"])
            assert item["preview"]["fields"][0]["value"] == "team@example.com"
            assert item["input_fields"] == [{"label": "Draft id", "value": "12345"}]
            assert item["prompt"]["steps"][0]["inputs"]["draft_id"] == "r-12345"
            decided = await served.approver.post(f"/v1/action-approvals/{item['id']}/decide", json=env.decision(item))
            assert decided.status_code == 200, decided.text
            assert (await served.result(item["id"]))["status"] == "completed"

    run_async(work())
    assert len(env.service.sent) == 1


def test_a_second_step_and_static_inputs_are_in_the_prompt(env: GateEnv) -> None:
    files = (env.manifests / "actions" / "delete-file.md").read_text()
    required = files.partition("[[requires.connectors]]")[2].partition("[match]")[0]

    def two_steps(text: str) -> str:
        port = text.partition("http://127.0.0.1:")[2].partition('"')[0]
        step = (
            f'[[execute]]\nid = "clean"\nconnector = "{FILES}"\nop = "delete_file"\n'
            f'[execute.inputs]\nbase_url = "http://127.0.0.1:{port}"\nfile_id = "f-1001"\n\n[approval]'
        )
        text = text.replace("[match]", f"[[requires.connectors]]{required}[match]", 1)
        return text.replace("[approval]", step, 1)

    change(env, "send-draft", two_steps)

    async def work() -> None:
        async with env.gate() as gate:
            item = await shown(gate, "send-draft", draft_id="r-12345")
            first, second = read_prompt(item["prompt"]).steps
            assert (first.op, first.connector.name, first.inputs["draft_id"]) == ("send_draft", MAIL, "r-12345")
            assert (second.id, second.op, second.connector.name) == ("clean", "delete_file", FILES)
            assert second.inputs["file_id"] == "f-1001"
            assert second.connector.hash.startswith("sha256:")
            assert (await approved(gate, env, item))["status"] == "completed"

    run_async(work())
    assert len(env.service.sent) == 1


def test_an_optional_input_that_was_not_given_is_not_sent(env: GateEnv) -> None:
    change(env, "send-mail", lambda text: text.replace('to = "${args.to}"', 'to = "${args.to}"\ncc = "${args.cc}"', 1))

    async def work() -> None:
        async with env.gate() as gate:
            for more in ({}, {"cc": None}):
                item = await shown(gate, "send-mail", to="a@example.com", subject="S", body="${args.to}", **more)
                assert "cc" not in dig(item, "prompt", "steps")[0]["inputs"]
                assert (await approved(gate, env, item))["status"] == "completed"

    run_async(work())
    assert [mail.header("Cc") for mail in env.service.sent] == ["", ""]


async def until(condition: Callable[[], Any]) -> None:
    """Waits until a condition is true."""
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the condition did not become true")


def test_a_manifest_that_changes_under_a_waiting_request_makes_a_new_prompt(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            asked = await shown(gate, "draft-mail", to="a@example.com", subject="S", body="B")
            id_, events = str(asked["id"]), gate.feed.subscribe()
            change(env, "draft-mail", lambda text: text.replace('to = "${args.to}"', 'to = "mallory@evil.example"', 1))
            event = await anext(events)
            while event.name != "updated":
                event = await anext(events)
            assert json.loads(event.encoded)["digest"] != asked["digest"]
            reply = await gate.decide(id_, env.decision(asked))
            assert (reply.status, code(reply)) == (409, "PROMPT_CHANGED")
            now = dig(reply.body, "item")
            assert now["prompt"]["steps"][0]["inputs"]["to"] == "mallory@evil.example"
            assert now["digest"] != asked["digest"]
            assert (await gate.decide(id_, env.decision(now, Verdict.DENY))).status == 200
            gate.feed.unsubscribe(events)

    run_async(work())


def test_a_preview_is_fetched_again_for_the_new_prompt(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            asked = await shown(gate, "send-draft", draft_id="r-12345")
            id_ = str(asked["id"])
            change(env, "send-draft", lambda text: text.replace('"Subject" =', '"About" =', 1))
            await until(lambda: dig(gate.find_request(id_), "revision") > asked["revision"])
            now = await previewed_request(gate, id_)
            assert [field["label"] for field in dig(now, "preview", "fields")][:2] == ["To", "About"]
            old = await gate.decide(id_, env.decision(asked))
            assert (old.status, code(old)) == (409, "PROMPT_CHANGED")
            assert (await approved(gate, env, now))["status"] == "completed"

    run_async(work())


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda text: text.replace("required = true", "required = false", 1), "no longer needs approval"),
        (lambda text: text.replace('type = "string"', 'type = "integer"', 1), "inputs are no longer valid"),
        (lambda text: text.replace('name = "send-draft"', 'name = "send-it"', 1), "removed"),
        (lambda text: text.replace("op = ", "oops = ", 1), "removed"),
    ],
    ids=["ungated", "other inputs", "renamed", "broken"],
)
def test_a_request_that_the_manifests_no_longer_allow_is_withdrawn(
    env: GateEnv, edit: Callable[[str], str], why: str
) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            asked = await shown(gate, "send-draft", draft_id="r-12345")
            id_ = str(asked["id"])
            change(env, "send-draft", edit)
            result = await result_of(gate, id_)
            error = dig(result, "failure", "error")
            assert error["class"] == "withdrawn"
            assert "nothing was run" in error["message"]
            assert why in error["message"]
            item = gate.find_request(id_)
            assert item is not None
            assert item["state"] == "withdrawn"
            assert why in str(item["error"])
            late = await gate.decide(id_, env.decision(asked))
            assert (late.status, code(late)) == (409, "INVALID_STATE")

    run_async(work())
    assert env.service.sent == ()


def test_after_a_restart_the_prompt_is_made_from_the_manifests_as_they_are(env: GateEnv) -> None:
    async def first() -> JsonObject:
        async with env.gate() as gate:
            return await shown(gate, "draft-mail", to="a@example.com", subject="S", body="B")

    asked = run_async(first())
    change(env, "draft-mail", lambda text: text.replace('subject = "${args.subject}"', 'subject = "Invoice"', 1))

    async def second() -> None:
        async with env.gate() as gate:
            now = await previewed_request(gate, str(asked["id"]))
            assert now["digest"] != asked["digest"]
            assert dig(now, "prompt", "steps")[0]["inputs"]["subject"] == "Invoice"
            forged = env.decision(now, digest=asked["digest"])
            assert code(await gate.decide(str(asked["id"]), forged)) == "PROMPT_CHANGED"
            assert (await approved(gate, env, now))["status"] == "completed"

    run_async(second())
    assert [draft.header("Subject") for draft in env.service.mailbox.drafts.values()].count("Invoice") == 1


def test_a_manifest_changed_elsewhere_leaves_the_prompt_as_it_is(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            asked = await shown(gate, "send-draft", draft_id="r-12345")
            change(env, "list-drafts", lambda text: text.replace("List the drafts", "Show the drafts", 1))
            await until(lambda: "Show the drafts" in json.dumps(gate.action("list-drafts")))
            await asyncio.sleep(0.05)
            now = gate.find_request(str(asked["id"]))
            assert now is not None
            assert (now["revision"], now["digest"]) == (asked["revision"], asked["digest"])
            assert (await approved(gate, env, asked))["status"] == "completed"

    run_async(work())


@pytest.mark.parametrize(
    "number",
    ["0e-99999999", "1e400", "1E+99999999999", "9" * 5000, "1" + "0" * 1_000_000, "--1"],
    ids=["zero", "infinite", "long exponent", "5,000 digits", "a million digits", "no number"],
)
def test_a_number_that_cannot_be_spelled_is_refused_and_the_gate_goes_on(env: GateEnv, number: str) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            bad = await served.agent.post(
                "/v1/actions/list-drafts/run", content=f'{{"args":{{"limit":{number}}}}}', headers=JSON
            )
            assert bad.status_code == 400
            assert "JSON" in bad.json()["error"]["message"]
            good = await served.agent.post("/v1/actions/list-drafts/run", json={"args": {"limit": 1}})
            assert good.status_code == 200

    run_async(work())


def test_reading_and_resolving_is_what_the_digest_covers(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            args = read_object('{"file_id": "f-1001", "folder_id": "d-archive"}')
            item = await shown(gate, "move-file", **args)
            prompt = read_prompt(item["prompt"])
            assert prompt.digest == item["digest"]
            (step,) = prompt.steps
            assert step.inputs == {**args, "base_url": step.inputs["base_url"]}

    run_async(work())
