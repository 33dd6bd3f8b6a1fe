"""What reading a manifest found wrong: the rule, the place, and how to fix it."""

from enum import StrEnum
from functools import cached_property
from typing import Generic, TypeAlias, TypeVar

from aileron_tui.core.toml_positions import Position, locate
from aileron_tui.core.values import dataclass

Path: TypeAlias = tuple[str | int, ...]

T = TypeVar("T")


class Severity(StrEnum):
    """An error rejects the file; a warning says what will not work as it reads."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. `line` and `column` count from 1; 0 means the file as a whole."""

    rule: str
    message: str
    fix: str
    file: str
    line: int = 0
    column: int = 0
    severity: Severity = Severity.ERROR


@dataclass(frozen=True)
class TomlSource:
    """The TOML a manifest was read from, kept to find the line of a key once something is wrong with it."""

    file: str
    toml: str = ""
    first_line: int = 1

    @cached_property
    def _positions(self) -> dict[Path, Position]:
        return locate(self.toml)

    def place(self, path: Path) -> Position:
        """Line and column of a key, or of the nearest table around it that is written down."""
        while path:
            if position := self._positions.get(path):
                return Position(position.line + self.first_line - 1, position.column)
            path = path[:-1]
        return Position(self.first_line, 1)


class Problems:
    """Gathers findings while a manifest is read; places are looked up only if there are any."""

    def __init__(self) -> None:
        self._found: list[tuple[Path, str, str, str, Severity]] = []
        self._ill_typed: set[Path] = set()

    def add(self, path: Path, rule: str, message: str, fix: str) -> None:
        """Something that rejects the file."""
        self._found.append((path, rule, message, fix, Severity.ERROR))

    def warn(self, path: Path, rule: str, message: str, fix: str) -> None:
        """Something worth saying that rejects nothing."""
        self._found.append((path, rule, message, fix, Severity.WARNING))

    def ill_typed(self, path: Path, message: str, fix: str, dropped: Path | None = None) -> None:
        """A value of the wrong type. It, or `dropped` around it, is taken out and not reported once more as missing."""
        self._ill_typed.add(path if dropped is None else dropped)
        self.add(path, "wrong-type", message, fix)

    def lacks(self, value: object, path: Path) -> bool:
        """Whether a required value is absent or empty, and neither it nor a table around it was reported."""
        return not value and not any(path[:end] in self._ill_typed for end in range(1, len(path) + 1))

    @property
    def count(self) -> int:
        """How many findings there are."""
        return len(self._found)

    @property
    def any(self) -> bool:
        """Whether anything was found."""
        return bool(self._found)

    @property
    def rejected(self) -> bool:
        """Whether an error was found."""
        return any(severity is Severity.ERROR for *_, severity in self._found)

    def findings(self, source: TomlSource) -> tuple[Finding, ...]:
        """All findings with their places."""
        return tuple(
            Finding(rule, message, fix, source.file, *source.place(path), severity)
            for path, rule, message, fix, severity in self._found
        )


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """The outcome of reading one file: its value unless an error was found, the findings, and where it came from."""

    value: T | None
    findings: tuple[Finding, ...]
    source: TomlSource
