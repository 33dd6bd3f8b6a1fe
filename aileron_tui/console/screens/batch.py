"""The sheet of marked requests. Each is set to approve, deny or leave; requests set to leave keep waiting."""

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import MUTED, WARNING, foreign_line, foreign_short, trusted
from aileron_tui.console.screens.dialog import Dialog
from aileron_tui.console.widgets.hanging_indent import HangingIndent
from aileron_tui.core.decision import Verdict
from aileron_tui.core.prompt import NOT_AVAILABLE, unavailable_line
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskLevel
from aileron_tui.surface.arming import Arming

_ROWS, _WIDEST, _WORD = 3, 60, 8
_SENTENCE = 200


class BatchChoice(StrEnum):
    """What to do with one request of the sheet."""

    APPROVE = "approve"
    DENY = "deny"
    LEAVE = "leave"


class BatchRows(OptionList):
    """The requests. A click selects one; a click on its first word switches the choice."""

    class Switched(Message):
        """The choice of the highlighted request was clicked."""

    def on_click(self, event: events.Click) -> None:
        """Switches if the choice was clicked; the list itself selects the request."""
        offset = event.get_content_offset(self)
        if offset is not None and offset.x < _WORD and "option" in event.style.meta:
            self.post_message(self.Switched())


class BatchScreen(Dialog[list[tuple[Request, Verdict]] | None]):
    """`space` switches a request, ctrl+s sends the whole sheet, escape cancels. Enter never answers."""

    SHAPE = "dialog sheet"
    SCOPE = KeyScope.BATCH
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.BATCH)]

    def __init__(
        self,
        requests: list[Request],
        start: BatchChoice,
        problems: Mapping[str, str] | None = None,
        arming: Arming | None = None,
    ) -> None:
        """`problems` gives, by request key, why some cannot be answered now; these are set to leave."""
        super().__init__(arming)
        self._requests = requests
        self._problems = problems or {}
        self._choices = [self._possible(request, start) for request in requests]

    def parts(self) -> ComposeResult:
        yield Static(trusted(f"{len(self._requests)} marked", "bold"), classes="question")
        yield BatchRows(*(Option(self._line(number)) for number in range(len(self._requests))), classes="body")

    def _possible(self, request: Request, wanted: BatchChoice) -> BatchChoice:
        if request.key in self._problems:
            return BatchChoice.LEAVE
        risky = request.prompt.risk.level is RiskLevel.HIGH or request.fetching or request.deny_only
        return BatchChoice.LEAVE if wanted is BatchChoice.APPROVE and risky else wanted

    def _line(self, number: int) -> HangingIndent:
        request, choice = self._requests[number], self._choices[number]
        style = {BatchChoice.APPROVE: "bold $text-success", BatchChoice.DENY: "bold", BatchChoice.LEAVE: MUTED}[choice]
        keys = _key_rows([*request.prompt.inputs, *(request.prompt.preview.rows if request.prompt.preview else ())])
        if request.prompt.preview and (lost := request.prompt.preview.unavailable):
            keys += trusted("  ") + foreign_short(unavailable_line(lost), _SENTENCE, WARNING)
        name = foreign_short(request.prompt.action, _WIDEST)
        if request.source:
            name += trusted("  ") + foreign_line(request.source, MUTED)
        word = trusted(f"{choice.value:<{_WORD}}", style)
        return HangingIndent(word, Content.assemble(name, "  ", keys, self._warning(request)))

    def _warning(self, request: Request) -> Content:
        if why := self._problems.get(request.key):
            return trusted("  ⚠ ", WARNING) + foreign_line(why, WARNING)
        if request.deny_only:
            return trusted("  ⚠ ", WARNING) + foreign_short(request.deny_only, _WIDEST, WARNING)
        return trusted(
            "  ⚠ high risk: approve it separately" if request.prompt.risk.level is RiskLevel.HIGH else "", WARNING
        )

    @on(BatchRows.Switched)
    def action_switch(self) -> None:
        """Switches to the next of approve, deny and leave; skips approve if it is not possible here."""
        options = self.query_one(BatchRows)
        number = options.highlighted
        if number is None:
            return
        order = list(BatchChoice)
        wanted = order[(order.index(self._choices[number]) + 1) % len(order)]
        possible = self._possible(self._requests[number], wanted)
        if wanted is BatchChoice.APPROVE and possible is BatchChoice.LEAVE:
            possible = self._possible(self._requests[number], BatchChoice.DENY)
        self._choices[number] = possible
        options.replace_option_prompt_at_index(number, self._line(number))

    def action_down(self) -> None:
        """Moves to the next request."""
        self.query_one(BatchRows).action_cursor_down()

    def action_up(self) -> None:
        """Moves to the previous request."""
        self.query_one(BatchRows).action_cursor_up()

    def action_submit(self) -> None:
        """Sends every answer."""
        if self.refuses("submit"):
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


def _key_rows(rows: list[Row]) -> Content:
    """The first short rows, and the number of others."""
    short = [row for row in rows if not row.multiline][:_ROWS]
    values = (trusted(NOT_AVAILABLE) if row.missing else foreign_short(row.value, _WIDEST) for row in short)
    # Styled differently from values, so that no value looks like a row.
    labels = (foreign_short(row.label, _WIDEST, MUTED) for row in short)
    parts = [label + trusted(" ") + value for label, value in zip(labels, values, strict=True)]
    if more := len(rows) - len(short):
        parts.append(trusted(f"{more} more", MUTED))
    return Content(" · ").join(parts)
