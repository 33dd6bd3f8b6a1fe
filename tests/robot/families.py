"""All families, by name."""

import random
from collections.abc import Callable
from typing import Final

from tests.robot import answering, askers, calls, changes, hidden_text, projections
from tests.robot.case import ROUND, Case

FAMILIES: Final[dict[str, Callable[[random.Random, int], Case]]] = {
    **hidden_text.FAMILIES,
    **calls.FAMILIES,
    **changes.FAMILIES,
    **answering.FAMILIES,
    **askers.FAMILIES,
    **projections.FAMILIES,
}

assert len(FAMILIES) == ROUND

SAMPLES: Final = frozenset({"mail"})
"""Families that use the sample connectors, which take a while to load."""


def make_case(family: str, seed: int) -> Case:
    """The case of a family with this seed, always the same one."""
    return FAMILIES[family](random.Random(f"{family} {seed}"), seed)
