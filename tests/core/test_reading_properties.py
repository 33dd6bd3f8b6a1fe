"""Properties of all readers: only our own errors, right positions, one pass, one canonical form."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest
import tomli
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aileron_tui.core.action import _FIELDS as ACTION
from aileron_tui.core.action import Input, read_action
from aileron_tui.core.bundle import BundledConnector, check_bundle
from aileron_tui.core.connector import read_connector
from aileron_tui.core.fieldpath import count_others, find
from aileron_tui.core.findings import Path, Problems, Reading, Severity, TomlSource
from aileron_tui.core.interpolation import interpolate, missing_args
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical, compact, plain, read
from aileron_tui.core.mcp_policy import policy_reading
from aileron_tui.core.preview_directive import PreviewDirective
from aileron_tui.core.prompt_rows import input_rows, preview_rows
from aileron_tui.core.suite import read_suite
from aileron_tui.core.toml_positions import Position, last_key, locate
from aileron_tui.core.toml_schema import (
    AnyTableSchema,
    Fields,
    StringListSchema,
    StringTableSchema,
    TableListSchema,
    TableSchema,
    enforce_schema,
)
from tests.corpus.cases import base

READERS: list[Callable[[bytes | str, str], Reading[Any]]] = [read_action, read_connector, read_suite, policy_reading]
CALM = settings(deadline=None)  # a busy machine is no fault
SEEDS = [text for kind in ("action", "connector", "suite", "policy", "bundle") for text in base(kind).values()]
JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
OBJECTS: st.SearchStrategy[JsonObject] = st.dictionaries(st.text(max_size=5) | st.sampled_from("abc"), JSON, max_size=4)


def judge(reading: Reading[Any], lines: int) -> None:
    """Asserts what is true for every reading of a file."""
    errors = [finding for finding in reading.findings if finding.severity is Severity.ERROR]
    assert (reading.value is None) == bool(errors)
    for finding in reading.findings:
        assert 0 <= finding.line <= lines + 1
        assert (finding.column > 0) == (finding.line > 0)
        assert finding.rule
        assert finding.message
        assert finding.fix


# What is wrong is found, and nothing is raised.


@pytest.mark.parametrize("reader", READERS)
@given(data=st.binary() | st.text() | st.text().map("+++\n{}\n+++\n".format))
@CALM
def test_any_bytes_and_any_text_are_read(reader: Callable[[bytes | str, str], Reading[Any]], data: bytes | str) -> None:
    breaks = data.count("\n") if isinstance(data, str) else data.count(b"\n")
    judge(reader(data, "x"), breaks + 1)


VALUES = ["1", "[]", "{}", "[{}]", '""', "nan", "07:30", "true", '"${args.x}"', "[1]"]


@st.composite
def mutants(draw: st.DrawFn) -> str:
    """A good manifest with lines and characters taken out, doubled, moved or replaced."""
    lines = draw(st.sampled_from(SEEDS)).split("\n")
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["out", "twice", "move", "character", "snippet", "value"])):
            case "out":
                del lines[at : at + draw(st.integers(1, 3))]
                lines = lines or [""]
            case "twice":
                lines.insert(draw(st.integers(0, len(lines))), lines[at])
            case "move":
                lines.append(lines.pop(at))
            case "character":
                column = draw(st.integers(0, len(lines[at])))
                lines[at] = lines[at][:column] + draw(st.text(max_size=2)) + lines[at][column + 1 :]
            case "snippet":
                column = draw(st.integers(0, len(lines[at])))
                odd = draw(st.sampled_from(["[", "]]", "{", "}", '"""', "'''", '"', "=", ".", "#", "\\", "\0", "+++"]))
                lines[at] = lines[at][:column] + odd + lines[at][column:]
            case "value":
                value = draw(
                    st.sampled_from(["1", "[]", "{}", "[{}]", '""', "nan", "07:30", "true", '"${args.x}"', "[1]"])
                )
                lines[at] = lines[at].split("=")[0] + "= " + value
    return "\n".join(lines)


@pytest.mark.parametrize("reader", READERS)
@given(text=mutants())
@CALM
def test_damaged_manifests_are_read(reader: Callable[[bytes | str, str], Reading[Any]], text: str) -> None:
    judge(reader(text, "x"), text.count("\n") + 1)
    judge(reader(text.encode(), "x"), text.count("\n") + 1)


