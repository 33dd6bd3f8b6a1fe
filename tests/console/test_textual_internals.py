"""The private names of Textual on which the console depends, each checked by name.

A failure here after an update of Textual says what to look at in console/textual_internals.py.
"""

import ast
import asyncio
import importlib
import inspect
import io
import os
import pkgutil
import selectors
import signal
import textwrap
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.drivers import linux_driver
from textual.drivers.headless_driver import HeadlessDriver
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

import aileron_tui.console
from aileron_tui.console import textual_internals
from aileron_tui.console.terminal_driver import IdleSelector
from aileron_tui.console.textual_internals import (
    RepaintHook,
    ResumableDriver,
    TallContainer,
    TallWidget,
    forget_measured_height,
    never_skip,
    running_driver,
    update_scrollbars,
)
from tests.console.screen_app import async_test


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (Widget, "_set_dirty"),
        (Widget, "_scroll_update"),
        (LinuxDriver, "_sigcont_application"),
        (LinuxDriver, "_run_input_thread"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_textual_still_has_the_method(owner: type, name: str) -> None:
    assert callable(getattr(owner, name, None))


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (Timer, "_skip"),
        (Widget, "_box_model_cache"),
        (App, "_driver"),
        (LinuxDriver, "_file"),
        (LinuxDriver, "_must_signal_resume"),
        (LinuxDriver, "_app"),
        (LinuxDriver, "_loop"),
        (LinuxDriver, "_auto_restart"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_textual_still_sets_the_attribute(owner: type, name: str) -> None:
    sources = [inspect.getsource(one) for one in owner.__mro__ if one.__module__.startswith("textual")]
    assert any(f"self.{name} = " in text or f"self.{name}: " in text for text in sources)


@async_test
async def test_a_timer_has_a_skip_flag_that_is_set_by_default() -> None:
    async with App[None]().run_test() as pilot:
        timer = pilot.app.set_timer(10, lambda: None)
        assert timer._skip is True
        never_skip(timer)
        assert timer._skip is False


@async_test
async def test_the_driver_of_a_running_app_is_found() -> None:
    app = App[None]()
    assert running_driver(app) is None
    async with app.run_test():
        assert isinstance(running_driver(app), HeadlessDriver)


class Measured(Widget):
    """Counts how often Textual asks for its height."""

    DEFAULT_CSS = "Measured { height: auto; }"
    asked = 0

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self.asked += 1
        return 3


class Hooked(RepaintHook):
    """Notes what must be drawn again."""

    DEFAULT_CSS = "Hooked { height: 2; }"

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[tuple[Region, ...]] = []

    def repaint_needed(self, regions: tuple[Region, ...]) -> None:
        self.noted.append(regions)


class Shown(App[None]):
    """One of each widget that the tests need."""

    def compose(self) -> ComposeResult:
        yield Measured()
        yield Hooked()
        with VerticalScroll():
            yield Static("\n" * 100)


@async_test
async def test_textual_keeps_a_measured_height_until_it_is_forgotten() -> None:
    app = Shown()
    async with app.run_test():
        widget = app.query_one(Measured)

        def measure() -> int:
            before = widget.asked
            widget._get_box_model(Size(80, 24), Size(80, 24), Fraction(80), Fraction(24))
            return widget.asked - before

        measure()
        assert measure() == 0
        forget_measured_height(widget)
        assert measure() == 1


@async_test
async def test_every_refresh_of_a_widget_reaches_the_hook() -> None:
    app = Shown()
    async with app.run_test() as pilot:
        widget = app.query_one(Hooked)
        await pilot.pause()
        widget.noted.clear()
        widget.refresh(Region(0, 1, 4, 1))
        widget.refresh()
        assert widget.noted == [(Region(0, 1, 4, 1),), ()]


@async_test
async def test_scrollbars_can_be_fitted_to_a_virtual_size() -> None:
    app = Shown()
    async with app.run_test():
        scroll = app.query_one(VerticalScroll)
        assert scroll.show_vertical_scrollbar
        update_scrollbars(scroll, Size(80, 5000))
        assert scroll.vertical_scrollbar.window_virtual_size == 5000


def test_textuals_driver_reads_with_our_function() -> None:
    textual_internals.read_input_with(lambda descriptor, size: b"typed" * (descriptor == 0 < size))
    try:
        assert linux_driver.os.read(0, 4096) == b"typed"  # type: ignore[attr-defined]
        assert "read = os.read" in inspect.getsource(LinuxDriver.run_input_thread)
    finally:
        textual_internals.read_input_with(os.read)


@async_test
async def test_what_is_painted_is_known_with_its_clip() -> None:
    class Page(App[None]):
        def compose(self) -> ComposeResult:
            with VerticalScroll(id="part"):
                yield Static("\n".join("0123456789"), id="text")

    app = Page()
    async with app.run_test(size=(20, 4), notifications=True) as pilot:
        await pilot.pause()
        region, clip = textual_internals.painted_regions(app.screen)[app.query_one("#text")]
        assert region.height == 10
        assert region.intersection(clip).height == 4
        app.notify("covered")
        await pilot.pause(0.5)
        assert app.screen.query("Toast")
        region, clip = textual_internals.painted_regions(app.screen)[app.query_one("#text")]
        assert region.intersection(clip).height < 4


def test_textuals_driver_waits_for_input_with_our_selector() -> None:
    source = inspect.getsource(LinuxDriver)
    names = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute))
    used = {node.attr for node in names if isinstance(node.value, ast.Name) and node.value.id == "selectors"}
    replaced = linux_driver.selectors  # type: ignore[attr-defined]
    assert replaced.SelectSelector is IdleSelector
    assert issubclass(IdleSelector, selectors.SelectSelector)
    assert used == set(vars(replaced))


