"""Everything that the clients of a gate did and were told in one round."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from aileron_tui.core.decision import Verdict


class Claim(StrEnum):
    """What a reply to an agent says about its call. OPEN and NONE say nothing about how it ended."""

    DONE = "it was done"
    NOTHING = "nothing was done"
    FAILED = "it failed"
    UNKNOWN = "the outcome is unknown"
    OPEN = "it is open"
    NONE = "nothing"


_NOTHING_RUN: Final = frozenset({"approval_timeout", "withdrawn"})


def claim_of(status: int, body: Any) -> Claim:
    """Returns what a reply says."""
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict) and error.get("code") == "not_recorded":
        return Claim.NOTHING
    if status not in (200, 202) or not isinstance(body, dict):
        return Claim.NONE
    match body.get("status"):
        case "pending_approval" | "running":
            return Claim.OPEN
        case "completed":
            return Claim.DONE
        case "denied":
            return Claim.NOTHING
        case "failed":
            class_ = body["failure"]["error"]["class"]
            if class_ == "outcome_unknown":
                return Claim.UNKNOWN
            return Claim.NOTHING if class_ in _NOTHING_RUN else Claim.FAILED
    return Claim.NONE


@dataclass(frozen=True, slots=True)
class Statement:
    """What an agent was told about a call. `id` is "" if the reply did not name the request."""

    draft: str
    id: str
    claim: Claim
    text: str


@dataclass(frozen=True, slots=True)
class DecisionMade:
    """A decision that was sent. `reply` is "accepted", a refusal's code, or "" if no reply came."""

    id: str
    verdict: Verdict
    sent_at: float
    reply: str


@dataclass
class Journal:
    """The record of one round. Times are those of the clock that goes on during sleep."""

    accepted: dict[str, str] = field(default_factory=dict)
    seen_at: dict[str, float] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    decisions: dict[str, list[DecisionMade]] = field(default_factory=dict)
    ended: dict[str, Claim] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    replies: Counter[str] = field(default_factory=Counter)
    ledger_gone_at: float | None = None
    guard: threading.Lock = field(default_factory=threading.Lock)

    def violation(self, text: str) -> None:
        """Notes something that must not happen."""
        with self.guard:
            if text not in self.violations:
                self.violations.append(text)

    def told(self, draft: str, id_: str, reply: tuple[int, Any], now: float) -> Claim:
        """Notes a reply to an agent: its status and body."""
        status, body = reply
        claim = claim_of(status, body)
        with self.guard:
            self.replies[f"{status} {claim}"] += 1
            if status == 202 and claim is Claim.OPEN:
                id_ = str(body["approval_id"])
                self.accepted.setdefault(id_, draft)
                self.seen_at.setdefault(id_, now)
            elif claim is Claim.DONE:
                id_ = str(body["audit_id"]).removeprefix("audit-")
            self.statements.append(Statement(draft, id_, claim, str(body)))
            if id_ and status == 200 and claim in (Claim.DONE, Claim.NOTHING, Claim.FAILED, Claim.UNKNOWN):
                earlier = self.ended.setdefault(id_, claim)
                if earlier is not claim:
                    self.violations.append(f"{id_}: the agent was told {earlier!r}, then {claim!r}")
        return claim

    def decided(self, made: DecisionMade) -> None:
        """Notes a decision."""
        with self.guard:
            self.decisions.setdefault(made.id, []).append(made)
            self.replies[f"decision {made.reply or 'lost'}"] += 1

    @property
    def open(self) -> dict[str, str]:
        """The accepted requests whose end no agent was told, with their drafts."""
        with self.guard:
            return {id_: draft for id_, draft in self.accepted.items() if id_ not in self.ended}