@given(actions=st.lists(mutants(), max_size=4), connectors=st.lists(mutants(), max_size=2))
@CALM
def test_bundles_of_damaged_manifests_are_checked(actions: list[str], connectors: list[str]) -> None:
    readings = [read_action(text, f"{index}.md") for index, text in enumerate(actions)]
    packages = [
        BundledConnector(read_connector(text, f"{index}.toml"), "sha256:0") for index, text in enumerate(connectors)
    ]
    bundle = check_bundle(readings, packages)
    rejected = {finding.file for finding in bundle.findings if finding.severity is Severity.ERROR}
    stay = {reading.value.name for reading in readings if reading.value and reading.source.file not in rejected}
    assert set(bundle.actions) == stay
    assert len(bundle.findings) >= sum(len(reading.findings) for reading in readings)


# Places.

BARE = st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True)
NAMES = st.lists(
    BARE | st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=6), max_size=3, unique=True
)
ODD = ["#", "[x]", "= 1", "]", "}", ",", "'", '"', "\\", "'''", '"""', "\n", "\nkey = 1\n", "\n[table]\n", "é😀"]
SCALARS = ["1", "-2.5", "true", "inf", "0x1F", "2026-01-31", "2026-01-31 10:00:00Z", "07:30:00", "1e5"]
SPACE = ["", " ", "\n  ", " # a comment ] } ,\n\t"]


@dataclass
class Document:
    """A random TOML document that knows where each key was written."""

    draw: st.DrawFn
    text: str = ""
    places: dict[Path, Position] = field(default_factory=dict)

    def choose(self, choices: list[str]) -> str:
        return self.draw(st.sampled_from(choices))

    def mark(self, *paths: Path) -> None:
        place = Position(self.text.count("\n") + 1, len(self.text) - self.text.rfind("\n"))
        for path in paths:
            self.places.setdefault(path, place)

    def key(self, name: str) -> None:
        bare = [name] if name.isascii() and name.replace("_", "a").replace("-", "a").isalnum() else []
        literal = [] if "'" in name else [f"'{name}'"]
        self.text += self.choose([json.dumps(name, ensure_ascii=False), *bare, *literal])

    def string(self) -> None:
        value = "".join(self.draw(st.lists(st.sampled_from(ODD) | BARE, max_size=5)))
        inside = json.dumps(value, ensure_ascii=False)[1:-1]
        forms = [f'"{inside}"', '"""' + inside.replace("\\n", "\n") + '"""']
        if "'" not in value:
            forms += [f"'''{value}'''"] if "\n" in value else [f"'''{value}'''", f"'{value}'"]
        self.text += self.choose(forms)

    def value(self, path: Path, depth: int = 0) -> None:
        match self.choose(["string", "scalar"] if depth > 2 else ["string", "scalar", "array", "table"]):
            case "string":
                self.string()
            case "scalar":
                self.text += self.choose(SCALARS)
            case "array":
                self.items("[", "]", [(*path, index) for index in range(self.draw(st.integers(0, 3)))], depth)
            case "table":
                self.items("{", "}", [(*path, name) for name in self.draw(NAMES)], depth)

    def items(self, opener: str, closer: str, paths: list[Path], depth: int) -> None:
        self.text += opener
        for path in paths:
            self.text += self.choose(SPACE)
            if opener == "[":
                self.mark(path)
                self.value(path, depth + 1)
            else:
                self.pair(path, depth + 1)
            self.text += self.choose(SPACE) + ("," if path != paths[-1] else self.choose(["", ","]))
        self.text += self.choose(SPACE) + closer

    def pair(self, path: Path, depth: int = 0) -> None:
        dotted = (*path, "dotted")
        self.mark(path)
        self.key(str(path[-1]))
        if self.choose(["plain", "dotted"]) == "dotted":
            self.places.setdefault(dotted, self.places[path])
            self.text += self.choose([".", " . "])
            self.key("dotted")
            path = dotted
        self.text += self.choose(["=", " = ", "\t="])
        self.value(path, depth)

    def pairs(self, table: Path, reserved: set[str]) -> None:
        for name in self.draw(NAMES):
            if name not in reserved:
                self.text += self.choose(["", "  ", "\n", "# name = 1\n"])
                self.pair((*table, name))
                self.text += self.choose(["\n", "  # [a comment]\n", "\r\n"])

    def header(self, brackets: str, names: list[str], *paths: Path) -> None:
        self.text += brackets + self.choose(["", " "])
        self.mark(*paths)
        for index, name in enumerate(names):
            self.text += "." if index else ""
            self.key(name)
        self.text += self.choose(["", " "]) + "]" * len(brackets) + self.choose(["\n", " # [x]\n"])


