"""Names of agents: which are valid, which are reserved, and which look too much like another one."""

import re
from collections.abc import Iterable
from typing import Final

DEFAULT_AGENT: Final = "default"
"""The agent that the gate adds when it starts for the first time."""

NAME_RULE: Final = (
    "Use 1 to 32 lowercase letters, digits, dots, dashes and underscores, and begin with a letter or digit."
)

_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9_-]|\.(?=[a-z0-9])){0,31}", re.ASCII)
_RESERVED: Final = frozenset(
    {"admin", "agent", "aileron", "aileron-tui", "approver", "console", "daemon", "gate", "operator", "root", "unknown"}
)
_PAIRS: Final = (("rn", "m"), ("vv", "w"))
_LOOKALIKES: Final = str.maketrans({"0": "o", "1": "l", "i": "l", ".": "-", "_": "-"})


def is_agent_name(text: str) -> bool:
    """Whether the text has the form of an agent's name. It becomes a file name and is shown without quotes."""
    return _NAME.fullmatch(text) is not None


def is_reserved(name: str) -> bool:
    """Whether a name could be mistaken for a part of the product or for the operator."""
    shape = _shape(name)
    return any(shape == _shape(word) for word in _RESERVED)


def lookalike(name: str, others: Iterable[str]) -> str:
    """The first of the other names that is easily mistaken for this one, or ""."""
    shape = _shape(name)
    return next((other for other in others if other != name and _shape(other) == shape), "")


def _shape(name: str) -> str:
    """What a name looks like at a glance: `agent-1`, `agent_l` and `agent.i` have the same shape."""
    shape = name.translate(_LOOKALIKES)
    for pair, letter in _PAIRS:
        shape = shape.replace(pair, letter)
    return shape
