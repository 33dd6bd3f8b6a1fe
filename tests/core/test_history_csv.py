"""Cells of a CSV file: text is never a formula."""

import pytest

from aileron_tui.core.history_csv import cell


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\t=1", "  =1", "\r=1", "|x", "%x"])
def test_a_cell_that_begins_like_a_formula_is_text(text: str) -> None:
    assert cell(text).startswith("'")


def test_other_cells_stay_as_they_are() -> None:
    assert [cell(value) for value in ("a=1", "", None, 1.5, -2)] == ["a=1", "", "", "1.5", "-2"]
