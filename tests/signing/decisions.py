"""A good decision that tests start from and spoil."""

from datetime import UTC, datetime, timedelta

from aileron_tui.core.decision import Statement, Verdict
from aileron_tui.core.times import timestamp
from aileron_tui.signing.approvers import Approver, Approvers
from aileron_tui.signing.key_store import UnlockedKey, for_this_run

NOW = datetime(2026, 5, 12, 10, 15, 30, tzinfo=UTC)
DIGEST = "sha256:" + "d1" * 32
INSTANCE = "gate-1"
REQUEST = "act-1"


def statement(**changes: object) -> Statement:
    """An approval of the draft, made a second ago."""
    fields: dict[str, object] = {
        "request": REQUEST,
        "instance": INSTANCE,
        "action": "send-draft",
        "connector": "sha256:" + "c0" * 32,
        "digest": DIGEST,
        "verdict": Verdict.APPROVE,
        "edits": None,
        "reason": "",
        "surface": "tui",
        "time": timestamp(NOW - timedelta(seconds=1)),
        "expires": timestamp(NOW + timedelta(seconds=60)),
        "nonce": "0f" * 16,
        "head": "sha256:" + "ee" * 32,
    }
    return Statement(**(fields | changes))  # type: ignore[arg-type]  # the test decides what to spoil


def approvers(*keys: UnlockedKey, revoked: str = "") -> Approvers:
    """These keys, enrolled."""
    enrolled = Approvers()
    for key in keys:
        enrolled[key.public.fingerprint] = Approver(key.name, key.public, timestamp(NOW), revoked)
    return enrolled


def key(name: str = "laptop") -> UnlockedKey:
    """A key that lives in memory only."""
    return for_this_run(name)
