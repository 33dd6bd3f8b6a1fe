"""The console: builds its parts, connects them, and keeps the state that outlives single screens."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import monotonic, sleep
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.app import App, SystemCommand
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.message import Message
from textual.notifications import SeverityLevel
from textual.screen import ModalScreen
from textual.signal import Signal
from textual.theme import Theme
from textual.timer import Timer
from textual.worker import get_current_worker

from aileron_tui.console.announcer import Announcer
from aileron_tui.console.answer_flow import AnswerFlow
from aileron_tui.console.closed_screens import ClosedScreens
from aileron_tui.console.count_words import held_words, waiting_words, words_while_locked
from aileron_tui.console.dialog_opener import ConsoleDialogs
from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import bindings
from aileron_tui.console.keymap import checked_keymap
from aileron_tui.console.presence_reporter import PresenceReporter
from aileron_tui.console.render import MUTED, foreign_line, trusted
from aileron_tui.console.screens.main import MainScreen
from aileron_tui.console.settings import ConsoleSettings
from aileron_tui.console.source_listeners import SourceListeners, SourceThreads
from aileron_tui.console.terminal_driver import TerminalDriver
from aileron_tui.console.textual_internals import running_driver
from aileron_tui.console.themes import THEMES, uses_terminal_colours
from aileron_tui.console.timers import call_after
from aileron_tui.console.vault_unlocking import VaultUnlocking
from aileron_tui.console.widgets.key_line import KeyLine
from aileron_tui.core.visible_text import prepare
from aileron_tui.files.paths import bundled
from aileron_tui.surface.agent_notices import NOTICES, AgentNotices
from aileron_tui.surface.arming import Arming
from aileron_tui.surface.board import Board, Tone
from aileron_tui.surface.operator_presence import OperatorPresence
from aileron_tui.surface.source import OperatorKey, Source, SourceSpec
from aileron_tui.surface.source_listener import ConnectionState, SourceStatus

if TYPE_CHECKING:
    from textual.command import Provider
    from textual.screen import Screen

    from aileron_tui.console.daemon_alerts import DaemonAlerts, MakeChannels
    from aileron_tui.console.guide import Guide
    from aileron_tui.console.screens.confirm import ConfirmScreen
    from aileron_tui.console.screens.lock import LockScreen
    from aileron_tui.core.request import Request
    from aileron_tui.runtime.source_events import SourceEvent
    from aileron_tui.surface.operator_presence import PresenceReport

_IDLE_CHECK_SECONDS: Final = 5.0
_PREPARE_DELAY: Final = 1.0
_PREPARE_PAUSE: Final = 0.05
_FRAME: Final = 1 / 60
_MESSAGE_SECONDS: Final = 3
_CHANGE_WITHOUT_REQUESTS: Final = frozenset({"snapshot", "unreadable", "reading", *NOTICES})
_WHEEL: Final = (events.MouseScrollDown, events.MouseScrollUp)
_INPUT: Final = (events.Key, events.MouseDown, events.Paste, *_WHEEL)
_SEVERITY: Final[dict[Tone, SeverityLevel]] = {Tone.BAD: "error", Tone.WARN: "warning"}


def _action_commands() -> "type[Provider]":
    from aileron_tui.console.command_palette import ActionCommands  # noqa: PLC0415  # the palette loads when opened

    return ActionCommands


class Console(App[None]):
    """One operator's console for one or more sources. Its parts see it as their `ConsolePort`."""

    TITLE = "aileron"
    CSS_PATH: ClassVar[list[str]] = [  # type: ignore[assignment]  # as in Textual's own subclasses
        str(bundled("styles") / name) for name in ("base.tcss", "main.tcss")
    ]
    COMMANDS = {_action_commands}  # noqa: RUF012  # as Textual declares it
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.EVERYWHERE)]

    class SourcesReported(Message):
        """A source reported events, or its connection changed; its listener has the details."""

        def can_replace(self, message: Message) -> bool:
            """One queued message is enough, however often sources report."""
            return isinstance(message, Console.SourcesReported)

    def __init__(  # noqa: PLR0913  # what it connects to, who answers, and what it is given
        self,
        upstreams: Sequence[SourceSpec],
        keys: OperatorKey,
        settings: ConsoleSettings | None = None,
        *,
        log_lines: Callable[[], Sequence[str]] | None = None,
        read_only: bool = False,
        channels: "MakeChannels | None" = None,
        guide: "Guide | None" = None,
        before_secrets: Callable[[], object] = lambda: None,
    ) -> None:
        self.settings = settings or ConsoleSettings()
        super().__init__(driver_class=TerminalDriver, ansi_color=uses_terminal_colours(self.settings.theme))
        self.set_reactive(App.ansi_color, None)  # from now on the theme decides, and it can change
        self.arming = Arming(self.settings.arm_seconds)
        self.keymap_in_use = checked_keymap(self.settings.keymap)
        self.keys = keys
        self.read_only = read_only
        self.log_lines = log_lines
        self.guide = guide
        self.board = Board()
        self.board.others.name = keys.name
        self.agent_notices = AgentNotices()
        self.sources = SourceListeners(upstreams, keys, self._reported, self._source_connected)
        self.source_events: Signal[Sequence[SourceEvent]] = Signal(self, "source events")
        self.threads = SourceThreads()
        dialogs = ConsoleDialogs(self, self.settings, keys, self.arming)
        self.vaults = VaultUnlocking(self, dialogs)
        self.answers = AnswerFlow(self, dialogs, self.vaults.check)
        self.announcer = Announcer(self)
        self.presence = OperatorPresence()
        self._channels = channels
        self.daemon_alerts: DaemonAlerts | None = None
        self._presence_reporter = PresenceReporter(
            self, self.presence, self._is_request_covered, self._presence_changed
        )
        self._last_presence: PresenceReport | None = None
        self._before_secrets = before_secrets
        self._main = MainScreen(self, self.answers, self.vaults)
        self._last_input = monotonic()
        self._closed_screens = ClosedScreens(lambda: self._last_input)
        self._loop_check: asyncio.TimerHandle | None = None
        self._last_processed = 0.0
        self._lock_screen: LockScreen | None = None
        self._quit_question: ConfirmScreen | None = None
        self._processing_timer: Timer | None = None
        for theme in THEMES:
            self.register_theme(theme)
        self._apply_dark_theme_early()

    # start and end

    def get_default_screen(self) -> "Screen[None]":
        """The main screen, which is below all others."""
        return self._main

    def get_system_commands(self, screen: "Screen[object]") -> Iterator[SystemCommand]:  # noqa: ARG002  # Textual's
        """The palette's commands that have no key."""
        words = "Change the colours: dark, light, high contrast, or those of the terminal."
        yield SystemCommand("theme", words, self.search_themes)

    def _theme_changed(self, theme: Theme) -> None:
        """Says how to keep colours that were chosen in the palette."""
        if theme in THEMES and theme.name != self.settings.theme:
            self.show_message(f'To keep these colours, write theme = "{theme.name}" under [console] in config.toml.')

    def _apply_dark_theme_early(self) -> None:
        """Applies an ordinary dark theme before anything is drawn, so that the styles are not computed twice."""
        theme = self.get_theme(self.settings.theme)
        if theme and theme.dark and not theme.ansi:
            self.set_reactive(App.theme, theme.name)
            self.stylesheet.set_variables(self.get_css_variables())

    def on_mount(self) -> None:
        """Sets up only what the first frame needs; everything else loads after it is drawn."""
        self.theme = self.settings.theme
        self.set_keymap(self.keymap_in_use)
        self.app_resume_signal.subscribe(self, self._resumed)
        self.theme_changed_signal.subscribe(self, self._theme_changed)
        self.announcer.show_title()
        if self.is_locked:
            self._before_secrets()
            self.stylesheet.read(bundled("styles") / "dialogs.tcss")
            self._show_lock("Unlock your key")
        if self.settings.lock_minutes and self.keys.lockable:
            self.set_interval(_IDLE_CHECK_SECONDS, self._lock_when_idle)
        if isinstance(driver := running_driver(self), TerminalDriver):
            driver.on_continue = self.arming.console_paused
            driver.on_burst = self.arming.pasted
            driver.on_input_dropped = self._input_dropped
        self._check_loop()

    def on_ready(self) -> None:
        """Connects to the sources once the first frame is drawn."""
        self.call_after_refresh(self._start)

    def _start(self) -> None:
        if not self._main.is_attached:
            return  # a key that was typed early has quit already
        from aileron_tui.console.daemon_alerts import DaemonAlerts  # noqa: PLC0415  # nothing is alerted before

        self._before_secrets()
        order = self.settings.alert_order
        self.daemon_alerts = DaemonAlerts(self, self.announcer, self.answers.deny_request, order, self._channels)
        if self._last_presence:
            self.daemon_alerts.presence_changed(self._last_presence)
        self._main.mount_prompt()
        self.sources.start()
        call_after(self, _PREPARE_DELAY, self._prepare_text)

    def _prepare_text(self) -> None:
        """Compiles the large character classes step by step in a thread, so that no text has to wait for them."""

        def work() -> None:
            worker = get_current_worker()
            for _ in prepare():
                if worker.is_cancelled:
                    return
                sleep(_PREPARE_PAUSE)

        self.run_worker(work, thread=True, group="preparation", exit_on_error=False, description="character classes")

    async def on_unmount(self) -> None:
        """Closes every connection. A held approval is not sent."""
        if self._loop_check:
            self._loop_check.cancel()
        self.threads.close()
        self.sources.stop()
        if self.daemon_alerts:
            await self.daemon_alerts.close()

    def leave(self) -> None:
        """Quits; asks first if requests are waiting or approvals are held. Quitting decides nothing."""
        from aileron_tui.console.screens.confirm import ConfirmScreen  # noqa: PLC0415  # screens load when opened

        held, waiting = self.answers.held_count, self.board.waiting_count
        if not held and not waiting:
            self.exit()
            return
        question = trusted(f"{held_words(held) if held else waiting_words(waiting)}. Quit anyway?", "bold")
        gate_is_here = self.log_lines is not None  # there is a log only if the gate runs in this window
        rest = "the gate in this window stops too" if gate_is_here else "they keep waiting until they time out"
        detail = f"Quitting decides nothing; {rest}."
        if held:
            detail = f"What is still held when you quit is not sent. {waiting_words(waiting)}. {detail}"
        self._quit_question = ConfirmScreen(question, trusted(detail, MUTED))
        self.push_screen(self._quit_question, lambda sure: self.exit() if sure else None)

    async def action_quit(self) -> None:
        """Quits like `q`; at once if the question is already on screen, or if the console is locked."""
        if self._lock_screen is not None or self.screen is self._quit_question:
            self.exit()
        else:
            self.leave()

    def pop_screen(self) -> AwaitComplete:
        """Closes the screen on top, and soon frees its memory if it was a large one."""
        if not isinstance(self.screen, ModalScreen):
            self._closed_screens.closed()
        return super().pop_screen()

    # events from sources

    def _source_connected(self, source: Source) -> None:
        if self.daemon_alerts:
            self.daemon_alerts.connected(source)

    def _presence_changed(self, presence: "PresenceReport") -> None:
        self._last_presence = presence
        if self.daemon_alerts:
            self.daemon_alerts.presence_changed(presence)

    def _reported(self) -> None:
        self.post_message(self.SourcesReported())

    def on_console_sources_reported(self) -> None:
        """Processes events at once, but at most once per frame."""
        if self._processing_timer is not None:
            return
        wait = self._last_processed + _FRAME - monotonic()
        if wait > 0:
            self._processing_timer = call_after(self, wait, self._process_reports)
        else:
            self._process_reports()

    def _process_reports(self) -> None:
        """Applies what the sources reported. A new request never takes the focus and never moves the cursor."""
        self._last_processed, self._processing_timer = monotonic(), None
        new: list[str] = []
        received: list[SourceEvent] = []
        status_changed = False
        for name, source_events, status in self.sources.reports():
            if source_events:
                new += self.board.receive(source_events)
                received += source_events
            if status:
                status_changed = True
                self._status_changed(name, status)
            self.vaults.events_received(name, source_events)
        self.answers.board_changed()
        for sentence in self.agent_notices.receive(received):
            self.show_message(sentence, Tone.WARN)
        self.announcer.receive(received, new)
        if self.daemon_alerts:
            self.daemon_alerts.receive(received, new)
        if status_changed or any(event.requests or event.name in _CHANGE_WITHOUT_REQUESTS for event in received):
            self.announcer.show_title()
            if self._lock_screen is not None:
                self._lock_screen.show_waiting()
            if not self.answers.redraws_soon:
                self.redraw()
        if received:
            self.source_events.publish(received)

    def _status_changed(self, name: str, status: SourceStatus) -> None:
        if status.state is ConnectionState.LIVE:
            self.vaults.check(name)
            self._presence_reporter.connected(name)
        else:
            self.board.source_lost(status.since, name)

    def write_sequence(self, sequence: str) -> None:
        """Writes an escape sequence to the terminal."""
        driver = running_driver(self)
        if driver and not self.is_headless:
            driver.write(sequence)

    # the `ConsolePort`

    @property
    def statuses(self) -> Mapping[str, SourceStatus]:
        """The connection status of every source by its name."""
        return self.sources.statuses

    @property
    def is_locked(self) -> bool:
        """Whether the operator's key is locked, so that no request is visible."""
        return self.keys.lockable and self.keys.key is None

    def source(self, name: str) -> Source | None:
        """The source with this name, while it is connected."""
        listener = self.sources.listeners.get(name)
        return listener.source if listener else None

    def source_label(self, name: str) -> str:
        """The kind of this source: `daemon` or `gate`."""
        return self.sources.listeners[name].kind

    def answer_problem(self, request: "Request | None" = None) -> str:
        """Why this request (without one: any request) cannot be answered now, "" if it can."""
        if self.read_only:
            return "this console is read-only"
        if self.is_locked:
            return "locked"
        return self.sources.problem(request)

    def redraw(self) -> None:
        """Shows the board as it is now."""
        self._main.redraw()

    def show_message(self, words: str, tone: Tone = Tone.QUIET) -> None:
        """Shows a short message for a few seconds; replaces the previous one. A locked console shows none."""
        if self._lock_screen is not None:
            return
        self.clear_message()
        severity = _SEVERITY.get(tone, "information")
        self.notify(foreign_line(words).plain, severity=severity, timeout=_MESSAGE_SECONDS, markup=False)

    def clear_message(self) -> None:
        """Removes the message."""
        self.call_later(self.clear_notifications)  # queued, because Textual queues new notifications too

    def call_after(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Calls `callback` once on the loop, after this many seconds."""
        return call_after(self, seconds, callback)

    def run_blocking(self, kind: str, source: str, task: Callable[[], None]) -> None:
        """Runs a task that waits for a source in a thread."""
        self.threads.run(kind, source, task)

    def report(self, callback: Callable[..., object], *values: object) -> None:
        """Calls `callback` on the loop; may be used from any thread."""
        self.call_later(callback, *values)

    def request_shown(self, key: str) -> None:
        """This request is on screen now, or none."""
        self.presence.shown(key)
        self._presence_reporter.update()

    def _is_request_covered(self) -> bool:
        """Whether a screen that is not about the request hides it, such as the history."""
        above = self.screen_stack[1:2]
        return any(not isinstance(one, ModalScreen) and not getattr(one, "SHOWS_REQUEST", False) for one in above)

    # the lock

    def lock(self, why: str = "Locked") -> None:
        """Wipes the key, covers the screen and cancels held approvals. Bell, title and count go on."""
        self.clear_message()
        self.answers.take_back_all()
        self.keys.lock()
        self._presence_reporter.update()
        self._show_lock(why)

    def _show_lock(self, why: str) -> None:
        from aileron_tui.console.screens.lock import LockScreen  # noqa: PLC0415  # screens load when opened

        self._lock_screen = LockScreen(
            self.keys, why, waiting=lambda: words_while_locked(self.board, self.statuses.values())
        )
        self.push_screen(self._lock_screen, self._unlocked)

    def _unlocked(self, _: bool | None) -> None:
        """Connects again, because a connection signs with the key that it was made with."""
        self._lock_screen = None
        self.sources.disconnect()

    def _lock_when_idle(self) -> None:
        if self.keys.key is not None and monotonic() - self._last_input > self.settings.lock_minutes * 60:
            self.lock("Locked due to inactivity")

    # input: postpones the lock, and disarms answers that could be accidental

    async def on_event(self, event: events.Event) -> None:
        """Notes every key, click, paste and turn of the wheel before it is handled."""
        if isinstance(event, _INPUT) and not event.is_forwarded:
            self._main.following.input_received()
            self.presence.input_received()
            if not isinstance(event, _WHEEL):
                self._last_input = monotonic()
                self._input_received(event)
        await super().on_event(event)
        if isinstance(event, _INPUT):
            self._presence_reporter.update()

    def _input_received(self, event: events.Key | events.MouseDown | events.Paste) -> None:
        self.arming.input_delayed(monotonic() - event.time)
        if not self.app_focus:
            self.arming.focused()  # the terminal reports the focus late, or not at all
        if isinstance(event, events.Key):
            self.arming.key_pressed()
        elif isinstance(event, events.MouseDown):
            self.arming.mouse_pressed()
            clicked, _ = self.get_widget_at(event.x, event.y)
            if not isinstance(clicked, KeyLine):
                self.arming.clicked()
            self._main.show_status()

    def _input_dropped(self, count: int) -> None:
        """Says that a flood of input, such as a huge paste, was dropped."""
        self.arming.pasted()
        self.show_message(f"{count:,} characters of input were dropped", Tone.WARN)
        self._main.show_status()

    def on_app_focus(self) -> None:
        """Disarms, because the click or key that brought the window to the front is not an answer."""
        self.presence.window_focused()
        self._presence_reporter.update()
        self.arming.focused()
        self._main.show_status()

    def on_app_blur(self) -> None:
        """Notes that the window is no longer in front."""
        self.presence.window_blurred()
        self._presence_reporter.update()
        self.arming.blurred()

    def _resumed(self, _: object) -> None:
        """Redraws everything, because the terminal lost it during ctrl+z or SIGSTOP."""
        self.arming.console_paused()
        self._main.show_status()
        self.screen.refresh(layout=True)

    def _check_loop(self) -> None:
        """Reports that the loop is running. Not a Textual timer, because it runs often and must be cheap."""
        self.arming.heartbeat()
        if seconds := self.settings.arm_seconds:
            self._loop_check = asyncio.get_running_loop().call_later(seconds, self._check_loop)
