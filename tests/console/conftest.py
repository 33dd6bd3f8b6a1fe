"""Prompts count as read sooner than for a person, so that these tests do not wait."""

import pytest

from aileron_tui.console.widgets.prompt_view import PromptView


@pytest.fixture(autouse=True)
def quick_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PromptView, "DWELL_SECONDS", 0.03)
