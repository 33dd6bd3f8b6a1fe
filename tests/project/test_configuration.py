"""docs/configuration.md is generated, complete and up to date."""

from pathlib import Path

import pytest

from aileron_tui.console.settings import THEMES
from aileron_tui.core.risk import RiskLevel
from aileron_tui.files.config_schema import SCHEMA, TABLES, RiskConfig
from tools import configuration


def test_the_page_is_up_to_date() -> None:
    written = configuration.DOCUMENT.read_text(encoding="utf-8")
    assert written == configuration.document(), "out of date: run make configuration"


def test_every_table_has_a_section_with_an_example() -> None:
    headers = {table.header.strip("[]").partition(".")[0] for table in TABLES if table.header}
    at_the_top = {key.name for table in TABLES if not table.header for key in table.keys}
    assert headers | at_the_top == set(SCHEMA)
    for table in TABLES:
        assert any(key.example for key in table.keys), table.header
        assert all(key.meaning.endswith(".") for key in table.keys), table.header


def test_the_page_names_every_theme_and_risk_level() -> None:
    page = configuration.document()
    assert all(f"`{theme}`" in page for theme in THEMES)
    (level,) = (key for table in TABLES if table.definition is RiskConfig for key in table.keys if key.name == "level")
    assert level.choices == tuple(RiskLevel)


def test_check_reports_a_stale_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configuration, "DOCUMENT", tmp_path / "configuration.md")
    monkeypatch.setattr("sys.argv", ["configuration", "--check"])
    assert configuration.main() == 1
    monkeypatch.setattr("sys.argv", ["configuration"])
    assert configuration.main() == 0
    monkeypatch.setattr("sys.argv", ["configuration", "--check"])
    assert configuration.main() == 0
