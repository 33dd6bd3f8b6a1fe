"""Closed schemas for TOML tables: a key that is unknown or has the wrong type is reported.

Thousands of manifests may be read, so the check is one pass over the parsed table and allocates nothing unless it finds
a problem. It changes the table: keys that do not fit are removed, so the remaining values have the right type.
"""

from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias

from aileron_tui.core.findings import Path, Problems
from aileron_tui.core.values import dataclass

Fields: TypeAlias = dict[
    str,
    "type | TableSchema | TableListSchema | NamedTablesSchema | StringListSchema | StringTableSchema | AnyTableSchema",
]

_MAX_DEPTH: Final = 32
_MAX_SUGGESTIONS: Final = 100


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table with these keys and no others."""

    fields: Fields

    def fits(self, value: Any, path: Path, problems: Problems) -> bool:
        if value.__class__ is not dict:
            return _wrong_type(value, "a table", path, problems)
        enforce_schema(value, self.fields, path, problems)
        return True


@dataclass(frozen=True, slots=True)
class TableListSchema:
    """An array of tables with these keys and no others. An item that is not a table becomes an empty one."""

    fields: Fields

    def fits(self, value: Any, path: Path, problems: Problems) -> bool:
        if value.__class__ is not list:
            return _wrong_type(value, "an array of tables", path, problems)
        for index, item in enumerate(value):
            if item.__class__ is dict:
                enforce_schema(item, self.fields, (*path, index), problems)
            else:
                _wrong_type(item, "a table", (*path, index), problems)
                value[index] = {}
        return True


@dataclass(frozen=True, slots=True)
class NamedTablesSchema:
    """A table of tables with these keys, under any names. An item that is not a table becomes an empty one."""

    fields: Fields

    def fits(self, value: Any, path: Path, problems: Problems) -> bool:
        if value.__class__ is not dict:
            return _wrong_type(value, "a table of tables", path, problems)
        for key, item in value.items():
            if item.__class__ is dict:
                enforce_schema(item, self.fields, (*path, key), problems)
            else:
                _wrong_type(item, "a table", (*path, key), problems)
                value[key] = {}
        return True


@dataclass(frozen=True, slots=True)
class StringListSchema:
    """An array of strings."""

    def fits(self, value: Any, path: Path, problems: Problems) -> bool:
        if value.__class__ is not list:
            return _wrong_type(value, "an array of strings", path, problems)
        fits = True
        for index, item in enumerate(value):
            if item.__class__ is not str:
                fits = _wrong_type(item, "a string", (*path, index), problems, dropped=path)
        return fits


@dataclass(frozen=True, slots=True)
class StringTableSchema:
    """A table of strings under any keys. A value that is not a string becomes "", so that its key is kept."""

    def fits(self, value: Any, path: Path, problems: Problems) -> bool:
        if value.__class__ is not dict:
            return _wrong_type(value, "a table of strings", path, problems)
        for key, item in value.items():
            if item.__class__ is not str:
                _wrong_type(item, "a string", (*path, key), problems)
                value[key] = ""
        return True


@dataclass(frozen=True, slots=True)
class AnyTableSchema:
    """A table of any values that JSON can represent."""

    def fits(self, value: Any, path: Path, problems: Problems) -> bool:
        if value.__class__ is not dict:
            return _wrong_type(value, "a table", path, problems)
        for key in [key for key, item in value.items() if item.__class__ is not str]:
            if odd := _not_json(value[key], (*path, key)):
                where, what = odd
                problems.add(where, "not-json", f"{dotted(where)} is {what}", "Write it as a quoted string.")
                del value[key]
        return True


_NAMES: Final[dict[type, str]] = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    list: "an array",
    dict: "a table",
}


def enforce_schema(table: dict[str, Any], fields: Fields, path: Path, problems: Problems) -> None:
    """Reports and removes every key of the table that is unknown or has the wrong type."""
    removed: list[str] = []
    for key, value in table.items():
        schema = fields.get(key)
        if schema is value.__class__:
            continue
        here = (*path, key)
        if schema is None:
            _unknown(here, fields, problems)
        elif isinstance(schema, type):
            _wrong_type(value, _NAMES[schema], here, problems)
        elif schema.fits(value, here, problems):
            continue
        removed.append(key)
    for key in removed:
        del table[key]


def dotted(path: Path) -> str:
    """Returns a path as text: `requires.connectors[0].hash`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def nearest(word: str, known: list[str]) -> str:
    """Returns the known word that is most similar, or ""."""
    from difflib import get_close_matches  # noqa: PLC0415  # only needed for an error

    return next(iter(get_close_matches(word.lower(), known, n=1, cutoff=0.6)), "")


def _unknown(path: Path, fields: Fields, problems: Problems) -> None:
    close = nearest(str(path[-1]), list(fields)) if problems.count < _MAX_SUGGESTIONS else ""
    fix = f'Did you mean "{close}"?' if close else f"Known keys are {', '.join(fields)}."
    problems.add(path, "unknown-key", f'"{dotted(path)}" is not a known key', fix)


def _wrong_type(
    value: object, wanted: str, path: Path, problems: Problems, dropped: Path | None = None
) -> Literal[False]:
    """Reports a value of the wrong type; `dropped` is the path that is removed because of it, if not `path` itself."""
    message = f"{dotted(path)} must be {wanted}, not {_NAMES.get(value.__class__, 'a date or time')}"
    problems.wrong_type(path, message, f"Write {wanted} here.", dropped)
    return False


def _not_json(value: Any, path: Path) -> tuple[Path, str] | None:
    if len(path) > _MAX_DEPTH:
        return path, f"nested deeper than {_MAX_DEPTH} levels"
    children: Iterable[tuple[str | int, Any]]
    if value.__class__ is dict:
        children = value.items()
    elif value.__class__ is list:
        children = enumerate(value)
    elif value.__class__ is float:
        return None if value - value == 0 else (path, "not a finite number, which JSON cannot represent")
    elif value.__class__ is int:
        return None if -(2**53) <= value <= 2**53 else (path, "too large to be exact in JSON")
    elif value.__class__ in (str, bool):
        return None
    else:
        return path, "a date or time, which JSON cannot represent"
    for key, item in children:
        if odd := _not_json(item, (*path, key)):
            return odd
    return None
