"""The undo window: an approval is held for a moment before it is sent, so that it can be undone."""

from time import monotonic
from typing import TYPE_CHECKING, Final, Protocol

from aileron_tui.core.values import dataclass

if TYPE_CHECKING:
    from aileron_tui.surface.answer_delivery import Answer
    from aileron_tui.surface.board import Board

_SHOWN_AT_LEAST: Final = 0.1


class Stoppable(Protocol):
    """A timer that can be stopped before it fires."""

    def stop(self) -> None:
        """Stops the timer."""


@dataclass(frozen=True, slots=True)
class HeldApproval:
    """An approval that is not sent yet; `timer` sends it at `send_at`."""

    answer: "Answer"
    send_at: float
    timer: Stoppable

    @property
    def seconds_left(self) -> float:
        """Seconds until it is sent; more than 0 as long as it is held."""
        return max(_SHOWN_AT_LEAST, self.send_at - monotonic())


def is_outdated(board: "Board", answer: "Answer") -> bool:
    """Whether the prompt has changed since it was answered. An edited call has its own prompt and is never outdated."""
    now = board.requests.get(answer.request.key)
    return answer.edits is None and now is not None and now.digest != answer.request.digest
