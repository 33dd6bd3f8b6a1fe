"""The sheet that makes a rule from a request: its reach, its end, its words, and what it would have answered."""

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Input, Static

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_hints import KeyHint, dialog_hints, hint
from aileron_tui.console.key_table import at, bindings
from aileron_tui.console.render import DANGER, MUTED, STRONG, WARNING, foreign_line, trusted
from aileron_tui.console.rule_making import RuleMaking
from aileron_tui.console.screens.dialog import Dialog
from aileron_tui.console.screens.high_risk import strict_confirmation
from aileron_tui.console.widgets import rule_words as words
from aileron_tui.console.widgets.choice_line import ChoiceLine
from aileron_tui.console.widgets.fields import Field, Fields, common_label_width
from aileron_tui.console.widgets.key_line import KeyLine
from aileron_tui.console.widgets.limited_input import LimitedInput
from aileron_tui.console.widgets.read_scroll import ReadScroll
from aileron_tui.console.widgets.two_sided_line import TwoSidedLine
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import Rule
from aileron_tui.core.rule_change import LONGEST
from aileron_tui.core.rule_list import RuleOffer, RuleOffers
from aileron_tui.core.time_spans import read_end
from aileron_tui.core.times import timestamp, utc_now

if TYPE_CHECKING:
    from aileron_tui.surface.security_key_touch import Touched

_CHECK_SECONDS: Final = 0.5
_HOURS: Final = (1, 8)
_ENDS: Final = ("for 1 hour", "for 8 hours", "until a date")
_AT_DATE: Final = len(_HOURS)
_LONGEST_DATE: Final = len("2026-05-20 18:00")
_STILL_WAITS: Final = "The rule is for calls from now on. This request still waits for your answer."


def unread_words(lines: int) -> str:
    """How many lines are left to read."""
    return f"{lines:,} more line{'' if lines == 1 else 's'} to read"


