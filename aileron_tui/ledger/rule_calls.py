"""Past calls as rules see them, and how often rules were used."""

from typing import NamedTuple

from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class CallFilter:
    """Which past calls to find. `containing` are bytes that the entry of the request must have, and `shown` is the
    digest of a preview that was fetched for it; both are only a first choice, so the caller must still check each call.
    """

    action: str
    agent: str
    since: str = ""
    containing: bytes = b""
    shown: str = ""


class RecordedCall(NamedTuple):
    """One past call. `rule` is the rule that answered it, and `data` the entry that made the request, as stored."""

    id: str
    asked: str
    outcome: str
    rule: str
    data: bytes


class RuleUse(NamedTuple):
    """How often a rule answered a request, and when the last one was asked."""

    times: int
    last: str
