"""Findings: what is wrong in a manifest, where, and how to fix it."""

from enum import StrEnum
from functools import cached_property
from typing import Generic, TypeAlias, TypeVar

from aileron_tui.core.toml_positions import Position, locate
from aileron_tui.core.values import dataclass

Path: TypeAlias = tuple[str | int, ...]

T = TypeVar("T")


class Severity(StrEnum):
    """An error rejects the file; a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem, and how to fix it. `line` and `column` count from 1; 0 means the whole file."""

    rule: str
    message: str
    fix: str
    file: str
    line: int = 0
    column: int = 0
    severity: Severity = Severity.ERROR


@dataclass(frozen=True)
class TomlSource:
    """The TOML text of a manifest, kept to find the line of a key that has a problem."""

    file: str
    toml: str = ""
    first_line: int = 1

    @cached_property
    def _positions(self) -> dict[Path, Position]:
        return locate(self.toml)

    def position(self, path: Path) -> Position:
        """Returns the position of a key, or of the nearest enclosing table if the text does not contain the key."""
        while path:
            if found := self._positions.get(path):
                return Position(found.line + self.first_line - 1, found.column)
            path = path[:-1]
        return Position(self.first_line, 1)


class Problems:
    """Collects problems while a manifest is read; positions are looked up only if there are any."""

    def __init__(self) -> None:
        self._found: list[tuple[Path, str, str, str, Severity]] = []
        self._wrong_types: set[Path] = set()

    def add(self, path: Path, rule: str, message: str, fix: str) -> None:
        """Adds an error, which rejects the file."""
        self._found.append((path, rule, message, fix, Severity.ERROR))

    def warn(self, path: Path, rule: str, message: str, fix: str) -> None:
        """Adds a warning."""
        self._found.append((path, rule, message, fix, Severity.WARNING))

    def wrong_type(self, path: Path, message: str, fix: str, dropped: Path | None = None) -> None:
        """Adds an error for a value of the wrong type. The value, or `dropped`, is not reported as missing later."""
        self._wrong_types.add(path if dropped is None else dropped)
        self.add(path, "wrong-type", message, fix)

    def missing(self, value: object, path: Path) -> bool:
        """Returns whether a value is missing or empty, unless it was removed because of its type."""
        return not value and not any(path[:end] in self._wrong_types for end in range(1, len(path) + 1))

    @property
    def count(self) -> int:
        """The number of problems so far."""
        return len(self._found)

    @property
    def any(self) -> bool:
        """Whether there is any problem."""
        return bool(self._found)

    @property
    def rejected(self) -> bool:
        """Whether there is an error, so that the file is rejected."""
        return any(severity is Severity.ERROR for *_, severity in self._found)

    def findings(self, source: TomlSource) -> tuple[Finding, ...]:
        """Returns all findings with their positions."""
        return tuple(
            Finding(rule, message, fix, source.file, *source.position(path), severity)
            for path, rule, message, fix, severity in self._found
        )


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """The result of reading one file: its value, or None if there was an error; the findings; and the source."""

    value: T | None
    findings: tuple[Finding, ...]
    source: TomlSource
