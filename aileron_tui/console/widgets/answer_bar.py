"""The two lines at the bottom: whether an answer counts now, or why not; and the keys."""

from collections.abc import Mapping, Sequence
from functools import partial

from textual.content import Content

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_hints import KeyHint, footer
from aileron_tui.console.render import MUTED, trusted
from aileron_tui.console.widgets.key_line import KeyLine, LinePart

_SPACE = trusted(" ")


class AnswerBar(KeyLine):
    """Two lines that are always on screen, however long the prompt is."""

    DEFAULT_CSS = "AnswerBar { height: 2; dock: bottom; padding: 0 1; }"

    def __init__(self, keymap: Mapping[str, str], *, leave_out: tuple[str, ...] = ()) -> None:
        super().__init__(partial(footer, KeyScope.MAIN, overrides=keymap, leave_out=leave_out))
        self._status: tuple[Content, tuple[KeyHint, ...]] = (Content(""), ())

    def show(self, words: str, style: str = MUTED, *keys: KeyHint) -> None:
        """Shows a trusted text as the status, and the keys that go with it."""
        status = trusted(words, style), keys
        if not status[0].is_same(self._status[0]) or keys != self._status[1]:
            self._status = status
            self.refresh()

    def rows_at(self, width: int) -> list[list[LinePart]]:
        """The status with its keys, and the other keys. Without room, the status is clipped and keys lose labels."""
        text, keys = self._status[0], list(self._status[1])
        room = width - min(text.cell_length, width // 2)
        for index in range(len(keys) - 1, -1, -1):
            if _width_of(keys) > room:
                keys[index] = keys[index]._replace(label="")
        first: list[LinePart] = [text.truncate(max(1, width - _width_of(keys)), ellipsis=True)]
        for key in keys:
            first += [_SPACE, key]
        return [first, *super().rows_at(width)[:1]]


def _width_of(keys: Sequence[KeyHint]) -> int:
    return sum(len(key.text) + 1 for key in keys)
