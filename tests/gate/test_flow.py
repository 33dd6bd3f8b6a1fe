"""The flow of a request, end to end, with real connectors against the sample service."""

import asyncio
import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.files.boot_clock import BootClock
from aileron_tui.files.config import Policy
from aileron_tui.gate.decision_handler import PREVIEW_MAX_AGE
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.gate_state import GateLimits
from aileron_tui.ledger.entry_check import verify
from aileron_tui.ledger.errors import LedgerUnusable
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.ledger.store import EntryDraft
from aileron_tui.sandbox.connector_package import UNKNOWN_PUBLISHER, PublisherKeyring, load_keyring
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.gate.conftest import ASKER, GateEnv, ask, code, dig, previewed_request, result_of, run_async


def kinds(env: GateEnv, request: str = "") -> list[str]:
    with open_reader(env.data / "ledger.db") as reader:
        entries = reader.of_request(request) if request else tuple(reader.entries())
        return [entry.kind for entry in entries]


def raw_mail(subject: str) -> str:
    """A message as Gmail takes it."""
    return base64.urlsafe_b64encode(f"To: team@example.com\r\nSubject: {subject}\r\n\r\nText".encode()).decode()


def sound(env: GateEnv) -> bool:
    """Whether the whole ledger verifies, signatures and all."""
    with open_reader(env.data / "ledger.db") as reader:
        return verify(reader.rows(), RecordedSigners()).fault is None


def test_the_worked_example(env: GateEnv) -> None:
    async def work() -> str:
        async with env.gate() as gate:
            reply = await ask(gate)
            assert reply.status == 202
            assert reply.body["status"] == "pending_approval"
            id_ = str(reply.body["approval_id"])
            item = await previewed_request(gate, id_)
            assert item["action_name"] == "send-draft"
            assert item["args"] == {"draft_id": "r-12345"}
            assert item["input_fields"] == [{"label": "Draft id", "value": "r-12345"}]
            fields = {field["label"]: field for field in dig(item, "preview", "fields")}
            assert fields["To"]["value"] == "team@example.com"
            assert fields["Subject"]["value"] == "Weekly recap"
            assert fields["Body"]["multiline"] is True
            assert fields["Body"]["value"].startswith("Here's the recap from this week's standup")
            assert env.service.sent == ()
            decided = await gate.decide(id_, env.decision(item))
            assert (decided.status, decided.body["state"]) == (200, "approved")
            answer = await result_of(gate, id_)
            assert answer["status"] == "completed"
            result = json.loads(str(answer["result"]))
            assert result["action"] == "send-draft"
            assert result["output"]
            return id_

    id_ = run_async(work())
    assert len(env.service.sent) == 1
    assert kinds(env, id_) == [
        "request.made",
        "preview.fetched",
        "preview.fetched",  # again when the answer came, because sending is a high risk
        "decision.made",
        "op.started",
        "op.executed",
        "result.delivered",
    ]
    assert sound(env)