@st.composite
def documents(draw: st.DrawFn) -> Document:
    document = Document(draw)
    tables = draw(NAMES)
    document.pairs((), {*tables, "sub"})
    for name in tables:
        count = draw(st.integers(0, 3))
        for index in range(count or 1):
            here: Path = (name, index) if count else (name,)
            document.header("[[" if count else "[", [name], (name,), here)
            document.pairs(here, {"sub"})
            if draw(st.booleans()):
                document.header("[", [name, "sub"], (*here, "sub"))
                document.pairs((*here, "sub"), set())
    return document


def key_paths(value: Any, path: Path = ()) -> Iterator[Path]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in children:
        yield (*path, key)
        yield from key_paths(item, (*path, key))


@given(documents())
@settings(CALM, max_examples=200)
def test_every_key_is_found_where_it_was_written(document: Document) -> None:
    found = locate(document.text)
    assert set(key_paths(tomli.loads(document.text))) == set(document.places), "the made-up document is what it says"
    assert {path: found.get(path) for path in document.places} == document.places


@given(documents(), st.integers(0, 2000))
@CALM
def test_part_of_a_document_can_be_scanned(document: Document, end: int) -> None:
    locate(document.text[:end])
    line, column = last_key(document.text[:end])
    assert 1 <= line <= document.text.count("\n") + 1
    assert column >= 1


@given(st.text(st.sampled_from("ab=.[]{}\"'\\#, \t\r\n1é")) | st.text())
@example('"""')
@example("'''" * 1000)
@example("[[[[" * 2000)
@example("a = {" * 2000)
@example("}]=,")
@CALM
def test_any_text_is_scanned_to_its_end(text: str) -> None:
    for path, (line, column) in locate(text).items():
        assert path
        assert 1 <= line <= text.count("\n") + 1
        assert 1 <= column <= len(text) + 1


# Closed schemas.

LEAVES = st.text(max_size=3) | st.booleans() | st.integers() | st.floats() | st.dates()
KEYS = st.sampled_from(
    [*ACTION, "connectors", "capabilities", "hash", "intent", "preview", "op", "args", "render", "x"]
)
TABLES = st.dictionaries(
    KEYS,
    st.recursive(
        LEAVES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
        max_leaves=10,
    ),
    max_size=6,
)


def fits(value: Any, shape: object) -> bool:
    match shape:
        case type():
            return type(value) is shape
        case TableSchema(fields):
            return isinstance(value, dict) and all_fit(value, fields)
        case TableListSchema(fields):
            return isinstance(value, list) and all(isinstance(item, dict) and all_fit(item, fields) for item in value)
        case StringListSchema():
            return isinstance(value, list) and all(isinstance(item, str) for item in value)
        case StringTableSchema():
            return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
        case AnyTableSchema():
            json.dumps(value, allow_nan=False)
            return isinstance(value, dict)
        case _:
            return False


def all_fit(table: dict[str, Any], fields: Fields) -> bool:
    return all(key in fields and fits(value, fields[key]) for key, value in table.items())


@given(TABLES)
@settings(CALM, max_examples=200)
def test_only_what_fits_is_left(table: dict[str, Any]) -> None:
    before = all_fit(json.loads(json.dumps(table, default=str)), ACTION) and json.dumps(table, default=repr)
    problems = Problems()
    enforce_schema(table, ACTION, (), problems)
    assert all_fit(table, ACTION)
    if not problems.any:
        assert json.dumps(table, default=repr) == before
    assert len(problems.findings(TomlSource("x"))) == problems.count


# Paths, templates and rows.


@given(JSON, st.text() | st.lists(st.text(max_size=5) | st.sampled_from("abc012"), max_size=5).map(".".join))
@CALM
def test_paths_never_raise(value: Json, path: str) -> None:
    found = find(value, path)
    assert count_others(value, [match.location for match in found]) <= count_others(value, [])
    if path == "":
        assert found == []


