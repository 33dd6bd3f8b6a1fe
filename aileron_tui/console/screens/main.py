"""The main screen: the waiting requests, the prompt of one of them, and the answer keys."""

from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.geometry import Size
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static

from aileron_tui.console.answer_flow import AnswerFlow
from aileron_tui.console.deadline_extender import DeadlineExtender
from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_reasons import KeyState
from aileron_tui.console.key_table import bindings, of
from aileron_tui.console.main_screen_words import (
    PromptOnScreen,
    command_to_try,
    header_notes,
    key_state,
    request_note,
    status_line,
)
from aileron_tui.console.render import trusted
from aileron_tui.console.screens.answering import AnswerKeys
from aileron_tui.console.screens.opening import (
    open_body,
    open_help,
    open_history,
    open_log,
    open_raw,
    open_rule,
    open_rules,
)
from aileron_tui.console.timers import call_after
from aileron_tui.console.vault_unlocking import VaultUnlocking
from aileron_tui.console.widgets.answer_bar import AnswerBar
from aileron_tui.console.widgets.cached_widget import CachedWidget
from aileron_tui.console.widgets.header import Header, WaitingCount, banner, connection
from aileron_tui.console.widgets.request_list import RequestList
from aileron_tui.console.widgets.two_sided_line import TwoSidedLine
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import inline
from aileron_tui.files.paths import bundled
from aileron_tui.surface.waiting_order import Following, next_waiting

if TYPE_CHECKING:
    from textual.widgets import Input

    from aileron_tui.console.port import ConsolePort
    from aileron_tui.console.widgets.guide_strip import GuideStrip
    from aileron_tui.console.widgets.prompt_view import PromptView
    from aileron_tui.core.request import Request

_WIDE, _NARROW = 90, 60
_SMALLEST: Final = (40, 15)
_LOW: Final = 20
_BANNER_LINES: Final = 2
_SHAPES: Final = frozenset({"-wide", "-narrow", "-folded", "-small"})
_JUST_AFTER: Final = 0.02
_MAX_FILTER: Final = 200


class Panes(Container, CachedWidget):
    """The list and the prompt."""


