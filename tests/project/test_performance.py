"""docs/performance.md and its chart are true to the run that is kept beside them."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from benchmarks import names
from tools import performance


@pytest.fixture
def kept() -> dict[str, Any]:
    return performance.read(performance.KEPT)


def test_the_page_and_the_chart_are_up_to_date(kept: dict[str, Any]) -> None:
    assert performance.DOCUMENT.read_text("utf-8") == performance.document(kept), "out of date: run make performance"
    assert performance.CHART.read_text("utf-8") == performance.chart(kept), "out of date: run make performance"


def test_every_benchmark_and_every_figure_is_on_the_page(kept: dict[str, Any]) -> None:
    page = performance.document(kept)
    assert set(performance._SECTIONS) == set(names())
    for one in kept["benchmarks"]:
        for result in one["results"]:
            assert f"| {result['title']} |" in page


def test_a_miss_and_a_disturbed_measurement_are_marked(kept: dict[str, Any]) -> None:
    run = deepcopy(kept)
    for one in run["benchmarks"]:
        for result in one["results"]:
            result |= {"good": True, "disturbed": False}
    assert "**missed**" not in performance.document(run)
    run["benchmarks"][0]["results"][0] |= {"good": False, "disturbed": True}
    page = performance.document(run)
    assert page.count("| **missed**, disturbed |") == 1
    assert "1 over the limit" in page
    assert "during 1 of them" in page


def test_the_chart_has_a_curve_for_everything_that_grows(kept: dict[str, Any]) -> None:
    drawn = ET.fromstring(performance.chart(kept))
    texts = {text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert {"moving", "filtering", "first page", "search for one", "10,000", "limit"} <= texts


def test_a_run_of_some_benchmarks_makes_no_page(
    kept: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept["benchmarks"] = [one for one in kept["benchmarks"] if one["name"] != "hook"]
    monkeypatch.setattr(performance, "RUN", tmp_path / "run.json")
    (tmp_path / "run.json").write_text(json.dumps(kept), "utf-8")
    monkeypatch.setattr("sys.argv", ["performance"])
    assert performance.main() == 1
    assert "no results of hook: run make bench" in capsys.readouterr().err


def test_a_run_is_kept_beside_its_page(kept: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DOCUMENT", "CHART", "KEPT", "RUN"):
        monkeypatch.setattr(performance, name, tmp_path / getattr(performance, name).name)
    performance.RUN.write_text(json.dumps(kept), "utf-8")
    monkeypatch.setattr("sys.argv", ["performance"])
    assert performance.main() == 0
    assert performance.read(performance.KEPT) == kept
    monkeypatch.setattr("sys.argv", ["performance", "--check"])
    assert performance.main() == 0
    performance.DOCUMENT.write_text("old", "utf-8")
    assert performance.main() == 1
