"""A caution that comes with a request."""

from datetime import timedelta

from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Caution:
    """A sentence to read before answering. It may quote the request, so show it as foreign text.

    With `after`, it applies only once the request has waited that long.
    """

    text: str
    after: timedelta = timedelta(0)
