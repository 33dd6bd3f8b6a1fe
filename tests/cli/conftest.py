"""What several tests of the command line use."""

import pytest

from aileron_tui.cli import question_answers


@pytest.fixture
def quick_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers on a terminal count after a shorter time."""
    monkeypatch.setattr(question_answers, "ALONE_SECONDS", 0.05)
