"""The kinds of calls that the gate asks about."""

from enum import StrEnum


class CallKind(StrEnum):
    """What is called: an action of the gate, or a tool that the agent's own program executes."""

    ACTION = "action"
    TOOL = "tool"