class MainScreen(AnswerKeys, Screen[None], CachedWidget):
    """Shows the board. A new request never takes the focus, and never moves the cursor from one that waits."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.MAIN)]
    AUTO_FOCUS = "RequestList"
    SCOPE: ClassVar = KeyScope.MAIN

    def __init__(self, port: "ConsolePort", answers: AnswerFlow, vaults: VaultUnlocking) -> None:
        super().__init__()
        self.port = port
        self.answers = answers
        self.arming = port.arming
        self.following = Following(port.board)
        self._vaults = vaults
        self._extender = DeadlineExtender(port)
        self._clock: Timer | None = None
        self._status_timer: Timer | None = None
        self._follow_timer: Timer | None = None
        self._view: PromptView | None = None
        self._filter: Input | None = None
        self._banner: TwoSidedLine | None = None
        self._guide_strip: GuideStrip | None = None

    def compose(self) -> ComposeResult:
        self._lay_out(self.app.size)  # before there are widgets whose styles would have to be computed twice
        yield Header()
        with Panes(id="panes"):
            yield RequestList(self.port.board, show_source=self._several)
        state = self.key_state
        unused = tuple(action.id for action in of(KeyScope.MAIN) if action.optional and action.why_unavailable(state))
        yield AnswerBar(self.port.keymap_in_use, leave_out=unused)

    def on_mount(self) -> None:
        """Starts the clock that updates ages and the time left every second."""
        self._clock = self.set_interval(1.0, self._tick, pause=True)
        self.redraw()

    def mount_prompt(self) -> None:
        """Adds the prompt and the filter, which load slowly and are not needed in the first frame."""
        from aileron_tui.console.widgets.limited_input import LimitedInput  # noqa: PLC0415
        from aileron_tui.console.widgets.prompt_view import PromptView  # noqa: PLC0415

        self.app.stylesheet.read_all([bundled("styles") / name for name in ("dialogs.tcss", "prompt.tcss")])
        self._view = PromptView(self.answers.seen)
        too_small = trusted("This window is too small to show a request. Make it at least 40 × 15 to answer.")
        self._banner = TwoSidedLine(id="banner")
        self.mount(self._banner, Static(too_small, id="small"), before="#panes")
        self.query_one("#panes").mount(self._view)
        self._filter = LimitedInput(placeholder="filter", id="filter", max_length=_MAX_FILTER)
        self.mount(self._filter, before=self.query_one(AnswerBar))
        if self.port.guide:
            from aileron_tui.console.widgets.guide_strip import GuideStrip  # noqa: PLC0415  # only the demo has one

            self._guide_strip = GuideStrip(self.port.keymap_in_use)
            self.mount(self._guide_strip, after="#panes")
        self.redraw()

    # what is shown

    @property
    def _several(self) -> bool:
        """Whether there is more than one source, so that each request must show its source."""
        return len(self.port.statuses) > 1

    def redraw(self) -> None:
        """Draws the board. The prompt keeps its scroll position unless another request is selected."""
        if not self.is_mounted or not self.is_running:  # not mounted yet, or closing
            return
        self._lay_out(self.size)
        self.query_one(RequestList).update(folded=self.size.width < _NARROW)
        request = self.answers.shown
        if self._view:
            name_source = self._several and not self.has_class("-folded")
            brief = self.size.height < _LOW
            note = request_note(self.port, self.answers, request, name_source=name_source, brief=brief)
            self._view.show(request, note=note)
            self._view.show_reading(self.port.board.reading_elsewhere(request.key) if request else ())
        if self._view and self._view.ready:
            self._note_shown(request)
        self._show_header()
        self.show_status()
        if self._guide_strip and self.port.guide:
            small = self.size.width < _NARROW or self.size.height < _LOW
            self._guide_strip.show(self.port.guide.line(self.port.board, request), brief=small)
        if self._clock:
            (self._clock.resume if self.port.board.requests else self._clock.pause)()
        self._follow()

    def _note_shown(self, request: "Request | None") -> None:
        """Notes which request can be answered: the one that is shown and listed. If it was not, the wait restarts."""
        if request and self.port.board.is_listed(request.key) and not self.has_class("-small"):
            self.arming.prompt_shown(request.key, request.digest, self.port.board.row(request.key))
            self.answers.reading.shown(None if self.port.is_locked else request)
            self.port.request_shown(request.key)
        else:
            self.arming.prompt_hidden()
            self.answers.reading.shown(None)
            self.port.request_shown("")

    def _tick(self) -> None:
        if self._view:
            self._view.tick(utc_now())
        board = self.port.board
        if self.answers.update_holds() or board.remove_ended(monotonic()) or board.newly_silent():
            self.redraw()
        else:
            self.show_status()
            self.query_one(RequestList).tick()

    def _show_header(self) -> None:
        statuses = self.port.statuses
        notes = header_notes(self.port, self.answers, self._vaults, narrow=self.size.width < _NARROW)
        count = WaitingCount(self.port.board.listed_waiting_count, self.port.board.waiting_count)
        self.query_one(Header).show(count, connection(list(statuses.values())), notes)
        if self._banner:
            most = 1 if self.size.height < _LOW or self._can_answer else _BANNER_LINES
            lines = banner(statuses, self.size.width - 2, most)
            self._banner.display = bool(lines)
            self.set_class(len(lines) == 1, "-banner")  # it then takes the empty line above the panes
            self._banner.show(trusted("\n").join(lines))

    def show_status(self) -> None:
        """Shows whether an answer counts now; runs again when the prompt will be armed."""
        if self._status_timer:
            self._status_timer.stop()
        left = self.arming.seconds_until_armed()
        self._status_timer = call_after(self, left + _JUST_AFTER, self.show_status) if left else None
        words, style, keys = status_line(self.port, self.answers, self.key_state, filtering=self._is_filtering)
        self.query_one(AnswerBar).show(words, style, *keys)

    @property
    def _can_answer(self) -> bool:
        """Whether the selected request waits and its source is connected, so that it must stay where it is."""
        request = self.port.board.current
        return request is not None and request.state.decidable and not self.port.answer_problem(request)

    @property
    def _is_filtering(self) -> bool:
        """Whether keys are typed into the filter."""
        return self._filter is not None and self._filter.has_focus

    @property
    def key_state(self) -> KeyState:
        """What decides which keys can be used now."""
        view = self._view
        has_body = view is not None and view.quote_in_view is not None
        prompt = PromptOnScreen(
            self.has_class("-small"),
            lambda: view.unread if view and view.ready else None,
            has_body,
            view is not None and view.has_warning,
        )
        return key_state(self.port, self.answers, self._vaults, prompt)

    # layout

    def on_resize(self) -> None:
        """Arranges the panes: side by side if wide, stacked if narrow, the list as one line if very narrow."""
        self.redraw()

    def _lay_out(self, size: Size) -> None:
        width, height = size
        shape = {"-wide" if width >= _WIDE else "-narrow" if width >= _NARROW else "-folded"}
        if width < _SMALLEST[0] or height < _SMALLEST[1]:
            shape.add("-small")
        # Set all at once, because each change of a class computes all styles again.
        self.set_classes((self.classes - _SHAPES) | shape)

    # moving

    def action_down(self) -> None:
        """Moves to the next request."""
        self._move(1)

    def action_up(self) -> None:
        """Moves to the previous request."""
        self._move(-1)

    def _move(self, steps: int) -> None:
        self.answers.discard_edit()
        self.port.board.move(steps)
        self.redraw()

    def _select(self, key: str) -> None:
        self.answers.discard_edit()
        self.port.board.selected = key
        self.redraw()

    def action_next_waiting(self) -> None:
        """Moves to the next request that waits, from the last one to the first."""
        board = self.port.board
        if key := next_waiting(board):
            self._select(key)
        elif board.listed_waiting_count < board.waiting_count:
            self.port.show_message("the filter hides the other waiting requests")
        else:
            self.port.show_message("no other request is waiting")

    def _follow(self) -> None:
        """Moves on once the shown request was answered here, has ended, and no key was pressed for a moment."""
        if self._follow_timer:
            self._follow_timer.stop()
            self._follow_timer = None
        left = self.following.seconds_left() if self.port.settings.follow else None
        if left is None or self.app.screen is not self or self._is_filtering:
            return
        if left:
            self._follow_timer = call_after(self, left + _JUST_AFTER, self._follow)
        else:
            self._select(next_waiting(self.port.board))

    @on(RequestList.MoveRequested)
    def _move_requested(self, event: RequestList.MoveRequested) -> None:
        self._move(event.steps)

    @on(RequestList.Picked)
    def _picked(self, event: RequestList.Picked) -> None:
        self._select(event.key)

    @on(RequestList.RowOpened)
    def _row_opened(self, event: RequestList.RowOpened) -> None:
        if self.port.board.open_row(self.port.board.selected, opened=event.opened):
            self.answers.discard_edit()
            self.redraw()

    def action_next_pane(self) -> None:
        """Focuses the other pane."""
        waiting = self.query_one(RequestList)
        (self._view if self._view and waiting.has_focus else waiting).focus()

    def action_focus_prompt(self) -> None:
        """Focuses the prompt and scrolls to what must still be read."""
        if self._view:
            self._view.focus()
            self._view.read_on()

    def action_page(self, pages: int) -> None:
        """Scrolls the prompt by pages, without changing the focus."""
        if self._view and self._view.ready:
            self._view.scroll_rows(pages, pages=True)

    def on_descendant_focus(self) -> None:
        """Updates the status line, which differs while the filter has the focus."""
        self.show_status()
        self._follow()

    def on_screen_resume(self) -> None:
        """Checks whether to move on, which waits while another screen covers this one."""
        self._follow()

    def on_prompt_view_ready(self) -> None:
        """Shows the request now that the prompt is mounted."""
        self.redraw()

    def on_prompt_view_lines_read(self) -> None:
        """Updates the status line, which says how much is left to read."""
        self.show_status()

    def on_prompt_view_read_to_end(self) -> None:
        """Remembers that the request was read, also for a batch."""
        if self._view and (request := self._view.request):
            self.port.board.record_read(request)
        self.show_status()

    # the filter

    def action_filter(self) -> None:
        """Opens the filter."""
        if self._filter:
            self._filter.display = True
            self._filter.focus()

    def action_clear_filter(self) -> None:
        """Clears the filter, discards an edit, and goes back to the list."""
        if self._filter:
            self._filter.value = ""
            self._filter.display = False
        self.answers.discard_edit()
        self.port.board.set_filter("")
        self.query_one(RequestList).focus()
        self.redraw()

    def on_input_changed(self, event: "Input.Changed") -> None:
        """Applies the filter while it is being typed."""
        self.port.board.set_filter(event.value)
        self.redraw()

    def on_input_submitted(self) -> None:
        """Goes back to the list on enter; the filter stays."""
        self.action_leave_filter()

    def action_leave_filter(self) -> None:
        """Goes back to the list; the filter stays."""
        self.query_one(RequestList).focus()

    # other screens

    def action_history(self) -> None:
        """Opens the history."""
        open_history(self.app, self.port)

    def action_details(self) -> None:
        """Shows or hides the details of who asks and what would run."""
        if self._view and self.usable("details"):
            self._view.toggle_details()

    def action_body(self) -> None:
        """Shows a long text of the prompt on the full screen."""
        if self.usable("body") and self._view and (quote := self._view.quote_in_view):
            open_body(self.app, self.port, self._view.request, quote)

    def action_raw(self) -> None:
        """Opens the raw view of the request that is shown."""
        if self.usable("raw") and (request := self.answers.shown):
            open_raw(self.app, self.port, request)

    def action_rule(self) -> None:
        """Opens the sheet that makes a rule from the request that is shown."""
        if self.usable("rule") and (request := self.answers.shown):
            open_rule(self.app, self.port, request, self._rule_made)

    def _rule_made(self, request: "Request") -> None:
        self.answers.rule_made(request)
        if self.port.guide:
            self.port.guide.rule_made()
            self.redraw()

    def action_rules(self) -> None:
        """Opens the rules in force."""
        open_rules(self.app, self.port)

    def action_log(self) -> None:
        """Opens the log of the demo's agent, or of the gate in this window."""
        if self.usable("log"):
            open_log(self.app, self.port)

    def action_help(self) -> None:
        """Opens the help."""
        open_help(self.app, self.port)

    def action_extend(self) -> None:
        """Waits five more minutes for an answer to the request that is shown."""
        if self.usable("extend") and (request := self.port.board.current):
            self._extender.extend(request)

    def action_copy(self) -> None:
        """Copies the id and the digest of the request, or the command that an empty console shows."""
        if not self.usable("copy"):
            return
        if request := self.port.board.current:
            self.app.copy_to_clipboard(f"{inline(request.id)} {request.digest}")  # a pasted newline would run it
            self.port.show_message("id and digest copied")
        elif command := command_to_try(self.port):
            self.app.copy_to_clipboard(inline(command))
            self.port.show_message("command copied")

    def action_guide(self) -> None:
        """Hides the guide, or shows it again."""
        if self.usable("guide") and self._guide_strip:
            self._guide_strip.display = not self._guide_strip.display

    def action_vault(self) -> None:
        """Unlocks the vault of a daemon."""
        self._vaults.open()

    def action_lock(self) -> None:
        """Locks the console."""
        if self.usable("lock"):
            self.port.lock()

    def action_quit(self) -> None:
        """Quits; asks first if requests are waiting."""
        self.port.leave()
