"""Prompts count as read sooner than for a person, and every style sheet is parsed only once for all consoles."""

from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet

from aileron_tui.console.widgets.prompt_view import PromptView

_parse = Stylesheet._parse_rules
_parsed: dict[tuple[object, ...], list[Any]] = {}


def _parse_once(sheet: Stylesheet, css: str, read_from: Any, *values: Any, **options: Any) -> list[Any]:
    """Parses rules, or returns those of the same text with the same variables. Textual itself keeps only a few."""
    key = (_variables(sheet), css, read_from, values, *options.items())
    if (rules := _parsed.get(key)) is None:
        rules = _parsed[key] = _parse(sheet, css, read_from, *values, **options)
    return rules


def _variables(sheet: Any) -> tuple[tuple[str, str], ...]:
    """The variables of a sheet, which are replaced as a whole."""
    known = getattr(sheet, "_known_variables", None)
    if known is None or known[0] is not sheet._variables:
        known = sheet._known_variables = (sheet._variables, tuple(sorted(sheet._variables.items())))
    return known[1]


@pytest.fixture(scope="session", autouse=True)
def parsed_styles() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", _parse_once)
        yield


@pytest.fixture(autouse=True)
def quick_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PromptView, "DWELL_SECONDS", 0.03)
