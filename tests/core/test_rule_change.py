"""Rules and their changes as signed values."""

import base64
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonError, JsonObject, canonical
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import Rule, RuleReach, RuleVerdict, is_rule_id, new_rule_id
from aileron_tui.core.rule_change import ended, made, objection, read_change, read_signed_change
from aileron_tui.core.rule_reader import read_rule
from aileron_tui.core.rule_words import rule_words
from aileron_tui.core.times import moment, timestamp
from tests.core.rules import ANY, COMMAND, EXACT, FOLDER

HEAD = "sha256:" + "0" * 64
TIME = "2026-05-12T10:15:30.000000Z"
MADE = made(EXACT, HEAD, TIME)


@pytest.mark.parametrize("rule", [EXACT, ANY, FOLDER])
def test_a_signed_rule_is_read_back(rule: Rule) -> None:
    change = made(rule, HEAD, TIME)
    assert read_signed_change(change.payload()) == change
    assert read_rule(rule.fields()) == rule


def test_an_end_is_read_back() -> None:
    change = ended(EXACT.id, HEAD, TIME)
    assert read_signed_change(change.payload()) == change


def test_new_ids_are_valid_and_differ() -> None:
    assert is_rule_id(new_rule_id())
    assert new_rule_id() != new_rule_id()


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "rule-1"},
        {"verdict": "approve"},
        {"verdict": True},
        {"agent": "Laptop"},
        {"agent": "*"},
        {"action": ""},
        {"kind": "daemon"},
        {"reach": "all"},
        {"reach": "any"},
        {"args": None},
        {"args": []},
        {"command": "ls"},
        {"folder": "/home/me"},
        {"connector": ""},
        {"runs": ""},
        {"runs": "sha256:1"},
        {"shown": "yes"},
        {"risk": "none"},
        {"ends": ""},
        {"ends": "never"},
        {"match": [{"args": {"draft_id": "another"}}]},
        {"not_match": [{}]},
        {"match": [{"more": 1}]},
        {"match": [{"args": 1}]},
        {"match": [{}] * 21},
        {"more": ""},
    ],
)
def test_a_rule_that_is_not_valid_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(JsonError):
        read_rule(EXACT.fields() | fields)


@pytest.mark.parametrize(
    "rule",
    [
        replace(ANY, risk=RiskLevel.HIGH),
        replace(FOLDER, risk=RiskLevel.HIGH),
        replace(ANY, shown=EXACT.shown),
        replace(FOLDER, folder=""),
        replace(COMMAND, command=""),
        replace(ANY, reach=RuleReach.FOLDER, folder="/x"),
        replace(ANY, runs="", connector=""),
    ],
)
def test_a_rule_wider_than_allowed_is_refused(rule: Rule) -> None:
    with pytest.raises(JsonError):
        read_rule(rule.fields())


def test_a_rule_that_denies_needs_not_say_what_would_run() -> None:
    wide = replace(ANY, verdict=RuleVerdict.DENY, runs="", connector="", risk=RiskLevel.HIGH)
    assert read_rule(wide.fields()) == wide


@pytest.mark.parametrize(
    ("verdict", "length", "good"),
    [
        (RuleVerdict.ALLOW, timedelta(0), False),
        (RuleVerdict.ALLOW, timedelta(seconds=-1), False),
        (RuleVerdict.ALLOW, timedelta(seconds=1), True),
        (RuleVerdict.ALLOW, timedelta(days=30), True),
        (RuleVerdict.ALLOW, timedelta(days=30, microseconds=1), False),
        (RuleVerdict.DENY, timedelta(days=366), True),
        (RuleVerdict.DENY, timedelta(days=367), False),
        (RuleVerdict.ASK, timedelta(days=367), False),
    ],
)
def test_every_rule_has_an_end_within_bounds(verdict: RuleVerdict, length: timedelta, good: bool) -> None:
    rule = replace(EXACT, verdict=verdict, ends=timestamp(moment(TIME) + length))
    change = made(rule, HEAD, TIME)
    if good:
        assert read_signed_change(change.payload()) == change
    else:
        with pytest.raises(JsonError):
            read_signed_change(change.payload())


