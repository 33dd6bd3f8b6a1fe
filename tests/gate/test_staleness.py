"""An approval counts only for what the preview shows now: whatever ran on the connector, and whenever it ran."""

import asyncio
import base64
import json
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.resolved_call import ResolvedCall
from aileron_tui.core.risk import RiskLevel, RiskRule
from aileron_tui.core.states import RequestState
from aileron_tui.demo.sample_bundle import pin
from aileron_tui.demo.sample_service import MAIL_CREDENTIAL, ServiceFault
from aileron_tui.files.config import ConnectorSettings, CredentialSource
from aileron_tui.gate.decision_handler import PREVIEW_MAX_AGE
from aileron_tui.gate.gate import LEDGER_FILE, Gate
from aileron_tui.gate.gate_state import GateLimits
from aileron_tui.gate.replies import Reply
from aileron_tui.ledger.open_store import open_ledger
from aileron_tui.sandbox.execution import Execution
from aileron_tui.sandbox.sandbox import Sandbox
from aileron_tui.surface.agent_changes import add_agent, revoke_agent
from tests.gate.conftest import ASKER, GateEnv, ask, code, dig, previewed_request, result_of, run_async
from tests.gate.machine import Machine
from tests.gate.served_gate import served_gate
from tests.gate.tool_calls import asked, bash, poll
from tests.gate.tool_calls import decide as tool_decide

LOCAL = "local://aileron/"
MALLORY = "mallory@evil.example"


def raw_mail(to: str, subject: str = "Weekly recap", text: str = "Text") -> str:
    return base64.urlsafe_b64encode(f"To: {to}\r\nSubject: {subject}\r\n\r\n{text}".encode()).decode()


def normal_risk(env: GateEnv) -> None:
    """Makes every action a normal risk, so that a fresh preview is not fetched again anyway."""
    env.risk = (RiskRule(RiskLevel.NORMAL, action="*"),)


async def shown(gate: Gate, action: str, **args: Any) -> JsonObject:
    """A waiting request with its preview."""
    return await previewed_request(gate, str((await ask(gate, action, **args)).body["approval_id"]))


def recipients(item: Any) -> list[str]:
    return [field["value"] for field in item["preview"]["fields"] if field["label"] == "To"]


def ungated(env: GateEnv, action: str) -> None:
    """Makes an action one that needs no approval."""
    manifest = env.manifests / "actions" / f"{action}.md"
    before, _, rest = manifest.read_text().partition("[approval]\n")
    manifest.write_text(before + "+++" + rest.partition("+++")[2])


def use_connector(env: GateEnv, source: str, target: str, actions: str, host: str = "127.0.0.1") -> None:
    """Lets actions use a copy of a connector that has this name and reaches the service by this name of its host."""
    old, folder = env.manifests / "connectors" / source, env.manifests / "connectors" / target
    wasm, manifest = (old / "connector.wasm").read_bytes(), (old / "manifest.toml").read_text()
    changed = manifest.replace("127.0.0.1", host).replace(f"aileron/{source}", f"aileron/{target}")
    folder.mkdir(exist_ok=True)
    (folder / "connector.wasm").write_bytes(wasm)
    (folder / "manifest.toml").write_text(changed)
    for action in (env.manifests / "actions").glob(actions):
        text = action.read_text().replace("127.0.0.1", host)
        text = text.replace(f'"{LOCAL}{source}"', f'"{LOCAL}{target}"')
        action.write_text(text.replace(pin(wasm, manifest.encode()), pin(wasm, changed.encode())))


def draft_like(env: GateEnv) -> str:
    """A new draft."""
    return str(env.service.mailbox.create_draft(raw_mail("team@example.com"))["id"])


def previews(env: GateEnv) -> int:
    """How often the draft was fetched."""
    return sum(call.method == "GET" for call in env.service.calls)


