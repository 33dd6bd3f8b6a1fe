"""Counting equal approvals: a rule is offered for what was approved often."""

from aileron_tui.surface.equal_approvals import ENOUGH, EqualApprovals
from tests.console.rule_gate import movable


def test_a_rule_is_worth_it_after_enough_equal_approvals_and_no_longer_once_there_is_one() -> None:
    equal = EqualApprovals()
    for number in range(ENOUGH):
        assert not equal.enough(movable(1))
        equal.record(movable(number))
    assert equal.enough(movable(1))
    assert not equal.enough(movable(1, file_id="f-2"))
    equal.forget(movable(1))
    assert not equal.enough(movable(1))
