"""The kinds of calls that a soak consists of, how often each occurs, and how each must end."""

from __future__ import annotations

import random
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.states import RequestState


class Case(StrEnum):
    """What happens to one call."""

    APPROVED = "approved after its preview"
    LARGE_PREVIEW = "approved with a large preview"
    LARGE_CALL = "approved with large inputs"
    DENIED = "denied"
    EXPIRED = "not answered, expires"
    WITHDRAWN = "withdrawn by its agent"
    LEFT = "its agent disconnects"
    JOINED = "made twice, asked once"
    UNGATED = "needs no approval"
    RULE_ALLOWED = "allowed by a rule"
    RULE_DENIED = "denied by a rule"
    TOOL_APPROVED = "tool call, approved"
    TOOL_DENIED = "tool call, denied"
    HOOK = "hook of a coding agent, approved"


WEIGHTS: Final = {
    Case.APPROVED: 24,
    Case.LARGE_PREVIEW: 4,
    Case.LARGE_CALL: 4,
    Case.DENIED: 10,
    Case.EXPIRED: 4,
    Case.WITHDRAWN: 5,
    Case.LEFT: 3,
    Case.JOINED: 6,
    Case.UNGATED: 16,
    Case.RULE_ALLOWED: 6,
    Case.RULE_DENIED: 4,
    Case.TOOL_APPROVED: 6,
    Case.TOOL_DENIED: 3,
    Case.HOOK: 5,
}
"""How many of a hundred calls are of each kind."""

RULED: Final = frozenset({Case.RULE_ALLOWED, Case.RULE_DENIED})
UNANSWERED: Final = frozenset({Case.EXPIRED, Case.WITHDRAWN, Case.LEFT})
TOOLS: Final = frozenset({Case.TOOL_APPROVED, Case.TOOL_DENIED, Case.HOOK})
NOT_ASKED: Final = RULED | {Case.UNGATED}
SENDS: Final = frozenset({Case.APPROVED, Case.LARGE_PREVIEW, Case.LARGE_CALL, Case.JOINED})
"""The cases in which exactly one mail is sent."""

_DENIED: Final = frozenset({Case.DENIED, Case.TOOL_DENIED, Case.RULE_DENIED})


def verdict_of(case: Case) -> Verdict | None:
    """What the operator decides; None if nobody answers."""
    if case in UNANSWERED or case in NOT_ASKED:
        return None
    return Verdict.DENY if case in _DENIED else Verdict.APPROVE


def expected_state(case: Case) -> RequestState:
    """How a call of this kind must have ended in the history."""
    if case is Case.EXPIRED:
        return RequestState.EXPIRED
    if case in UNANSWERED:
        return RequestState.WITHDRAWN
    return RequestState.DENIED if case in _DENIED else RequestState.EXECUTED


def shuffled_cases(random_: random.Random) -> Iterator[Case]:
    """An endless mix in which every hundred calls have the same parts."""
    while True:
        hundred = [case for case, count in WEIGHTS.items() for _ in range(count)]
        random_.shuffle(hundred)
        yield from hundred