class RuleScreen(Dialog[None]):
    """`r` and `t` choose reach and end, `y` makes the rule once all of it has been on screen. Enter never does."""

    SHAPE = "dialog sheet"
    SCOPE = KeyScope.RULE
    LOW_HEIGHT = 28
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.RULE)]
    AUTO_FOCUS = ""

    def __init__(self, making: RuleMaking) -> None:
        super().__init__(making.port.arming)
        self._making = making
        self._offers: RuleOffers | None = None
        self._reach = 0
        self._end = 0
        self._ends: datetime | None = None
        self._end_problem = ""
        self._problem = ""
        self._is_making = False
        self._has_note = False

    def parts(self) -> ComposeResult:
        title = trusted("Make a rule from ", STRONG) + foreign_line(self._making.request.prompt.action, STRONG)
        yield Static(title, classes="question")
        yield ChoiceLine(id="rule-reach")
        yield ChoiceLine(id="rule-end")
        yield LimitedInput(id="rule-date", max_length=_LONGEST_DATE, restrict=r"[0-9 :T-]*", select_on_focus=False)
        with ReadScroll():
            yield TwoSidedLine(id="rule-words")
            yield Fields(id="rule-covers", classes="part")
            yield TwoSidedLine(id="rule-past", classes="part")
            yield Fields(id="rule-examples")
            yield TwoSidedLine(id="rule-refused", classes="part")
            yield TwoSidedLine(id="rule-waits", classes="part")

    def on_mount(self) -> None:
        """Asks the gate what it offers."""
        self._show()
        self.set_interval(_CHECK_SECONDS, self._check)
        self._making.load(self._loaded, self._failed)

    def keys(self) -> tuple[KeyHint, ...]:
        cancel, reach, end, read_on, make = dialog_hints(self.SCOPE)
        if self._offer is None or self._problem:
            return (cancel._replace(label="close"),)
        if self._date.has_focus:
            return cancel, hint("rule.read_on", label="use this date")
        return cancel, *((reach,) if self._several else ()), end, read_on, make

    # what is offered

    def _loaded(self, offers: RuleOffers) -> None:
        """Shows what the gate offers. Keys pressed before that do not count."""
        if not self.is_running:
            return
        self._offers = offers
        self._choose_end(0)
        self.arming.screen_changed()

    def _failed(self, why: str) -> None:
        if self.is_running:
            self._fail(why)

    def _fail(self, why: str) -> None:
        """Says why no rule can be made from now on."""
        self._problem = why
        self._show()
        self.arming.screen_changed()

    def _check(self) -> None:
        """Notices that the request changed or ended while the sheet is open: then nothing can be signed any more."""
        if not self._problem and (why := self._making.problem()):
            self._fail(why)
        self._body.check()

    @property
    def _offer(self) -> RuleOffer | None:
        return self._offers.offers[self._reach] if self._offers and self._offers.offers else None

    @property
    def _several(self) -> bool:
        return self._offers is not None and len(self._offers.offers) > 1

    @property
    def _rule(self) -> Rule | None:
        """The rule as it would be signed, or None if its end is not valid."""
        offer, ends = self._offer, self._ends
        return replace(offer.rule, ends=timestamp(ends)) if offer and ends else None

    # choices

    @property
    def _date(self) -> Input:
        return self.query_one("#rule-date", Input)

    @property
    def _body(self) -> ReadScroll:
        return self.query_one(ReadScroll)

    @on(ChoiceLine.Chosen)
    def _chosen(self, event: ChoiceLine.Chosen) -> None:
        event.stop()
        if event.line.id == "rule-reach":
            self._choose_reach(event.number)
        else:
            self._choose_end(event.number)

    def action_reach(self) -> None:
        """Chooses the next reach."""
        if self._offers and self._several:
            self._choose_reach((self._reach + 1) % len(self._offers.offers))

    def _choose_reach(self, number: int) -> None:
        self._reach = number
        self._show()

    def action_end(self) -> None:
        """Chooses the next end."""
        if self._offer:
            self._choose_end((self._end + 1) % len(_ENDS))

    def _choose_end(self, number: int) -> None:
        self._end = number
        date = self._date
        date.display = number == _AT_DATE
        if number == _AT_DATE:
            date.value = date.value or f"{utc_now().astimezone() + timedelta(days=1):%Y-%m-%d}"
            self._read_date()
            date.focus()
        else:
            # The words on the sheet name a minute, so the rule ends exactly then.
            self._ends = (utc_now() + timedelta(hours=_HOURS[number])).replace(second=0, microsecond=0)
            self._end_problem = ""
            self.set_focus(None)
        self._show()

    def _read_date(self) -> None:
        """Reads the date, or says what is wrong with it."""
        self._ends = None
        now, longest = utc_now(), LONGEST[self._offer.rule.verdict] if self._offer else timedelta()
        try:
            end = read_end(self._date.value.strip())
        except ValueError:
            self._end_problem = "not a date: write it as 2026-05-20 or 2026-05-20 18:00"
            return
        if end <= now:
            self._end_problem = "this date has passed"
        elif end > now + longest:
            self._end_problem = f"too late: a rule can last until {(now + longest).astimezone():%Y-%m-%d %H:%M}"
        else:
            self._ends, self._end_problem = end, ""

    def on_input_changed(self) -> None:
        """Reads the date while it is being typed."""
        self.arming.typed()
        if self._end == _AT_DATE:
            self._read_date()
            self._show()

    def on_input_submitted(self) -> None:
        """Leaves the field if the date is valid."""
        self.action_read_on()

    # what is shown

    def _show(self) -> None:
        """Shows the rule as it is chosen now. Whatever changed must be read again."""
        offers, offer, body = self._offers, self._offer, self._body
        usable = offer is not None and not self._problem
        reaches = [words.REACHES[one.rule.reach] for one in offers.offers] if offers else []
        self._line("rule-reach", ChoiceLine).show(reaches, self._reach)
        self._line("rule-end", ChoiceLine).show(_ENDS if usable else (), self._end)
        for widget in self.query(ChoiceLine):
            widget.display = usable
        self._date.display = usable and self._end == _AT_DATE
        self._show_text("rule-words", self._sentence())
        covered = words.covered_fields(offer.rule) if usable and offer else ()
        examples = words.example_fields(offer, utc_now()) if usable and offer else ()
        self._show_fields({"rule-covers": covered, "rule-examples": examples})
        past = words.past_line(offer, offers.days) if usable and offers and offer else Content("")
        self._show_text("rule-past", past)
        refused = offers.refused if offers and not self._problem else ()
        self._show_text("rule-refused", words.refused_line(refused, none_left=offer is None))
        self._show_text("rule-waits", trusted(_STILL_WAITS, MUTED) if usable else Content(""))
        body.scroll_to(y=0, animate=False)
        body.content_changed()
        self.say(trusted(f"✗ {self._end_problem}", DANGER) if usable and self._end_problem else Content(""))
        self.query_one(KeyLine).refresh(layout=True)

    def _sentence(self) -> Content:
        if self._problem:
            return trusted("⚠ ", WARNING) + foreign_line(self._problem, WARNING)
        if self._offers is None:
            return trusted("Asking the gate which rules can be made…", MUTED)
        if self._offer is None:
            return Content("")
        if rule := self._rule:
            return words.sentence(rule, utc_now())
        return trusted("Choose until when the rule is in force.", WARNING)

    def _line(self, id_: str, kind: type[ChoiceLine]) -> ChoiceLine:
        return self.query_one(f"#{id_}", kind)

    def _show_text(self, id_: str, text: Content) -> None:
        line = self.query_one(f"#{id_}", TwoSidedLine)
        line.display = bool(text)
        line.show(text)

    def _show_fields(self, fields: dict[str, tuple[Field, ...]]) -> None:
        width = self._body.scrollable_content_region.width or self.size.width
        for id_, part in fields.items():
            self.query_one(f"#{id_}", Fields).show(part, common_label_width(part, width))

    def on_resize(self, event: events.Resize) -> None:
        """Arranges the fields for the new width."""
        super().on_resize(event)
        self.call_after_refresh(self._show)

    def say(self, words: Content) -> None:
        """Shows a note; if there is none, how much is left to read."""
        self._has_note = bool(words)
        super().say(words or self._reading_note())

    def _reading_note(self) -> Content:
        if self._offer is None or self._problem:
            return Content("")
        unread = self._body.unread
        return trusted(f"◌ {unread_words(unread)}", MUTED) if unread else Content("")

    @on(ReadScroll.LinesRead)
    def _lines_read(self, event: ReadScroll.LinesRead) -> None:
        event.stop()
        if not self._has_note:
            self.say(Content(""))

    # keys

    def on_key(self, event: events.Key) -> None:
        """Disarms on every key except the one that makes the rule, so that typing never makes one."""
        action = at(self.SCOPE, event.key)
        if action is None or not action.armed:
            self.arming.typed()

    def on_paste(self, event: events.Paste) -> None:
        """Ignores pasted text, which is not an answer."""
        event.stop()
        self.arming.pasted()

    def action_scroll_rows(self, rows: int) -> None:
        """Scrolls by rows."""
        self._body.scroll_rows(rows)

    def action_scroll_pages(self, pages: int) -> None:
        """Scrolls by pages."""
        self._body.scroll_rows(pages, pages=True)

    def action_read_on(self) -> None:
        """Leaves the date, or scrolls to the next lines to read."""
        if self._date.has_focus:
            if self._end_problem:
                self.say(trusted(f"✗ {self._end_problem}", DANGER))
                return
            self.set_focus(None)
            self.query_one(KeyLine).refresh(layout=True)
        self._body.read_on()

    def on_descendant_focus(self) -> None:
        """Shows the keys of the field."""
        self.query_one(KeyLine).refresh(layout=True)

    # making the rule

    def _why_not(self) -> str:
        """Why the rule cannot be made now, "" if it can."""
        self._check()
        if self._problem or self._offer is None:
            return self._problem or ("no rule can be made" if self._offers else "still asking the gate")
        if self._end_problem:
            return self._end_problem
        return f"{unread_words(unread)}: press enter" if (unread := self._body.unread) else ""

    def action_make(self) -> None:
        """Makes the rule, once all of it has been on screen; asks once more if the settings say so for high risk."""
        if self._is_making or self.refuses("make"):
            return
        rule = self._rule
        if (why := self._why_not()) or rule is None:
            self.arming.answer_dropped()
            self.say(foreign_line(why, WARNING))
            self._has_note = not self._body.unread  # what is left to read changes
            return
        self._is_making = True
        prompt, port = self._making.request.prompt, self._making.port
        confirm = None
        if prompt.risk.level is RiskLevel.HIGH:
            question = trusted("⚠ High risk. Make a rule for ", DANGER) + foreign_line(prompt.action) + trusted("?")
            title = "Make the rule with your passphrase"
            height, prepare = self.app.size.height, partial(self._making.statement, rule)
            confirm = strict_confirmation(port.settings, port.keys, prompt, question, title, height, prepare)
        if confirm is None:
            self._make(rule)
        else:
            self.app.push_screen(confirm, lambda sure: self._confirmed(rule, sure))

    def _confirmed(self, rule: Rule, sure: "bool | Touched | None") -> None:
        self._check()
        if sure and not self._problem:
            self._make(rule, None if sure is True else sure)
        else:
            self._is_making = False

    def _make(self, rule: Rule, touched: "Touched | None" = None) -> None:
        self.say(trusted("making the rule…", MUTED))
        self._making.make(rule, self._done, touched)

    def _done(self, why: str) -> None:
        """Closes the sheet, or says why there is no rule."""
        self._is_making = False
        if not self.is_running:
            return
        if why:
            self.arming.screen_changed()
            self.say(trusted("✗ ", DANGER) + foreign_line(why, DANGER))
        elif self.is_active:
            self.dismiss()
        else:
            self._fail("this rule was made")  # another screen covers the sheet, such as the lock
