"""The keys at the bottom of a screen, and the one way in which they can be clicked.

A click does what its key does, by the same rules. It counts only if button and pointer came down and up on the same
key, and nothing that a person would have to look at anew happened in between. What can be clicked is found by where it
was drawn: it is never part of a text, so no text can bring it along.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from textual import events
from textual.content import Content
from textual.geometry import Region

from aileron_tui.console.actions import GAP, KeyHint
from aileron_tui.console.render import ACCENT, own
from aileron_tui.console.widgets.line_widget import LineWidget
from aileron_tui.surface.arming import Arming

Part: TypeAlias = Content | KeyHint
Offer: TypeAlias = Callable[[int], Sequence[KeyHint]]
"""The keys for a width."""

_GAP = own(GAP)


@runtime_checkable
class Guarded(Protocol):
    """A screen on which something is decided."""

    arming: Arming

    def refuses(self, does: str) -> bool:
        """Whether a press on this key is dropped now; says why."""


class KeyLine(LineWidget):
    """One line at the bottom of a screen, or as many as it takes in a dialog."""

    DEFAULT_CSS = "KeyLine { height: 1; dock: bottom; padding: 0 1; }"
    ALLOW_SELECT = False

    def __init__(self, offer: Offer) -> None:
        super().__init__()
        self._offer = offer
        self._place: Region | None = None
        self._over: KeyHint | None = None
        self._pressed: tuple[KeyHint, Region, int] | None = None

    def on_mount(self) -> None:
        """Wants to know when it is moved."""
        self.screen.screen_layout_refresh_signal.subscribe(self, self._laid_out)

    # what is drawn, and where

    def rows_at(self, width: int) -> list[list[Part]]:
        """What stands side by side, row by row."""
        rows: list[list[Part]] = [[]]
        used = 0
        for hint in self._offer(width):
            needed = _drawn(hint).cell_length
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
        """The same, drawn."""
        return [Content("").join(_drawn(part, over=part == self._over) for part in row) for row in self.rows_at(width)]

    def _hint_at(self, event: events.MouseEvent) -> KeyHint | None:
        offset = event.get_content_offset(self)
        rows = self.rows_at(self.size.width)
        if offset is None or offset.y >= len(rows):
            return None
        end = 0
        for part in rows[offset.y]:
            end += _drawn(part).cell_length
            if offset.x < end:
                return part if isinstance(part, KeyHint) else None
        return None

    def _laid_out(self, _: object) -> None:
        if self.region == self._place:
            return
        self._place = self.region
        self._point_at(None)
        if isinstance(self.screen, Guarded):
            self.screen.arming.keys_moved()

    # the mouse

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Shows which key is meant."""
        self._point_at(self._hint_at(event))

    def on_leave(self) -> None:
        """None is meant any more."""
        self._point_at(None)

    def _point_at(self, hint: KeyHint | None) -> None:
        if hint != self._over:
            self._over = hint
            self.styles.pointer = "pointer" if hint else "default"
            self.refresh()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """The press decides: one that comes too early is dropped here, however late the button is let go."""
        self._pressed = None
        hint = self._hint_at(event) if event.button == 1 else None
        if isinstance(self.screen, Guarded):
            if hint is None:
                self.screen.arming.clicked()
            elif self.screen.refuses(hint.does):
                hint = None
        if hint is not None:
            self._pressed = self._aim(hint)

    async def on_click(self, event: events.Click) -> None:
        """Does what the key does, if everything is as it was when the button came down."""
        event.stop()
        pressed, self._pressed = self._pressed, None
        hint = self._hint_at(event)
        # A second click may be on its way to a screen that the first one closed.
        if hint is not None and pressed == self._aim(hint) and self.screen.is_active:
            await self.screen.run_action(hint.does)

    def _aim(self, hint: KeyHint) -> tuple[KeyHint, Region, int]:
        return hint, self.region, self.screen.arming.changes if isinstance(self.screen, Guarded) else 0


def _drawn(part: Part, *, over: bool = False) -> Content:
    if isinstance(part, Content):
        return part
    style = "underline" if over else ""
    key = own(part.key, f"{ACCENT} {style}".rstrip())
    return key + own(f" {part.label}", style) if part.label else key
