"""Errors of the demo."""

from aileron_tui.core.errors import AileronError


class DemoError(AileronError):
    """The sample service or the sample suite cannot be set up."""
