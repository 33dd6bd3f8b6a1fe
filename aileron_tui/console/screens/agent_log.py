"""The log of the demo's agent, or of a gate in this process."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_hints import dialog_hints
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import MUTED, STRONG, foreign_line, trusted
from aileron_tui.console.widgets.key_line import KeyLine
from aileron_tui.files.paths import bundled

_UPDATE_SECONDS: Final = 0.5


class AgentLogScreen(Screen[None]):
    """Shows log lines as they are written, and follows the end unless the operator scrolled up."""

    CSS_PATH = str(bundled("styles") / "agent_log.tcss")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.LOG)]
    AUTO_FOCUS = "#log"

    def __init__(self, lines: Callable[[], Sequence[str]], title: str = "Log") -> None:
        super().__init__()
        self._lines = lines
        self._heading = title
        self._shown: tuple[int, str] = (-1, "")

    def compose(self) -> ComposeResult:
        yield Static(trusted(self._heading, STRONG), id="log-title")
        with VerticalScroll(id="log"):
            yield Static(id="log-lines")
        yield KeyLine(lambda _: dialog_hints(KeyScope.LOG))

    def on_mount(self) -> None:
        """Starts to update the lines."""
        self._update_lines()
        self.set_interval(_UPDATE_SECONDS, self._update_lines)

    def action_scroll(self, lines: int) -> None:
        """Scrolls by lines."""
        self.query_one("#log").scroll_relative(y=lines, animate=False)

    def _update_lines(self) -> None:
        lines = self._lines()
        latest = (len(lines), lines[-1] if lines else "")
        if latest == self._shown:
            return
        log = self.query_one("#log", VerticalScroll)
        following = log.is_vertical_scroll_end
        self._shown = latest
        text = Content("\n").join(foreign_line(line) for line in lines) if lines else trusted("Nothing yet.", MUTED)
        self.query_one("#log-lines", Static).update(text)
        if following:
            log.scroll_end(animate=False)