@given(OBJECTS, st.data())
@CALM
def test_every_object_key_without_a_dot_is_reached(value: JsonObject, data: st.DataObject) -> None:
    for key, item in value.items():
        if "." not in key and key:
            assert [match.value for match in find(value, key)] == [item]


TOKENS = st.from_regex(r"[a-z][a-z0-9_]{0,3}", fullmatch=True)


@given(JSON, st.dictionaries(TOKENS, JSON, max_size=4))
@CALM
def test_interpolation_never_raises(template: Json, args: JsonObject) -> None:
    interpolate({"a": template}, args)
    assert all(args.get(name) is None for name in missing_args(template, args))


@given(
    st.lists(st.tuples(st.text(st.characters(exclude_characters="$"), max_size=4), TOKENS), max_size=5),
    st.dictionaries(TOKENS, st.text(max_size=8) | TOKENS.map("${{args.{}}}".format) | TOKENS.map("args.{}}}".format)),
)
@example([("", "a"), ("", "b")], {"a": "${args.b}", "b": "${args.a}"})
@CALM
def test_inserted_text_is_never_scanned_again(parts: list[tuple[str, str]], args: dict[str, str]) -> None:
    template = "".join(f"{text}${{args.{name}}}" for text, name in parts)
    if all(name in args for _, name in parts):
        wanted: JsonObject = {"a": "".join(text + args[name] for text, name in parts)}
    else:
        wanted = {}
    assert interpolate({"a": template}, dict(args)) == wanted


@given(OBJECTS, st.lists(st.sampled_from("abc"), unique=True), st.booleans())
@CALM
def test_every_value_that_was_sent_has_one_row(args: JsonObject, declared: list[str], required: bool) -> None:
    rows = input_rows([Input(name, "string", "x", required) for name in declared], args)
    sent = [name for name, value in args.items() if value is not None]
    assert sorted(row.label for row in rows if not row.missing) == sorted(sent)
    assert {row.label for row in rows if row.missing} == ({*declared} - {*sent} if required else set())


@given(JSON, st.lists(st.tuples(st.text(max_size=3), st.text(max_size=5)), max_size=4))
@CALM
def test_every_path_of_a_preview_has_one_row(answer: Json, render: list[tuple[str, str]]) -> None:
    rows, hidden = preview_rows(PreviewDirective("x", {}, tuple(render), frozenset()), answer)
    labels = [row.label for row in rows]
    assert [label for label, _ in render] == labels or any(" of " in label or " values)" in label for label in labels)
    assert hidden >= 0
    assert all(row.value == "" for row in rows if row.missing)


# JSON.


@given(st.binary() | st.text() | JSON.map(json.dumps) | st.text(st.sampled_from('[]{}:,"\\ud8 0dc1e-+.tfn')))
@example('{"a":1,"a":2}')
@example('"\\ud800"')
@example("[" * 100_000)
@CALM
def test_reading_json_raises_only_our_error(data: bytes | str) -> None:
    with suppress(JsonError):
        assert read(data) == json.loads(data)


@given(JSON)
@example(1e20)
@example(-1.5e16)
@example(2.0**60)
@example(5e-324)
@example(-0.0)
@CALM
def test_canonical_json_has_one_form(value: Json) -> None:
    try:
        once = canonical(value)
    except JsonError:
        return
    assert canonical(read(once)) == once
    assert json.loads(once, parse_int=float) == json.loads(json.dumps(value), parse_int=float)


NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?", fullmatch=True)


@given(NUMBERS)
@CALM
def test_numbers_are_shown_plainly_as_they_were_written(text: str) -> None:
    shown = plain(read(text))
    assert shown == compact(read(text))
    assert set(shown) <= set("-0123456789.")
    assert Decimal(shown) == Decimal(text)
    if "e" not in text.lower() and text != "-0":
        assert shown == text


@given(JSON)
@CALM
def test_what_is_shown_of_a_container_reads_back(value: Json) -> None:
    if not isinstance(value, str):
        wanted = json.loads(json.dumps(value), parse_int=float)
        assert json.loads(plain(value), parse_int=float) == json.loads(compact(value), parse_int=float) == wanted
