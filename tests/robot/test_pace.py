"""Fifty ordinary requests in a terminal, one after another, without a key that is refused."""

import sys

import pytest

from tests.robot.pace import REQUESTS, run


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_request_is_answered_and_no_key_is_refused() -> None:
    pace = run()
    sys.stdout.write(f"{pace}\n")
    assert not pace.refused
    assert len(pace.approved) == len(set(pace.approved)) == REQUESTS
    assert pace.done == set(pace.approved)