@pytest.mark.parametrize(
    "fields",
    [
        {"change": "agent.added"},
        {"change": "rule.ended"},
        {"id": "rule-ffffffffffffffff"},
        {"rule": None},
        {"head": ""},
        {"time": "now"},
        {"more": 1},
    ],
)
def test_a_change_that_is_not_valid_is_refused(fields: dict[str, Any]) -> None:
    rule = EXACT.fields()
    good: dict[str, Any] = {"change": "rule.made", "id": EXACT.id, "rule": rule, "head": HEAD, "time": TIME}
    assert read_signed_change(canonical(good)) == MADE
    with pytest.raises(JsonError):
        read_signed_change(canonical(good | fields))
    with pytest.raises(JsonError):
        read_signed_change(MADE.payload() + b" ")


def test_the_fields_around_the_envelope_must_be_the_signed_ones() -> None:
    envelope: JsonObject = {"payload": base64.b64encode(MADE.payload()).decode(), "payloadType": "", "signatures": []}
    entry = Entry(2, TIME, EntryKind.RULE_MADE, "", MADE.body(envelope))
    assert read_change(entry)[0] == MADE
    wider = EXACT.fields() | {"agent": "mallory"}
    bodies: list[tuple[EntryKind, JsonObject]] = [
        (EntryKind.RULE_MADE, {"rule": wider, "envelope": envelope}),
        (EntryKind.RULE_MADE, {"envelope": envelope}),
        (EntryKind.RULE_MADE, {"rule": EXACT.fields()}),
        (EntryKind.RULE_ENDED, {"id": EXACT.id, "envelope": envelope}),
    ]
    for kind, body in bodies:
        with pytest.raises(JsonError):
            read_change(Entry(2, TIME, kind, "", body))


def test_a_change_counts_once_and_soon_after_it_was_signed() -> None:
    end = ended(EXACT.id, HEAD, TIME)
    before = {EXACT.id: EntryKind.RULE_MADE}
    after = {EXACT.id: EntryKind.RULE_ENDED}
    assert not objection({}, MADE, TIME)
    assert "already made" in objection(before, MADE, TIME)
    assert "already made" in objection(after, MADE, TIME)
    assert not objection(before, end, TIME)
    assert "already ended" in objection(after, end, TIME)
    assert "no rule" in objection({}, end, TIME)
    assert "too long ago" in objection({}, MADE, timestamp(moment(TIME) + timedelta(minutes=6)))
    assert "in the future" in objection({}, MADE, timestamp(moment(TIME) - timedelta(minutes=2)))


def test_a_rule_in_words() -> None:
    now = moment("2026-05-12T10:00:00.000000Z")
    local = moment(EXACT.ends).astimezone()
    assert rule_words(EXACT, now) == (
        "Allows send-draft from laptop-claude with exactly these inputs, as long as the preview shows the same, "
        f"until {local:%H:%M} today"
    )
    assert rule_words(ANY, now - timedelta(days=2)) == (
        f"Allows send-draft from laptop-claude with any inputs, until {local:%Y-%m-%d %H:%M}"
    )
    assert "with exactly the command git status in /home/me/project" in rule_words(COMMAND, now)
    assert rule_words(replace(ANY, verdict=RuleVerdict.ASK), now).startswith("Always asks about send-draft")


def test_an_entry_that_was_read_before_does_not_speak_for_another() -> None:
    body = MADE.body({"payload": base64.b64encode(MADE.payload()).decode(), "signatures": []})
    good = Entry(1, TIME, EntryKind.RULE_MADE, "", body)
    for _ in range(2):
        assert read_change(good)[0] == MADE
    other: JsonObject = {**body, "rule": {**EXACT.fields(), "agent": "another"}}
    for _ in range(2):
        with pytest.raises(JsonError, match="differs from the fields around it"):
            read_change(replace(good, body=other))
