"""Cautions: warnings that are shown with a request."""

from datetime import timedelta

from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Caution:
    """A warning to read before answering. It may quote the request, so show it as foreign text.

    A caution applies only once the request has waited for the time `after`.
    """

    text: str
    after: timedelta = timedelta(0)
