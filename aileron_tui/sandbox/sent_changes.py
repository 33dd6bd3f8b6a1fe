"""What one connector call may have changed upstream, from the requests it wrote and the replies it got."""

from typing import Final

_NOT_PROCESSED: Final = frozenset({304, 307, 308, 501, 505})
"""Statuses outside 4xx that mean that the request was not processed."""

_MAYBE_PROCESSED: Final = frozenset({408, 499})
"""4xx statuses that services and proxies send when they stop waiting for something that may still be going on."""


class SentChanges:
    """Counts the requests of one call that may have taken effect.

    A request counts from its first byte on, because a reply that is lost says nothing. It stops counting only if the
    reply says that the request was refused.
    """

    def __init__(self) -> None:
        self._count = 0

    def __bool__(self) -> bool:
        return self._count > 0

    def written(self) -> None:
        """The first byte of a request that may change something is about to be written."""
        self._count += 1

    def answered(self, status: int) -> None:
        """A complete reply to that request arrived."""
        if was_refused(status):
            self._count -= 1


def was_refused(status: int) -> bool:
    """Whether a reply means that the request changed nothing.

    That holds for 4xx, also for 409 (a conflict with the current state), 425 and 429 (not processed yet). It does not
    hold for 5xx, which services send after part of the work, and which proxies send while the service still works.
    A 301, 302 or 303 is how many services answer a POST that they have processed.
    """
    return status in _NOT_PROCESSED or (400 <= status < 500 and status not in _MAYBE_PROCESSED)
