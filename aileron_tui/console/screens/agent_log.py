"""The log beside the console: what the demo's agent says, or what a gate in this process tells."""

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
from aileron_tui.console.render import MUTED, STRONG, foreign_line, own
from aileron_tui.console.widgets.key_line import KeyLine
from aileron_tui.files.paths import bundled

_LOOK_SECONDS: Final = 0.5


class AgentLogScreen(Screen[None]):
    """Shows lines as they come. It follows the end unless one scrolled away from it."""

    CSS_PATH = str(bundled("styles") / "agent_log.tcss")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.LOG)]
    AUTO_FOCUS = "#log"

    def __init__(self, lines: Callable[[], Sequence[str]], title: str = "Log") -> None:
        super().__init__()
        self._lines = lines
        self._heading = title
        self._shown: tuple[int, str] = (-1, "")

    def compose(self) -> ComposeResult:
        yield Static(own(self._heading, STRONG), id="log-title")
        with VerticalScroll(id="log"):
            yield Static(id="log-lines")
        yield KeyLine(lambda _: dialog_hints(KeyScope.LOG))

    def on_mount(self) -> None:
        """Begins to look."""
        self._look()
        self.set_interval(_LOOK_SECONDS, self._look)

    def action_scroll(self, lines: int) -> None:
        """Scrolls."""
        self.query_one("#log").scroll_relative(y=lines, animate=False)

    def _look(self) -> None:
        lines = self._lines()
        now = (len(lines), lines[-1] if lines else "")
        if now == self._shown:
            return
        log = self.query_one("#log", VerticalScroll)
        following = log.is_vertical_scroll_end
        self._shown = now
        text = Content("\n").join(foreign_line(line) for line in lines) if lines else own("Nothing yet.", MUTED)
        self.query_one("#log-lines", Static).update(text)
        if following:
            log.scroll_end(animate=False)