def test_an_approved_op_that_changes_what_another_prompt_shows(env: GateEnv) -> None:
    """The first approval gives the draft another recipient, the second would send it there, seconds later."""
    normal_risk(env)

    async def work() -> None:
        async with env.gate() as gate:
            send = await shown(gate, "send-draft", draft_id="r-12345")
            update = await shown(gate, "update-draft", draft_id="r-12345", body="Text", to=MALLORY)
            assert (await gate.decide(str(update["id"]), env.decision(update))).status == 200
            assert (await result_of(gate, str(update["id"])))["status"] == "completed"
            reply = await gate.decide(str(send["id"]), env.decision(send))
            assert (reply.status, code(reply)) == (409, "PROMPT_CHANGED")
            assert env.service.sent == ()
            now = dig(reply.body, "item")
            assert recipients(now) == [MALLORY]
            assert now["revision"] > send["revision"]
            assert (await gate.decide(str(send["id"]), env.decision(now))).status == 200

    run_async(work())
    assert len(env.service.sent) == 1


def test_approvals_in_one_batch_see_each_other(env: GateEnv) -> None:
    """The op of the first decision is still running when the second one is checked."""
    normal_risk(env)

    async def work() -> None:
        async with env.gate() as gate:
            update = await shown(gate, "update-draft", draft_id="r-12345", body="Text", to=MALLORY)
            send = await shown(gate, "send-draft", draft_id="r-12345")
            env.service.latency_seconds = 0.3
            items: list[Any] = [{"id": item["id"], **env.decision(item)} for item in (update, send)]
            reply = await gate.decide_batch({"items": items})
            assert (reply.body["approved"], reply.body["skipped"]) == (1, 1)
            assert dig(reply.body, "items")[1]["error"]["code"] == "PROMPT_CHANGED"
            assert recipients(dig(reply.body, "items")[1]["item"]) == [MALLORY]

    run_async(work())
    assert env.service.sent == ()


