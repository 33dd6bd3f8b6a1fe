"""The sheet of marked requests. Each is set to approve, deny or leave; requests set to leave keep waiting."""

from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static
from textual.widgets.option_list import Option

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import MUTED, WARNING, foreign_line, foreign_short, trusted
from aileron_tui.console.screens.dialog import Dialog
from aileron_tui.console.widgets.batch_rows import CHOICE_WIDTH, BatchRows
from aileron_tui.console.widgets.hanging_indent import HangingIndent
from aileron_tui.console.widgets.marked_summary import NAME_WIDTH, known_names, summary, why_unread
from aileron_tui.core.decision import Verdict
from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.times import utc_now
from aileron_tui.surface.arming import Arming

if TYPE_CHECKING:
    from aileron_tui.console.port import BatchChecks

_CHECK_SECONDS: Final = 0.5


class BatchChoice(StrEnum):
    """What to do with one request of the sheet."""

    APPROVE = "approve"
    DENY = "deny"
    LEAVE = "leave"


class BatchScreen(Dialog[list[tuple[Request, Verdict]] | None]):
    """`space` switches a request, ctrl+s sends the whole sheet, escape cancels. Enter never answers."""

    SHAPE = "dialog sheet"
    SCOPE = KeyScope.BATCH
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.BATCH)]

    def __init__(
        self, requests: list[Request], start: BatchChoice, checks: "BatchChecks", arming: Arming | None = None
    ) -> None:
        super().__init__(arming)
        self._requests = requests
        self._checks = checks
        self._problems = [checks.problem(request) for request in requests]
        known, now = known_names(requests, checks.seen), utc_now()
        self._unread = ["" if checks.was_read(one) else why_unread(one, now, known) for one in requests]
        self._choices = [self._possible(number, start) for number in range(len(requests))]

    def parts(self) -> ComposeResult:
        title = trusted(f"{len(self._requests)} marked", "bold")
        if hidden := self._checks.hidden:
            title += trusted(f"  {hidden:,} more {'is' if hidden == 1 else 'are'} hidden by the filter", WARNING)
        yield Static(title, classes="question")
        yield BatchRows(*(Option(self._line(number)) for number in range(len(self._requests))), classes="body")

    def on_mount(self) -> None:
        """Notices requests that change or end while the sheet is open."""
        super().on_mount()
        self.set_interval(_CHECK_SECONDS, self._check)

    def _check(self) -> bool:
        """Sets requests that can no longer be answered to leave; returns whether there were any."""
        rows, changed = self.query_one(BatchRows), False
        for number, request in enumerate(self._requests):
            problem = self._checks.problem(request)
            if problem != self._problems[number]:
                self._problems[number], changed = problem, True
                self._choices[number] = BatchChoice.LEAVE
                rows.replace_option_prompt_at_index(number, self._line(number))
        if changed:
            self.arming.screen_changed()
        return changed

    def _possible(self, number: int, wanted: BatchChoice) -> BatchChoice:
        if self._problems[number] or (wanted is BatchChoice.APPROVE and self._why_not_approved(number)):
            return BatchChoice.LEAVE
        return wanted

    def _why_not_approved(self, number: int) -> str:
        """Why a request cannot be approved on the sheet, "" if it can."""
        request = self._requests[number]
        if request.deny_only:
            return request.deny_only
        if request.prompt.risk.level is RiskLevel.HIGH:
            return "high risk: approve it separately"
        if request.fetching:
            return "the preview is still being fetched"
        return f"{why}: read it in the prompt first" if (why := self._unread[number]) else ""

    def _line(self, number: int) -> HangingIndent:
        request, choice = self._requests[number], self._choices[number]
        style = {BatchChoice.APPROVE: "bold $text-success", BatchChoice.DENY: "bold", BatchChoice.LEAVE: MUTED}[choice]
        word = trusted(f"{choice.value:<{CHOICE_WIDTH}}", style)
        warning = self._problems[number] or self._why_not_approved(number)
        shown = trusted("  ⚠ ", WARNING) + foreign_short(warning, 2 * NAME_WIDTH, WARNING) if warning else Content("")
        name = foreign_short(request.prompt.action, NAME_WIDTH)
        if request.source:
            name += trusted("  ") + foreign_line(request.source, MUTED)
        return HangingIndent(word, Content.assemble(name, "  ", summary(request), shown))

    @on(BatchRows.Switched)
    def action_switch(self) -> None:
        """Switches to the next of approve, deny and leave; skips approve and says why if it is not possible here."""
        options = self.query_one(BatchRows)
        number = options.highlighted
        if number is None:
            return
        order = list(BatchChoice)
        wanted = order[(order.index(self._choices[number]) + 1) % len(order)]
        possible = self._possible(number, wanted)
        if wanted is BatchChoice.APPROVE and possible is BatchChoice.LEAVE:
            possible = self._possible(number, BatchChoice.DENY)
        self._choices[number] = possible
        options.replace_option_prompt_at_index(number, self._line(number))

    def action_down(self) -> None:
        """Moves to the next request."""
        self.query_one(BatchRows).action_cursor_down()

    def action_up(self) -> None:
        """Moves to the previous request."""
        self.query_one(BatchRows).action_cursor_up()

    def action_submit(self) -> None:
        """Sends every answer, if every request to approve has been on screen and none changed meanwhile."""
        if self.refuses("submit"):
            return
        if self._check():
            self.say(trusted("a request changed: look at the sheet again", WARNING))
            return
        unread = self.query_one(BatchRows).unread if BatchChoice.APPROVE in self._choices else 0
        if unread:
            self.arming.answer_dropped()
            self.say(trusted(f"{unread:,} more line{'' if unread == 1 else 's'} to read: press enter", WARNING))
            return
        verdicts = {BatchChoice.APPROVE: Verdict.APPROVE, BatchChoice.DENY: Verdict.DENY}
        chosen = [
            (request, verdicts[choice])
            for request, choice in zip(self._requests, self._choices, strict=True)
            if choice in verdicts
        ]
        if chosen:
            self.dismiss(chosen)
        else:
            self.say(trusted("nothing to send: every request is set to leave", WARNING))
