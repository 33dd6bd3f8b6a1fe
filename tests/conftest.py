"""Marks repeats as slow: a test with `few(n)` runs its first n cases in `make test`, and all in `make check`.

Garbage is looked for less often than usual, and not in what the tests have imported: consoles make so many objects that
this takes a seventh of the time of their tests. Deriving the key of a passphrase is cheap, which its file says.
"""

import gc
from collections import Counter
from collections.abc import Iterator

import pytest

from aileron_tui.signing import pkcs8

_GARBAGE_THRESHOLDS = (20_000, 20, 50)
_CHEAP = 2**4


@pytest.fixture(scope="session", autouse=True)
def cheap_passphrases() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pkcs8.write, "__defaults__", (_CHEAP,))
        yield


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GARBAGE_THRESHOLDS)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    seen: Counter[str] = Counter()
    for item in items:
        if marker := item.get_closest_marker("few"):
            name = item.nodeid.partition("[")[0]
            seen[name] += 1
            if seen[name] > marker.args[0]:
                item.add_marker(pytest.mark.slow)