def test_a_batch_runs_on_different_connectors_at_the_same_time(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second mail waits for the op of the first, and must not keep the file waiting."""
    normal_risk(env)
    use_connector(env, "files", "files", "*file*.md", "localhost")
    may_end, execute = threading.Event(), Sandbox.execute

    def held(sandbox: Sandbox, call: ResolvedCall) -> Execution:
        assert call.action.name != "send-draft" or may_end.wait(60)
        return execute(sandbox, call)

    monkeypatch.setattr(Sandbox, "execute", held)

    async def work() -> None:
        async with env.gate() as gate:
            first = await shown(gate, "send-draft", draft_id="r-12345")
            second = await shown(gate, "update-draft", draft_id="r-12345", body="Text", to=MALLORY)
            file = await shown(gate, "delete-file", file_id="file-1")
            items: list[Any] = [{"id": item["id"], **env.decision(item)} for item in (first, second, file)]
            batch = asyncio.create_task(gate.decide_batch({"items": items}))
            try:
                async with asyncio.timeout(30):
                    while dig(gate.find_request(str(file["id"])), "state") == "pending":
                        await asyncio.sleep(0.01)
                assert not batch.done(), "the second one waits for the first one"
            finally:
                may_end.set()
            outcomes = [(item["id"], item["outcome"]) for item in dig((await batch).body, "items")]
            assert outcomes[0] == (first["id"], "approved")
            assert outcomes[1] == (second["id"], "skipped"), "the draft was sent meanwhile"
            assert outcomes[2] == (file["id"], "approved")

    run_async(work())


def test_two_approvals_at_once_on_one_connector(env: GateEnv) -> None:
    normal_risk(env)

    async def work() -> None:
        async with env.gate() as gate:
            update = await shown(gate, "update-draft", draft_id="r-12345", body="Text", to=MALLORY)
            send = await shown(gate, "send-draft", draft_id="r-12345")
            env.service.latency_seconds = 0.2
            first, second = await asyncio.gather(
                *(gate.decide(str(item["id"]), env.decision(item)) for item in (update, send))
            )
            assert (first.status, second.status, code(second)) == (200, 409, "PROMPT_CHANGED")

    run_async(work())
    assert env.service.sent == ()


def test_an_op_that_needs_no_approval_makes_a_preview_stale(env: GateEnv) -> None:
    normal_risk(env)
    ungated(env, "update-draft")

    async def work() -> None:
        async with env.gate() as gate:
            send = await shown(gate, "send-draft", draft_id="r-12345")
            changed = await ask(gate, "update-draft", draft_id="r-12345", body="Text", to=MALLORY)
            assert changed.status == 200
            reply = await gate.decide(str(send["id"]), env.decision(send))
            assert (reply.status, code(reply)) == (409, "PROMPT_CHANGED")

    run_async(work())
    assert env.service.sent == ()


def test_no_op_begins_between_the_last_look_and_the_start(env: GateEnv) -> None:
    """The ungated op arrives while the preview is being fetched for the answer."""
    normal_risk(env)
    ungated(env, "update-draft")

    async def work() -> None:
        async with env.gate() as gate:
            send = await shown(gate, "send-draft", draft_id="r-12345")
            assert (await ask(gate, "list-drafts", limit=1)).status == 200
            env.service.latency_seconds = 0.3
            deciding = asyncio.create_task(gate.decide(str(send["id"]), env.decision(send)))
            await asyncio.sleep(0.1)
            updating = asyncio.create_task(ask(gate, "update-draft", draft_id="r-12345", body="Text", to=MALLORY))
            assert (await deciding).status == 200
            await updating
            await result_of(gate, str(send["id"]))

    run_async(work())
    assert [MALLORY in json.dumps(message) for message in map(str, env.service.sent)] == [False]


SLOW = "r-18220"
"""A draft that the service is slow to return."""


async def keep_busy(gate: Gate, calls: int) -> None:
    """Always has this many slow ungated calls in progress or waiting."""

    async def one_after_another() -> None:
        while True:
            await ask(gate, "get-draft", draft_id=SLOW)

    await asyncio.gather(*(one_after_another() for _ in range(calls)))


async def until_busy(env: GateEnv, before: int) -> None:
    """Waits until the service has got more calls than before."""
    while previews(env) <= before:
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("approvals", [1, 3])
def test_slow_ungated_ops_do_not_put_off_approvals(env: GateEnv, approvals: int) -> None:
    """An agent keeps the connector busy for ever. Together its calls take longer than any approval waits."""
    env.limits = replace(env.limits, op_seconds=3.0)
    env.service.faults[SLOW] = ServiceFault.SLOW
    env.service.slow_seconds = 1.0

    async def work() -> None:
        async with env.gate() as gate:
            ids = ["r-12345", *(draft_like(env) for _ in range(approvals - 1))]
            items = [await shown(gate, "send-draft", draft_id=id_) for id_ in ids]
            before = previews(env)
            attack = asyncio.create_task(keep_busy(gate, 60))
            await until_busy(env, before)
            try:
                replies = await asyncio.gather(*(gate.decide(str(item["id"]), env.decision(item)) for item in items))
                assert [reply.status for reply in replies] == [200] * approvals
                for item in items:
                    assert (await result_of(gate, str(item["id"])))["status"] == "completed"
                assert not attack.done()
            finally:
                attack.cancel()

    run_async(work())
    assert len(env.service.sent) == approvals


def test_slow_ungated_ops_do_not_put_off_a_batch(env: GateEnv) -> None:
    env.limits = replace(env.limits, op_seconds=3.0)
    env.service.faults[SLOW] = ServiceFault.SLOW
    env.service.slow_seconds = 1.0

    async def work() -> None:
        async with env.gate() as gate:
            items = [await shown(gate, "send-draft", draft_id=id_) for id_ in ("r-12345", draft_like(env))]
            before = previews(env)
            attack = asyncio.create_task(keep_busy(gate, 60))
            await until_busy(env, before)
            try:
                batch: list[Any] = [{"id": item["id"], **env.decision(item)} for item in items]
                reply = await gate.decide_batch({"items": batch})
                assert (reply.body["approved"], reply.body["skipped"]) == (2, 0)
            finally:
                attack.cancel()

    run_async(work())


def test_ungated_ops_go_on_after_an_approval(env: GateEnv) -> None:
    env.service.faults[SLOW] = ServiceFault.SLOW
    env.service.slow_seconds = 0.3

    async def work() -> None:
        async with env.gate() as gate:
            send = await shown(gate, "send-draft", draft_id="r-12345")
            deciding = asyncio.create_task(gate.decide(str(send["id"]), env.decision(send)))
            calls = [asyncio.create_task(ask(gate, "get-draft", draft_id=SLOW)) for _ in range(10)]
            assert (await deciding).status == 200
            assert [(await call).status for call in calls] == [200] * 10

    run_async(work())


def test_an_op_counts_until_it_has_ended_even_if_nobody_waits_for_it(env: GateEnv) -> None:
    """The agent gives up its call, but the op goes on and changes the draft later."""
    normal_risk(env)
    ungated(env, "update-draft")

    async def work() -> None:
        async with env.gate() as gate:
            send = await shown(gate, "send-draft", draft_id="r-12345")
            env.service.latency_seconds = 0.5
            calls = len(env.service.calls)
            updating = asyncio.create_task(ask(gate, "update-draft", draft_id="r-12345", body="Text", to=MALLORY))
            while len(env.service.calls) == calls:
                await asyncio.sleep(0.01)
            updating.cancel()
            await asyncio.sleep(0)
            env.service.latency_seconds = 0.0
            reply = await gate.decide(str(send["id"]), env.decision(send))
            assert (reply.status, code(reply)) == (409, "PROMPT_CHANGED")
            assert recipients(dig(reply.body, "item")) == [MALLORY]

    run_async(work())
    assert env.service.sent == ()


def test_only_a_difference_in_what_is_shown_is_a_new_prompt(env: GateEnv) -> None:
    """The draft got another subject that no row shows, so the approval counts."""
    normal_risk(env)
    manifest = env.manifests / "actions" / "send-draft.md"
    manifest.write_text(
        "".join(line for line in manifest.read_text().splitlines(True) if not line.lstrip().startswith('"Subject"'))
    )

    async def work() -> None:
        async with env.gate() as gate:
            env.service.mailbox.update_draft("r-12345", raw_mail("team@example.com", "Weekly recap", "Text"))
            send = await shown(gate, "send-draft", draft_id="r-12345")
            assert (await ask(gate, "list-drafts", limit=1)).status == 200
            env.service.mailbox.update_draft("r-12345", raw_mail("team@example.com", "Another one", "Text"))
            before = previews(env)
            assert (await gate.decide(str(send["id"]), env.decision(send))).status == 200
            assert previews(env) == before + 1
            assert (await result_of(gate, str(send["id"])))["status"] == "completed"

    run_async(work())
    assert len(env.service.sent) == 1


def test_a_fresh_preview_is_not_fetched_again(env: GateEnv) -> None:
    normal_risk(env)

    async def work() -> None:
        async with env.gate() as gate:
            send = await shown(gate, "send-draft", draft_id="r-12345")
            before = previews(env)
            assert (await gate.decide(str(send["id"]), env.decision(send))).status == 200
            assert previews(env) == before

    run_async(work())


def test_a_preview_is_old_even_if_the_clock_was_set_back(env: GateEnv, boot: str) -> None:
    """The wall clock says that no time has passed since the preview was fetched."""
    normal_risk(env)
    machine = Machine(boot=boot)

    async def work() -> None:
        async with env.gate(**machine.options()) as gate:
            send = await shown(gate, "send-draft", draft_id="r-12345")
            env.service.mailbox.update_draft("r-12345", raw_mail(MALLORY))
            machine.slept += PREVIEW_MAX_AGE
            machine.set_by -= timedelta(seconds=PREVIEW_MAX_AGE)
            reply = await gate.decide(str(send["id"]), env.decision(send))
            assert (reply.status, code(reply)) == (409, "PROMPT_CHANGED")
            assert recipients(dig(reply.body, "item")) == [MALLORY]

    run_async(work())
    assert env.service.sent == ()


def test_at_high_risk_the_preview_is_always_fetched_again(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            send = await shown(gate, "send-draft", draft_id="r-12345")
            env.service.mailbox.update_draft("r-12345", raw_mail(MALLORY))
            reply = await gate.decide(str(send["id"]), env.decision(send))
            assert (reply.status, code(reply)) == (409, "PROMPT_CHANGED")
            assert recipients(dig(reply.body, "item")) == [MALLORY]

    run_async(work())
    assert env.service.sent == ()


def test_an_edited_call_is_checked_like_any_other(env: GateEnv) -> None:
    normal_risk(env)

    async def work() -> None:
        async with env.gate() as gate:
            id_ = str((await shown(gate, "send-draft", draft_id="r-18220"))["id"])
            edits: JsonObject = {"draft_id": "r-12345"}
            edited = dig((await gate.refresh(id_, {"edited_payload": edits})).body, "item")
            update = await shown(gate, "update-draft", draft_id="r-12345", body="Text", to=MALLORY)
            assert (await gate.decide(str(update["id"]), env.decision(update))).status == 200
            reply = await gate.decide(id_, env.decision(edited, edits=edits))
            assert (reply.status, code(reply)) == (409, "PROMPT_CHANGED")
            now = dig(reply.body, "item")
            assert recipients(now) == [MALLORY]
            assert (await gate.decide(id_, env.decision(now, edits=edits))).status == 200
            assert (await result_of(gate, id_))["status"] == "completed"

    run_async(work())
    assert len(env.service.sent) == 1


def test_a_preview_that_fails_when_the_answer_comes_is_a_new_prompt(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            send = await shown(gate, "send-draft", draft_id="r-12345")
            env.service.faults["r-12345"] = ServiceFault.NOT_FOUND
            reply = await gate.decide(str(send["id"]), env.decision(send))
            assert (reply.status, code(reply)) == (409, "PROMPT_CHANGED")
            assert dig(reply.body, "item", "preview") == {"unavailable": "Preview unavailable: Gmail API returned 404"}

    run_async(work())
    assert env.service.sent == ()


@pytest.mark.parametrize(
    ("host", "credential", "count"),
    [
        pytest.param("127.0.0.1", "TEST_OTHER_TOKEN", True, id="same host"),
        pytest.param("localhost", "TEST_MAIL_TOKEN", True, id="same account"),
        pytest.param("localhost", "TEST_OTHER_TOKEN", False, id="nothing in common"),
    ],
)
def test_ops_of_another_connector_on_the_same_account(
    env: GateEnv, monkeypatch: pytest.MonkeyPatch, host: str, credential: str, count: bool
) -> None:
    """A second connector changes the draft without asking, seconds after it was shown through the first one."""
    normal_risk(env)
    ungated(env, "update-draft")
    use_connector(env, "mail", "mail-v2", "update-draft.md", host)
    monkeypatch.setenv("TEST_OTHER_TOKEN", MAIL_CREDENTIAL)
    setup = env.setup()
    own = ConnectorSettings(CredentialSource(env=credential))
    connectors = {**setup.config.connectors, f"{LOCAL}mail-v2": own}
    monkeypatch.setattr(env, "setup", lambda: replace(setup, config=replace(setup.config, connectors=connectors)))

    async def work() -> None:
        async with env.gate() as gate:
            send = await shown(gate, "send-draft", draft_id="r-12345")
            changed = await ask(gate, "update-draft", draft_id="r-12345", body="Text", to=MALLORY)
            assert changed.status == 200
            reply = await gate.decide(str(send["id"]), env.decision(send))
            if count:
                assert (reply.status, code(reply)) == (409, "PROMPT_CHANGED")
                assert recipients(dig(reply.body, "item")) == [MALLORY]
            else:  # nobody can know that these two reach the same mailbox
                assert reply.status == 200

    run_async(work())
    assert bool(env.service.sent) is not count


def test_approvals_of_two_connectors_on_one_host_see_each_other(env: GateEnv) -> None:
    """Both are sent in one batch, and the op of the first one is slow."""
    normal_risk(env)
    actions = env.manifests / "actions"
    (actions / "read-draft.md").write_text((actions / "get-draft.md").read_text().replace("get-draft", "read-draft"))
    use_connector(env, "mail", "mail-v2", "[ru]*-draft.md")
    setup = env.setup()
    connectors = {**setup.config.connectors, f"{LOCAL}mail-v2": setup.config.connectors[f"{LOCAL}mail"]}
    env.setup = lambda: replace(setup, config=replace(setup.config, connectors=connectors))  # type: ignore[method-assign]

    async def work() -> None:
        async with env.gate() as gate:
            update = await shown(gate, "update-draft", draft_id="r-12345", body="Text", to=MALLORY)
            send = await shown(gate, "send-draft", draft_id="r-12345")
            env.service.latency_seconds = 0.3
            items: list[Any] = [{"id": item["id"], **env.decision(item)} for item in (update, send)]
            reply = await gate.decide_batch({"items": items})
            assert dig(reply.body, "items")[1]["error"]["code"] == "PROMPT_CHANGED"
            assert recipients(dig(reply.body, "items")[1]["item"]) == [MALLORY]

    run_async(work())
    assert env.service.sent == ()


def test_an_approved_tool_call_makes_every_preview_stale(env: GateEnv) -> None:
    """An agent uses an approved shell command to change the draft. Nobody knows what a program of an agent does."""
    normal_risk(env)

    async def work() -> None:
        async with served_gate(env) as served:
            curl = await asked(served, bash("curl -X PATCH http://127.0.0.1/drafts/r-12345"))
            send = await shown(served.gate, "send-draft", draft_id="r-12345")
            assert (await tool_decide(served, curl)).status_code == 200
            assert (await poll(served, curl["id"])).json()["status"] == "allowed"
            env.service.mailbox.update_draft("r-12345", raw_mail(MALLORY))
            reply = await served.gate.decide(str(send["id"]), env.decision(send))
            assert (reply.status, code(reply)) == (409, "PROMPT_CHANGED")
            assert recipients(dig(reply.body, "item")) == [MALLORY]

    run_async(work())
    assert env.service.sent == ()


def test_ops_on_another_connector_do_not_count(env: GateEnv) -> None:
    normal_risk(env)
    use_connector(env, "files", "files", "*file*.md", "localhost")

    async def work() -> None:
        async with env.gate() as gate:
            send = await shown(gate, "send-draft", draft_id="r-12345")
            assert (await ask(gate, "list-files", limit=1)).status == 200
            before = previews(env)
            assert (await gate.decide(str(send["id"]), env.decision(send))).status == 200
            assert previews(env) == before

    run_async(work())


@pytest.mark.parametrize("approved_first", ["rename-file", "delete-file"])
def test_files_are_checked_too(env: GateEnv, approved_first: str) -> None:
    normal_risk(env)

    async def work() -> None:
        async with env.gate() as gate:
            move = await shown(gate, "move-file", file_id="f-1001", folder_id="d-archive")
            more = {"name": "harmless.txt"} if approved_first == "rename-file" else {}
            other = await shown(gate, approved_first, file_id="f-1001", **more)
            assert (await gate.decide(str(other["id"]), env.decision(other))).status == 200
            reply = await gate.decide(str(move["id"]), env.decision(move))
            assert (reply.status, code(reply)) == (409, "PROMPT_CHANGED")
            assert dig(reply.body, "item", "state") == RequestState.PENDING

    run_async(work())


async def held_up(env: GateEnv, gate: Gate, item: JsonObject) -> "asyncio.Task[Reply]":
    """Approves a request while an earlier approval on the same connector still waits for its slow preview."""
    first = await shown(gate, "delete-draft", draft_id="r-18220")
    env.service.slow_seconds, env.service.faults["r-18220"] = 1.5, ServiceFault.SLOW
    asyncio.create_task(gate.decide(str(first["id"]), env.decision(first)))  # noqa: RUF006  # ends with the gate
    await asyncio.sleep(0.1)
    deciding = asyncio.create_task(gate.decide(str(item["id"]), env.decision(item)))
    await asyncio.sleep(0.1)
    assert not deciding.done()
    return deciding


def test_a_preview_fetched_again_while_an_approval_waits_for_its_connector(env: GateEnv) -> None:
    """The signed prompt was verified before the wait; afterwards the request shows another recipient."""

    async def work() -> None:
        async with env.gate() as gate:
            send = await shown(gate, "send-draft", draft_id="r-12345")
            deciding = await held_up(env, gate, send)
            env.service.mailbox.update_draft("r-12345", raw_mail(MALLORY))
            assert recipients(dig((await gate.refresh(str(send["id"]), {})).body, "item")) == [MALLORY]
            reply = await deciding
            assert (reply.status, code(reply)) == (409, "PROMPT_CHANGED")
            assert recipients(dig(reply.body, "item")) == [MALLORY]

    run_async(work())
    assert env.service.sent == ()


def test_a_key_that_is_revoked_while_its_approval_waits_for_the_connector(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            send = await shown(gate, "send-draft", draft_id="r-12345")
            deciding = await held_up(env, gate, send)
            with open_ledger(env.data / LEDGER_FILE, role="test", guest=True) as ledger:
                ledger.append(EntryKind.KEY_REVOKED, gate.approvers().revocation("tester"))
            reply = await deciding
            assert (reply.status, code(reply)) == (403, "revoked_key")

    run_async(work())
    assert env.service.sent == ()


def test_an_agent_that_is_revoked_while_an_approval_waits_for_the_connector(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            add_agent(env.data / LEDGER_FILE, "agent-1", env.key)
            send = await shown(gate, "send-draft", draft_id="r-12345")
            deciding = await held_up(env, gate, send)
            revoke_agent(env.data / LEDGER_FILE, "agent-1", env.key)
            reply = await deciding
            assert (reply.status, code(reply)) == (409, "INVALID_STATE")
            while (item := gate.find_request(str(send["id"]))) and item["state"] == RequestState.PENDING:
                await asyncio.sleep(0.01)
            assert item is not None
            assert item["state"] == RequestState.WITHDRAWN

    run_async(work())
    assert env.service.sent == ()


def test_an_approval_whose_preview_waits_for_a_thread_does_not_keep_the_connector(env: GateEnv) -> None:
    """The threads of its agent are busy with other previews; other agents need the connector."""
    env.limits = GateLimits(refresh_threads=4)  # one for an agent

    async def work() -> None:
        async with env.gate() as gate:
            slow = await shown(gate, "send-draft", draft_id="r-18220")
            send = await shown(gate, "send-draft", draft_id="r-12345")
            env.service.slow_seconds, env.service.faults["r-18220"] = 4.0, ServiceFault.SLOW
            refreshes = [asyncio.create_task(gate.refresh(str(slow["id"]), {"edited_payload": {}})) for _ in range(6)]
            await asyncio.sleep(0.1)
            deciding = asyncio.create_task(gate.decide(str(send["id"]), env.decision(send)))
            await asyncio.sleep(0.1)
            async with asyncio.timeout(15):
                call = gate.call("list-drafts", {"limit": 1}, ASKER, agent="agent-2")
                assert (await call).status == 200
            reply = await deciding
            assert (reply.status, code(reply)) == (409, "CONNECTOR_BUSY")
            assert dig(reply.body, "error", "message").startswith("the preview could not be fetched")
            for refresh in refreshes:
                refresh.cancel()

    run_async(work())
    assert env.service.sent == ()
