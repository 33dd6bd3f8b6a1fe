"""How many requests wait and how many approvals are held, in words that say nothing about their content."""

from collections.abc import Iterable

from aileron_tui.surface.board import Board
from aileron_tui.surface.source_listener import ConnectionState, SourceStatus


def waiting_words(count: int) -> str:
    """How many requests wait."""
    return "1 request is waiting" if count == 1 else f"{count:,} requests are waiting"


def held_words(count: int) -> str:
    """How many approvals are held."""
    return "1 approval is held and not sent yet" if count == 1 else f"{count:,} approvals are held and not sent yet"


def words_while_locked(board: Board, statuses: Iterable[SourceStatus]) -> str:
    """How many requests wait, for the lock screen; "" if that is not known."""
    if not board.has_reports:
        return ""
    count = board.waiting_count
    if lost := [status for status in statuses if status.state is not ConnectionState.LIVE]:
        return f"{count:,} waiting when the connection was lost at {lost[0].since}. Unlock to reconnect."
    return waiting_words(count) if count else "nothing is waiting"
