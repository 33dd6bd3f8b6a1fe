"""Asks for the name of a file and writes what the search of the history finds."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar, TypeAlias

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Input, Static
from textual.worker import get_current_worker

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import MUTED, STRONG, WARNING, foreign_line, own
from aileron_tui.console.screens.dialog import Sheet
from aileron_tui.core.errors import AileronError
from aileron_tui.surface.history_export import FileExists, export, form
from aileron_tui.surface.history_records import HistoryPage

Pages: TypeAlias = Callable[[], Iterator[HistoryPage]]


class _Stopped(Exception):
    """The dialog was closed while the file was being written."""


class ExportScreen(Sheet[Content | None]):
    """Closes with what to say, or None. Nothing is replaced unless the second, unfocused button is pressed."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.EXPORT)]

    class Advanced(Message):
        """So many requests were written."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

        def can_replace(self, message: Message) -> bool:
            """Only the last number counts."""
            return isinstance(message, ExportScreen.Advanced)

    class Ended(Message):
        """The file is written, or it is known why not."""

        def __init__(self, path: Path, count: int, error: AileronError | None) -> None:
            super().__init__()
            self.path = path
            self.count = count
            self.error = error

    def __init__(self, pages: Pages, name: str) -> None:
        super().__init__()
        self._pages = pages
        self._suggested = name
        self._busy = False

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="export-sheet", can_focus=False):
            yield Static(own("Export what is found", STRONG))
            yield Input(self._suggested, id="export-name", compact=True, select_on_focus=False)
            yield Static(id="export-words")
            with Horizontal(id="export-buttons"):
                yield Button("Write", id="export-write", compact=True)
                yield Button("Replace it", id="export-replace", variant="error", compact=True)
                yield Button("Cancel", id="export-cancel", compact=True)

    def on_mount(self) -> None:
        """The name can be changed at once."""
        self.query_one("#export-replace").display = False
        self.query_one(Input).focus()
        self._explain(self._suggested)

    def action_close(self) -> None:
        """Writes nothing. A file that is being written is thrown away."""
        self.dismiss(None)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        self.query_one("#export-replace").display = False
        self._explain(event.value)

    def _explain(self, name: str) -> None:
        kind = form(name)
        if kind is None:
            self._say(own("End the name in .jsonl or .csv.", MUTED))
        else:
            self._say(own(f"As {kind}, readable for you alone.", MUTED))

    def _say(self, words: Content) -> None:
        self.query_one("#export-words", Static).update(words)

    @on(Input.Submitted)
    @on(Button.Pressed, "#export-write")
    def _asked(self) -> None:
        self._begin(replace=False)

    @on(Button.Pressed, "#export-replace")
    def _asked_to_replace(self) -> None:
        self._begin(replace=True)

    @on(Button.Pressed, "#export-cancel")
    def _cancelled(self) -> None:
        self.action_close()

    def _begin(self, *, replace: bool) -> None:
        name = self.query_one(Input).value.strip()
        if self._busy or not name:
            return
        self._busy = True
        self._say(own("writing…", MUTED))
        self._write(Path(name).expanduser(), replace=replace)

    @work(thread=True, exit_on_error=False, group="export")
    def _write(self, path: Path, *, replace: bool) -> None:
        worker = get_current_worker()

        def advanced(count: int) -> None:
            if worker.is_cancelled:
                raise _Stopped
            self.post_message(self.Advanced(count))

        try:
            count = export(self._pages(), path, replace=replace, progress=advanced)
        except _Stopped:
            return
        except AileronError as error:
            self.post_message(self.Ended(path, 0, error))
        else:
            self.post_message(self.Ended(path, count, None))

    def on_export_screen_advanced(self, event: Advanced) -> None:
        """Says how far it is."""
        self._say(own(f"writing… {event.count:,}", MUTED))

    def on_export_screen_ended(self, event: Ended) -> None:
        """Leaves, or says what is in the way. The button that replaces a file is offered, not focused."""
        self._busy = False
        if event.error is None:
            words = own(f"{event.count:,} written to ") + foreign_line(str(event.path))
            self.dismiss(words)
            return
        error = event.error
        self.query_one("#export-replace").display = isinstance(error, FileExists)
        detail = own(": ") + foreign_line(error.detail) if error.detail else own("")
        self._say(own("⚠ ", WARNING) + foreign_line(error.title, WARNING) + detail + own(f"\n{error.hint}", MUTED))
