"""The hostile corpus for tests on a whole screen, where every text costs time."""

import pytest

from tests.hostile import HOSTILE, WORST


def hostile_texts(parts: int, *, once: bool = False) -> pytest.MarkDecorator:
    """Calls a test with the worst texts as `texts`, and, marked as slow, with all texts in so many parts.

    With `once`, the parts leave out the worst, which the first call has shown already. It is for tests that do the same
    with every text, whatever its position.
    """
    everything = [
        pytest.param(
            {name: text for name, text in list(HOSTILE.items())[part::parts] if not (once and name in WORST)},
            id=f"part {part + 1} of {parts}",
            marks=pytest.mark.slow,
        )
        for part in range(parts)
    ]
    return pytest.mark.parametrize("texts", [pytest.param(WORST, id="worst"), *everything])


def carried(text: str) -> str:
    """The text as JSON can carry it: without half a surrogate."""
    return text.encode("utf-8", "replace").decode()
