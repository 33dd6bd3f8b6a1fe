"""The undo window: an approval is held for a moment before it is sent, so that it can be undone."""

from collections.abc import Iterator
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Final, Protocol

from aileron_tui.core.values import dataclass
from aileron_tui.surface.board import Pill, Tone

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

    @property
    def pill(self) -> Pill:
        """The state of its request, with the time left to undo."""
        sends = f"sends in {ceil(self.seconds_left)} s"
        return Pill(f"approved, {sends}", Tone.WARN, sends)


class HeldApprovals:
    """The approvals that are held now, at most one for each request, oldest first."""

    def __init__(self) -> None:
        self._held: dict[str, HeldApproval] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[HeldApproval]:
        return iter(tuple(self._held.values()))

    def add(self, held: HeldApproval) -> None:
        """Holds an approval."""
        self._held[held.answer.request.key] = held

    def of(self, key: str) -> HeldApproval | None:
        """The approval of this request, if it is held."""
        return self._held.get(key)

    @property
    def newest(self) -> HeldApproval | None:
        """The approval that was given last."""
        return next(reversed(self._held.values()), None)

    def release(self, held: HeldApproval) -> "Answer":
        """Holds an approval no longer; returns it."""
        held.timer.stop()
        self._held.pop(held.answer.request.key, None)
        return held.answer


def is_outdated(board: "Board", answer: "Answer") -> bool:
    """Whether the prompt has changed since it was answered. An edited call has its own prompt and is never outdated."""
    now = board.requests.get(answer.request.key)
    return answer.edits is None and now is not None and now.digest != answer.request.digest
