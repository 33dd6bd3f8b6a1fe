"""Calls in one group share a connector; calls in different groups share none."""

from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.connector_groups import grouped


def test_items_that_share_a_name_are_together_and_in_order() -> None:
    items = ["a", "b", "ab", "c", "", "a", ""]
    assert grouped(items, set) == [["a", "b", "ab", "a"], ["c"], ["", ""]]
    assert grouped([], set) == []


@given(st.lists(st.text("abcdef", max_size=3)))
def test_groups_have_nothing_in_common_and_lose_nothing(texts: list[str]) -> None:
    items = list(enumerate(texts))
    groups = grouped(items, lambda item: set(item[1]))
    assert sorted(item for group in groups for item in group) == items
    assert all(group == sorted(group) for group in groups)
    names = [set("".join(text for _, text in group)) for group in groups]
    assert sum(map(len, names)) == len(set().union(*names))
    assert sum(not name for name in names) <= 1
