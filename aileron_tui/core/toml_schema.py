"""Closed schemas for TOML tables: every key is known and has one type, or it is reported.

Manifests are read by the thousand, so the check is one pass over the decoded table that allocates nothing while all
is well. It takes the table over: what does not fit is taken out, and what is left can be trusted to have its type.
"""

from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias

from aileron_tui.core.findings import Path, Problems
from aileron_tui.core.values import dataclass

Fields: TypeAlias = dict[
    str,
    "type | TableSchema | TableListSchema | NamedTablesSchema | StringListSchema | StringTableSchema | AnyTableSchema",
]

_DEEPEST: Final = 32
_GUESSES: Final = 100


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table with these keys and no others."""

    fields: Fields

    def fits(self, value: Any, path: Path, problems: Problems) -> bool:
        if value.__class__ is not dict:
            return _misfit(value, "a table", path, problems)
        conform(value, self.fields, path, problems)
        return True


@dataclass(frozen=True, slots=True)
class TableListSchema:
    """An array of tables with these keys and no others. An item that is none becomes an empty one."""

    fields: Fields

    def fits(self, value: Any, path: Path, problems: Problems) -> bool:
        if value.__class__ is not list:
            return _misfit(value, "an array of tables", path, problems)
        for index, item in enumerate(value):
            if item.__class__ is dict:
                conform(item, self.fields, (*path, index), problems)
            else:
                _misfit(item, "a table", (*path, index), problems)
                value[index] = {}
        return True


@dataclass(frozen=True, slots=True)
class NamedTablesSchema:
    """A table of tables with these keys, under names of the author's choice."""

    fields: Fields
    name = "a table of tables"

    def fits(self, value: Any, path: Path, problems: Problems) -> bool:
        if value.__class__ is not dict or any(item.__class__ is not dict for item in value.values()):
            return False
        for key, item in value.items():
            conform(item, self.fields, (*path, key), problems)
        return True


@dataclass(frozen=True, slots=True)
class StringListSchema:
    """An array of strings."""

    def fits(self, value: Any, path: Path, problems: Problems) -> bool:
        if value.__class__ is not list:
            return _misfit(value, "an array of strings", path, problems)
        fits = True
        for index, item in enumerate(value):
            if item.__class__ is not str:
                fits = _misfit(item, "a string", (*path, index), problems, dropped=path)
        return fits


@dataclass(frozen=True, slots=True)
class StringTableSchema:
    """A table of strings under keys of the author's choice. A value that is none becomes "", so that its key stays."""

    def fits(self, value: Any, path: Path, problems: Problems) -> bool:
        if value.__class__ is not dict:
            return _misfit(value, "a table of strings", path, problems)
        for key, item in value.items():
            if item.__class__ is not str:
                _misfit(item, "a string", (*path, key), problems)
                value[key] = ""
        return True


@dataclass(frozen=True, slots=True)
class AnyTableSchema:
    """A table of any values that JSON can carry."""

    def fits(self, value: Any, path: Path, problems: Problems) -> bool:
        if value.__class__ is not dict:
            return _misfit(value, "a table", path, problems)
        for key in [key for key, item in value.items() if item.__class__ is not str]:
            if odd := _foreign_to_json(value[key], (*path, key)):
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


def conform(table: dict[str, Any], fields: Fields, path: Path, problems: Problems) -> None:
    """Reports and removes every key of the table that is unknown or of the wrong type."""
    misfits: list[str] = []
    for key, value in table.items():
        shape = fields.get(key)
        if shape is value.__class__:
            continue
        here = (*path, key)
        if shape is None:
            _unknown(here, fields, problems)
        elif isinstance(shape, type):
            _misfit(value, _NAMES[shape], here, problems)
        elif shape.fits(value, here, problems):
            continue
        misfits.append(key)
    for key in misfits:
        del table[key]


def dotted(path: Path) -> str:
    """A path as an author writes it: `requires.connectors[0].hash`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def nearest(word: str, known: list[str]) -> str:
    """The known word that this one was probably meant to be, or ""."""
    from difflib import get_close_matches  # noqa: PLC0415  # only on the way to an error

    return next(iter(get_close_matches(word.lower(), known, n=1, cutoff=0.6)), "")


def _unknown(path: Path, fields: Fields, problems: Problems) -> None:
    close = nearest(str(path[-1]), list(fields)) if problems.count < _GUESSES else ""
    fix = f'Did you mean "{close}"?' if close else f"Known here: {', '.join(fields)}."
    problems.add(path, "unknown-key", f'"{dotted(path)}" is not a known key', fix)


def _misfit(value: object, wanted: str, path: Path, problems: Problems, dropped: Path | None = None) -> Literal[False]:
    """Reports a value of the wrong type; `dropped` is what has to go because of it, if that is more than the value."""
    message = f"{dotted(path)} must be {wanted}, not {_NAMES.get(value.__class__, 'a date or time')}"
    problems.ill_typed(path, message, f"Write {wanted} here.", dropped)
    return False


def _foreign_to_json(value: Any, path: Path) -> tuple[Path, str] | None:
    if len(path) > _DEEPEST:
        return path, f"nested deeper than {_DEEPEST} levels"
    children: Iterable[tuple[str | int, Any]]
    if value.__class__ is dict:
        children = value.items()
    elif value.__class__ is list:
        children = enumerate(value)
    elif value.__class__ is float:
        return None if value - value == 0 else (path, "not a finite number, which JSON cannot carry")
    elif value.__class__ in (str, bool, int):
        return None
    else:
        return path, "a date or time, which JSON cannot carry"
    for key, item in children:
        if odd := _foreign_to_json(item, (*path, key)):
            return odd
    return None
