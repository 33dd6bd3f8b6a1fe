"""The one screen one lives in: what waits, what is asked, and the answer keys."""

from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.geometry import Size
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static

from aileron_tui.console.actions import (
    FETCHED_ONCE,
    NO_LOCK,
    NO_LOG,
    KeyHint,
    KeyScope,
    at,
    bindings,
    display,
    find,
    keys_of,
)
from aileron_tui.console.render import MUTED, foreign_line, own
from aileron_tui.console.timers import call_after
from aileron_tui.console.widgets.answer_bar import AnswerBar
from aileron_tui.console.widgets.cached_widget import CachedWidget
from aileron_tui.console.widgets.header import Header, banner, connection
from aileron_tui.console.widgets.request_list import RequestList
from aileron_tui.console.widgets.two_sided_line import TwoSidedLine
from aileron_tui.core.decision import Verdict
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.visible_text import Visible, cells, clip, inline
from aileron_tui.files.paths import bundled
from aileron_tui.surface.board import Tone

if TYPE_CHECKING:
    from textual.widgets import Input

    from aileron_tui.console.app import Console
    from aileron_tui.console.widgets.prompt_view import PromptView
    from aileron_tui.core.request import Request

_WIDE, _NARROW = 90, 60
_SMALLEST = (40, 15)
_LOW = 20
_TROUBLES = 2
_REMARK = 60
_SENTENCE = 120
_SHAPES = frozenset({"-wide", "-narrow", "-folded", "-small"})
_SOON = 0.02
_ANSWERS = {"approve": Verdict.APPROVE, "deny": Verdict.DENY, "deny_reason": Verdict.DENY}
_TONES = {Tone.QUIET: MUTED, Tone.GOOD: "$text-success", Tone.WARN: "$text-warning", Tone.BAD: "$text-error"}


class Panes(Container, CachedWidget):
    """The list and the prompt."""


