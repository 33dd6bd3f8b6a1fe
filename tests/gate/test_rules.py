"""Rules in the gate: what a rule covers runs once without asking, and everything else is asked."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.outcome_words import RULE_SURFACE
from aileron_tui.core.risk import RiskLevel, RiskRule
from aileron_tui.core.rule import RuleReach, RuleVerdict, new_rule_id
from aileron_tui.core.rule_change import ended, made
from aileron_tui.core.rule_list import read_offers
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.demo.sample_service import ServiceFault
from aileron_tui.gate.gate import LEDGER_FILE, Gate
from aileron_tui.ledger.open_store import open_ledger
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import for_this_run
from aileron_tui.surface.rule_changes import end_rule, make_rule
from tests.gate.conftest import GateEnv, code, previewed_request, result_of, run_async
from tests.gate.machine import Machine
from tests.gate.ruled_gate import (
    AGENT,
    call,
    end,
    entries,
    head,
    is_asked,
    kinds,
    make,
    make_from,
    named_rule,
    newest,
    offered_rule,
    offers,
    reason,
    sends,
    submit,
    verified,
    waiting,
)
from tests.gate.served_gate import DRAFT, SEND, WAITING, served_gate
from tests.gate.test_staleness import normal_risk, raw_mail

MAIL = {"to": "team@example.com", "subject": "Weekly recap", "body": "Text"}


def test_an_exact_call_runs_once_without_asking(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            rule = await make_from(env, gate, await waiting(gate))
            reply = await call(gate)
            assert (reply.status, reply.body["status"]) == (200, "completed")
            found = newest(env)
            assert (found.outcome, found.surface, found.rule) == (RequestState.EXECUTED, RULE_SURFACE, rule.id)
            assert found.signer == env.key.public.fingerprint
            assert kinds(env, found.id) == [
                EntryKind.REQUESTED,
                EntryKind.PREVIEWED,
                EntryKind.RULED,
                EntryKind.RUNNING,
                EntryKind.EXECUTED,
            ]
            assert entries(env, found.id)[-1].body == {"delivered": True}
            assert (await gate.rules())["rules"][0]["used"] == 1  # type: ignore[index,call-overload]

    run_async(work())
    assert sends(env) == 1
    assert list(verified(env).rule_answers.values()) == [1]


def test_any_inputs_of_an_action_without_preview(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            rule = await make_from(env, gate, await waiting(gate, "draft-mail", **MAIL), RuleReach.ANY)
            for number in range(3):
                reply = await call(gate, "draft-mail", **MAIL | {"subject": f"Mail {number}"})
                assert reply.body["status"] == "completed"
            assert newest(env).rule == rule.id
            assert is_asked(await call(gate, "delete-draft", draft_id="r-12345"))
            assert is_asked(await call(gate, "draft-mail", agent="agent-2", **MAIL))

    run_async(work())
    assert list(verified(env).rule_answers.values()) == [3]


@pytest.mark.parametrize(
    ("agent", "args"),
    [
        ("agent-2", {"draft_id": "r-12345"}),
        (AGENT, {"draft_id": "r-12346"}),
        (AGENT, {"draft_id": "r-12345 "}),
    ],
)
def test_a_call_just_outside_the_reach_is_asked(env: GateEnv, agent: str, args: dict[str, Any]) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate))
            assert is_asked(await call(gate, agent=agent, **args))

    run_async(work())
    assert sends(env) == 0


def test_changed_content_is_asked_about_again(env: GateEnv) -> None:
    normal_risk(env)

    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate))
            env.service.mailbox.update_draft("r-12345", raw_mail("mallory@evil.example"))
            reply = await call(gate)
            assert is_asked(reply)
            item = await previewed_request(gate, str(reply.body["approval_id"]))
            assert "mallory@evil.example" in str(item["preview"])
            assert kinds(env, str(item["id"])).count(EntryKind.PREVIEWED) == 1

    run_async(work())
    assert sends(env) == 0
    verified(env)


def test_an_op_that_changes_what_a_rule_covers_is_waited_for(env: GateEnv) -> None:
    """The call comes while an approved op is giving the draft another recipient."""
    normal_risk(env)

    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate))
            update = await waiting(gate, "update-draft", draft_id="r-12345", body="Text", to="mallory@evil.example")
            item = gate.find_request(update)
            assert item
            decision = asyncio.create_task(gate.decide(update, env.decision(item)))
            reply = await call(gate)
            assert (await decision).status == 200
            assert is_asked(reply) or sends(env) == 1

    run_async(work())
    assert all(mail.header("To") != "mallory@evil.example" for mail in env.service.sent)


def test_a_preview_that_is_unavailable_is_asked_about(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate))
            env.service.faults["r-12345"] = ServiceFault.SERVER_ERROR
            assert is_asked(await call(gate))

    run_async(work())
    assert sends(env) == 0


def test_a_warning_is_asked_about(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate, "draft-mail", **MAIL), RuleReach.ANY)
            assert is_asked(await call(gate, "draft-mail", **MAIL | {"to": "team@ex\u0430mple.com"}))
            assert is_asked(await call(gate, "draft-mail", **MAIL | {"to": "https://www.xn--pple-43d.com/"}))

    run_async(work())


@pytest.mark.parametrize("text", [".git/config", "~/.bashrc", "/project/.mcp.json", "~/.claude/settings.json"])
def test_a_protected_path_is_asked_about(env: GateEnv, text: str) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate, "draft-mail", **MAIL), RuleReach.ANY)
            assert is_asked(await call(gate, "draft-mail", **MAIL | {"subject": text}))
            assert is_asked(await call(gate, "draft-mail", **MAIL | {"subject": str(env.data / "ledger.db")}))

    run_async(work())


def test_all_files_of_the_program_are_protected_however_they_are_named(
    env: GateEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "linked").symlink_to(tmp_path, target_is_directory=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AILERON_TUI_HOME", str(tmp_path / "linked" / "tui"))

    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate, "draft-mail", **MAIL), RuleReach.ANY)
            for name in (
                f"{tmp_path}/linked/tui/config.toml",
                f"{tmp_path}/tui/config.toml",
                f"{tmp_path}/tui/keys/tester.json",
                "~/tui/keyring.json",
                "~/tui/mcp/files.toml",
                "$HOME/data/ledger.db",
                "${HOME}/linked/tui/cache/x",
                "~/manifests/actions",
            ):
                assert is_asked(await call(gate, "draft-mail", **MAIL | {"subject": name})), name
            reply = await call(gate, "draft-mail", **MAIL | {"subject": "~/notes/config.toml"})
            assert reply.body["status"] == "completed"

    run_async(work())


def test_high_risk_is_offered_only_as_an_exact_call(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            found = await offers(gate, await waiting(gate))
            assert [offer.rule.reach for offer in found.offers] == [RuleReach.CALL]
            assert [(refused.reach, refused.why) for refused in found.refused] == [
                ("any", "at high risk, a rule can allow only an exact call")
            ]
            wide = replace(found.offers[0].rule, reach=RuleReach.ANY, args=None, shown="", match=())
            reply = await submit(gate, made(wide, (await head(gate)), timestamp(datetime.now(UTC))), env.key)
            assert (reply.status, code(reply)) == (400, "invalid_rule")

    run_async(work())


def test_a_risk_that_rose_since_is_asked_about(env: GateEnv) -> None:
    async def work(gate: Gate) -> None:
        await make_from(env, gate, await waiting(gate, "draft-mail", **MAIL), RuleReach.ANY)

    async def first() -> None:
        async with env.gate() as gate:
            await work(gate)

    async def second() -> None:
        async with env.gate() as gate:
            assert is_asked(await call(gate, "draft-mail", **MAIL))

    run_async(first())
    env.risk = (RiskRule(RiskLevel.HIGH, action="draft-*"),)
    run_async(second())


def test_a_changed_manifest_ends_the_match(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate, "draft-mail", **MAIL), RuleReach.ANY)
            manifest = next(Path(env.manifests).rglob("draft-mail.md"))
            manifest.write_text(
                manifest.read_text().replace('subject = "${args.subject}"', 'subject = "Re: ${args.subject}"')
            )
            for _ in range(100):
                reply = await call(gate, "draft-mail", **MAIL)
                if is_asked(reply):
                    return
                await asyncio.sleep(0.1)
            raise AssertionError("the changed action still runs without asking")

    run_async(work())


# deny and ask


def test_a_deny_rule_denies_and_names_itself(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            rule = named_rule()
            await make(env, gate, rule)
            reply = await call(gate)
            assert (reply.status, reply.body["status"]) == (200, "denied")
            assert rule.id in reason(reply)
            found = newest(env)
            assert (found.outcome, found.rule, rule.id in found.reason) == (RequestState.DENIED, rule.id, True)
            assert env.service.calls == ()
            again = await call(gate)
            assert again.body["status"] == "denied"
            await end(env, gate, rule)
            assert is_asked(await call(gate))

    run_async(work())
    verified(env)


def test_the_strictest_rule_counts(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate))
            asking = named_rule(RuleVerdict.ASK)
            await make(env, gate, asking)
            reply = await call(gate)
            assert is_asked(reply)
            await make(env, gate, named_rule())
            assert is_asked(await call(gate))  # it joins the request that waits
            assert (await call(gate, draft_id="r-2")).body["status"] == "denied"

    run_async(work())
    assert sends(env) == 0


# how long a rule is in force


def test_a_rule_that_another_process_ends_stops_at_once(env: GateEnv) -> None:
    ledger = env.data / LEDGER_FILE

    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate))
            assert (await call(gate)).body["status"] == "completed"
            rule = (await gate.rules())["rules"][0]["rule"]["id"]  # type: ignore[index,call-overload]
            await asyncio.to_thread(end_rule, ledger, str(rule), env.key)
            assert is_asked(await call(gate))
            deny = named_rule(action="delete-draft")
            await asyncio.to_thread(make_rule, ledger, deny, env.key)
            assert (await call(gate, "delete-draft", draft_id="r-12345")).body["status"] == "denied"

    run_async(work())
    assert sends(env) == 1
    verified(env)


def test_a_rule_whose_key_was_revoked_stops_at_once(env: GateEnv) -> None:
    other = for_this_run("other")

    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate))
            with open_ledger(env.data / LEDGER_FILE, role="test", guest=True) as ledger:
                ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment("other", other.public))
                body: Any = {"name": "tester", "fingerprint": env.key.public.fingerprint}
                ledger.append(EntryKind.KEY_REVOKED, body)
            assert is_asked(await call(gate))

    run_async(work())
    assert sends(env) == 0


@pytest.mark.parametrize("set_back", [False, True])
@pytest.mark.parametrize("step", [timedelta(hours=1), timedelta(days=2)])
def test_a_rule_ends_at_its_end_whatever_the_clock_does(
    env: GateEnv, step: timedelta, set_back: bool, boot: str
) -> None:
    machine = Machine(boot=boot)

    async def work() -> None:
        async with env.gate(**machine.options()) as gate:
            rule = await offered_rule(gate, await waiting(gate, "draft-mail", **MAIL), RuleReach.ANY)
            change = made(rule, (await head(gate)), timestamp(machine.clock()))
            assert (await submit(gate, change, env.key)).status == 200
            mail = MAIL | {"subject": "another"}
            assert (await call(gate, "draft-mail", **mail)).body["status"] == "completed"
            machine.slept += step.total_seconds()
            if set_back:
                machine.set_by -= step
            assert is_asked(await call(gate, "draft-mail", **MAIL | {"subject": "late"}))

    run_async(work())


# who may change rules


@pytest.mark.parametrize("attack", ["unsigned", "unknown key", "replayed", "another ledger", "old", "changed"])
def test_a_change_that_is_not_validly_signed_is_refused(env: GateEnv, attack: str) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            rule, now = named_rule(), timestamp(datetime.now(UTC))
            change = made(rule, (await head(gate)), now)
            key = env.key
            if attack == "unsigned":
                reply = await gate.change_rule({"envelope": {"payload": "e30="}})
            elif attack == "unknown key":
                reply = await submit(gate, change, for_this_run("mallory"))
            elif attack == "replayed":
                assert (await submit(gate, change, key)).status == 200
                await end(env, gate, rule)
                reply = await submit(gate, change, key)
            elif attack == "another ledger":
                reply = await submit(gate, made(rule, "sha256:" + "9" * 64, now), key)
            elif attack == "old":
                reply = await submit(
                    gate, made(rule, (await head(gate)), timestamp(datetime.now(UTC) - timedelta(minutes=6))), key
                )
            else:
                other = sign(made(replace(rule, agent="agent-2"), (await head(gate)), now), key).fields()
                envelope = other | {"payload": sign(change, key).fields()["payload"]}
                reply = await gate.change_rule({"envelope": envelope})
            assert reply.status in (400, 403, 409), reply.body
            assert is_asked(await call(gate))

    run_async(work())
    verified(env)


def test_ending_a_rule_that_does_not_exist_is_refused(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            change = ended("rule-0123456789abcdef", (await head(gate)), timestamp(datetime.now(UTC)))
            reply = await submit(gate, change, env.key)
            assert (reply.status, code(reply)) == (409, "rule_refused")

    run_async(work())


# trouble


def test_a_call_whose_outcome_is_unknown_is_asked_about_the_next_time(env: GateEnv) -> None:
    normal_risk(env)

    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate, "draft-mail", **MAIL), RuleReach.ANY)
            env.service.faults["*"] = ServiceFault.HANG_UP
            assert (await call(gate, "draft-mail", **MAIL)).body["status"] == "failed"
            reply = await call(gate, "draft-mail", **MAIL)
            assert is_asked(reply)

    run_async(work())
    verified(env)


def test_many_calls_at_once_each_run_once(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate, "draft-mail", **MAIL), RuleReach.ANY)
            mails = [MAIL | {"subject": f"Mail {number}"} for number in range(10)]
            results = await asyncio.gather(*(call(gate, "draft-mail", **mail) for mail in mails))
            assert {str(reply.body["status"]) for reply in results} == {"completed"}

    run_async(work())
    assert list(verified(env).rule_answers.values()) == [10]


def test_an_agent_that_disconnects_does_not_lose_the_result(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate))
            env.service.latency_seconds = 0.3
            task = asyncio.create_task(call(gate))
            for _ in range(1000):
                await asyncio.sleep(0.001)
                if EntryKind.RUNNING in kinds(env, newest(env).id):
                    break
            await asyncio.sleep(0.05)  # until the gate knows what is on disk
            task.cancel()
            assert (await result_of(gate, newest(env).id))["status"] == "completed"

    run_async(work())
    assert sends(env) == 1
    verified(env)


def test_offers_say_what_a_rule_would_have_answered(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            for number in range(3):
                id_ = await waiting(gate, "draft-mail", **MAIL | {"subject": f"Mail {number}"})
            found = await offers(gate, id_)
            exact, wide = found.offers
            assert (exact.asked, exact.answered, [one.id for one in exact.examples]) == (3, 1, [id_])
            assert (wide.asked, wide.answered, len(wide.examples)) == (3, 3, 3)
            assert exact.examples[0].args == MAIL | {"subject": "Mail 2"}
            assert (await gate.rule_offers("act-unknown")).status == 404

    run_async(work())


def test_a_request_with_a_warning_offers_no_rule(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            found = await offers(gate, await waiting(gate, "draft-mail", **MAIL | {"to": "team@ex\u0430mple.com"}))
            assert found.offers == ()
            assert all("warning" in refused.why for refused in found.refused)

    run_async(work())


def test_an_end_that_is_past_or_too_far_away_is_refused(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            for ends in (
                timestamp(datetime.now(UTC) - timedelta(seconds=1)),
                timestamp(datetime.now(UTC) + timedelta(days=400)),
            ):
                reply = await submit(
                    gate, made(named_rule(ends=ends), (await head(gate)), timestamp(datetime.now(UTC))), env.key
                )
                assert (reply.status, code(reply)) == (400, "invalid_rule")

    run_async(work())


def test_a_deny_rule_on_what_was_shown_denies_only_that(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            rule = replace(await make_from(env, gate, await waiting(gate)), id=new_rule_id(), verdict=RuleVerdict.DENY)
            await make(env, gate, rule)
            reply = await call(gate)
            assert reply.body["status"] == "denied"
            assert "team@example.com" not in str(reply.body)
            env.service.mailbox.update_draft("r-12345", raw_mail("another@example.com"))
            assert is_asked(await call(gate))

    run_async(work())
    assert sends(env) == 0
    verified(env)


def test_rules_over_http(env: GateEnv) -> None:
    """Agents are refused, an approver gets offers, makes a rule and finds its answers among the audit events."""

    async def main() -> None:
        async with served_gate(env) as served:
            id_ = (await served.agent.post(SEND, json=DRAFT)).json()["approval_id"]
            await served.previewed_request(id_)
            paths = [("GET", "/v1/rules"), ("POST", "/v1/rules"), ("GET", f"{WAITING}/{id_}/rules")]
            for method, path in paths:
                assert (await served.agent.request(method, path)).status_code == 403
                assert (await served.anonymous.request(method, path)).status_code == 401
            found = (await served.approver.get(f"{WAITING}/{id_}/rules")).json()
            rule = read_offers(found).offers[0].rule
            change = made(replace(rule, verdict=RuleVerdict.DENY), found["head"], timestamp(datetime.now(UTC)))
            body = {"envelope": sign(change, env.key).fields()}
            assert (await served.approver.post("/v1/rules", json=body)).json()["state"] == "in force"
            assert (await served.approver.post("/v1/rules", json=body)).status_code == 409
            item = await served.previewed_request(id_)
            decision = env.decision(item, Verdict.DENY)
            assert (await served.approver.post(f"{WAITING}/{id_}/decide", json=decision)).status_code == 200
            await served.result(id_)
            denied = (await served.agent.post(SEND, json=DRAFT)).json()
            assert (denied["status"], rule.id in denied["reason"]) == ("denied", True)
            events = (await served.approver.get("/v1/audit")).json()["events"]
            (event,) = [one for one in events if one["actor"] == {"type": "service", "id": rule.id}]
            assert event["event_type"] == "approval.denied"
            assert event["payload"]["aileron.signing.key_id"] == env.key.public.fingerprint
            (listed,) = (await served.approver.get("/v1/rules")).json()["rules"]
            assert (listed["used"], listed["in_force"], listed["made_by"]) == (1, True, "tester")

    run_async(main())


def test_large_inputs_are_asked_about(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate, "draft-mail", **MAIL), RuleReach.ANY)
            assert is_asked(await call(gate, "draft-mail", **MAIL | {"body": "x" * 70_000}))
            found = await offers(gate, await waiting(gate, "draft-mail", **MAIL | {"body": "y" * 70_000}))
            assert found.offers == ()

    run_async(work())
