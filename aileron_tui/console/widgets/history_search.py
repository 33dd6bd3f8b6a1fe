"""The search line of the history: the text, and the outcome chosen beside it."""

from typing import Final

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.suggester import Suggester
from textual.timer import Timer
from textual.widgets import Input, Static

from aileron_tui.console import history_words as words
from aileron_tui.console.render import MUTED, trusted
from aileron_tui.console.timers import call_after
from aileron_tui.console.widgets.limited_input import LimitedInput
from aileron_tui.core.outcome_words import OUTCOME_FILTERS
from aileron_tui.core.values import dataclass
from aileron_tui.surface.history_query import LONGEST, HistoryQuery, completed

SEARCH_DELAY: Final = 0.25

_CHOICES: Final = ("", *OUTCOME_FILTERS)


class _SearchSuggester(Suggester):
    """Completes filters, outcomes and days."""

    async def get_suggestion(self, value: str) -> str | None:
        return completed(value) or None


class HistorySearch(Horizontal):
    """Posts `Asked` when the search changes, a moment after the last key."""

    @dataclass()
    class Asked(Message):
        """The search has changed, or it was submitted."""

        query: HistoryQuery
        submitted: bool = False

    def __init__(self) -> None:
        super().__init__(id="history-search")
        self._outcome = ""
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(trusted("/", MUTED), id="history-slash")
        yield LimitedInput(
            placeholder="search, such as recap since:tuesday",
            id="history-words",
            compact=True,
            max_length=LONGEST,
            suggester=_SearchSuggester(use_cache=False, case_sensitive=True),
        )
        yield Static(words.outcome_filter(""), id="history-outcome")

    @property
    def _field(self) -> Input:
        return self.query_one("#history-words", Input)

    @property
    def is_typing(self) -> bool:
        """Whether the field has the focus."""
        return self._field.has_focus

    def start_typing(self) -> None:
        """Focuses the field."""
        self._field.focus()

    def clear(self, *, outcome: bool) -> None:
        """Clears the text, and the outcome too if asked."""
        with self.prevent(Input.Changed):
            self._field.value = ""
        self._ask("" if outcome else self._outcome)

    def step_outcome(self, steps: int) -> None:
        """Chooses the next outcome, or the one before."""
        self._ask(_CHOICES[(_CHOICES.index(self._outcome) + steps) % len(_CHOICES)])

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self._timer:
            self._timer.stop()
        self._timer = call_after(self, SEARCH_DELAY, lambda: self._ask(self._outcome))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._ask(self._outcome, submitted=True)

    @on(events.Click, "#history-slash")
    def _slash_clicked(self) -> None:
        self.start_typing()

    @on(events.Click, "#history-outcome")
    def _outcome_clicked(self) -> None:
        self.step_outcome(1)

    def _ask(self, outcome: str, *, submitted: bool = False) -> None:
        if self._timer:
            self._timer.stop()
        self._outcome = outcome
        self.query_one("#history-outcome", Static).update(words.outcome_filter(outcome))
        self.post_message(self.Asked(HistoryQuery(self._field.value, outcome), submitted))
