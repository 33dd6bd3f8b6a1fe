"""A guide through the console, in a strip above the keys. It only says something: it covers and answers nothing."""

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from aileron_tui.core.request import Request
    from aileron_tui.surface.board import Board


class GuideLine(NamedTuple):
    """What the guide says now. All of it is text of our own; `brief` is for small screens."""

    heading: str
    text: str
    brief: str


class Guide(Protocol):
    """Follows what the operator does."""

    def line(self, board: "Board", shown: "Request | None") -> GuideLine:
        """What to say about these requests, of which one is shown."""

    def rule_made(self) -> None:
        """A rule was made from a request."""
