"""How careful an answer must be."""

from dataclasses import replace

import pytest

from aileron_tui.core.action import Step
from aileron_tui.core.risk import Level, Rule, assess, by_name, by_rule, by_steps
from tests.core.examples import MAIL, action


@pytest.mark.parametrize(
    ("op", "idempotent", "level"),
    [
        ("delete_draft", None, Level.HIGH),
        ("delete_draft", True, Level.HIGH),
        ("modify_event", None, Level.HIGH),
        ("update_draft", None, Level.HIGH),
        ("send_draft", None, Level.HIGH),
        ("fulfill_order", None, Level.HIGH),
        ("receive_purchase_order", None, Level.HIGH),
        ("correct_stock", None, Level.HIGH),
        ("rebuild_index", None, Level.HIGH),
        ("create_draft", None, Level.NORMAL),
        ("create_draft", True, Level.NORMAL),
        ("get_draft", None, Level.LOW),
        ("list_drafts", None, Level.LOW),
        ("search_mail", True, Level.LOW),
        ("move_file", None, Level.NORMAL),
        ("move_file", False, Level.NORMAL),
        ("touch_file", True, Level.LOW),
        ("sender_info", None, Level.NORMAL),
        ("", None, Level.NORMAL),
    ],
)
def test_the_manifest_sets_the_level(op: str, idempotent: bool | None, level: Level) -> None:
    risk = assess(action(op, idempotent=idempotent))
    assert risk.level is level
    assert op in risk.reason


def test_the_riskiest_step_counts() -> None:
    two = replace(
        action("get_draft"), execute=(Step("a", MAIL, "get_draft", True, {}), Step("b", MAIL, "send_x", None, {}))
    )
    assert assess(two).level is Level.HIGH


def test_the_users_first_matching_rule_wins() -> None:
    rules = [Rule(Level.NORMAL, action="other-*"), Rule(Level.LOW, action="send-*"), Rule(Level.HIGH)]
    risk = assess(action(), rules)
    assert (risk.level, risk.reason) == (Level.LOW, "your risk rule 2")


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        (Rule(Level.LOW, connector="local://samples/*"), True),
        (Rule(Level.LOW, connector="github://*"), False),
        (Rule(Level.LOW, op="send_*"), True),
        (Rule(Level.LOW, op="SEND_*"), False),
        (Rule(Level.LOW, action="send-draft", connector="local://*", op="send_draft"), True),
        (Rule(Level.LOW, action="send-draft", op="get_draft"), False),
    ],
)
def test_every_pattern_of_a_rule_must_match(rule: Rule, matches: bool) -> None:
    assert (assess(action(), [rule]).level is Level.LOW) is matches


@pytest.mark.parametrize("said", [None, *Level])
def test_the_agents_side_can_raise_and_never_lower(said: Level | None) -> None:
    for op, declared in (("get_draft", Level.LOW), ("create_draft", Level.NORMAL), ("send_draft", Level.HIGH)):
        wanted = max(declared, said or Level.LOW, key=lambda level: level.rank)
        assert assess(action(op), annotation=said).level is wanted


def test_a_rule_that_lowers_can_still_be_raised_by_the_agents_side() -> None:
    risk = assess(action(), [Rule(Level.LOW)], annotation=Level.HIGH)
    assert (risk.level, risk.reason) == (Level.HIGH, "the agent's side calls it high")


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("send-draft", Level.HIGH),
        ("Delete.everything", Level.HIGH),
        ("create-event", Level.NORMAL),
        ("move-file", Level.NORMAL),
        ("list-drafts", Level.NORMAL),
        ("", Level.NORMAL),
    ],
)
def test_a_name_alone_never_makes_a_call_harmless(name: str, level: Level) -> None:
    risk = by_name(name)
    assert risk.level is level
    assert name in risk.reason


def test_rules_need_only_a_name_and_steps() -> None:
    steps = action("get_draft").execute
    rules = [Rule(Level.HIGH, op="send_*"), Rule(Level.LOW, action="any-*", connector=MAIL)]
    found = by_rule("any-name", steps, rules)
    assert found is not None
    assert (found.level, found.reason) == (Level.LOW, "your risk rule 2")
    assert by_rule("other-name", steps, rules) is None
    assert by_rule("any-name", (), [Rule(Level.LOW)]) is None
    assert by_steps(()).level is Level.NORMAL
