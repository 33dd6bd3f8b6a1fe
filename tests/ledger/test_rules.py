"""Rules in the ledger: only signed ones count, once, from their entry to their end, and only for what they cover."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from aileron_tui.core.entry_chain import Damage
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.outcome_words import RULE_SURFACE
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import Rule, RuleReach, RuleVerdict
from aileron_tui.core.rule_answer import RuleAnswer
from aileron_tui.core.rule_change import RuleChange, ended, made
from aileron_tui.core.states import InvalidTransition, RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.files.boot_clock import BootClock
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.ledger.store import EntryDraft
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.signing.rules import Rules
from tests.ledger.scenes import DIGEST, START, Scene, check

CONNECTOR = "sha256:" + "c0" * 32
RUNS = "sha256:" + "a1" * 32
CLOCK = BootClock("boot-1", lambda: 1000.0)
RULE = Rule(
    id="rule-0123456789abcdef",
    verdict=RuleVerdict.ALLOW,
    agent="claude",
    action="send-draft",
    reach=RuleReach.CALL,
    ends=timestamp(START + timedelta(hours=1)),
    args={"draft_id": "r-12345"},
    connector=CONNECTOR,
    runs=RUNS,
    shown=DIGEST,
    risk=RiskLevel.HIGH,
)
DENY = replace(RULE, id="rule-000000000000000d", verdict=RuleVerdict.DENY)


def change_of(scene: Scene, rule: Rule = RULE) -> RuleChange:
    return made(rule, scene.ledger.head.hash, timestamp(scene.clock.now))


def record(scene: Scene, change: RuleChange, key: UnlockedKey | None = None, **more: Any) -> None:
    scene.ledger.append(change.change, change.body(sign(change, key or scene.key).fields()) | more)


def make(scene: Scene, rule: Rule = RULE) -> int:
    record(scene, change_of(scene, rule))
    return scene.ledger.head.seq


def end(scene: Scene, rule: Rule = RULE) -> None:
    record(scene, ended(rule.id, scene.ledger.head.hash, timestamp(scene.clock.now)))


def answer(scene: Scene, seq: int, given: Rule = RULE, **changes: Any) -> JsonObject:
    signer = scene.key.public.fingerprint
    return replace(RuleAnswer(given.id, seq, given.verdict, signer, DIGEST, RUNS, DIGEST), **changes).body()


def rule_answers(scene: Scene, request: str, seq: int, given: Rule = RULE, **changes: Any) -> None:
    scene.ledger.append(EntryKind.RULED, answer(scene, seq, given, **changes), request)


def asked(scene: Scene, request: str = "act-1", **args: str) -> str:
    scene.ask(request, **args)
    scene.ledger.append(EntryKind.PREVIEWED, {"digest": DIGEST}, request)
    return request


def rules_of(scene: Scene) -> Rules:
    with SqliteReader(scene.ledger.path) as reader:
        return Rules.of(reader)


def find(scene: Scene, request: str) -> HistoryRecord | None:
    with SqliteReader(scene.ledger.path) as reader:
        return reader.find(request)


def test_a_rule_answers_a_request(scene: Scene) -> None:
    seq = make(scene)
    request = asked(scene)
    drafts = [
        EntryDraft(EntryKind.RULED, answer(scene, seq), request),
        EntryDraft(EntryKind.RUNNING, {"digest": DIGEST}, request),
        EntryDraft(EntryKind.EXECUTED, {}, request),
    ]
    scene.ledger.append_all(drafts)
    record_ = find(scene, request)
    assert record_
    assert (record_.outcome, record_.surface, record_.rule) == (RequestState.EXECUTED, RULE_SURFACE, RULE.id)
    assert record_.signer == scene.key.public.fingerprint
    report = check(scene.ledger.path, noted=True)
    assert report.fault is None
    assert report.rule_answers == {RULE.id: 1}


def test_a_rule_denies_a_request(scene: Scene) -> None:
    seq = make(scene, DENY)
    rule_answers(scene, asked(scene), seq, DENY, reason="denied by a rule")
    found = find(scene, "act-1")
    assert found
    assert (found.outcome, found.reason, found.rule) == (RequestState.DENIED, "denied by a rule", DENY.id)
    assert check(scene.ledger.path, noted=True).fault is None
    with pytest.raises(InvalidTransition):
        rule_answers(scene, "act-1", seq, DENY)


def test_a_rule_is_found_again_by_search_and_after_rebuilding(scene: Scene) -> None:
    seq = make(scene)
    rule_answers(scene, asked(scene), seq)
    before = find(scene, "act-1")
    scene.ledger.rebuild_index()
    assert find(scene, "act-1") == before
    assert [known.rule for known in rules_of(scene).values()] == [RULE]
    assert check(scene.ledger.path, noted=True).fault is None


# making and ending


def test_a_rule_that_was_made_is_in_force_until_it_is_ended(scene: Scene) -> None:
    make(scene)
    rules = rules_of(scene)
    assert [known.rule for known in rules.in_force(START, CLOCK)] == [RULE]
    assert rules[RULE.id].made_by == scene.key.name
    end(scene)
    rules = rules_of(scene)
    assert rules.in_force(START, CLOCK) == ()
    assert rules[RULE.id].why == "ended by the key laptop"
    assert check(scene.ledger.path, noted=True).fault is None


def test_a_change_is_recorded_once(scene: Scene) -> None:
    change = change_of(scene)
    record(scene, change)
    with pytest.raises(EntryRefused, match="already made"):
        record(scene, change)
    end(scene)
    with pytest.raises(EntryRefused, match="already made"):
        record(scene, change)
    with pytest.raises(EntryRefused, match="already ended"):
        end(scene)


def test_a_change_signed_over_another_ledger_is_refused(scene: Scene) -> None:
    with pytest.raises(EntryRefused, match="recent head"):
        record(scene, replace(change_of(scene), head="sha256:" + "9" * 64))


def test_a_change_signed_long_ago_is_refused(scene: Scene) -> None:
    change = change_of(scene)
    scene.clock.now += timedelta(minutes=6)
    with pytest.raises(EntryRefused, match="too long ago"):
        record(scene, change)


def test_an_unsigned_rule_is_refused(scene: Scene) -> None:
    with pytest.raises(EntryRefused):
        scene.ledger.append(EntryKind.RULE_MADE, {"rule": RULE.fields()})


def _unsigned(scene: Scene) -> None:
    scene.forge(EntryKind.RULE_MADE, "", {"rule": RULE.fields()})


def _unknown_key(scene: Scene) -> None:
    record(scene, change_of(scene), for_this_run("mallory"))


def _revoked_key(scene: Scene) -> None:
    other = for_this_run("other")
    scene.enrol(other)
    scene.revoke(other)
    record(scene, change_of(scene), other)


def _broken_signature(scene: Scene) -> None:
    change = change_of(scene)
    envelope = sign(change, scene.key).fields()
    envelope["signatures"] = sign(replace(change, time=timestamp(START)), scene.key).fields()["signatures"]
    scene.ledger.append(change.change, change.body(envelope))


def _other_type(scene: Scene) -> None:
    change = change_of(scene)
    envelope = sign(change, scene.key).fields() | {"payloadType": "application/vnd.aileron.agent.v1+json"}
    scene.ledger.append(change.change, change.body(envelope))


def _wider_than_signed(scene: Scene) -> None:
    change = change_of(scene)
    body = change.body(sign(change, scene.key).fields()) | {"rule": replace(RULE, agent="mallory").fields()}
    scene.forge(EntryKind.RULE_MADE, "", body)


def _replayed(scene: Scene) -> None:
    change = change_of(scene)
    record(scene, change)
    end(scene)
    scene.forge(EntryKind.RULE_MADE, "", change.body(sign(change, scene.key).fields()))


def _over_another_history(scene: Scene) -> None:
    change = replace(change_of(scene), head="sha256:" + "9" * 64)
    scene.forge(EntryKind.RULE_MADE, "", change.body(sign(change, scene.key).fields()))


@pytest.mark.parametrize(
    "attack",
    [
        _unsigned,
        _unknown_key,
        _revoked_key,
        _broken_signature,
        _other_type,
        _wider_than_signed,
        _replayed,
        _over_another_history,
    ],
)
def test_a_rule_that_nobody_signed_is_ignored_and_found(scene: Scene, attack: Callable[[Scene], None]) -> None:
    attack(scene)
    rules = rules_of(scene)
    assert rules.in_force(START, CLOCK) == ()
    assert rules.invalid
    fault = check(scene.ledger.path, noted=True).fault
    assert fault
    assert fault.damage is Damage.RULE


def test_the_rules_of_a_revoked_key_end(scene: Scene) -> None:
    seq = make(scene)
    scene.enrol(other := for_this_run("other"))
    record(scene, change_of(scene, DENY), other)
    scene.revoke(scene.key)
    rules = rules_of(scene)
    assert [known.rule for known in rules.in_force(START, CLOCK)] == [DENY]
    assert "was revoked" in rules[RULE.id].why
    with pytest.raises(EntryRefused, match="no longer in force"):
        rule_answers(scene, asked(scene), seq)
    scene.forge(EntryKind.RULED, "act-1", answer(scene, seq))
    fault = check(scene.ledger.path, noted=True).fault
    assert fault
    assert fault.damage is Damage.RULE


# answering


@pytest.mark.parametrize(
    "changes",
    [
        {"runs": "sha256:" + "0f" * 32},
        {"shown": "sha256:" + "0f" * 32},
        {"shown": ""},
        {"rule": "rule-ffffffffffffffff"},
        {"made": 1},
        {"signer": "sha256:abc"},
        {"verdict": RuleVerdict.DENY},
    ],
)
def test_an_answer_that_the_rule_does_not_give_is_refused_and_found(scene: Scene, changes: dict[str, Any]) -> None:
    seq = make(scene)
    request = asked(scene)
    with pytest.raises(EntryRefused):
        rule_answers(scene, request, seq, **changes)
    scene.forge(EntryKind.RULED, request, answer(scene, seq, **changes))
    fault = check(scene.ledger.path, noted=True).fault
    assert fault
    assert fault.damage is Damage.RULE


@pytest.mark.parametrize(
    "ask",
    [
        lambda scene: scene.ask("act-1", agent="mallory"),
        lambda scene: scene.ask("act-1", action="delete-draft"),
        lambda scene: scene.ask("act-1", draft_id="r-2"),
        lambda scene: scene.ask("act-1", more="x"),
    ],
)
def test_a_request_outside_the_reach_is_refused_and_found(scene: Scene, ask: Callable[[Scene], Any]) -> None:
    seq = make(scene)
    ask(scene)
    scene.ledger.append(EntryKind.PREVIEWED, {"digest": DIGEST}, "act-1")
    with pytest.raises(EntryRefused, match="does not answer"):
        rule_answers(scene, "act-1", seq)
    scene.forge(EntryKind.RULED, "act-1", answer(scene, seq))
    fault = check(scene.ledger.path, noted=True).fault
    assert fault
    assert fault.damage is Damage.RULE


def test_an_answer_to_another_preview_is_found(scene: Scene) -> None:
    seq = make(scene)
    scene.ask("act-1")
    scene.ledger.append(EntryKind.PREVIEWED, {"digest": "sha256:" + "ee" * 32}, "act-1")
    rule_answers(scene, "act-1", seq)
    fault = check(scene.ledger.path, noted=True).fault
    assert fault
    assert (fault.damage, "another preview" in fault.detail) == (Damage.RULE, True)


def test_a_rule_that_was_ended_does_not_answer(scene: Scene) -> None:
    seq = make(scene)
    request = asked(scene)
    end(scene)
    with pytest.raises(EntryRefused, match="no longer in force"):
        rule_answers(scene, request, seq)
    scene.forge(EntryKind.RULED, request, answer(scene, seq))
    assert check(scene.ledger.path, noted=True).fault


@pytest.mark.parametrize(("after", "good"), [(timedelta(minutes=59), True), (timedelta(hours=1), False)])
def test_a_rule_answers_until_its_end(scene: Scene, after: timedelta, good: bool) -> None:
    seq = make(scene)
    request = asked(scene)
    scene.clock.now = START + after
    if good:
        rule_answers(scene, request, seq)
    else:
        with pytest.raises(EntryRefused, match="ended at"):
            rule_answers(scene, request, seq)


def test_setting_the_clock_back_does_not_extend_a_rule(scene: Scene) -> None:
    seq = make(scene)
    request = asked(scene)
    scene.clock.now = START + timedelta(hours=2)
    scene.step(EntryKind.CONFIG_CHANGED, "", change="x")
    scene.clock.now = START + timedelta(minutes=1)
    with pytest.raises(EntryRefused, match="ended at"):
        rule_answers(scene, request, seq)


def test_the_clock_of_the_machine_ends_a_rule_too(scene: Scene, boot: str) -> None:
    uptime = 1000.0
    clock = BootClock(boot, lambda: uptime)
    record(scene, change_of(scene), deadline={"boot": boot, "uptime_ms": 2_000_000})
    known = rules_of(scene)[RULE.id]
    assert known.in_force(START, clock)
    uptime = 2000.0
    assert not known.in_force(START, clock)
    assert known.in_force(START, BootClock("boot-2", lambda: uptime))  # after a restart, the wall clock counts
    scene.ledger._boot_clock = clock
    with pytest.raises(EntryRefused, match="run out"):
        rule_answers(scene, asked(scene), known.seq)


def test_what_runs_must_be_what_the_rule_allowed(scene: Scene) -> None:
    seq = make(scene)
    rule_answers(scene, asked(scene), seq)
    scene.step(EntryKind.RUNNING, "act-1", digest="sha256:" + "0f" * 32)
    fault = check(scene.ledger.path, noted=True).fault
    assert fault
    assert fault.damage is Damage.OTHER


def test_a_rule_does_not_answer_for_a_daemon_or_twice(scene: Scene) -> None:
    seq = make(scene)
    scene.ask_daemon("act-d")
    with pytest.raises(EntryRefused):
        rule_answers(scene, "act-d", seq)
    rule_answers(scene, asked(scene), seq)
    with pytest.raises(InvalidTransition):
        rule_answers(scene, "act-1", seq)
    with pytest.raises(EntryRefused):
        rule_answers(scene, "never-made", seq)
