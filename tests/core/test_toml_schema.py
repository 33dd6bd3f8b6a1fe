"""Closed schemas: what does not fit is reported and removed."""

from datetime import date
from typing import Any

import pytest

from aileron_tui.core.findings import Problems, TomlSource
from aileron_tui.core.toml_schema import (
    AnyTableSchema,
    Fields,
    StringListSchema,
    StringTableSchema,
    TableListSchema,
    TableSchema,
    dotted,
    enforce_schema,
    nearest,
)

FIELDS: Fields = {
    "text": str,
    "flag": bool,
    "number": int,
    "table": TableSchema({"key": str}),
    "rows": TableListSchema({"key": str}),
    "words": StringListSchema(),
    "labels": StringTableSchema(),
    "free": AnyTableSchema(),
}


def findings_of(table: dict[str, Any]) -> list[str]:
    problems = Problems()
    enforce_schema(table, FIELDS, (), problems)
    return [f"{finding.rule}: {finding.message}" for finding in problems.findings(TomlSource("x"))]


def test_what_fits_is_kept() -> None:
    table = {
        "text": "",
        "flag": False,
        "number": 0,
        "table": {"key": "x"},
        "rows": [{}, {"key": "x"}],
        "words": ["a", "b"],
        "labels": {"any": "x"},
        "free": {"a": [1, 2.5, "x", {"b": True}]},
    }
    assert findings_of(table) == []
    assert list(table) == list(FIELDS)


@pytest.mark.parametrize(
    ("table", "finding", "left"),
    [
        ({"txt": 1}, 'unknown-key: "txt" is not a known key', {}),
        ({"text": 1}, "wrong-type: text must be a string, not an integer", {}),
        ({"flag": 1}, "wrong-type: flag must be a boolean, not an integer", {}),
        ({"number": True}, "wrong-type: number must be an integer, not a boolean", {}),
        ({"number": 1.0}, "wrong-type: number must be an integer, not a number", {}),
        ({"text": date(2026, 1, 1)}, "wrong-type: text must be a string, not a date or time", {}),
        ({"table": []}, "wrong-type: table must be a table, not an array", {}),
        ({"table": {"key": 1}}, "wrong-type: table.key must be a string, not an integer", {"table": {}}),
        ({"table": {"kay": 1}}, 'unknown-key: "table.kay" is not a known key', {"table": {}}),
        ({"rows": {}}, "wrong-type: rows must be an array of tables, not a table", {}),
        ({"rows": [{}, "x"]}, "wrong-type: rows[1] must be a table, not a string", {"rows": [{}, {}]}),
        ({"rows": [{"x": 1}]}, 'unknown-key: "rows[0].x" is not a known key', {"rows": [{}]}),
        ({"words": "a"}, "wrong-type: words must be an array of strings, not a string", {}),
        ({"words": ["a", 1]}, "wrong-type: words[1] must be a string, not an integer", {}),
        ({"labels": []}, "wrong-type: labels must be a table of strings, not an array", {}),
        ({"labels": {"a": 1}}, "wrong-type: labels.a must be a string, not an integer", {"labels": {"a": ""}}),
        ({"free": 1}, "wrong-type: free must be a table, not an integer", {}),
        (
            {"free": {"a": {"b": [date(2026, 1, 1)]}, "c": 1}},
            "not-json: free.a.b[0] is a date or time, which JSON cannot represent",
            {"free": {"c": 1}},
        ),
        (
            {"free": {"a": float("inf")}},
            "not-json: free.a is not a finite number, which JSON cannot represent",
            {"free": {}},
        ),
    ],
)
def test_what_does_not_fit_is_reported_and_removed(table: dict[str, Any], finding: str, left: dict[str, Any]) -> None:
    assert findings_of(table) == [finding]
    assert table == left


def test_depth_is_bounded() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    (finding,) = findings_of({"free": {"a": deep}})
    assert finding.endswith("nested deeper than 32 levels")


def test_a_value_of_the_wrong_type_is_not_also_missing() -> None:
    problems = Problems()
    enforce_schema({"table": 1, "words": [1], "rows": [1]}, FIELDS, (), problems)
    assert not problems.missing("", ("table",))
    assert not problems.missing("", ("table", "key"))
    assert not problems.missing((), ("words",))
    assert not problems.missing("", ("rows", 0, "key"))
    assert problems.missing("", ("rows", 1, "key"))
    assert problems.missing("", ("text",))
    assert not problems.missing("x", ("text",))


def test_paths_are_written_as_in_toml() -> None:
    assert dotted(("requires", "connectors", 0, "hash")) == "requires.connectors[0].hash"
    assert dotted(()) == ""


def test_the_nearest_word() -> None:
    known = ["name", "version", "multiline"]
    assert nearest("Name", known) == "name"
    assert nearest("multi_line", known) == "multiline"
    assert nearest("zzz", known) == ""
