"""JSON as an outline with foldable objects and arrays. It differs from the text only in whitespace between tokens."""

import re
from typing import Final

from aileron_tui.core.jsontext import JsonError, read
from aileron_tui.core.values import dataclass

MAX_LENGTH: Final = 1024 * 1024
MAX_IMMEDIATE_LENGTH: Final = 64 * 1024

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_INDENT: Final = "  "


@dataclass(frozen=True, slots=True)
class Fold:
    """An object or array, from the line that opens it to the line that closes it."""

    start: int
    end: int


class JsonOutline:
    """The lines of a JSON text, without those that are folded."""

    def __init__(self, text: str) -> None:
        self.lines: list[str] = []
        self.folds: dict[int, Fold] = {}
        self.folded: set[int] = set()
        self._shown: list[int] = []
        self._split_into_lines(text)
        self._update_shown()

    @property
    def text(self) -> str:
        """The shown lines."""
        return "\n".join(self._line(number) for number in self._shown)

    def fold_at(self, shown: int) -> Fold | None:
        """The fold that a shown line opens."""
        return self.folds.get(self._shown[shown]) if 0 <= shown < len(self._shown) else None

    def enclosing(self, shown: int) -> int:
        """The shown line that opens the object or array around this line, or the line itself if it opens one."""
        number = self._shown[shown]
        if number in self.folds and number not in self.folded:
            return shown
        starts = [fold.start for fold in self.folds.values() if fold.start < number <= fold.end]
        return self._shown.index(max(starts)) if starts else shown

    def is_folded(self, shown: int) -> bool:
        """Whether this line hides others."""
        return 0 <= shown < len(self._shown) and self._shown[shown] in self.folded

    def set_folded(self, shown: int, folded: bool) -> bool:
        """Folds or unfolds the object or array that this line opens; returns whether anything changed."""
        fold = self.fold_at(shown)
        if fold is None or (fold.start in self.folded) is folded:
            return False
        self.folded ^= {fold.start}
        self._update_shown()
        return True

    def unfold_all(self) -> None:
        """Shows every line."""
        self.folded.clear()
        self._update_shown()

    def _update_shown(self) -> None:
        self._shown = []
        number = 0
        while number < len(self.lines):
            self._shown.append(number)
            number = self.folds[number].end + 1 if number in self.folded else number + 1

    def _line(self, number: int) -> str:
        if number not in self.folded:
            return self.lines[number]
        end = self.folds[number].end
        return f"{self.lines[number]} … {end - number - 1} lines … {self.lines[end].lstrip()}"

    def _split_into_lines(self, text: str) -> None:
        parts = _TOKEN.findall(text)
        opened: list[int] = []
        line = ""
        for index, part in enumerate(parts):
            following = parts[index + 1] if index + 1 < len(parts) else ""
            if part in "{[":
                if following in ("}", "]"):
                    line += part
                    continue
                opened.append(len(self.lines))
                self.lines.append(line + part)
                line = _INDENT * len(opened)
            elif part in "}]":
                if index and parts[index - 1] in ("{", "["):
                    line += part
                    continue
                self.lines.append(line)
                start = opened.pop()
                self.folds[start] = Fold(start, len(self.lines))
                line = _INDENT * len(opened) + part
            elif part == ",":
                self.lines.append(line + part)
                line = _INDENT * len(opened)
            else:
                line += ": " if part == ":" else part
        self.lines.append(line)


def outline(text: str) -> JsonOutline | None:
    """The outline of a JSON object or array; None if the text is something else, empty or too long."""
    if len(text) > MAX_LENGTH or not looks_like_json(text):
        return None
    try:
        value = read(text)
    except JsonError:
        return None
    return JsonOutline(text) if value else None


def looks_like_json(text: str) -> bool:
    """Whether the text may be a JSON object or array, without parsing it."""
    inner = text.strip()
    return inner[:1] in ("{", "[") and inner[-1:] in ("}", "]")
