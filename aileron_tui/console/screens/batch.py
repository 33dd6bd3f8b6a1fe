"""The sheet of marked requests: each is switched to approve, deny or leave; what is left stays waiting."""

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from aileron_tui.console.render import MUTED, WARNING, foreign_line, foreign_short, own
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
    """What is to happen to one request of the sheet."""

    APPROVE = "approve"
    DENY = "deny"
    LEAVE = "leave"


class BatchRows(OptionList):
    """The requests. A click goes to one; a click on the word before it switches it."""

    class Switched(Message):
        """The word of the highlighted request was clicked."""

    def on_click(self, event: events.Click) -> None:
        """Where the click was; which request that is, is the list's own business."""
        offset = event.get_content_offset(self)
        if offset is not None and offset.x < _WORD and "option" in event.style.meta:
            self.post_message(self.Switched())


class BatchScreen(Dialog[list[tuple[Request, Verdict]] | None]):
    """`space` switches a request, ctrl+s sends the whole sheet, escape forgets it. Enter never answers."""

    SHAPE = "dialog sheet"
    DECIDES = "submit"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "forget it"),
        Binding("space", "switch", "switch"),
        Binding("ctrl+s", "submit", "send", key_display="ctrl+s"),
        Binding("j", "down", show=False),
        Binding("k", "up", show=False),
    ]

    def __init__(
        self,
        items: list[Request],
        start: BatchChoice,
        unable: Mapping[str, str] | None = None,
        arming: Arming | None = None,
    ) -> None:
        """`unable` has the keys of those that cannot be answered now, and why: they are left as they are."""
        super().__init__(arming)
        self._items = items
        self._unable = unable or {}
        self._choices = [self._possible(item, start) for item in items]

    def parts(self) -> ComposeResult:
        yield Static(own(f"{len(self._items)} marked", "bold"), classes="question")
        yield BatchRows(*(Option(self._line(number)) for number in range(len(self._items))), classes="body")

    def _possible(self, item: Request, wanted: BatchChoice) -> BatchChoice:
        if item.key in self._unable:
            return BatchChoice.LEAVE
        risky = item.prompt.risk.level is RiskLevel.HIGH or item.fetching or item.deny_only
        return BatchChoice.LEAVE if wanted is BatchChoice.APPROVE and risky else wanted

    def _line(self, number: int) -> HangingIndent:
        item, choice = self._items[number], self._choices[number]
        style = {BatchChoice.APPROVE: "bold $text-success", BatchChoice.DENY: "bold", BatchChoice.LEAVE: MUTED}[choice]
        keys = _key_rows([*item.prompt.inputs, *(item.prompt.preview.rows if item.prompt.preview else ())])
        if item.prompt.preview and (lost := item.prompt.preview.unavailable):
            keys += own("  ") + foreign_short(unavailable_line(lost), _SENTENCE, WARNING)
        name = foreign_short(item.prompt.action, _WIDEST)
        if item.source:
            name += own("  ") + foreign_line(item.source, MUTED)
        word = own(f"{choice.value:<{_WORD}}", style)
        return HangingIndent(word, Content.assemble(name, "  ", keys, self._why_not(item)))

    def _why_not(self, item: Request) -> Content:
        if why := self._unable.get(item.key):
            return own("  ⚠ ", WARNING) + foreign_line(why, WARNING)
        if item.deny_only:
            return own("  ⚠ ", WARNING) + foreign_short(item.deny_only, _WIDEST, WARNING)
        return own("  ⚠ high risk: only by itself" if item.prompt.risk.level is RiskLevel.HIGH else "", WARNING)

    @on(BatchRows.Switched)
    def action_switch(self) -> None:
        """Goes round: approve, deny, leave; high risk leaves approve out."""
        options = self.query_one(BatchRows)
        number = options.highlighted
        if number is None:
            return
        order = list(BatchChoice)
        wanted = order[(order.index(self._choices[number]) + 1) % len(order)]
        possible = self._possible(self._items[number], wanted)
        if wanted is BatchChoice.APPROVE and possible is BatchChoice.LEAVE:
            possible = self._possible(self._items[number], BatchChoice.DENY)
        self._choices[number] = possible
        options.replace_option_prompt_at_index(number, self._line(number))

    def action_down(self) -> None:
        """Next one."""
        self.query_one(BatchRows).action_cursor_down()

    def action_up(self) -> None:
        """The one before."""
        self.query_one(BatchRows).action_cursor_up()

    def action_submit(self) -> None:
        """Sends what is switched."""
        if self.refuses("submit"):
            return
        verdicts = {BatchChoice.APPROVE: Verdict.APPROVE, BatchChoice.DENY: Verdict.DENY}
        chosen = [
            (item, verdicts[choice])
            for item, choice in zip(self._items, self._choices, strict=True)
            if choice in verdicts
        ]
        if chosen:
            self.dismiss(chosen)
        else:
            self.say(own("everything is left as it is", WARNING))


def _key_rows(rows: list[Row]) -> Content:
    """The first short rows, and how many others there are."""
    short = [row for row in rows if not row.multiline][:_ROWS]
    values = (own(NOT_AVAILABLE) if row.missing else foreign_short(row.value, _WIDEST) for row in short)
    # Another style than that of values, so that none of them passes for a row.
    labels = (foreign_short(row.label, _WIDEST, MUTED) for row in short)
    parts = [label + own(" ") + value for label, value in zip(labels, values, strict=True)]
    if more := len(rows) - len(short):
        parts.append(own(f"{more} more", MUTED))
    return Content(" · ").join(parts)