def test_a_message_id_instead_of_a_draft_id(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            id_ = str((await ask(gate, draft_id="19df4136f28569d2")).body["approval_id"])
            item = await previewed_request(gate, id_)
            assert item["preview"] == {"unavailable": "Preview unavailable: Gmail API returned 404"}
            assert (await gate.decide(id_, env.decision(item))).status == 200
            answer = await result_of(gate, id_)
            assert answer["status"] == "failed"
            error = dig(answer, "failure", "error")
            assert "Gmail API returned 404" in error["message"]

    run_async(work())
    assert sound(env)


def test_a_denial_reaches_the_agent_with_its_reason(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await previewed_request(gate, id_)
            reply = await gate.decide(id_, env.decision(item, Verdict.DENY, reason="wrong team"))
            assert (reply.status, reply.body["state"]) == (200, "denied")
            assert await result_of(gate, id_) == {"status": "denied", "reason": "wrong team"}

    run_async(work())
    assert env.service.sent == ()
    assert sound(env)


def test_an_expired_request_is_not_a_denial(env: GateEnv) -> None:
    env.policy = Policy(timeout=1)

    async def work() -> None:
        async with env.gate() as gate:
            reply = await ask(gate, wait=5)
            assert reply.status == 200
            error = dig(reply.body, "failure", "error")
            assert (reply.body["status"], error["class"]) == ("failed", "approval_timeout")
            assert "nobody answered" in error["message"]
            assert "not a denial" in error["message"]

    run_async(work())
    assert env.service.sent == ()
    assert "request.expired" in kinds(env)
    assert sound(env)


def test_an_edit_is_a_new_prompt(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            id_ = str(
                (await ask(gate, "update-draft", draft_id="r-12345", subject="Old", body="One")).body["approval_id"]
            )
            item = await previewed_request(gate, id_)
            edits: JsonObject = {"subject": "New"}
            first = await gate.decide(id_, env.decision(item, edits=edits))
            assert (first.status, code(first)) == (409, "PROMPT_CHANGED")
            edited = first.body["item"]
            assert isinstance(edited, dict)
            assert edited["args"] == {"draft_id": "r-12345", "subject": "New", "body": "One"}
            assert edited["digest"] != item["digest"]
            assert (await gate.decide(id_, env.decision(edited, edits=edits))).status == 200
            assert (await result_of(gate, id_))["status"] == "completed"

    run_async(work())
    draft = env.service.mailbox.drafts["r-12345"]
    assert draft.header("Subject") == "New"
    assert sound(env)


def test_an_edit_of_the_wrong_type_is_refused_by_name(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await previewed_request(gate, id_)
            reply = await gate.decide(id_, env.decision(item, edits={"draft_id": 7}))
            assert reply.status == 422
            assert '"draft_id" must be a string, not an integer' in dig(reply.body, "error", "message")

    run_async(work())


def test_identical_calls_join_and_collect(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            replies = await asyncio.gather(*(ask(gate) for _ in range(20)))
            ids = {str(reply.body["approval_id"]) for reply in replies}
            assert len(ids) == 1
            id_ = ids.pop()
            held = asyncio.create_task(ask(gate, wait=10))
            item = await previewed_request(gate, id_)
            await gate.decide(id_, env.decision(item))
            assert (await held).body["status"] == "completed"
            again = await ask(gate)
            assert again.status == 202
            assert again.body["approval_id"] != id_

    run_async(work())
    assert len(env.service.sent) == 1
    assert sound(env)


def test_a_call_made_again_after_the_end_gets_the_undelivered_result_once(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            await gate.decide(id_, env.decision(await previewed_request(gate, id_)))
            while dig(gate.find_request(id_), "state") != "executed":
                await asyncio.sleep(0.01)
            collected = await ask(gate)
            assert (collected.status, collected.body["status"]) == (200, "completed")
            assert (await ask(gate)).status == 202

    run_async(work())
    assert len(env.service.sent) == 1


def test_a_request_is_withdrawn_when_its_agent_disconnects(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            held = asyncio.create_task(ask(gate, wait=30))
            while not gate.waiting():
                await asyncio.sleep(0.01)
            item = await previewed_request(gate, str(gate.waiting()[0]["id"]))
            held.cancel()
            while gate.waiting():
                await asyncio.sleep(0.01)
            reply = await gate.decide(str(item["id"]), env.decision(item))
            assert (reply.status, reply.body["state"]) == (409, "withdrawn")
            again = await ask(gate)
            assert (again.status, again.body["approval_id"] != item["id"]) == (202, True)
            fetched = await gate.result(str(item["id"]), agent="agent-1")
            assert dig(fetched.body, "failure", "error", "class") == "withdrawn"

    run_async(work())
    assert "request.withdrawn" in kinds(env)
    assert env.service.sent == ()


def test_a_request_stays_while_another_client_waits_for_it(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            first, second = asyncio.create_task(ask(gate, wait=30)), asyncio.create_task(ask(gate, wait=30))
            while not gate.waiting():
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            first.cancel()
            await asyncio.sleep(0.1)
            id_ = str(gate.waiting()[0]["id"])
            await gate.decide(id_, env.decision(await previewed_request(gate, id_)))
            assert (await second).body["status"] == "completed"

    run_async(work())


def test_an_action_without_approval_just_runs(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            reply = await ask(gate, "get-draft", draft_id="r-12345")
            assert reply.status == 200
            assert "Weekly recap" in str(reply.body["result"])
            missing = await ask(gate, "get-draft", draft_id="r-none")
            assert dig(missing.body, "error", "class") in {"external_api_error", "connector_runtime_error"}
            assert gate.waiting() == []

    run_async(work())
    assert sound(env)


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({}, ["draft_id"]),
        ({"draft_id": 7}, ["draft_id"]),
        ({"draft_id": None}, ["draft_id"]),
        ({"draft_id": "r-1", "base_url": "http://evil.example"}, ["base_url"]),
        ({"draft": "x", "more": 1}, ["draft", "more", "draft_id"]),
    ],
)
def test_wrong_inputs_are_named_before_a_request_is_made(env: GateEnv, args: JsonObject, named: list[str]) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            reply = await gate.call("send-draft", args, ASKER, agent="a")
            assert reply.status == 422
            details = dig(reply.body, "error", "details")
            assert [detail["input"] for detail in details] == named
            assert gate.waiting() == []
            assert (await gate.call("nothing", {}, ASKER, agent="a")).status == 404

    run_async(work())
    assert "request.made" not in kinds(env)


def test_more_than_the_limit_is_refused_and_nothing_is_lost(env: GateEnv) -> None:
    env.limits = GateLimits(waiting=5, waiting_per_agent=3)

    async def work() -> None:
        async with env.gate() as gate:
            statuses = [(await ask(gate, draft_id=f"r-{number}")).status for number in range(5)]
            assert statuses == [202, 202, 202, 429, 429]
            other = [await gate.call("send-draft", {"draft_id": f"x-{n}"}, ASKER, agent="b") for n in range(3)]
            assert [reply.status for reply in other] == [202, 202, 429]
            assert len(gate.waiting()) == 5

    run_async(work())


def test_few_but_large_requests_are_limited_too(env: GateEnv) -> None:
    env.limits = GateLimits(waiting_bytes=800)

    async def work() -> None:
        async with env.gate() as gate:
            statuses = [(await ask(gate, draft_id=f"{number}" * 60)).status for number in range(4)]
            assert statuses == [202, 202, 429, 429]
            other = await gate.call("send-draft", {"draft_id": "x" * 60}, ASKER, agent="b")
            assert other.status == 202

    run_async(work())


def test_the_preview_is_fetched_again_on_request(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            before = await previewed_request(gate, id_)
            env.service.mailbox.update_draft("r-12345", raw_mail("Changed meanwhile"))
            reply = await gate.refresh(id_, {})
            after = reply.body["item"]
            assert isinstance(after, dict)
            assert after["digest"] != before["digest"]
            assert "Changed meanwhile" in json.dumps(after["preview"])
            stale = await gate.decide(id_, env.decision(before))
            assert (stale.status, code(stale)) == (409, "PROMPT_CHANGED")
            assert (await gate.decide(id_, env.decision(after))).status == 200

    run_async(work())


def test_everything_that_was_fetched_is_one_question_away(env: GateEnv) -> None:
    """The prompt counts the values that it does not show. Looking at them leaves the prompt and its digest alone."""

    async def work() -> None:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            before = await previewed_request(gate, id_)
            assert dig(before, "prompt", "preview", "hidden") == 13
            fetched = await gate.fetched(id_)
            assert fetched.status == 200
            assert "snippet" in json.dumps(fetched.body["fetched"])
            assert (await gate.decide(id_, env.decision(before))).status == 200
            assert (await gate.fetched(id_)).status == 409

    run_async(work())


def test_a_change_seen_while_looking_at_everything_is_a_new_prompt(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            before = await previewed_request(gate, id_)
            env.service.mailbox.update_draft("r-12345", raw_mail("Changed meanwhile"))
            assert (await gate.fetched(id_)).body["fetched"] != before["preview"]
            stale = await gate.decide(id_, env.decision(before))
            assert (stale.status, code(stale)) in {(409, "PROMPT_CHANGED"), (409, "PREVIEW_PENDING")}

    run_async(work())


@pytest.mark.parametrize("edits", [None, {"draft_id": "r-12345"}], ids=["as asked", "edited"])
def test_a_changed_preview_is_not_approved(env: GateEnv, edits: JsonObject | None) -> None:
    """The draft is rewritten between the look and the answer."""
    ahead = 0.0

    async def work() -> None:
        nonlocal ahead
        async with env.gate(boot_clock=BootClock("boot", lambda: monotonic() + ahead)) as gate:
            asked = "r-18220" if edits else "r-12345"
            id_ = str((await ask(gate, draft_id=asked)).body["approval_id"])
            item = await previewed_request(gate, id_)
            if edits:
                item = dig((await gate.refresh(id_, {"edited_payload": edits})).body, "item")
            env.service.mailbox.update_draft("r-12345", raw_mail("Send me the money"))
            ahead = PREVIEW_MAX_AGE
            reply = await gate.decide(id_, env.decision(item, edits=edits))
            assert (reply.status, code(reply)) == (409, "PROMPT_CHANGED")
            assert env.service.sent == ()
            changed = dig(reply.body, "item")
            assert "Send me the money" in json.dumps(changed["preview"])
            assert (await gate.decide(id_, env.decision(changed, edits=edits))).status == 200
            assert (await result_of(gate, id_))["status"] == "completed"

    run_async(work())
    assert len(env.service.sent) == 1
    assert sound(env)


def test_an_old_but_unchanged_preview_is_approved(env: GateEnv) -> None:
    ahead = 0.0

    async def work() -> None:
        nonlocal ahead
        async with env.gate(boot_clock=BootClock("boot", lambda: monotonic() + ahead)) as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await previewed_request(gate, id_)
            ahead = PREVIEW_MAX_AGE * 3
            assert (await gate.decide(id_, env.decision(item))).status == 200
            assert (await result_of(gate, id_))["status"] == "completed"

    run_async(work())
    assert len(env.service.sent) == 1


def test_nothing_can_be_approved_before_its_preview_was_fetched(env: GateEnv) -> None:
    env.service.latency_seconds = 0.5

    async def work() -> None:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = gate.find_request(id_)
            assert item is not None
            assert item["preview_state"] == "fetching"
            early = await gate.decide(id_, env.decision(item))
            assert (early.status, code(early)) == (409, "PREVIEW_PENDING")
            assert (await gate.decide(id_, env.decision(item, Verdict.DENY))).status == 200

    run_async(work())
    assert env.service.sent == ()


def test_watchers_see_every_change_in_order_and_can_resume(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            watcher = gate.feed.subscribe()
            assert (await anext(watcher)).name == "snapshot"
            id_ = str((await ask(gate)).body["approval_id"])
            await gate.decide(id_, env.decision(await previewed_request(gate, id_)))
            await result_of(gate, id_)
            seen = [await anext(watcher) for _ in range(5)]
            assert [event.name for event in seen] == ["pending", "updated", "resolved", "updated", "updated"]
            assert [json.loads(event.encoded).get("state") for event in seen] == [
                "pending",
                "pending",
                None,
                "running",
                "executed",
            ]
            resumed = gate.feed.subscribe(after=seen[2].id)
            assert [(await anext(resumed)).id for _ in range(2)] == [seen[3].id, seen[4].id]

    run_async(work())


def test_a_reminder_comes_at_half_time(env: GateEnv) -> None:
    env.policy = Policy(timeout=2)

    async def work() -> None:
        async with env.gate() as gate:
            watcher = gate.feed.subscribe()
            await ask(gate)
            async for event in watcher:
                if json.loads(event.encoded).get("reminder"):
                    return

    run_async(work())


def test_each_decision_of_a_batch_stands_alone(env: GateEnv) -> None:
    async def work(gate: Gate) -> None:
        ids = [
            str((await ask(gate, "delete-draft", draft_id=name)).body["approval_id"])
            for name in ("r-12345", "r-1", "r-2")
        ]
        items = [await previewed_request(gate, id_) for id_ in ids]
        wrong = env.decision(items[2]) | {"approved": False}
        body: JsonObject = {
            "items": [
                {"id": ids[0], **env.decision(items[0])},
                {"id": ids[1], **env.decision(items[1], Verdict.DENY)},
                {"id": ids[2], **wrong},
                {"id": "act-nobody", **env.decision(items[2])},
            ]
        }
        reply = await gate.decide_batch(body)
        assert [reply.body[key] for key in ("approved", "denied", "skipped")] == [1, 1, 2]
        assert [item["id"] for item in gate.waiting()] == [ids[2]]
        assert (await gate.decide_batch({"items": [{"id": 1}]})).status == 400

    async def main() -> None:
        async with env.gate() as gate:
            await work(gate)

    run_async(main())
    assert sound(env)


def test_an_action_that_ran_is_never_reported_as_not_done(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    append = SqliteLedger.append_all

    def full(ledger: SqliteLedger, drafts: Sequence[EntryDraft]) -> Head:
        if any(draft.kind == EntryKind.EXECUTED for draft in drafts):
            raise LedgerUnusable("the disk is full")
        return append(ledger, drafts)

    async def work() -> None:
        async with env.gate() as gate:
            monkeypatch.setattr(SqliteLedger, "append_all", full)
            reply = await gate.call("list-drafts", {}, ASKER, agent="agent-1")
            assert (reply.status, "result" in reply.body) == (200, True)
            assert "the disk is full" in gate.problem

    run_async(work())


def test_a_publisher_in_the_users_keyring_is_named_in_the_prompt(env: GateEnv) -> None:
    key = Ed25519PrivateKey.generate()
    folder = env.manifests / "connectors" / "mail"
    signed = (folder / "connector.wasm").read_bytes() + (folder / "manifest.toml").read_bytes()
    (folder / "signature.sig").write_bytes(key.sign(signed))
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    path = env.folder / "keyring.json"
    path.write_text(json.dumps({"version": 1, "publishers": {"local://aileron": [public]}}))

    async def trust(keyring: PublisherKeyring) -> str:
        gate = Gate(replace(env.setup(), keyring=keyring))
        await gate.start()
        try:
            id_ = str((await ask(gate)).body["approval_id"])
            return str(dig(await previewed_request(gate, id_), "prompt", "connector", "trust"))
        finally:
            await gate.stop()

    assert "signed" in run_async(trust(load_keyring(path)))
    assert run_async(trust(load_keyring(env.folder / "nothing.json"))) == UNKNOWN_PUBLISHER
