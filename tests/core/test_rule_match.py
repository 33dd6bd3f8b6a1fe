"""A rule answers what its words say and nothing beyond."""

import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.jsontext import JsonObject, canonical
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import Rule, RuleVerdict
from aileron_tui.core.rule_match import RuleCall, answer, covers, is_over, may_depend_on_preview, obstacle
from aileron_tui.core.times import moment
from tests.core.rules import (
    ANY,
    ARGS,
    CALL,
    COMMAND,
    EDIT_CALL,
    ENDS,
    EXACT,
    FOLDER,
    PLAIN_CALL,
    SHELL_CALL,
)

OTHER = "sha256:" + "0f" * 32


@pytest.mark.parametrize(("rule", "call"), [(EXACT, CALL), (ANY, PLAIN_CALL), (FOLDER, EDIT_CALL)])
def test_a_rule_answers_the_call_it_was_made_from(rule: Rule, call: RuleCall) -> None:
    assert answer([rule], call) is rule


@pytest.mark.parametrize("rule", [EXACT, ANY])
@pytest.mark.parametrize(
    "change",
    [
        {"agent": "laptop-claud"},
        {"agent": ""},
        {"action": "send-drafts"},
        {"action": "Send-Draft"},
        {"kind": CallKind.TOOL},
        {"connector": OTHER},
        {"connector": ""},
        {"runs": OTHER},
        {"runs": ""},
    ],
)
def test_another_agent_action_connector_or_manifest_is_outside(rule: Rule, change: dict[str, Any]) -> None:
    assert not covers(rule, replace(PLAIN_CALL, **change))


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"draft_id": "r-12345"},
        {"draft_id": "r-12345", "copies": 2},
        {"draft_id": "r-12345", "copies": "1"},
        {"draft_id": "r-12345", "copies": True},
        {"draft_id": "r-12345", "copies": 1.5},
        {"draft_id": "r-12345", "copies": [1]},
        {"draft_id": "r-12345", "copies": None},
        {"draft_id": "r-12345 ", "copies": 1},
        {"draft_id": "R-12345", "copies": 1},
        {"draft_id": "r\u2010 12345", "copies": 1},
        {"draft_id": "r-12345", "copies": 1, "more": ""},
        {"draft_id": "r-12345", "copies": 1, "": 0},
    ],
)
def test_one_input_changed_is_outside_an_exact_call(args: JsonObject) -> None:
    assert not covers(EXACT, replace(CALL, args=args))


def test_the_order_of_inputs_and_the_spelling_of_a_number_do_not_matter() -> None:
    assert covers(EXACT, replace(CALL, args={"copies": 1, "draft_id": "r-12345"}))
    assert covers(EXACT, replace(CALL, args={"copies": 1.0, "draft_id": "r-12345"}))  # it is sent with the same bytes


@pytest.mark.parametrize("shown", [OTHER, "", None])
def test_changed_content_is_outside_an_exact_call(shown: str | None) -> None:
    assert answer([EXACT], replace(CALL, shown=shown)) is None


def test_a_preview_that_appeared_after_the_rule_was_made_is_asked_about() -> None:
    assert answer([replace(EXACT, shown="")], CALL) is None
    assert answer([replace(EXACT, shown="")], replace(CALL, shown=""))


@pytest.mark.parametrize("folder", ["", "/home/me", "/home/me/project/", "/home/me/Project", "/home/me/project/sub"])
def test_another_folder_is_outside(folder: str) -> None:
    assert not covers(FOLDER, replace(EDIT_CALL, folder=folder))
    assert not covers(replace(EXACT, kind=CallKind.TOOL, folder="/home/me/project"), replace(CALL, folder=folder))


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
_INPUTS = st.dictionaries(st.text(max_size=5), _VALUES, max_size=4)


@given(_INPUTS, _INPUTS)
def test_generated_inputs_match_only_themselves(args: dict[str, Any], others: dict[str, Any]) -> None:
    rule = replace(EXACT, args=args)
    assert covers(rule, replace(CALL, args=others)) == (canonical(args) == canonical(others))


@given(_INPUTS, st.integers(0, 2**32))
def test_a_call_just_outside_its_reach_is_never_answered(args: dict[str, Any], seed: int) -> None:
    rule, call = replace(EXACT, args=args), replace(CALL, args=args)
    assert answer([rule], call) is rule
    assert answer([rule], _changed(call, random.Random(seed))) is None


