"""How careful an answer must be."""

from dataclasses import replace

import pytest

from aileron_tui.core.action import Step
from aileron_tui.core.risk import RiskLevel, RiskRule, assess, by_name, by_rule, by_steps
from tests.core.examples import MAIL, action


@pytest.mark.parametrize(
    ("op", "idempotent", "level"),
    [
        ("delete_draft", None, RiskLevel.HIGH),
        ("delete_draft", True, RiskLevel.HIGH),
        ("modify_event", None, RiskLevel.HIGH),
        ("update_draft", None, RiskLevel.HIGH),
        ("send_draft", None, RiskLevel.HIGH),
        ("fulfill_order", None, RiskLevel.HIGH),
        ("receive_purchase_order", None, RiskLevel.HIGH),
        ("correct_stock", None, RiskLevel.HIGH),
        ("rebuild_index", None, RiskLevel.HIGH),
        ("create_draft", None, RiskLevel.NORMAL),
        ("create_draft", True, RiskLevel.NORMAL),
        ("get_draft", None, RiskLevel.LOW),
        ("list_drafts", None, RiskLevel.LOW),
        ("search_mail", True, RiskLevel.LOW),
        ("move_file", None, RiskLevel.NORMAL),
        ("move_file", False, RiskLevel.NORMAL),
        ("touch_file", True, RiskLevel.LOW),
        ("sender_info", None, RiskLevel.NORMAL),
        ("", None, RiskLevel.NORMAL),
    ],
)
def test_the_manifest_sets_the_level(op: str, idempotent: bool | None, level: RiskLevel) -> None:
    risk = assess(action(op, idempotent=idempotent))
    assert risk.level is level
    assert op in risk.reason


def test_the_riskiest_step_counts() -> None:
    two = replace(
        action("get_draft"), execute=(Step("a", MAIL, "get_draft", True, {}), Step("b", MAIL, "send_x", None, {}))
    )
    assert assess(two).level is RiskLevel.HIGH


def test_the_users_first_matching_rule_wins() -> None:
    rules = [
        RiskRule(RiskLevel.NORMAL, action="other-*"),
        RiskRule(RiskLevel.LOW, action="send-*"),
        RiskRule(RiskLevel.HIGH),
    ]
    risk = assess(action(), rules)
    assert (risk.level, risk.reason) == (RiskLevel.LOW, "entry 2 of [[risk]] in your configuration")


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        (RiskRule(RiskLevel.LOW, connector="local://samples/*"), True),
        (RiskRule(RiskLevel.LOW, connector="github://*"), False),
        (RiskRule(RiskLevel.LOW, op="send_*"), True),
        (RiskRule(RiskLevel.LOW, op="SEND_*"), False),
        (RiskRule(RiskLevel.LOW, action="send-draft", connector="local://*", op="send_draft"), True),
        (RiskRule(RiskLevel.LOW, action="send-draft", op="get_draft"), False),
    ],
)
def test_every_pattern_of_a_rule_must_match(rule: RiskRule, matches: bool) -> None:
    assert (assess(action(), [rule]).level is RiskLevel.LOW) is matches


@pytest.mark.parametrize("said", [None, *RiskLevel])
def test_the_agents_side_can_raise_and_never_lower(said: RiskLevel | None) -> None:
    for op, declared in (
        ("get_draft", RiskLevel.LOW),
        ("create_draft", RiskLevel.NORMAL),
        ("send_draft", RiskLevel.HIGH),
    ):
        wanted = max(declared, said or RiskLevel.LOW, key=lambda level: level.rank)
        assert assess(action(op), annotation=said).level is wanted


def test_a_rule_that_lowers_can_still_be_raised_by_the_agents_side() -> None:
    risk = assess(action(), [RiskRule(RiskLevel.LOW)], annotation=RiskLevel.HIGH)
    assert (risk.level, risk.reason) == (RiskLevel.HIGH, "the agent's side rates it high")


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("send-draft", RiskLevel.HIGH),
        ("Delete.everything", RiskLevel.HIGH),
        ("create-event", RiskLevel.NORMAL),
        ("move-file", RiskLevel.NORMAL),
        ("list-drafts", RiskLevel.NORMAL),
        ("", RiskLevel.NORMAL),
    ],
)
def test_a_name_alone_never_makes_a_call_harmless(name: str, level: RiskLevel) -> None:
    risk = by_name(name)
    assert risk.level is level
    assert name in risk.reason


def test_rules_need_only_a_name_and_steps() -> None:
    steps = action("get_draft").execute
    rules = [RiskRule(RiskLevel.HIGH, op="send_*"), RiskRule(RiskLevel.LOW, action="any-*", connector=MAIL)]
    found = by_rule("any-name", steps, rules)
    assert found is not None
    assert (found.level, found.reason) == (RiskLevel.LOW, "entry 2 of [[risk]] in your configuration")
    assert by_rule("other-name", steps, rules) is None
    assert by_rule("any-name", (), [RiskRule(RiskLevel.LOW)]) is None
    assert by_steps(()).level is RiskLevel.NORMAL
