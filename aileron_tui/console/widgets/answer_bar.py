"""The bottom lines: whether an answer counts now, if not why, and the keys. On screen however long the prompt is."""

from collections.abc import Mapping, Sequence
from functools import partial

from textual.content import Content

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_hints import KeyHint, footer
from aileron_tui.console.render import MUTED, own
from aileron_tui.console.widgets.key_line import KeyLine, Part

_SPACE = own(" ")


class AnswerBar(KeyLine):
    """Two lines at the bottom: what is to be said about answering, and the keys."""

    DEFAULT_CSS = "AnswerBar { height: 2; dock: bottom; padding: 0 1; }"

    def __init__(self, keymap: Mapping[str, str], *, leave_out: tuple[str, ...] = ()) -> None:
        super().__init__(partial(footer, KeyScope.MAIN, overrides=keymap, leave_out=leave_out))
        self._said: tuple[Content, tuple[KeyHint, ...]] = (Content(""), ())

    def show(self, words: str, style: str = MUTED, *keys: KeyHint) -> None:
        """What to say about answering now, in our own words, and keys that belong to it."""
        said = own(words, style), keys
        if not said[0].is_same(self._said[0]) or keys != self._said[1]:
            self._said = said
            self.refresh()

    def rows_at(self, width: int) -> list[list[Part]]:
        """The words come first, cut off if need be; keys after them stay, the last ones without their label."""
        words, keys = self._said[0], list(self._said[1])
        room = width - min(words.cell_length, width // 2)
        for place in range(len(keys) - 1, -1, -1):
            if _length(keys) > room:
                keys[place] = keys[place]._replace(label="")
        first: list[Part] = [words.truncate(max(1, width - _length(keys)), ellipsis=True)]
        for key in keys:
            first += [_SPACE, key]
        return [first, *super().rows_at(width)[:1]]


def _length(keys: Sequence[KeyHint]) -> int:
    return sum(len(key.text) + 1 for key in keys)