def _changed(call: RuleCall, chance: random.Random) -> RuleCall:
    """The call with one thing changed."""
    names = list(call.args)
    name = chance.choice(names) if names else "x"
    value = call.args.get(name)
    changes: list[dict[str, Any]] = [
        {"args": {**call.args, "another": None}} if "another" not in call.args else {"agent": "x"},
        {"args": {**call.args, name: [value]}},
        {"args": {**call.args, name: "1" if value == 1 else 1} if value is not True else {**call.args, name: 1}},
        {"args": {key: item for key, item in call.args.items() if key != name}} if names else {"action": "x"},
        {"agent": call.agent + "2"},
        {"action": call.action + "s"},
        {"runs": OTHER},
        {"connector": OTHER},
        {"shown": OTHER},
        {"shown": None},
        {"warning": "mixed scripts"},
        {"protected": "git's own files"},
        {"kind": CallKind.TOOL},
    ]
    return replace(call, **chance.choice(changes))


# limits of allow rules


@pytest.mark.parametrize("rule", [EXACT, replace(ANY, risk=RiskLevel.NORMAL)])
@pytest.mark.parametrize("trouble", [{"warning": "a look-alike"}, {"protected": "its settings"}, {"shown": None}])
def test_no_rule_allows_what_has_a_warning_or_is_protected(rule: Rule, trouble: dict[str, Any]) -> None:
    assert answer([rule], PLAIN_CALL) is rule
    assert answer([rule], replace(PLAIN_CALL, **trouble)) is None


def test_high_risk_is_allowed_only_by_an_exact_call() -> None:
    assert answer([EXACT], CALL) is EXACT
    for wide in (ANY, replace(ANY, risk=RiskLevel.HIGH)):  # the latter cannot be made, but may be forged
        assert answer([wide], CALL) is None
        assert "only an exact call" in obstacle(wide, CALL)


def test_a_risk_that_rose_since_the_rule_was_made_is_asked_about() -> None:
    normal = replace(EXACT, risk=RiskLevel.NORMAL)
    assert answer([normal], PLAIN_CALL) is normal
    assert answer([normal], CALL) is None


@pytest.mark.parametrize(
    "rule", [replace(FOLDER, action="Bash"), replace(ANY, action="Bash", kind=CallKind.TOOL, runs="")]
)
def test_a_shell_command_is_allowed_only_by_its_exact_text(rule: Rule) -> None:
    rule = replace(rule, runs="", connector="")
    assert covers(rule, SHELL_CALL)
    assert answer([rule], SHELL_CALL) is None


@pytest.mark.parametrize(
    "command",
    ["git status ", "git  status", "git status;rm -rf ~", "git status $(id)", "GIT status", "git status\n", "git"],
)
def test_another_command_is_outside(command: str) -> None:
    assert answer([COMMAND], SHELL_CALL) is COMMAND
    assert not covers(COMMAND, replace(SHELL_CALL, command=command))


@pytest.mark.parametrize(
    "command",
    [
        "git status $(id)",
        "git status | sh",
        "git status > .git/config",
        "PATH=. git status",
        "env git status",
        "timeout 9 git status",
        "xargs git status",
        "git status &",
        "git status `id`",
        "git log ~",
        "git log *",
        "cat <<x\nx",
    ],
)
def test_a_command_that_is_not_plain_is_never_within_reach(command: str) -> None:
    rule, call = replace(COMMAND, command=command), replace(SHELL_CALL, command=command)
    assert not covers(rule, call)
    assert answer([rule], call) is None


# strictness and preview


def test_the_strictest_rule_counts() -> None:
    deny = replace(ANY, id="rule-000000000000000d", verdict=RuleVerdict.DENY)
    ask = replace(ANY, id="rule-000000000000000e", verdict=RuleVerdict.ASK)
    for rules in ([EXACT, ask, deny], [deny, EXACT, ask]):
        assert answer(rules, CALL) is deny
    assert answer([EXACT, ask], CALL) is ask


def test_deny_rules_have_no_limits() -> None:
    deny = replace(ANY, verdict=RuleVerdict.DENY, runs="", connector="")
    assert answer([deny], replace(CALL, warning="a look-alike", protected="x", runs=OTHER, shown=None)) is deny


def test_a_preview_is_fetched_first_only_where_it_can_matter() -> None:
    unknown = replace(CALL, shown=None)
    deny, ask = replace(ANY, verdict=RuleVerdict.DENY), replace(ANY, verdict=RuleVerdict.ASK)
    assert may_depend_on_preview([EXACT], unknown)
    assert may_depend_on_preview([ask, replace(EXACT, verdict=RuleVerdict.DENY)], unknown)
    assert not may_depend_on_preview([EXACT], CALL)
    assert not may_depend_on_preview([EXACT, ask], unknown)
    assert not may_depend_on_preview([EXACT, deny], unknown)
    assert not may_depend_on_preview([EXACT], replace(unknown, args=ARGS | {"copies": 2}))


def test_a_rule_is_over_at_its_very_end() -> None:
    end = moment(ENDS)
    assert not is_over(EXACT, end - timedelta(microseconds=1))
    assert is_over(EXACT, end)
    assert is_over(EXACT, end + timedelta(days=1))
    assert is_over(replace(EXACT, ends="2026-13-40T99:99:99.000000Z"), end - timedelta(days=1))
