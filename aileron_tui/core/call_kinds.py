"""The kinds of calls that the gate asks about."""

from enum import StrEnum
from typing import Final


class CallKind(StrEnum):
    """What is asked about: a call of an action of the gate, or of a tool that the agent's own program executes.

    `definition` is not a call: it asks whether the changed definition of an MCP tool is accepted.
    """

    ACTION = "action"
    TOOL = "tool"
    DEFINITION = "definition"


NOT_RUN_HERE: Final = frozenset((CallKind.TOOL, CallKind.DEFINITION))
"""The kinds that the gate decides about and does not run."""

UNGATED: Final = "run-"
"""How the ids of calls begin that need no approval. No id of a request does."""


def is_ungated_id(id_: str) -> bool:
    """Whether an id is that of a call that needs no approval."""
    return id_.startswith(UNGATED)
