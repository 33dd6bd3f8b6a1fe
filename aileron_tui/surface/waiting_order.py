"""Where to go from the selected request: to the next one that waits, by a key or once the selected one has ended."""

from collections.abc import Callable, Iterator
from typing import Final

from aileron_tui.core.outcomes import UNDER_WAY
from aileron_tui.core.states import RequestState
from aileron_tui.surface.arming import elapsed
from aileron_tui.surface.board import Board

FOLLOW_SECONDS: Final = 1.5

_NOT_ANSWERED: Final = frozenset({RequestState.EXPIRED, RequestState.WITHDRAWN})


def next_waiting(board: Board, *, wrap: bool = True) -> str:
    """The next listed request that waits and is not being answered here, "" if there is none."""
    if not board.waiting_count:
        return ""
    return next((key for key in _after_selected(board, wrap=wrap) if is_open(board, key)), "")


def is_open(board: Board, key: str) -> bool:
    """Whether a request waits and nothing is being done about it here."""
    return board.is_waiting(key) and not board.pill(key).words


def _after_selected(board: Board, *, wrap: bool) -> Iterator[str]:
    keys, selected = board.rows, board.row_key(board.selected)
    at = keys.index(selected) if selected in keys else -1
    yield from keys[at + 1 :]
    if wrap:
        yield from keys[: max(0, at)]


def ended_here(board: Board, key: str) -> bool:
    """Whether exactly this prompt was answered here and its end is known, or will never be reported."""
    request = board.requests.get(key)
    if request is None or request.state.decidable or request.vanished or request.state in _NOT_ANSWERED:
        return False
    if board.answered_here.get(key) != request.digest:
        return False
    return request.state not in UNDER_WAY or (request.daemon and not request.reports_end)


class Following:
    """Tells when to move on from a selected request that was answered here and has ended.

    That is a moment after its end and after the last key, so that the outcome can be seen and nobody is typing.
    """

    def __init__(self, board: Board, clock: Callable[[], float] = elapsed) -> None:
        self._board = board
        self._clock = clock
        self._last_input = 0.0
        self._ended: tuple[str, float] = ("", 0.0)

    def input_received(self) -> None:
        """A key was pressed, or the mouse was used."""
        self._last_input = self._clock()

    def seconds_left(self) -> float | None:
        """Seconds until the console moves on; None if it stays where it is."""
        board = self._board
        if not ended_here(board, board.selected):
            self._ended = ("", 0.0)
            return None
        if self._ended[0] != board.selected:
            self._ended = (board.selected, self._clock())
        if not next_waiting(board):
            return None
        return max(0.0, max(self._last_input, self._ended[1]) + FOLLOW_SECONDS - self._clock())
