"""The requests that are marked for a batch: which can be answered now, and why others cannot."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aileron_tui.surface.board import Board
from aileron_tui.surface.waiting_order import is_open

if TYPE_CHECKING:
    from aileron_tui.core.request import Request


def ready_marked(board: Board) -> "list[Request]":
    """The marked requests that are listed, wait, and are not being answered or refreshed, in the order of the list."""
    if not board.marked:
        return []
    return [board.requests[key] for key in board.listed if key in board.marked and is_open(board, key)]


def hidden_marked(board: Board) -> int:
    """How many marked requests wait but are hidden by the filter."""
    return sum(board.is_waiting(key) and not board.is_listed(key) for key in board.marked)


def has_ready_marked(board: Board) -> bool:
    """Whether a marked request can be answered; does not look at all of them."""
    return any(is_open(board, key) for key in _listed(board))


def busy_marked(board: Board) -> str:
    """What is being done about a marked request that waits, "" if there is none."""
    return next((board.pill(key).words for key in _listed(board) if board.is_waiting(key)), "")


def _listed(board: Board) -> Iterator[str]:
    return (key for key in board.marked if board.is_listed(key))
