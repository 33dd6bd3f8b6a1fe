"""Marks repeats as slow: a test with `few(n)` runs its first n cases in `make test`, and all in `make check`."""

from collections import Counter

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    seen: Counter[str] = Counter()
    for item in items:
        if marker := item.get_closest_marker("few"):
            name = item.nodeid.partition("[")[0]
            seen[name] += 1
            if seen[name] > marker.args[0]:
                item.add_marker(pytest.mark.slow)
