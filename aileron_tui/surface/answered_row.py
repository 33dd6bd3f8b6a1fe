"""One key that answers every request of a row: the answers are separate, but reported and undone together."""

from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from aileron_tui.core.values import dataclass
from aileron_tui.surface.batch_summary import summarize
from aileron_tui.surface.board import Tone

if TYPE_CHECKING:
    from aileron_tui.surface.answer_delivery import Delivery


@dataclass(slots=True, eq=False)
class AnsweredRow:
    """The requests of a row that were answered with one key, and what happened to their answers so far."""

    open: set[str]
    deliveries: "list[Delivery]" = field(default_factory=list)


class AnsweredRows:
    """The rows whose answers are not all sent yet."""

    def __init__(self) -> None:
        self._rows: dict[str, AnsweredRow] = {}

    def add(self, keys: Iterable[str]) -> None:
        """These requests were answered with one key."""
        row = AnsweredRow(set(keys))
        self._rows |= dict.fromkeys(row.open, row)

    def together_with(self, key: str) -> set[str]:
        """The requests whose answers were given with the same key as this one, and are not sent yet."""
        row = self._rows.get(key)
        return set(row.open) if row else {key}

    def undone(self, key: str) -> tuple[str, Tone] | None:
        """The answer to a request is not sent. Returns what happened to the others, if that is all known."""
        return self._close(key)

    def delivered(self, delivery: "Delivery") -> tuple[str, Tone] | None:
        """The answer to a request was sent. Returns what happened to all of them, once that is known."""
        key = delivery.answer.request.key
        if row := self._rows.get(key):
            row.deliveries.append(delivery)
        return self._close(key)

    def _close(self, key: str) -> tuple[str, Tone] | None:
        row = self._rows.pop(key, None)
        if row is None:
            return None
        row.open.discard(key)
        return summarize(row.deliveries) if not row.open and row.deliveries else None
