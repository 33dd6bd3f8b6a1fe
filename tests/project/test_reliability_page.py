"""docs/reliability.md says what the report of the soak and the file of runs say."""

import copy
import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from tools import reliability

RUN: dict[str, Any] = {
    "test": "chaos",
    "date": dt.date(2026, 5, 14),
    "machine": "2 cores",
    "rounds": 500,
    "violations": 3,
    "seconds": 1234,
}


@pytest.fixture
def soak() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(reliability.SOAK.read_text(encoding="utf-8"))
    return found


def test_the_page_is_up_to_date() -> None:
    written = reliability.DOCUMENT.read_text(encoding="utf-8")
    assert written == reliability.document(), "out of date: run make reliability"


def test_the_soak_on_the_page_violated_nothing(soak: dict[str, Any]) -> None:
    assert soak["violations"] == []
    assert [check["what"] for check in soak["checks"] if check["passed"] is False] == []


def test_every_figure_of_the_soak_is_on_the_page(soak: dict[str, Any]) -> None:
    page = reliability.page(soak, [])
    for case, count in soak["calls"].items():
        assert f"| {count:,} | {case} |" in page
    for row in soak["growth"]:
        assert f"| {row['first']:,.1f} | {row['last']:,.1f} | {row['limit']:,.1f} |" in page
    assert f"| {soak['minutes'][-1]['minute']} | {soak['minutes'][-1]['calls']:,} |" in page
    assert "Nothing was violated." in page


def test_a_violation_is_said(soak: dict[str, Any]) -> None:
    broken = copy.deepcopy(soak)
    broken["violations"] = ["act-1 ran twice"]
    broken["checks"][0]["passed"] = False
    page = reliability.page(broken, [])
    assert "**It found 1 violation.**" in page
    assert "Nothing was violated." not in page
    assert "**no**" in page


def test_a_long_soak_has_few_rows_up_to_its_end(soak: dict[str, Any]) -> None:
    soak["minutes"] = [{**soak["minutes"][0], "minute": minute} for minute in range(1, 46)]
    rows = reliability.page(soak, []).partition("#### By time")[2].partition("\n## ")[0]
    minutes = [int(line.split(" | ")[0].strip("| ")) for line in rows.splitlines() if line[:3].strip("| ").isdigit()]
    assert len(minutes) <= reliability.MOST_ROWS
    assert minutes[-1] == 45


def test_figures_of_runs_are_on_the_page(soak: dict[str, Any]) -> None:
    assert "| 2026-05-14 | 2 cores | 500 | 3 | 1,234 |" in reliability.page(soak, [RUN])


@pytest.mark.parametrize("change", [{"test": "luck"}, {"rouds": 1}, {"date": "yesterday"}], ids=str)
def test_a_run_that_cannot_be_shown_is_refused(soak: dict[str, Any], change: dict[str, Any]) -> None:
    with pytest.raises(reliability.BadRuns):
        reliability.page(soak, [RUN | change])


def test_check_reports_a_stale_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reliability, "DOCUMENT", tmp_path / "reliability.md")
    monkeypatch.setattr("sys.argv", ["reliability", "--check"])
    assert reliability.main() == 1
    monkeypatch.setattr("sys.argv", ["reliability"])
    assert reliability.main() == 0
    monkeypatch.setattr("sys.argv", ["reliability", "--check"])
    assert reliability.main() == 0
