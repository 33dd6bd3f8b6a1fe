"""The flow of a request, end to end, with real connectors against the sample service."""

import asyncio
import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.files.config import Policy
from aileron_tui.gate.decision_handler import FRESH
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.gate_state import GateLimits
from aileron_tui.ledger.entry_check import verify
from aileron_tui.ledger.errors import LedgerUnusable
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.ledger.store import EntryDraft, open_reader
from aileron_tui.sandbox.connector_package import UNKNOWN_PUBLISHER, PublisherKeyring, load_keyring
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.gate.conftest import ASKER, Bench, ask, code, dig, ending, shown, until


def kinds(bench: Bench, request: str = "") -> list[str]:
    with open_reader(bench.data / "ledger.db") as reader:
        entries = reader.of_request(request) if request else tuple(reader.entries())
        return [entry.kind for entry in entries]


def raw_mail(subject: str) -> str:
    """A message as Gmail takes it."""
    return base64.urlsafe_b64encode(f"To: team@example.com\r\nSubject: {subject}\r\n\r\nText".encode()).decode()


def sound(bench: Bench) -> bool:
    """Whether the whole ledger verifies, signatures and all."""
    with open_reader(bench.data / "ledger.db") as reader:
        return verify(reader.rows(), RecordedSigners()).fault is None


def test_the_worked_example(bench: Bench) -> None:
    async def work() -> str:
        async with bench.gate() as gate:
            reply = await ask(gate)
            assert reply.status == 202
            assert reply.body["status"] == "pending_approval"
            id_ = str(reply.body["approval_id"])
            item = await shown(gate, id_)
            assert item["action_name"] == "send-draft"
            assert item["args"] == {"draft_id": "r-12345"}
            assert item["input_fields"] == [{"label": "Draft id", "value": "r-12345"}]
            fields = {field["label"]: field for field in dig(item, "preview", "fields")}
            assert fields["To"]["value"] == "team@example.com"
            assert fields["Subject"]["value"] == "Weekly recap"
            assert fields["Body"]["multiline"] is True
            assert fields["Body"]["value"].startswith("Here's the recap from this week's standup")
            assert bench.service.sent == ()
            decided = await gate.decide(id_, bench.answer(item))
            assert (decided.status, decided.body["state"]) == (200, "approved")
            answer = await ending(gate, id_)
            assert answer["status"] == "completed"
            result = json.loads(str(answer["result"]))
            assert result["action"] == "send-draft"
            assert result["output"]
            return id_

    id_ = until(work())
    assert len(bench.service.sent) == 1
    assert kinds(bench, id_) == [
        "request.made",
        "preview.fetched",
        "decision.made",
        "op.started",
        "op.executed",
        "result.delivered",
    ]
    assert sound(bench)