class Restarted(ResumableDriver):
    """Notes what is done to the terminal."""

    def __init__(self, app: App[None]) -> None:
        super().__init__(app, size=(80, 24))
        self.done: list[str] = []

    def suspend_application_mode(self) -> None:
        self.done.append("suspend")

    def resume_application_mode(self) -> None:
        self.done.append("resume")


@pytest.fixture(name="_signals")
def _restored_signals() -> Iterator[None]:
    """A driver takes over two signals."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTSTP, signal.SIGCONT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_signals")
@async_test
async def test_the_driver_continues_restarts_and_ends_as_expected() -> None:
    app = App[None]()
    async with app.run_test():
        driver = Restarted(app)
        before = driver.was_suspended
        driver._sigcont_application()
        assert driver.done == ["resume"]
        driver.restart_terminal()
        assert driver.done == ["resume", "suspend", "resume"]
        assert (before, driver.was_suspended) == (False, True)
        output = io.StringIO()
        driver.replace_output(output)
        assert driver.output is output
        driver.exit_app()
        await asyncio.sleep(0)
        assert app._exit


def test_a_tall_container_finds_its_children_without_dividing_its_rows() -> None:
    class Tall(VerticalScroll, TallContainer):
        pass

    class Page(App[None]):
        CSS = "#long { height: 5000000; } #last { height: 3; }"

        def compose(self) -> ComposeResult:
            with Tall():
                yield Static(id="long")
                yield Static("end", id="last")

    async def scroll() -> None:
        app = Page()
        async with app.run_test(size=(80, 24)) as pilot:
            tall = app.query_one(Tall)
            tall.scroll_end(animate=False)
            await pilot.pause()
            assert app.query_one("#last") in textual_internals.painted_regions(app.screen)
            result = tall.arrange(tall.scrollable_content_region.size)
            assert len(result.spatial_map._map) < 10

    asyncio.run(scroll())


def test_a_tall_widget_marks_only_lines_that_it_drew() -> None:
    class Rows(TallWidget):
        DEFAULT_CSS = "Rows { height: auto; width: 1fr; }"
        rows = 1_000_000
        word = "before"

        def get_content_height(self, *_: object) -> int:
            return self.rows

        def render_line(self, y: int) -> Strip:
            return Strip([Segment(f"{self.word} {y}")])

    class Tall(VerticalScroll, TallContainer):
        pass

    class Page(App[None]):
        def compose(self) -> ComposeResult:
            with Tall():
                yield Rows()

    async def grow() -> None:
        app = Page()
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            rows = app.query_one(Rows)
            rows.rows += 1
            forget_measured_height(rows)
            rows.refresh(layout=True)
            await pilot.pause()
            assert rows.size.height == rows.rows
            assert len(rows._styles_cache._dirty_lines) <= 24
            rows.word = "after"
            rows.refresh(Region(0, 3, 80, 1))
            await pilot.pause()
            assert [app.screen._compositor.render_strips()[y].text.split()[0] for y in (2, 3, 4)] == [
                "before",
                "after",
                "before",
            ]
            rows.refresh()
            await pilot.pause()
            assert {strip.text.split()[0] for strip in app.screen._compositor.render_strips()} == {"after"}

    asyncio.run(grow())


@pytest.mark.parametrize("text", ["", "abc", "日本", "e\u0301", "👩"])
def test_textual_measures_text_as_rich_does(text: str) -> None:
    assert textual_internals.cell_len(text) == cell_len(text)


# Nothing else in the console may touch a private name of Textual.


def _private_names(cls: type) -> frozenset[str]:
    """The private names that a class defines, sets or reads on itself."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError):
        return frozenset()
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
    return frozenset(name for name in names if name.startswith("_") and not name.startswith("__"))


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(aileron_tui.console.__path__, "aileron_tui.console."):
        if found.name != textual_internals.__name__:
            yield importlib.import_module(found.name)


def test_no_class_of_the_console_uses_a_private_name_of_textual() -> None:
    shared = {}
    known: dict[type, frozenset[str]] = {}
    for module in _modules():
        for cls in vars(module).values():
            if inspect.isclass(cls) and cls.__module__ == module.__name__:
                theirs = [base for base in cls.__mro__ if base.__module__.startswith("textual.")]
                known.update({base: _private_names(base) for base in theirs if base not in known})
                if names := _private_names(cls) & frozenset().union(*(known[base] for base in theirs)):
                    shared[f"{module.__name__}.{cls.__name__}"] = sorted(names)
    assert shared == {}


def test_no_module_of_the_console_reads_a_private_name_of_anything_else() -> None:
    found = []
    for module in _modules():
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            match node:
                case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=_) | ast.Attribute(attr="_replace"):
                    continue
                case ast.Attribute(attr=name) if name.startswith("_") and not name.startswith("__"):
                    found.append(f"{module.__name__}:{node.lineno} {ast.unparse(node)}")
                case ast.ImportFrom(module=str(name)) if name.startswith("textual") and "._" in name:
                    found.append(f"{module.__name__}:{node.lineno} {ast.unparse(node)}")
    assert found == []
