"""JSON as an outline whose objects and arrays fold. Only blanks between words change: what was sent stays as sent."""

import re
from typing import Final

from aileron_tui.core.jsontext import JsonError, read
from aileron_tui.core.values import dataclass

LONGEST: Final = 1024 * 1024
AT_ONCE: Final = 64 * 1024

_WORD: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_INDENT: Final = "  "


@dataclass(frozen=True, slots=True)
class Fold:
    """An object or array from the line that opens it to the one that closes it."""

    start: int
    end: int


class JsonOutline:
    """The lines of a JSON text with what is folded left out."""

    def __init__(self, text: str) -> None:
        self.lines: list[str] = []
        self.folds: dict[int, Fold] = {}
        self.folded: set[int] = set()
        self._shown: list[int] = []
        self._lay(text)
        self._choose()

    @property
    def text(self) -> str:
        """What is shown."""
        return "\n".join(self._line(number) for number in self._shown)

    def fold_at(self, shown: int) -> Fold | None:
        """The fold that opens on a line that is shown."""
        return self.folds.get(self._shown[shown]) if 0 <= shown < len(self._shown) else None

    def around(self, shown: int) -> int:
        """The shown line that opens what this line lies in; the line itself if it opens something unfolded."""
        number = self._shown[shown]
        if number in self.folds and number not in self.folded:
            return shown
        inside = [fold.start for fold in self.folds.values() if fold.start < number <= fold.end]
        return self._shown.index(max(inside)) if inside else shown

    def is_folded(self, shown: int) -> bool:
        """Whether something is hidden behind this line."""
        return 0 <= shown < len(self._shown) and self._shown[shown] in self.folded

    def turn(self, shown: int, folded: bool) -> bool:
        """Fold or unfold what opens on this line; whether that changed anything."""
        fold = self.fold_at(shown)
        if fold is None or (fold.start in self.folded) is folded:
            return False
        self.folded ^= {fold.start}
        self._choose()
        return True

    def _choose(self) -> None:
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

    def _lay(self, text: str) -> None:
        words = _WORD.findall(text)
        opened: list[int] = []
        line = ""
        for index, word in enumerate(words):
            following = words[index + 1] if index + 1 < len(words) else ""
            if word in "{[":
                if following in ("}", "]"):
                    line += word
                    continue
                opened.append(len(self.lines))
                self.lines.append(line + word)
                line = _INDENT * len(opened)
            elif word in "}]":
                if index and words[index - 1] in ("{", "["):
                    line += word
                    continue
                self.lines.append(line)
                start = opened.pop()
                self.folds[start] = Fold(start, len(self.lines))
                line = _INDENT * len(opened) + word
            elif word == ",":
                self.lines.append(line + word)
                line = _INDENT * len(opened)
            else:
                line += ": " if word == ":" else word
        self.lines.append(line)


def outline(text: str) -> JsonOutline | None:
    """The outline of a text that is a JSON object or array and not too long to fold."""
    if len(text) > LONGEST or not looks_like(text):
        return None
    try:
        value = read(text)
    except JsonError:
        return None
    return JsonOutline(text) if value else None


def looks_like(text: str) -> bool:
    """Whether it is worth a try."""
    inner = text.strip()
    return inner[:1] in ("{", "[") and inner[-1:] in ("}", "]")
