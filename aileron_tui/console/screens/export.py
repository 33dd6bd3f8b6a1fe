"""The dialog that writes the results of a history search to a file."""

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
from aileron_tui.console.render import MUTED, STRONG, WARNING, foreign_line, trusted
from aileron_tui.console.screens.dialog import Sheet
from aileron_tui.core.errors import AileronError
from aileron_tui.surface.history_export import FileExists, export, export_format
from aileron_tui.surface.history_records import HistoryPage

Pages: TypeAlias = Callable[[], Iterator[HistoryPage]]


class _Stopped(Exception):
    """The dialog was closed while the file was being written."""


class ExportScreen(Sheet[Content | None]):
    """Closes with a message to show, or None. Only the Replace button replaces a file, and it never gets the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.EXPORT)]

    class Progressed(Message):
        """This many requests were written."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

        def can_replace(self, message: Message) -> bool:
            """Only the latest number matters."""
            return isinstance(message, ExportScreen.Progressed)

    class Ended(Message):
        """The file was written, or an error occurred."""

        def __init__(self, path: Path, count: int, error: AileronError | None) -> None:
            super().__init__()
            self.path = path
            self.count = count
            self.error = error

    def __init__(self, pages: Pages, name: str) -> None:
        super().__init__()
        self._pages = pages
        self._suggested = name
        self._is_writing = False

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="export-sheet", can_focus=False):
            yield Static(trusted("Export search results", STRONG))
            yield Input(self._suggested, id="export-name", compact=True, select_on_focus=False)
            yield Static(id="export-words")
            with Horizontal(id="export-buttons"):
                yield Button("Write", id="export-write", compact=True)
                yield Button("Replace", id="export-replace", variant="error", compact=True)
                yield Button("Cancel", id="export-cancel", compact=True)

    def on_mount(self) -> None:
        """Focuses the file name."""
        self.query_one("#export-replace").display = False
        self.query_one(Input).focus()
        self._describe(self._suggested)

    def action_close(self) -> None:
        """Closes without a result. An unfinished file is deleted."""
        self.dismiss(None)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        self.query_one("#export-replace").display = False
        self._describe(event.value)

    def _describe(self, name: str) -> None:
        file_format = export_format(name)
        if file_format is None:
            self._show_status(trusted("The name must end in .jsonl or .csv.", MUTED))
        else:
            self._show_status(trusted(f"Format: {file_format}. Only you can read the file.", MUTED))

    def _show_status(self, text: Content) -> None:
        self.query_one("#export-words", Static).update(text)

    @on(Input.Submitted)
    @on(Button.Pressed, "#export-write")
    def _write_requested(self) -> None:
        self._start(replace=False)

    @on(Button.Pressed, "#export-replace")
    def _replace_requested(self) -> None:
        self._start(replace=True)

    @on(Button.Pressed, "#export-cancel")
    def _cancelled(self) -> None:
        self.action_close()

    def _start(self, *, replace: bool) -> None:
        name = self.query_one(Input).value.strip()
        if self._is_writing or not name:
            return
        self._is_writing = True
        self._show_status(trusted("writing…", MUTED))
        self._write(Path(name).expanduser(), replace=replace)

    @work(thread=True, exit_on_error=False, group="export")
    def _write(self, path: Path, *, replace: bool) -> None:
        worker = get_current_worker()

        def progress(count: int) -> None:
            if worker.is_cancelled:
                raise _Stopped
            self.post_message(self.Progressed(count))

        try:
            count = export(self._pages(), path, replace=replace, progress=progress)
        except _Stopped:
            return
        except AileronError as error:
            self.post_message(self.Ended(path, 0, error))
        else:
            self.post_message(self.Ended(path, count, None))

    def on_export_screen_progressed(self, event: Progressed) -> None:
        """Shows the progress."""
        self._show_status(trusted(f"writing… {event.count:,}", MUTED))

    def on_export_screen_ended(self, event: Ended) -> None:
        """Closes, or shows the error. If the file exists, shows the Replace button without focusing it."""
        self._is_writing = False
        if event.error is None:
            self.dismiss(trusted(f"{event.count:,} written to ") + foreign_line(str(event.path)))
            return
        error = event.error
        self.query_one("#export-replace").display = isinstance(error, FileExists)
        detail = trusted(": ") + foreign_line(error.detail) if error.detail else trusted("")
        self._show_status(
            trusted("⚠ ", WARNING) + foreign_line(error.title, WARNING) + detail + trusted(f"\n{error.hint}", MUTED)
        )
