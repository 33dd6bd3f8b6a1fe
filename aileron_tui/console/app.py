"""The console: holds the board, the link to the gate and the desk, which outlive every screen."""

import gc
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import ClassVar, Final

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.notifications import SeverityLevel

from aileron_tui.console import actions
from aileron_tui.console.board import Board, Tone
from aileron_tui.console.desk import Desk
from aileron_tui.console.link import Link
from aileron_tui.console.palette import ActionCommands
from aileron_tui.console.render import MUTED, foreign_line, own
from aileron_tui.console.screens.confirm import ConfirmScreen
from aileron_tui.console.screens.lock import LockScreen
from aileron_tui.console.screens.main import MainScreen
from aileron_tui.console.settings import ConsoleSettings
from aileron_tui.console.source import Connect, Current, Keyholder, Source
from aileron_tui.console.themes import THEMES
from aileron_tui.core.errors import AileronError
from aileron_tui.files.places import bundled

_IDLE_LOOK: Final = 5.0
_FULL_COLLECTION: Final = 1000
_SEVERITY: Final[dict[Tone, SeverityLevel]] = {Tone.BAD: "error", Tone.WARN: "warning"}


class Console(App[None]):
    """One operator's console on one gate."""

    TITLE = "aileron"
    CSS_PATH: ClassVar[list[str]] = sorted(map(str, bundled("styles").glob("*.tcss")))  # type: ignore[assignment]

    COMMANDS = App.COMMANDS | {ActionCommands}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "quit", show=False, priority=True, system=True),
        Binding("ctrl+z", "suspend_process", show=False, system=True),
    ]

    class Heard(Message):
        """The gate told something; it lies in the link."""

        def can_replace(self, message: Message) -> bool:
            """Many of these mean no more than one."""
            return isinstance(message, Console.Heard)

    class Silenced(Message):
        """The gate cannot be heard."""

        def __init__(self, why: str) -> None:
            super().__init__()
            self.why = why

    def __init__(
        self,
        connect: Connect,
        keys: Keyholder,
        settings: ConsoleSettings | None = None,
        *,
        log_lines: Callable[[], Sequence[str]] | None = None,
        read_only: bool = False,
    ) -> None:
        super().__init__()
        self.settings = settings or ConsoleSettings()
        self.keymap_in_use = actions.keymap(self.settings.keymap)
        self.keys = keys
        self.read_only = read_only
        self.log_lines = log_lines
        self.board = Board()
        self.trouble = "connecting"
        self.desk = Desk(self)
        self._link = Link(connect, keys, self._heard, self._silenced)
        self._touched = monotonic()
        self._collecting = gc.get_threshold()
        self._main = MainScreen(self)
        for theme in THEMES:
            self.register_theme(theme)

    # life

    def on_mount(self) -> None:
        """Begins to listen."""
        # A full collection stops the loop for longer than one waits for a key: what is loaded stays, the rest is rare.
        gc.freeze()
        gc.set_threshold(*self._collecting[:2], _FULL_COLLECTION)
        self.theme = self.settings.theme
        self.set_keymap(self.keymap_in_use)
        self.push_screen(self._main)
        self._link.start()
        self._say_title()
        if self.keys.key is None:
            self.push_screen(LockScreen(self.keys, "Unlock your key"))
        if self.settings.lock_minutes and self.keys.lockable:
            self.set_interval(_IDLE_LOOK, self._lock_when_idle)

    def on_unmount(self) -> None:
        """Hangs up. An answer that is still held is not sent."""
        gc.set_threshold(*self._collecting)
        gc.unfreeze()
        self._link.stop()

    @property
    def source(self) -> Source | None:
        """The gate, while it can be reached."""
        return self._link.source

    def redraw(self) -> None:
        """Shows the board as it is now."""
        self._main.redraw()

    def _heard(self) -> None:
        self.post_message(self.Heard())

    def _silenced(self, why: str) -> None:
        self.post_message(self.Silenced(why))

    def on_console_heard(self) -> None:
        """Takes in what the gate told. A request never takes the focus and never moves the cursor."""
        self.trouble = ""
        heard = self._link.take()
        new = self.board.hear(heard)
        self.desk.look_again()
        reminders = sum(happening.data.get("reminder") is True for happening in heard)
        if new or reminders:
            self._announce(len(new) or reminders)
        self._say_title()
        self.redraw()

    def on_console_silenced(self, event: Silenced) -> None:
        """Says since when, and goes on showing what was known."""
        self.trouble = event.why
        self.board.lose(datetime.now(UTC).astimezone().strftime("%H:%M:%S"))
        self.redraw()

    def _announce(self, count: int) -> None:
        """Bell and notification. Only a number goes into an escape sequence, never a word from outside."""
        if self.settings.bell:
            self.bell()
        if self.settings.notify:
            words = "1 request waits" if count == 1 else f"{count} requests wait"
            self._tell_terminal(f"\x1b]9;aileron: {words}\x07\x1b]777;notify;aileron;{words}\x07")

    def _say_title(self) -> None:
        count = self.board.waiting
        self._tell_terminal(f"\x1b]0;{f'({count}) ' if count else ''}aileron\x07")

    def _tell_terminal(self, sequence: str) -> None:
        if self._driver and not self.is_headless:
            self._driver.write(sequence)

    # looking

    def unable(self) -> str:
        """Why nothing can be answered now, or ""."""
        if self.read_only:
            return "this console only reads"
        if self.keys.key is None:
            return "locked"
        return "not connected" if self.trouble else ""

    def fetch_again(self) -> None:
        """A fresh preview of what is shown."""
        item = self.board.item
        if why := self.unable() or ("" if item else "there is no request"):
            self.hint(why)
        elif item:
            self.board.say(item.id, "fetching again…")
            self.redraw()
            work = partial(self._fetch_again, item.id)
            self.run_worker(work, thread=True, group="previews", exit_on_error=False)

    def _fetch_again(self, id_: str) -> None:
        source, why = self.source, ""
        try:
            if source is not None:
                source.refresh(id_)
        except AileronError as error:
            why = str(error)
        self.call_from_thread(self._fetched_again, id_, why)

    def _fetched_again(self, id_: str, why: str) -> None:
        self.board.say(id_, "")
        if why:
            self.hint(why, Tone.WARN)
        self.redraw()

    def open_history(self) -> None:
        """Everything that was."""
        from aileron_tui.console.screens.history import HistoryScreen  # noqa: PLC0415  # screens load when opened

        archive = Current(lambda: self.source)
        self.push_screen(HistoryScreen(archive, keymap=self.keymap_in_use, entries=archive.past))

    def open_raw(self) -> None:
        """The exact call and preview."""
        from aileron_tui.console.screens.raw import RawScreen  # noqa: PLC0415

        item = self.desk.edited.item if self.desk.edited else self.board.item
        if item is None:
            self.hint("there is no request")
        else:
            self.push_screen(RawScreen(item, keymap=self.keymap_in_use))

    def open_help(self) -> None:
        """Every key."""
        from aileron_tui.console.screens.help import HelpScreen  # noqa: PLC0415

        self.push_screen(HelpScreen(keymap=self.keymap_in_use))

    def open_log(self) -> None:
        """What the agent of the demo was told."""
        from aileron_tui.console.screens.agent_log import AgentLogScreen  # noqa: PLC0415

        if self.log_lines is None:
            self.hint("there is an agent's log only in the demo")
        else:
            self.push_screen(AgentLogScreen(self.log_lines))

    def copy_identity(self) -> None:
        """Id and digest to the clipboard."""
        item = self.board.item
        if item is None:
            self.hint("there is no request")
        else:
            self.copy_to_clipboard(f"{item.id} {item.digest}")
            self.hint("id and digest copied")

    def hint(self, words: str, tone: Tone = Tone.QUIET) -> None:
        """A short word to the operator, for a moment."""
        self.clear_notifications()
        self.notify(foreign_line(words).plain, severity=_SEVERITY.get(tone, "information"), timeout=3, markup=False)

    # lock and leave

    def lock(self, why: str = "Locked") -> None:
        """Wipes the key and covers the screen; a held approval is taken back."""
        if not self.keys.lockable:
            self.hint("this key could not be unlocked again with a passphrase")
            return
        if self.desk.held:
            self.desk.take_back()
        self.keys.lock()
        self._link.hang_up()
        self.push_screen(LockScreen(self.keys, why))

    def _lock_when_idle(self) -> None:
        if self.keys.key is not None and monotonic() - self._touched > self.settings.lock_minutes * 60:
            self.lock("Locked after a while without a key")

    async def on_event(self, event: events.Event) -> None:
        """Any key or click shows that somebody is there."""
        if isinstance(event, events.Key | events.MouseDown | events.Paste):
            self._touched = monotonic()
        await super().on_event(event)

    def on_app_focus(self) -> None:
        """The click or switch that brought the window forward is no answer."""
        self._main.arming.focused()
        self._main.show_state()
        if isinstance(self.screen, ConfirmScreen):
            self.screen.wait_anew()

    def leave(self) -> None:
        """Quits; asks first if something waits. Nothing is decided by quitting."""
        waiting = self.board.waiting
        if not waiting:
            self.exit()
            return
        words = "1 request waits" if waiting == 1 else f"{waiting:,} requests wait"
        question = own(f"{words}. Quit all the same?", "bold")
        detail = own("Quitting decides nothing; they go on waiting until they time out.", MUTED)
        self.push_screen(ConfirmScreen(question, detail, seconds=0.0), self._left)

    def _left(self, sure: bool | None) -> None:
        if sure:
            self.exit()
