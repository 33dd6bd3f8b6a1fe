"""The keys at the bottom of a screen, which can also be clicked.

A click does what the key does, with the same checks. It counts only if the button was pressed and released on the same
key, and nothing changed in between that the operator would have to look at again. The clicked key is found by its
position, not by the text under the pointer, so no foreign text can add a key.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from textual import events
from textual.content import Content
from textual.geometry import Region

from aileron_tui.console.key_hints import GAP, KeyHint
from aileron_tui.console.render import ACCENT, trusted
from aileron_tui.console.widgets.line_widget import LineWidget
from aileron_tui.surface.arming import Arming

LinePart: TypeAlias = Content | KeyHint
HintsForWidth: TypeAlias = Callable[[int], Sequence[KeyHint]]

_GAP = trusted(GAP)


@runtime_checkable
class Guarded(Protocol):
    """A screen on which something is decided."""

    arming: Arming

    def refuses(self, action: str) -> bool:
        """Whether a press on this key is ignored now; if so, shows why."""


class KeyLine(LineWidget):
    """One line at the bottom of a screen; in a dialog, as many lines as needed."""

    DEFAULT_CSS = "KeyLine { height: 1; dock: bottom; padding: 0 1; }"
    ALLOW_SELECT = False

    def __init__(self, hints_for_width: HintsForWidth) -> None:
        super().__init__()
        self._hints_for_width = hints_for_width
        self._last_region: Region | None = None
        self._hovered: KeyHint | None = None
        self._pressed: tuple[KeyHint, Region, int] | None = None

    def on_mount(self) -> None:
        """Listens for changes of the layout, which may move this widget."""
        self.screen.screen_layout_refresh_signal.subscribe(self, self._layout_changed)

    # what is drawn, and where

    def rows_at(self, width: int) -> list[list[LinePart]]:
        """The hints and gaps of each row."""
        rows: list[list[LinePart]] = [[]]
        used = 0
        for hint in self._hints_for_width(width):
            needed = _content(hint).cell_length
            if used and used + len(GAP) + needed > width:
                rows.append([])
                used = 0
            if used:
                rows[-1].append(_GAP)
                used += len(GAP)
            rows[-1].append(hint)
            used += needed
        return rows

    def lines_at(self, width: int) -> list[Content]:
        """The rows as content."""
        return [
            Content("").join(_content(part, hovered=part == self._hovered) for part in row)
            for row in self.rows_at(width)
        ]

    def _hint_at(self, event: events.MouseEvent) -> KeyHint | None:
        offset = event.get_content_offset(self)
        rows = self.rows_at(self.size.width)
        if offset is None or offset.y >= len(rows):
            return None
        end = 0
        for part in rows[offset.y]:
            end += _content(part).cell_length
            if offset.x < end:
                return part if isinstance(part, KeyHint) else None
        return None

    def _layout_changed(self, _: object) -> None:
        if self.region == self._last_region:
            return
        self._last_region = self.region
        self._set_hovered(None)
        if isinstance(self.screen, Guarded):
            self.screen.arming.keys_moved()

    # the mouse

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Highlights the key under the pointer."""
        self._set_hovered(self._hint_at(event))

    def on_leave(self) -> None:
        """Removes the highlight."""
        self._set_hovered(None)

    def _set_hovered(self, hint: KeyHint | None) -> None:
        if hint != self._hovered:
            self._hovered = hint
            self.styles.pointer = "pointer" if hint else "default"
            self.refresh()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Checks the press: one that comes too early is ignored, even if the button is released much later."""
        self._pressed = None
        hint = self._hint_at(event) if event.button == 1 else None
        if isinstance(self.screen, Guarded):
            if hint is None:
                self.screen.arming.clicked()
            elif self.screen.refuses(hint.action):
                hint = None
        if hint is not None:
            self._pressed = self._press_state(hint)

    async def on_click(self, event: events.Click) -> None:
        """Does what the key does, if nothing changed since the button was pressed."""
        event.stop()
        pressed, self._pressed = self._pressed, None
        hint = self._hint_at(event)
        # A second click may arrive after the first one closed this screen.
        if hint is not None and pressed == self._press_state(hint) and self.screen.is_active:
            await self.screen.run_action(hint.action)

    def _press_state(self, hint: KeyHint) -> tuple[KeyHint, Region, int]:
        """Everything that must be the same when the button is released."""
        return hint, self.region, self.screen.arming.changes if isinstance(self.screen, Guarded) else 0


def _content(part: LinePart, *, hovered: bool = False) -> Content:
    if isinstance(part, Content):
        return part
    style = "underline" if hovered else ""
    key = trusted(part.key, f"{ACCENT} {style}".rstrip())
    return key + trusted(f" {part.label}", style) if part.label else key
