"""Every target holds for its seeds and some generated input, so that `make fuzz` finds what is new."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.fuzz.target import inputs
from tests.fuzz.targets import TARGETS

_SLOW = {"host-functions": 20, "ledger": 20}
"""Examples of targets for which an input takes tens of milliseconds."""


@pytest.mark.parametrize("name", TARGETS)
def test_target(name: str) -> None:
    target = TARGETS[name]
    seeds = target.seeds()
    assert seeds
    for seed in seeds:
        target.check(seed)

    @settings(
        max_examples=_SLOW.get(name, 100),
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(inputs(seeds))
    def try_inputs(data: bytes) -> None:
        target.check(data)

    try_inputs()
