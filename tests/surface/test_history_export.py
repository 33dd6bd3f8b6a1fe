"""Exports: private, whole or not at all, never over another file, harmless in a spreadsheet and a terminal."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from aileron_tui.core.jsontext import Json
from aileron_tui.runtime.errors import NoReply
from aileron_tui.surface.history_export import ExportError, ExportFormat, FileExists, export, export_format
from aileron_tui.surface.history_records import HistoryPage, read_page
from tests.console.history_gate import record, records
from tests.hostile import HOSTILE


def pages(*each: int) -> list[HistoryPage]:
    return [read_page({"items": [*records(count)], "next": None}) for count in each]


def test_json_lines_are_all_there_and_private(tmp_path: Path) -> None:
    path = tmp_path / "past.jsonl"
    seen: list[int] = []
    assert export(pages(3, 2), path, progress=seen.append) == 5
    assert [json.loads(line)["seq"] for line in path.read_text().splitlines()] == [3, 2, 1, 2, 1]
    assert path.stat().st_mode & 0o777 == 0o600
    assert seen == [3, 5]
    assert [one.name for one in tmp_path.iterdir()] == ["past.jsonl"]


def test_csv_has_a_heading_and_a_row_each(tmp_path: Path) -> None:
    path = tmp_path / "past.CSV"
    assert export(pages(2), path) == 2
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == ["act-000002", "act-000001"]
    assert rows[0]["took"] == "0.4"


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_hostile_text_does_nothing_to_a_terminal_or_a_spreadsheet(tmp_path: Path, suffix: str) -> None:
    texts = [*HOSTILE.values(), "=1+1", "  =1+1", "@x", "-2", "\t=x"]
    items: list[Json] = [record(place, changes={"reason": text}) for place, text in enumerate(texts)]
    path = tmp_path / f"past.{suffix}"
    export([read_page({"items": items, "next": None})], path)
    data = path.read_bytes()
    assert not set(data) & (set(range(0x20)) - {0x0A, 0x0D}) | set(data) & {0x7F}
    if suffix == "csv":
        with path.open(newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "|", "%"))]


def test_no_file_is_replaced_unasked(tmp_path: Path) -> None:
    path = tmp_path / "past.csv"
    path.write_text("precious")
    with pytest.raises(FileExists):
        export(pages(1), path)
    assert path.read_text() == "precious"
    export(pages(1), path, replace=True)
    assert path.read_text() != "precious"
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("replace", [False, True])
def test_no_link_is_followed(tmp_path: Path, replace: bool) -> None:
    target = tmp_path / "target.csv"
    target.write_text("precious")
    link = tmp_path / "past.csv"
    link.symlink_to(target)
    with pytest.raises(ExportError):
        export(pages(1), link, replace=replace)
    assert target.read_text() == "precious"


@pytest.mark.parametrize("name", ["no/such/folder/past.csv", "past.txt", "past", "folder.csv"])
def test_what_cannot_be_written_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ExportError) as caught:
        export(pages(1), tmp_path / name, replace=True)
    assert caught.value.hint


def test_a_half_written_file_is_thrown_away(tmp_path: Path) -> None:
    def broken() -> Iterator[HistoryPage]:
        yield pages(2)[0]
        raise NoReply("the connection broke")

    with pytest.raises(NoReply):
        export(broken(), tmp_path / "past.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "past.csv"

    def appears(_: int) -> None:
        path.write_text("precious")

    with pytest.raises(FileExists):
        export(pages(1), path, progress=appears)
    assert path.read_text() == "precious"


@pytest.mark.parametrize(
    ("name", "kind"), [("a.jsonl", ExportFormat.JSONL), ("a.CSV", ExportFormat.CSV), ("a.txt", None), ("", None)]
)
def test_the_extension_chooses_the_format(name: str, kind: ExportFormat | None) -> None:
    assert export_format(name) is kind
