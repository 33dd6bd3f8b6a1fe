"""What can go wrong while the demo is set up."""

from aileron_tui.core.errors import AileronError


class DemoError(AileronError):
    """The demo's service or its suite cannot be made ready."""
