"""The console: holds the board, the links to the sources and the desk, which outlive every screen."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import monotonic, sleep
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.notifications import SeverityLevel
from textual.timer import Timer
from textual.worker import get_current_worker

from aileron_tui.console import actions
from aileron_tui.console.actions import FETCHED_ONCE, NO_LOCK, NO_LOG
from aileron_tui.console.answer_flow import AnswerFlow
from aileron_tui.console.render import MUTED, foreign_line, own
from aileron_tui.console.screens.main import MainScreen
from aileron_tui.console.settings import ConsoleSettings
from aileron_tui.console.terminal_driver import TerminalDriver
from aileron_tui.console.themes import THEMES, undyed
from aileron_tui.console.timers import call_after
from aileron_tui.console.vault_unlocking import VaultUnlocking
from aileron_tui.console.widgets.key_line import KeyLine
from aileron_tui.core.errors import AileronError
from aileron_tui.core.visible_text import clip, inline, prepare
from aileron_tui.files.paths import bundled
from aileron_tui.surface.arming import Arming
from aileron_tui.surface.board import Board, Tone
from aileron_tui.surface.source import OperatorKey, Source, SourceSpec
from aileron_tui.surface.source_listener import ConnectionState, SourceListener

if TYPE_CHECKING:
    from textual.command import Provider
    from textual.screen import Screen

    from aileron_tui.core.request import Request
    from aileron_tui.runtime.source_events import SourceEvent

_IDLE_LOOK: Final = 5.0
_QUIET: Final = 1.0
_FRAME: Final = 1 / 60
_BREATH: Final = 0.05
_LONGEST_REASON: Final = 200
_SHOWN: Final = frozenset({"snapshot", "unreadable"})
_SEVERITY: Final[dict[Tone, SeverityLevel]] = {Tone.BAD: "error", Tone.WARN: "warning"}


def _action_commands() -> "type[Provider]":
    from aileron_tui.console.command_palette import ActionCommands  # noqa: PLC0415  # the palette loads when opened

    return ActionCommands


class Console(App[None]):
    """One operator's console on one source or several. One that cannot be heard never stands in the way of another."""

    TITLE = "aileron"
    CSS_PATH: ClassVar[list[str]] = [  # type: ignore[assignment]  # Textual says so of its own subclasses too
        str(bundled("styles") / name) for name in ("base.tcss", "main.tcss")
    ]
    COMMANDS = {_action_commands}  # noqa: RUF012  # as Textual declares it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "quit", show=False, priority=True, system=True),
        Binding("ctrl+z", "suspend_process", show=False, system=True),
    ]

    class Heard(Message):
        """A source told something, or fell silent; it lies in its link."""

        def can_replace(self, message: Message) -> bool:
            """Many of these mean no more than one."""
            return isinstance(message, Console.Heard)

    def __init__(
        self,
        upstreams: Sequence[SourceSpec],
        keys: OperatorKey,
        settings: ConsoleSettings | None = None,
        *,
        log_lines: Callable[[], Sequence[str]] | None = None,
        read_only: bool = False,
    ) -> None:
        self.settings = settings or ConsoleSettings()
        super().__init__(driver_class=TerminalDriver, ansi_color=undyed(self.settings.theme))
        self.set_reactive(App.ansi_color, None)  # from now on as the look has it, which can be changed
        self.arming = Arming(self.settings.arm_seconds)
        self.keymap_in_use = actions.keymap(self.settings.keymap)
        self.keys = keys
        self.read_only = read_only
        self.log_lines = log_lines
        self.board = Board()
        self.links = _links(upstreams, keys, self._heard)
        self.vaults = VaultUnlocking(self)
        self.desk = AnswerFlow(self)
        self._touched = monotonic()
        self._pulse: asyncio.TimerHandle | None = None
        self._took_in = 0.0
        self._next: Timer | None = None
        self._main = MainScreen(self)
        for theme in THEMES:
            self.register_theme(theme)
        self._dress()

    # life

    def get_default_screen(self) -> "Screen[None]":
        """The one that is always there."""
        return self._main

    def get_system_commands(self, screen: "Screen[object]") -> Iterator[SystemCommand]:  # noqa: ARG002  # Textual's
        """What the palette offers beside the table of actions."""
        yield SystemCommand("look", "Other colours, until you leave.", self.search_themes)

    def _dress(self) -> None:
        """Takes on an ordinary dark look before anything is drawn, so that the styles are not read twice."""
        look = self.get_theme(self.settings.theme)
        if look and look.dark and not look.ansi:
            self.set_reactive(App.theme, look.name)
            self.stylesheet.set_variables(self.get_css_variables())

    def on_mount(self) -> None:
        """Shows the frame first: nothing else is loaded before it is on the terminal."""
        self.theme = self.settings.theme
        self.set_keymap(self.keymap_in_use)
        self.app_resume_signal.subscribe(self, self._resumed)
        self._say_title()
        if self.keys.lockable and self.keys.key is None:
            self._cover("Unlock your key")
        if self.settings.lock_minutes and self.keys.lockable:
            self.set_interval(_IDLE_LOOK, self._lock_when_idle)
        if isinstance(self._driver, TerminalDriver):
            self._driver.continued = self.arming.console_paused
        self._beat()

    def on_ready(self) -> None:
        """Begins to listen when the first frame was drawn."""
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._main.furnish()
        for link in self.links.values():
            link.start()
        call_after(self, _QUIET, self._prepare)

    def _prepare(self) -> None:
        """What the first text in another script would have to wait for, a little at a time and beside the loop."""

        def work() -> None:
            worker = get_current_worker()
            for _ in prepare():
                if worker.is_cancelled:
                    return
                sleep(_BREATH)

        self.run_worker(work, thread=True, group="preparation", exit_on_error=False, description="character classes")

    def on_unmount(self) -> None:
        """Hangs up. An answer that is still held is not sent."""
        if self._pulse:
            self._pulse.cancel()
        self.desk.close()
        for link in self.links.values():
            link.stop()

    @property
    def several(self) -> bool:
        """Whether there is more than one source, so that one has to say which."""
        return len(self.links) > 1

    @property
    def trouble(self) -> str:
        """Why not every source can be heard, or ""."""
        silent = [link.status for link in self.links.values() if link.status.state is not ConnectionState.LIVE]
        return next((status.why or status.state for status in silent), "")

    def source_of(self, item: "Request") -> Source | None:
        """Where a request came from, while that can be reached."""
        link = self.links.get(item.source)
        return link.source if link else None

    def redraw(self) -> None:
        """Shows the board as it is now."""
        self._main.redraw()

    def _heard(self) -> None:
        self.post_message(self.Heard())

    def on_console_heard(self) -> None:
        """Takes in what the sources told, at once, but not more often than it can be drawn."""
        if self._next is not None:
            return
        soon = self._took_in + _FRAME - monotonic()
        if soon > 0:
            self._next = call_after(self, soon, self._take_in)
        else:
            self._take_in()

    def _take_in(self) -> None:
        """What the sources told. A request never takes the focus and never moves the cursor."""
        self._took_in, self._next = monotonic(), None
        new: list[str] = []
        heard: list[SourceEvent] = []
        changed = False
        for link in self.links.values():
            before = link.status
            told = link.take_events()
            if told:
                new += self.board.receive(told)
                heard += told
            if link.status is not before:
                changed = True
                self._stands(link)
            self.vaults.heard(link.name, told)
        self.desk.look_again()
        reminders = sum(happening.data.get("reminder") is True for happening in heard)
        if new or reminders:
            self._announce(len(new) or reminders)
        if changed or any(happening.items or happening.name in _SHOWN for happening in heard):
            self._say_title()
            if not self.desk.draws_soon:
                self.redraw()

    def _stands(self, link: SourceListener) -> None:
        """A source is heard again, or no more."""
        if link.status.state is ConnectionState.LIVE:
            self.vaults.ask(link.name)
        else:
            self.board.source_lost(link.status.since, link.name)

    def _announce(self, count: int) -> None:
        """Bell and notification. Only a number goes into an escape sequence, never a word from outside."""
        if self.settings.bell:
            self.bell()
        if self.settings.notify:
            words = "1 request waits" if count == 1 else f"{count} requests wait"
            self._tell_terminal(f"\x1b]9;aileron: {words}\x07\x1b]777;notify;aileron;{words}\x07")

    def _say_title(self) -> None:
        count = self.board.waiting_count
        self._tell_terminal(f"\x1b]0;{f'({count}) ' if count else ''}aileron\x07")

    def _tell_terminal(self, sequence: str) -> None:
        if self._driver and not self.is_headless:
            self._driver.write(sequence)

    # looking

    def unable(self, item: "Request | None" = None) -> str:
        """Why nothing can be answered now, or not this request, or ""."""
        if self.read_only:
            return "this console only reads"
        if self.keys.lockable and self.keys.key is None:
            return "locked"
        if item is None:
            live = any(link.status.state is ConnectionState.LIVE for link in self.links.values())
            return "" if live else "not connected"
        status = self.links[item.source].status
        if status.state is ConnectionState.LIVE:
            return ""
        why = f": {clip(inline(status.why), _LONGEST_REASON)}" if status.why else ""
        return f"{f'{item.source} is ' if self.several else ''}not connected{why}"

    def fetch_again(self) -> None:
        """A fresh preview of what is shown."""
        item = self.board.current
        if item is None:
            self.hint(self.unable() or "there is no request")
        elif why := self.unable(item) or ("" if item.refreshable else FETCHED_ONCE):
            self.hint(why)
        else:
            self.board.set_pill(item.key, "fetching again…")
            self.redraw()
            work = partial(self._fetch_again, item)
            self.run_worker(work, thread=True, group="previews", exit_on_error=False, description="fetch again")

    def _fetch_again(self, item: "Request") -> None:
        source, why = self.source_of(item), ""
        try:
            if source is not None:
                source.refresh(item.id)
        except AileronError as error:
            why = str(error)
        self.call_from_thread(self._fetched_again, item, why)

    def _fetched_again(self, item: "Request", why: str) -> None:
        self.board.clear_pill(item.key)
        if why:
            self.hint(why, Tone.WARN)
        self.redraw()

    def open_history(self) -> None:
        """Everything that was."""
        from aileron_tui.console.screens.history import HistoryScreen  # noqa: PLC0415
        from aileron_tui.surface.history_reader import HistoryReader  # noqa: PLC0415  # screens load when opened

        archive = HistoryReader(lambda: {name: link.source for name, link in self.links.items()})
        self.push_screen(HistoryScreen(archive, keymap=self.keymap_in_use))

    def open_raw(self) -> None:
        """The exact call and preview."""
        from aileron_tui.console.screens.raw import RawScreen  # noqa: PLC0415

        item = self.desk.shown
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
            self.hint(NO_LOG)
        else:
            self.push_screen(AgentLogScreen(self.log_lines))

    def copy_identity(self) -> None:
        """Id and digest to the clipboard."""
        item = self.board.current
        if item is None:
            self.hint("there is no request")
        else:
            self.copy_to_clipboard(f"{inline(item.id)} {item.digest}")  # a newline would run what is pasted
            self.hint("id and digest copied")

    def hint(self, words: str, tone: Tone = Tone.QUIET) -> None:
        """A short word to the operator, for a moment."""
        self.unsay()
        self.notify(foreign_line(words).plain, severity=_SEVERITY.get(tone, "information"), timeout=3, markup=False)

    def unsay(self) -> None:
        """Takes the short word away: it is over, or another one comes."""
        self.call_later(self.clear_notifications)  # in turn, as Textual takes in what it is to show

    # lock and leave

    def lock(self, why: str = "Locked") -> None:
        """Wipes the key and covers the screen; a held approval is taken back."""
        if not self.keys.lockable:
            self.hint(NO_LOCK)
            return
        if self.desk.held:
            self.desk.take_back()
        self.keys.lock()
        for link in self.links.values():
            link.disconnect()
        self._cover(why)

    def _cover(self, why: str) -> None:
        from aileron_tui.console.screens.lock import LockScreen  # noqa: PLC0415

        self.push_screen(LockScreen(self.keys, why))

    def _lock_when_idle(self) -> None:
        if self.keys.key is not None and monotonic() - self._touched > self.settings.lock_minutes * 60:
            self.lock("Locked after a while without a key")

    # what shows that somebody is there, and what may make an answer an accident

    async def on_event(self, event: events.Event) -> None:
        """Looks at every key and press before anything else does."""
        if isinstance(event, events.Key | events.MouseDown | events.Paste) and not event.is_forwarded:
            self._touched = monotonic()
            self._came(event)
        await super().on_event(event)

    def _came(self, event: events.Key | events.MouseDown | events.Paste) -> None:
        self.arming.input_delayed(monotonic() - event.time)
        if not self.app_focus:
            self.arming.focused()  # the report of it is late, or will not come
        if isinstance(event, events.Key):
            self.arming.key_pressed()
        elif isinstance(event, events.MouseDown):
            self.arming.mouse_pressed()
            under, _ = self.get_widget_at(event.x, event.y)
            if not isinstance(under, KeyLine):
                self.arming.clicked()
            self._main.show_state()

    def on_app_focus(self) -> None:
        """The click or switch that brought the window forward is no answer."""
        self.arming.focused()
        self._main.show_state()

    def on_app_blur(self) -> None:
        """From now on it is known who has the focus."""
        self.arming.blurred()

    def _resumed(self, _: object) -> None:
        """After ctrl+z, or a stop from elsewhere: the terminal has forgotten what was drawn."""
        self.arming.console_paused()
        self._main.show_state()
        self.screen.refresh(layout=True)

    def _beat(self) -> None:
        """Shows that the loop runs. Not a timer of Textual's: it happens often, and must cost nothing."""
        self.arming.heartbeat()
        if seconds := self.settings.arm_seconds:
            self._pulse = asyncio.get_running_loop().call_later(seconds, self._beat)

    def leave(self) -> None:
        """Quits; asks first if something waits. Nothing is decided by quitting."""
        from aileron_tui.console.screens.confirm import ConfirmScreen  # noqa: PLC0415

        waiting = self.board.waiting_count
        if not waiting:
            self.exit()
            return
        words = "1 request waits" if waiting == 1 else f"{waiting:,} requests wait"
        question = own(f"{words}. Quit all the same?", "bold")
        here = self.log_lines is not None  # only what runs in this window has its log here
        end = "the gate in this window ends too" if here else "they go on waiting until they time out"
        detail = own(f"Quitting decides nothing; {end}.", MUTED)
        self.push_screen(ConfirmScreen(question, detail), self._left)

    def _left(self, sure: bool | None) -> None:
        if sure:
            self.exit()


def _links(upstreams: Sequence[SourceSpec], keys: OperatorKey, heard: Callable[[], None]) -> dict[str, SourceListener]:
    links = {upstream.name: SourceListener(upstream, keys, heard) for upstream in upstreams}
    # A key is a name, a space and an id: only this keeps one source from taking the keys of another.
    if len(links) < len(upstreams) or (len(links) > 1 and not all(links)) or any(" " in name for name in links):
        raise AileronError("every source needs a name of its own, in one word")
    return links
