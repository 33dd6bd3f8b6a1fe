"""Every use of Textual's private names, so that an update of Textual can be checked in one place.

Each has a test in tests/console/test_textual_internals.py that fails if Textual changes it.
"""

import os
import selectors
from collections.abc import Callable
from types import SimpleNamespace
from typing import IO, Any, cast

from textual._cells import cell_len
from textual._spatial_map import SpatialMap
from textual._styles_cache import StylesCache
from textual.app import App
from textual.driver import Driver
from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Region, Size
from textual.layout import DockArrangeResult, WidgetPlacement
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

__all__ = [
    "RepaintHook",
    "ResumableDriver",
    "TallContainer",
    "TallWidget",
    "cell_len",
    "forget_measured_height",
    "never_skip",
    "painted_regions",
    "poll_input_with",
    "read_input_with",
    "running_driver",
    "update_scrollbars",
]

_UNDIVIDED = 10**9


def never_skip(timer: Timer) -> None:
    """Makes a timer fire even if the loop was blocked past its time; Textual skips it otherwise."""
    timer._skip = False


def running_driver(app: App[Any]) -> Driver | None:
    """The driver that writes to the terminal, while the app runs."""
    return app._driver


def forget_measured_height(widget: Widget) -> None:
    """Makes Textual measure a widget again; otherwise it keeps the old height if a layout was already pending."""
    widget._box_model_cache.clear()


def update_scrollbars(widget: Widget, size: Size) -> None:
    """Fits the scrollbars to a new virtual size; Textual does not do so if only the number of rows changed."""
    widget._scroll_update(size)


def painted_regions(screen: Screen[Any]) -> dict[Widget, tuple[Region, Region]]:
    """The region and the clip of each widget as last painted. Notifications cover everything from their top down."""
    painted = screen._compositor.visible_widgets
    covered = [region.y for widget, (region, _) in painted.items() if "Toast" in widget._css_type_names]
    if not covered:
        return painted
    free = Region(0, 0, screen.size.width, max(0, min(covered)))
    return {widget: (region, clip.intersection(free)) for widget, (region, clip) in painted.items()}


class _DrawnLines(StylesCache):
    """The lines of a widget that were drawn. Only these can be out of date; a line that is not kept is drawn anyway."""

    def set_dirty(self, *regions: Region) -> None:
        """Marks the kept lines of these regions."""
        if not regions:
            self.clear()
        self._dirty_lines.update(y for y in self._cache if any(y in region.line_range for region in regions))


class TallWidget(Widget):
    """A widget that may have millions of rows.

    Whenever it changes, Textual would list all of its rows, to draw them again.
    """

    def __init__(self, *children: Widget, **arguments: Any) -> None:
        super().__init__(*children, **arguments)
        self._styles_cache = _DrawnLines()


class TallContainer(TallWidget):
    """A container with few children that may have millions of rows.

    To find the children on screen, Textual would divide all rows into parts of 20, after every change of the layout.
    """

    def arrange(self, size: Size, optimal: bool = False) -> DockArrangeResult:
        """Arranges the children; all of them are in one part."""
        result = super().arrange(size, optimal)
        if result._spatial_map is None:
            places: SpatialMap[WidgetPlacement] = SpatialMap(_UNDIVIDED, _UNDIVIDED)
            places.insert(
                (place.region.grow(place.margin), place.offset, place.fixed, place.overlay, place)
                for place in result.placements
            )
            result._spatial_map = places
        return result


class RepaintHook(Widget):
    """A widget that is notified which of its regions must be drawn again."""

    def _set_dirty(self, *regions: Region) -> None:
        super()._set_dirty(*regions)
        self.repaint_needed(regions)

    def repaint_needed(self, regions: tuple[Region, ...]) -> None:
        """Called for every change of appearance; without regions, all of the widget must be drawn again."""


def poll_input_with(selector: type[selectors.SelectSelector]) -> None:
    """Replaces the selector that Textual's driver uses to wait for input."""
    names = SimpleNamespace(SelectSelector=selector, SelectorKey=selectors.SelectorKey, EVENT_READ=selectors.EVENT_READ)
    linux_driver.selectors = names  # type: ignore[assignment, attr-defined]


def read_input_with(read: Callable[[int, int], bytes]) -> None:
    """Replaces the function with which Textual's driver reads from the terminal."""
    names = SimpleNamespace(**vars(os) | {"read": read})
    linux_driver.os = names  # type: ignore[assignment, attr-defined]


class ResumableDriver(LinuxDriver):
    """Textual's driver with public names for its output file and for resuming after a stop."""

    @property
    def output(self) -> IO[str]:
        """The file to which the driver writes."""
        return cast("IO[str]", self._file)

    def replace_output(self, file: Any) -> None:
        """Writes to another file from now on."""
        self._file = file

    def exit_app(self) -> None:
        """Ends the app. May be called from any thread; raises RuntimeError if the loop is closed."""
        self._loop.call_soon_threadsafe(self._app.exit)

    def call_in_loop(self, callback: Callable[[], object]) -> None:
        """Calls a function on the loop. May be called from any thread; raises RuntimeError if the loop is closed."""
        self._loop.call_soon_threadsafe(callback)

    def process_continued(self) -> None:
        """Called on SIGCONT. By default Textual restores the terminal only after its own ctrl+z."""
        super()._sigcont_application()

    def _sigcont_application(self, *_: object) -> None:
        self.process_continued()

    @property
    def was_suspended(self) -> bool:
        """Whether ctrl+z suspended the app, so that Textual itself resumes it."""
        return bool(self._must_signal_resume)

    def restart_terminal(self) -> None:
        """Sets up the terminal again after a stop that Textual did not notice."""
        if self._auto_restart:
            self.suspend_application_mode()
            self._must_signal_resume = True
            self.resume_application_mode()
