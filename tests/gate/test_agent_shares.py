"""Shares: no agent can use all of a resource, and several greedy ones leave a minimum for each."""

from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.gate.agent_shares import AgentShares, Share


def take_all(shares: AgentShares, agent: str) -> int:
    while shares.fits(agent):
        shares.add(agent)
    return shares.used(agent)


def test_one_agent_gets_its_share_and_no_more() -> None:
    shares = AgentShares(Share(total=100, per_agent=25, minimum=2))
    assert take_all(shares, "a") == 25
    assert shares.exceeds_own("a")
    assert take_all(shares, "b") == 25


def test_many_greedy_agents_leave_a_minimum_for_each() -> None:
    shares = AgentShares(Share(total=100, per_agent=25, minimum=2))
    for number in range(50):
        take_all(shares, f"greedy-{number}")
    assert take_all(shares, "late") == 2
    assert not shares.exceeds_own("late")


def test_a_large_amount_must_fit_as_a_whole() -> None:
    shares = AgentShares(Share(total=100, per_agent=25))
    assert shares.fits("a", 25)
    assert not shares.fits("a", 26)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 9)), max_size=60))
def test_what_is_given_back_is_free_again(steps: list[tuple[str, int]]) -> None:
    shares, taken = AgentShares(Share(total=40, per_agent=20, minimum=3)), []
    for agent, amount in steps:
        if shares.fits(agent, amount):
            shares.add(agent, amount)
            taken.append((agent, amount))
    used = [sum(amount for name, amount in taken if name == agent) for agent in "abc"]
    assert [shares.used(agent) for agent in "abc"] == used
    assert sum(max(0, amount - 3) for amount in used) <= 40
    for agent, amount in reversed(taken):
        shares.remove(agent, amount)
    assert all(take_all(shares, agent) == 20 for agent in "ab")