class MainScreen(Screen[None], CachedWidget):
    """Shows the board of the app. Requests never take the focus and never move the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.MAIN)]
    AUTO_FOCUS = "RequestList"
    SCOPE: ClassVar = KeyScope.MAIN

    def __init__(self, owner: "Console") -> None:
        super().__init__()
        self._owner = owner
        self.arming = owner.arming
        self._clock: Timer | None = None
        self._wake: Timer | None = None
        self._view: PromptView | None = None
        self._filter: Input | None = None
        self._banner: TwoSidedLine | None = None

    def compose(self) -> ComposeResult:
        console = self._owner
        self._lay_out(self.app.size)  # while there is nothing in it whose styles would have to be looked up twice
        yield Header()
        with Panes(id="panes"):
            yield RequestList(console.board, several=console.several)
        leave_out = () if console.log_lines else ("log",)
        yield AnswerBar(console.keymap_in_use, leave_out=leave_out)

    def on_mount(self) -> None:
        """Time passes: ages, time left, whether an answer counts."""
        self._clock = self.set_interval(1.0, self._tick, pause=True)
        self.redraw()

    def furnish(self) -> None:
        """Adds the prompt and the filter, which take as long to load as the frame, and are not missed in it."""
        from textual.widgets import Input  # noqa: PLC0415

        from aileron_tui.console.widgets.prompt_view import PromptView  # noqa: PLC0415

        self.app.stylesheet.read(bundled("styles") / "prompt.tcss")
        self._view = PromptView()
        too_small = own("This window is too small to read a request. Make it 40 × 15 or larger; d still denies.")
        self._banner = TwoSidedLine(id="banner")
        self.mount(self._banner, Static(too_small, id="small"), before="#panes")
        self.query_one("#panes").mount(self._view)
        self._filter = Input(placeholder="filter", id="filter")
        self.mount(self._filter, before=self.query_one(AnswerBar))
        self.redraw()

    # what is shown

    def redraw(self) -> None:
        """Draws the board anew. The view keeps its place unless another request is looked at."""
        if not self.is_mounted or not self.is_running:  # not there yet, or on the way out
            return
        self._lay_out(self.size)
        self.query_one(RequestList).update(folded=self.size.width < _NARROW)
        item = self._owner.desk.shown
        if self._view:
            self._view.show(item, note=self._note(item))
        if item and self._view and self._view.ready:
            self.arming.prompt_shown(item.key, item.digest)
        self._heading()
        self.show_state()
        if self._clock:
            (self._clock.resume if self._owner.board.requests else self._clock.pause)()

    def _note(self, item: "Request | None") -> Content | None:
        """Where the request comes from, if that has to be told and the list does not right above, and its pill."""
        if item is None:
            return None
        parts: list[Content] = []
        if self._owner.several and not self.has_class("-folded"):
            label = self._owner.links[item.source].kind
            name = own("from ", MUTED) + foreign_line(item.source, "bold")
            parts.append(name + own(f", a {label}", MUTED) if label else name)
        if (remark := self._owner.board.remark(item.key)).words:
            # What a source says of a request that waits is neither ours nor worth the room to read the request in.
            theirs = not self._owner.board.pill(item.key).words
            room = _REMARK if theirs and self.size.height < _LOW else cells(remark.words)
            said = own(clip(Visible(remark.words), room), _TONES[remark.tone])
            parts.append(own("it says: ", MUTED) + said if theirs else said)
        return own(" · ", MUTED).join(parts) if parts else None

    def _tick(self) -> None:
        if self._view:
            self._view.tick(datetime.now(UTC))
        self.show_state()
        if self._owner.board.remove_ended(monotonic()) or self._owner.board.newly_silent():
            self.redraw()
        else:
            self.query_one(RequestList).tick()

    def _heading(self) -> None:
        console = self._owner
        narrow = self.size.width < _NARROW
        told = {
            "⚠ vault locked": console.vaults.locked,
            f"⚠ {console.board.unreadable_count:,} unreadable": console.board.unreadable_count,
            "⚠ key" if narrow else "⚠ insecure key": console.keys.insecure,
            "read only": console.read_only,
            f"{len(console.board.marked)} marked": console.board.marked,
            "filtered" if narrow else f"filtered, {self._key('clear_filter', 'shows all').text}": console.board.filter,
        }
        notes = tuple(words for words, so in told.items() if so)
        statuses = {name: link.status for name, link in console.links.items()}
        self.query_one(Header).show(console.board.waiting_count, connection(list(statuses.values())), notes)
        if self._banner:
            lines = banner(statuses, self.size.width - 2, _TROUBLES if self.size.height >= _LOW else 1)
            self._banner.display = bool(lines)
            self._banner.show(own("\n").join(lines))

    def show_state(self) -> None:
        """Whether an answer counts now; looks again when the last obstacle will be gone."""
        bar = self.query_one(AnswerBar)
        if self._wake:
            self._wake.stop()
        self._wake = (
            call_after(self, left + _SOON, self.show_state) if (left := self.arming.seconds_until_armed()) else None
        )
        held = self._owner.desk.held
        if held:
            bar.show(f"approved, sent in {held:.0f} s —", "$text-warning", self._key("undo", "takes it back"))
            return
        board = self._owner.board
        obstacle = self.obstacle()
        if self._filter and self._filter.has_focus:
            bar.show(
                "filter:",
                MUTED,
                KeyHint("enter", "goes back", "leave_filter"),
                self._key("clear_filter", "shows all"),
            )
        elif board.current is None:
            bar.show("nothing to answer")
        elif not board.is_waiting(board.selected):
            bar.show(f"{board.pill(board.selected).short} · nothing to answer here")
        elif obstacle:
            bar.show(f"◌ {obstacle}")
        elif self._owner.desk.edited:
            keys = self._key("approve", "approves the edited call"), self._key("clear_filter", "forgets the edit")
            bar.show("●", "bold $text-success", *keys)
        else:
            bar.show("● ready for your answer", "bold $text-success")

    def _key(self, id_: str, label: str) -> KeyHint:
        """A key of the table, with other words."""
        action = find(id_)
        return KeyHint(display(keys_of(action, self._owner.keymap_in_use)[0]), label, action.method)

    def obstacle(self, verdict: Verdict = Verdict.APPROVE) -> str:
        """Why an answer would not count now, or ""."""
        if why := self._hindrance(verdict):
            return why
        early = self.arming.why_not_armed()
        return f"not yet: {early}" if early else ""

    def _hindrance(self, verdict: Verdict) -> str:
        """What stands in the way of an answer, however long one waits, or ""."""
        console, item = self._owner, self._owner.board.current
        if item is None:
            return "there is no request"
        if why := console.unable(item):
            return why
        pill = console.board.pill(item.key)
        if not console.board.is_waiting(item.key):
            return f"nothing to answer here: {pill.short}"
        if pill.words:
            return pill.words
        drawn = console.desk.shown or item
        if not self.arming.is_on_screen(drawn.key, drawn.digest):
            return "it is not on screen yet"
        if verdict is Verdict.APPROVE:
            if item.deny_only:
                return f"it can only be denied here: {clip(inline(item.deny_only), _SENTENCE)}"
            if self.has_class("-small"):
                return "the window is too small to read it"
            if drawn.fetching:
                return "the preview is still being fetched"
            if drawn.prompt.risk.level is RiskLevel.HIGH and not (self._view and self._view.read_to_end):
                again = self._view is not None and self._view.changed_above
                return f"high risk: {'it changed, read it from its start' if again else 'read it to the end first'}"
        return ""

    def why_not(self, action: str) -> str:
        """Why an action can do nothing now, or "", for the command palette."""
        console, board = self._owner, self._owner.board
        if action in {"edit", "mark", "raw", "refresh", "copy", "deny_reason"} and board.current is None:
            return "there is no request"
        if action in {"edit", "refresh", "deny_reason"} and (why := console.unable(board.current)):
            return why
        if action in {"approve_marked", "deny_marked"} and (why := console.unable()):
            return why
        if action == "refresh" and board.current and not board.current.refreshable:
            return FETCHED_ONCE
        if action == "vault":
            return console.vaults.obstacle()
        if action in {"approve_marked", "deny_marked"} and not board.marked:
            return "nothing is marked"
        if action == "undo" and not console.desk.held:
            return "there is nothing to take back"
        if action == "lock" and not console.keys.lockable:
            return NO_LOCK
        return NO_LOG if action == "log" and console.log_lines is None else ""

    # layout

    def on_resize(self) -> None:
        """Wide: side by side. Narrow: one above the other. Very narrow: the list is one line."""
        self.redraw()

    def _lay_out(self, size: Size) -> None:
        width, height = size
        shape = {"-wide" if width >= _WIDE else "-narrow" if width >= _NARROW else "-folded"}
        if width < _SMALLEST[0] or height < _SMALLEST[1]:
            shape.add("-small")
        # All at once: each change of a class has all styles looked up anew.
        self.set_classes((self.classes - _SHAPES) | shape)

    # what disarms an answer

    def on_key(self, event: events.Key) -> None:
        """Every key that is no answer makes answers wait, so that typing on never answers."""
        action = at(KeyScope.MAIN, event.key, self._owner.keymap_in_use)
        if action is None or action.id not in _ANSWERS:
            self.arming.typed()
            self.show_state()

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text is never an answer."""
        event.stop()
        self.arming.pasted()
        self.show_state()

    def on_screen_resume(self) -> None:
        """What was under another screen has been seen by nobody."""
        self.arming.screen_changed()
        self.show_state()

    def refuses(self, does: str) -> bool:
        """A press on an answer that would not count is dropped; one on another key disarms, as that key does."""
        if does not in _ANSWERS:
            self.arming.clicked()
            return False
        return self._refused(_ANSWERS[does])

    def _refused(self, verdict: Verdict) -> bool:
        """Whether an answer is dropped now; says why. One that is taken ends what was said about those before it."""
        why = self.obstacle(verdict)
        if why:
            self.arming.answer_dropped()
            self._owner.hint(why)
            self.show_state()
        else:
            self._owner.unsay()
        return bool(why)

    # answers

    def action_approve(self) -> None:
        """Approves what is shown."""
        if not self._refused(Verdict.APPROVE):
            self._owner.desk.approve()

    def action_deny(self) -> None:
        """Denies what is shown."""
        if not self._refused(Verdict.DENY):
            self._owner.desk.deny()

    def action_deny_reason(self) -> None:
        """Denies what is shown, with a reason."""
        if not self._refused(Verdict.DENY):
            self._owner.desk.deny_with_reason()

    def action_edit(self) -> None:
        """Opens the form for the inputs."""
        if why := self._hindrance(Verdict.DENY):
            self._owner.hint(why)
        else:
            self._owner.desk.edit()

    def action_mark(self) -> None:
        """Marks or unmarks the request."""
        self._owner.desk.mark()

    def action_approve_marked(self) -> None:
        """Opens the sheet with everything on approve."""
        self._owner.desk.batch(Verdict.APPROVE)

    def action_deny_marked(self) -> None:
        """Opens the sheet with everything on deny."""
        self._owner.desk.batch(Verdict.DENY)

    def action_undo(self) -> None:
        """Takes a held approval back."""
        self._owner.desk.take_back()

    # moving and looking

    def action_down(self) -> None:
        """The next request."""
        self._step(1)

    def action_up(self) -> None:
        """The request before."""
        self._step(-1)

    def _step(self, step: int) -> None:
        self._owner.desk.forget_edit()
        self._owner.board.move(step)
        self.redraw()

    @on(RequestList.Leapt)
    def _leapt(self, event: RequestList.Leapt) -> None:
        self._step(event.steps)

    @on(RequestList.Picked)
    def _picked(self, event: RequestList.Picked) -> None:
        self._owner.desk.forget_edit()
        self._owner.board.selected = event.id
        self.redraw()

    def action_next_pane(self) -> None:
        """The other pane."""
        waiting = self.query_one(RequestList)
        (self._view if self._view and waiting.has_focus else waiting).focus()

    def action_focus_prompt(self) -> None:
        """Into the prompt, to read it."""
        if self._view:
            self._view.focus()

    def action_filter(self) -> None:
        """Opens the filter."""
        if self._filter:
            self._filter.display = True
            self._filter.focus()

    def action_clear_filter(self) -> None:
        """Clears the filter, forgets an edit, goes back to the list."""
        if self._filter:
            self._filter.value = ""
            self._filter.display = False
        self._owner.desk.forget_edit()
        self._owner.board.set_filter("")
        self.query_one(RequestList).focus()
        self.redraw()

    def on_input_changed(self, event: "Input.Changed") -> None:
        """The filter."""
        self._owner.board.set_filter(event.value)
        self.redraw()

    def on_input_submitted(self) -> None:
        """Back to the list, which stays narrow."""
        self.action_leave_filter()

    def action_leave_filter(self) -> None:
        """Back to the list; the filter stays."""
        self.query_one(RequestList).focus()

    def on_descendant_focus(self) -> None:
        """Keys are typed into the filter, or do what they say."""
        self.show_state()

    def on_prompt_view_ready(self) -> None:
        """From now on what is shown is seen."""
        self.redraw()

    def on_prompt_view_read_to_end(self) -> None:
        """High risk can be approved only now."""
        self.show_state()

    def action_history(self) -> None:
        """Everything that was."""
        self._owner.open_history()

    def action_raw(self) -> None:
        """The exact call."""
        self._owner.open_raw()

    def action_refresh(self) -> None:
        """Fetches the preview again."""
        self._owner.fetch_again()

    def action_log(self) -> None:
        """What the agent was told."""
        self._owner.open_log()

    def action_copy(self) -> None:
        """Copies id and digest."""
        self._owner.copy_identity()

    def action_help(self) -> None:
        """Every key."""
        self._owner.open_help()

    def action_lock(self) -> None:
        """Locks."""
        self._owner.lock()

    def action_vault(self) -> None:
        """Unlocks the vault of a daemon."""
        self._owner.vaults.open()

    def action_quit(self) -> None:
        """Leaves."""
        self._owner.leave()
