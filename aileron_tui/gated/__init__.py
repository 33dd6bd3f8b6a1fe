"""`gated`: Python functions that run only after a person or a signed rule has approved exactly this call.

    from aileron_tui.gated import Denied, gated

    @gated(risk="high")
    def delete_branch(name: str) -> None: ...

docs/python.md says what it does and what it does not do.
"""

from aileron_tui.gated.decorator import Gated, gated
from aileron_tui.gated.errors import (
    AnswerRefused,
    ArgumentRefused,
    Denied,
    GatedError,
    NobodyAnswered,
    NotAsked,
    OutcomeUnknown,
    Withdrawn,
)
from aileron_tui.gated.handles import AsyncPending, Pending
from aileron_tui.gated.resumption import EarlierCall, Resumed

__all__ = [
    "AnswerRefused",
    "ArgumentRefused",
    "AsyncPending",
    "Denied",
    "EarlierCall",
    "Gated",
    "GatedError",
    "NobodyAnswered",
    "NotAsked",
    "OutcomeUnknown",
    "Pending",
    "Resumed",
    "Withdrawn",
    "gated",
]
