"""Marks repeats as slow, which `make test` leaves out and `make check` runs.

Of a test that starts a console, a gate or a process for each of its cases, `make test` runs the first case; of a test
with `few(n)`, the first n. What takes minutes comes first, so that no worker is left alone with it at the end.

Garbage is looked for less often than usual, and not in what the tests have imported: consoles make so many objects that
this takes a seventh of the time of their tests. Deriving the key of a passphrase is cheap, which its file says. The
keyring of the machine is never used.
"""

import gc
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from aileron_tui.files import boot_clock
from aileron_tui.signing import pkcs8

os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
_GARBAGE_THRESHOLDS = (20_000, 20, 50)
_CHEAP = 2**4
_TESTS = Path(__file__).parent
_STARTING = frozenset(("console", "daemon", "e2e", "gate", "gated", "page", "runtime"))
"""The folders with tests that start something for each case."""


@pytest.fixture(scope="session", autouse=True)
def cheap_passphrases() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pkcs8.write, "__defaults__", (_CHEAP,))
        yield


@pytest.fixture(params=["reported start", "no /proc"])
def boot(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of the start of a machine, on one that reports it and on one that does not."""
    if request.param == "no /proc":
        monkeypatch.setattr(boot_clock, "_BOOT_ID", Path("/nonexistent"))
        monkeypatch.setattr(boot_clock, "_from_sysctl", lambda: "")
    return boot_clock.boot_id()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GARBAGE_THRESHOLDS)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    seen: Counter[str] = Counter()
    for item in items:
        marker = item.get_closest_marker("few")
        most = marker.args[0] if marker else 1 if item.path.relative_to(_TESTS).parts[0] in _STARTING else None
        if most is not None:
            name = item.nodeid.partition("[")[0]
            seen[name] += 1
            if seen[name] > most:
                item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.get_closest_marker("first") is None)
