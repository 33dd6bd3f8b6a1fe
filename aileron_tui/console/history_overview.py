"""What the history screen says about all requests: decisions per day, and the pace of the operator's last decisions."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from textual.message import Message
from textual.screen import Screen

from aileron_tui.console.widgets.chart import MAX_DAYS
from aileron_tui.core.errors import AileronError
from aileron_tui.surface.history_reader import HistoryReader
from aileron_tui.surface.history_records import DayTally, own_pace, parse_local_time, tally, typical


class ChartLoaded(Message):
    """The decisions per day are loaded, and the typical time to decide; `note` says what they leave out."""

    def __init__(self, days: tuple[DayTally, ...], typical_seconds: float | None, note: str) -> None:
        super().__init__()
        self.days = days
        self.typical_seconds = typical_seconds
        self.note = note


class PaceLoaded(Message):
    """The operator's last decisions are loaded; `words` says how many were approvals and how fast they were."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.words = words


class HistoryOverview:
    """Loads both in threads and posts `ChartLoaded` and `PaceLoaded` to the screen.

    `signer` returns the fingerprint of the operator's key, "" while it is locked. Errors are not reported here, because
    the list shows them.
    """

    def __init__(self, screen: Screen[None], reader: HistoryReader, signer: Callable[[], str]) -> None:
        self._screen = screen
        self._reader = reader
        self._signer = signer

    def load(self) -> None:
        """Loads the chart and the pace."""
        self._run("chart", self._load_chart)
        self.load_pace()

    def load_pace(self) -> None:
        """Loads the pace."""
        if signer := self._signer():
            self._run("pace", partial(self._load_pace, signer))

    def _run(self, group: str, work: Callable[[], None]) -> None:
        self._screen.run_worker(work, group=group, exit_on_error=False, thread=True)

    def _load_chart(self) -> None:
        try:
            page = self._reader.sample(MAX_DAYS + 1)
        except AileronError:
            return
        days = tally(page.requests, datetime.now().astimezone().date(), MAX_DAYS)
        note = f"of the newest {len(page.requests):,} requests" if page.older is not None else ""
        if note and page.requests and (oldest := parse_local_time(page.requests[-1].asked)):
            # Days that were not loaded must not look like days without decisions.
            days = tuple(day for day in days if day.day >= oldest.date()) or days[-1:]
        self._screen.post_message(ChartLoaded(days, typical(page.requests), note))

    def _load_pace(self, signer: str) -> None:
        try:
            self._screen.post_message(PaceLoaded(own_pace(self._reader.own_decisions(signer))))
        except AileronError:
            return