def test_a_message_id_instead_of_a_draft_id(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            id_ = str((await ask(gate, draft_id="19df4136f28569d2")).body["approval_id"])
            item = await shown(gate, id_)
            assert item["preview"] == {"unavailable": "Preview unavailable: Gmail API returned 404"}
            assert (await gate.decide(id_, bench.answer(item))).status == 200
            answer = await ending(gate, id_)
            assert answer["status"] == "failed"
            error = dig(answer, "failure", "error")
            assert "Gmail API returned 404" in error["message"]

    until(work())
    assert sound(bench)


def test_a_denial_reaches_the_agent_with_its_reason(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await shown(gate, id_)
            reply = await gate.decide(id_, bench.answer(item, Verdict.DENY, reason="wrong team"))
            assert (reply.status, reply.body["state"]) == (200, "denied")
            assert await ending(gate, id_) == {"status": "denied", "reason": "wrong team"}

    until(work())
    assert bench.service.sent == ()
    assert sound(bench)


def test_nobody_answers_is_not_a_denial(bench: Bench) -> None:
    bench.policy = Policy(timeout=1)

    async def work() -> None:
        async with bench.gate() as gate:
            reply = await ask(gate, wait=5)
            assert reply.status == 200
            error = dig(reply.body, "failure", "error")
            assert (reply.body["status"], error["class"]) == ("failed", "approval_timeout")
            assert "nobody answered" in error["message"]
            assert "not a denial" in error["message"]

    until(work())
    assert bench.service.sent == ()
    assert "request.expired" in kinds(bench)
    assert sound(bench)


def test_an_edit_is_a_new_prompt(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            id_ = str(
                (await ask(gate, "update-draft", draft_id="r-12345", subject="Old", body="One")).body["approval_id"]
            )
            item = await shown(gate, id_)
            edits: JsonObject = {"subject": "New"}
            first = await gate.decide(id_, bench.answer(item, edits=edits))
            assert (first.status, code(first)) == (409, "PROMPT_CHANGED")
            edited = first.body["item"]
            assert isinstance(edited, dict)
            assert edited["args"] == {"draft_id": "r-12345", "subject": "New", "body": "One"}
            assert edited["digest"] != item["digest"]
            assert (await gate.decide(id_, bench.answer(edited, edits=edits))).status == 200
            assert (await ending(gate, id_))["status"] == "completed"

    until(work())
    draft = bench.service.mailbox.drafts["r-12345"]
    assert draft.header("Subject") == "New"
    assert sound(bench)


def test_an_edit_of_the_wrong_type_is_refused_by_name(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await shown(gate, id_)
            reply = await gate.decide(id_, bench.answer(item, edits={"draft_id": 7}))
            assert reply.status == 422
            assert '"draft_id" must be a string, not an integer' in dig(reply.body, "error", "message")

    until(work())


def test_identical_calls_join_and_collect(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            replies = await asyncio.gather(*(ask(gate) for _ in range(20)))
            ids = {str(reply.body["approval_id"]) for reply in replies}
            assert len(ids) == 1
            id_ = ids.pop()
            held = asyncio.create_task(ask(gate, wait=10))
            item = await shown(gate, id_)
            await gate.decide(id_, bench.answer(item))
            assert (await held).body["status"] == "completed"
            again = await ask(gate)
            assert again.status == 202
            assert again.body["approval_id"] != id_

    until(work())
    assert len(bench.service.sent) == 1
    assert sound(bench)


def test_a_call_made_again_after_the_end_gets_the_undelivered_result_once(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            await gate.decide(id_, bench.answer(await shown(gate, id_)))
            while dig(gate.item(id_), "state") != "executed":
                await asyncio.sleep(0.01)
            collected = await ask(gate)
            assert (collected.status, collected.body["status"]) == (200, "completed")
            assert (await ask(gate)).status == 202

    until(work())
    assert len(bench.service.sent) == 1


def test_an_agent_that_goes_away_takes_its_request_with_it(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            held = asyncio.create_task(ask(gate, wait=30))
            while not gate.waiting():
                await asyncio.sleep(0.01)
            item = await shown(gate, str(gate.waiting()[0]["id"]))
            held.cancel()
            while gate.waiting():
                await asyncio.sleep(0.01)
            reply = await gate.decide(str(item["id"]), bench.answer(item))
            assert (reply.status, reply.body["state"]) == (409, "withdrawn")

    until(work())
    assert "request.withdrawn" in kinds(bench)
    assert bench.service.sent == ()


def test_a_request_stays_while_somebody_else_waits_for_it(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            first, second = asyncio.create_task(ask(gate, wait=30)), asyncio.create_task(ask(gate, wait=30))
            while not gate.waiting():
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            first.cancel()
            await asyncio.sleep(0.1)
            id_ = str(gate.waiting()[0]["id"])
            await gate.decide(id_, bench.answer(await shown(gate, id_)))
            assert (await second).body["status"] == "completed"

    until(work())


def test_an_action_without_approval_just_runs(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            reply = await ask(gate, "get-draft", draft_id="r-12345")
            assert reply.status == 200
            assert "Weekly recap" in str(reply.body["result"])
            missing = await ask(gate, "get-draft", draft_id="r-none")
            assert dig(missing.body, "error", "class") in {"external_api_error", "connector_runtime_error"}
            assert gate.waiting() == []

    until(work())
    assert sound(bench)


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
def test_wrong_inputs_are_named_before_a_request_is_made(bench: Bench, args: JsonObject, named: list[str]) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            reply = await gate.call("send-draft", args, ASKER, agent="a")
            assert reply.status == 422
            details = dig(reply.body, "error", "details")
            assert [detail["input"] for detail in details] == named
            assert gate.waiting() == []
            assert (await gate.call("nothing", {}, ASKER, agent="a")).status == 404

    until(work())
    assert "request.made" not in kinds(bench)


def test_more_than_the_limit_is_refused_and_nothing_is_lost(bench: Bench) -> None:
    bench.limits = GateLimits(waiting=5, waiting_per_agent=3)

    async def work() -> None:
        async with bench.gate() as gate:
            statuses = [(await ask(gate, draft_id=f"r-{number}")).status for number in range(5)]
            assert statuses == [202, 202, 202, 429, 429]
            other = [await gate.call("send-draft", {"draft_id": f"x-{n}"}, ASKER, agent="b") for n in range(3)]
            assert [reply.status for reply in other] == [202, 202, 429]
            assert len(gate.waiting()) == 5

    until(work())


def test_few_but_large_requests_are_limited_too(bench: Bench) -> None:
    bench.limits = GateLimits(waiting_bytes=100)

    async def work() -> None:
        async with bench.gate() as gate:
            statuses = [(await ask(gate, draft_id=f"{number}" * 60)).status for number in range(4)]
            assert statuses == [202, 202, 429, 429]

    until(work())


def test_the_preview_is_fetched_again_on_request(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            before = await shown(gate, id_)
            bench.service.mailbox.update_draft("r-12345", raw_mail("Changed meanwhile"))
            reply = await gate.refresh(id_, {})
            after = reply.body["item"]
            assert isinstance(after, dict)
            assert after["digest"] != before["digest"]
            assert "Changed meanwhile" in json.dumps(after["preview"])
            stale = await gate.decide(id_, bench.answer(before))
            assert (stale.status, code(stale)) == (409, "PROMPT_CHANGED")
            assert (await gate.decide(id_, bench.answer(after))).status == 200

    until(work())


@pytest.mark.parametrize("edits", [None, {"draft_id": "r-12345"}], ids=["as asked", "edited"])
def test_what_changed_upstream_since_it_was_shown_is_not_sent(bench: Bench, edits: JsonObject | None) -> None:
    """The draft is rewritten between the look and the answer."""
    ahead = timedelta()

    async def work() -> None:
        nonlocal ahead
        async with bench.gate(clock=lambda: datetime.now(UTC) + ahead) as gate:
            asked = "r-18220" if edits else "r-12345"
            id_ = str((await ask(gate, draft_id=asked)).body["approval_id"])
            item = await shown(gate, id_)
            if edits:
                item = dig((await gate.refresh(id_, {"edited_payload": edits})).body, "item")
            bench.service.mailbox.update_draft("r-12345", raw_mail("Send me the money"))
            ahead = FRESH
            reply = await gate.decide(id_, bench.answer(item, edits=edits))
            assert (reply.status, code(reply)) == (409, "PROMPT_CHANGED")
            assert bench.service.sent == ()
            changed = dig(reply.body, "item")
            assert "Send me the money" in json.dumps(changed["preview"])
            assert (await gate.decide(id_, bench.answer(changed, edits=edits))).status == 200
            assert (await ending(gate, id_))["status"] == "completed"

    until(work())
    assert len(bench.service.sent) == 1
    assert sound(bench)


def test_an_old_preview_that_still_holds_is_approved(bench: Bench) -> None:
    ahead = timedelta()

    async def work() -> None:
        nonlocal ahead
        async with bench.gate(clock=lambda: datetime.now(UTC) + ahead) as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await shown(gate, id_)
            ahead = FRESH * 3
            assert (await gate.decide(id_, bench.answer(item))).status == 200
            assert (await ending(gate, id_))["status"] == "completed"

    until(work())
    assert len(bench.service.sent) == 1


def test_nothing_can_be_approved_before_its_preview_is_there(bench: Bench) -> None:
    bench.service.latency_seconds = 0.5

    async def work() -> None:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = gate.item(id_)
            assert item is not None
            assert item["preview_state"] == "fetching"
            early = await gate.decide(id_, bench.answer(item))
            assert (early.status, code(early)) == (409, "PREVIEW_PENDING")
            assert (await gate.decide(id_, bench.answer(item, Verdict.DENY))).status == 200

    until(work())
    assert bench.service.sent == ()


def test_watchers_see_every_change_in_order_and_can_resume(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            watcher = gate.feed.subscribe()
            assert (await anext(watcher)).name == "snapshot"
            id_ = str((await ask(gate)).body["approval_id"])
            await gate.decide(id_, bench.answer(await shown(gate, id_)))
            await ending(gate, id_)
            seen = [await anext(watcher) for _ in range(5)]
            assert [event.name for event in seen] == ["pending", "updated", "resolved", "updated", "updated"]
            assert [event.data.get("state") for event in seen] == ["pending", "pending", None, "running", "executed"]
            resumed = gate.feed.subscribe(after=seen[2].id)
            assert [(await anext(resumed)).id for _ in range(2)] == [seen[3].id, seen[4].id]

    until(work())


def test_a_reminder_comes_at_half_time(bench: Bench) -> None:
    bench.policy = Policy(timeout=2)

    async def work() -> None:
        async with bench.gate() as gate:
            watcher = gate.feed.subscribe()
            await ask(gate)
            async for event in watcher:
                if event.data.get("reminder"):
                    return

    until(work())


def test_a_batch_answers_each_for_itself(bench: Bench) -> None:
    async def work(gate: Gate) -> None:
        ids = [
            str((await ask(gate, "delete-draft", draft_id=name)).body["approval_id"])
            for name in ("r-12345", "r-1", "r-2")
        ]
        items = [await shown(gate, id_) for id_ in ids]
        wrong = bench.answer(items[2]) | {"approved": False}
        body: JsonObject = {
            "items": [
                {"id": ids[0], **bench.answer(items[0])},
                {"id": ids[1], **bench.answer(items[1], Verdict.DENY)},
                {"id": ids[2], **wrong},
                {"id": "act-nobody", **bench.answer(items[2])},
            ]
        }
        reply = await gate.decide_batch(body)
        assert [reply.body[key] for key in ("approved", "denied", "skipped")] == [1, 1, 2]
        assert [item["id"] for item in gate.waiting()] == [ids[2]]
        assert (await gate.decide_batch({"items": [{"id": 1}]})).status == 400

    async def main() -> None:
        async with bench.gate() as gate:
            await work(gate)

    until(main())
    assert sound(bench)


def test_what_ran_is_never_called_undone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    append = SqliteLedger.append_all

    def full(ledger: SqliteLedger, drafts: Sequence[EntryDraft]) -> Head:
        if any(draft.kind == EntryKind.EXECUTED for draft in drafts):
            raise LedgerUnusable("the disk is full")
        return append(ledger, drafts)

    async def work() -> None:
        async with bench.gate() as gate:
            monkeypatch.setattr(SqliteLedger, "append_all", full)
            reply = await gate.call("list-drafts", {}, ASKER, agent="agent-1")
            assert (reply.status, code(reply)) == (503, "outcome_not_recorded")
            assert "it ran" in dig(reply.body, "error", "message")

    until(work())


def test_a_publisher_in_the_users_keyring_is_named_in_the_prompt(bench: Bench) -> None:
    key = Ed25519PrivateKey.generate()
    folder = bench.manifests / "connectors" / "mail"
    signed = (folder / "connector.wasm").read_bytes() + (folder / "manifest.toml").read_bytes()
    (folder / "signature.sig").write_bytes(key.sign(signed))
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    path = bench.folder / "keyring.json"
    path.write_text(json.dumps({"version": 1, "publishers": {"local://aileron": [public]}}))

    async def trust(keyring: PublisherKeyring) -> str:
        gate = Gate(replace(bench.setup(), keyring=keyring))
        await gate.start()
        try:
            id_ = str((await ask(gate)).body["approval_id"])
            return str(dig(await shown(gate, id_), "prompt", "connector", "trust"))
        finally:
            await gate.stop()

    assert "signed" in until(trust(load_keyring(path)))
    assert until(trust(load_keyring(bench.folder / "nothing.json"))) == UNKNOWN_PUBLISHER
