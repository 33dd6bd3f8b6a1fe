"""The kinds of ledger entries. Their texts are stored and hashed, so they never change."""

from enum import StrEnum
from typing import Final


class EntryKind(StrEnum):
    """What an entry records: each step of a request, and each change of the gate itself.

    `TOLD` is a daemon's report about a request that it runs itself; it never counts as an approval given here.
    `EDITED` is a daemon's report that a call was edited before it was approved elsewhere; it does not contain the edit.
    `RULED` says that a rule answered a request; the rule itself is in the entry `RULE_MADE`.
    `DENIED_UNSIGNED` is a denial without a signature, given where no key is at hand. No approval can be like this.
    `HANDED_OVER` says that the agent's own program may execute a tool call now; its report of the outcome may follow.
    `UNASKED` says that a program reported a tool call that it had not asked about, in a session that asks otherwise.
    `FELL_BACK` says that one more surface was alerted, and why. The first one is named in `SHOWN`, if there is such an
    entry.
    `PACKAGE_ADDED` has what a package may do, as an approver signed it; `PACKAGE_DECLINED` changes nothing.
    `RESTORED` follows the last entry of a backup that replaced the ledger.
    `BINDING_MADE` says which account a connector uses, as an approver signed it; `BINDING_DECLINED` changes nothing.
    `REDUCED` says which bodies were removed from the ledger because they were older than `[ledger] keep`
    (`core/reduction.py`).
    `LIMITED` is the first call that was refused because its agent had asked too often; later ones are not recorded.
    """

    REQUESTED = "request.made"
    EXTENDED = "request.extended"
    PREVIEWED = "preview.fetched"
    SHOWN = "prompt.shown"
    DECIDED = "decision.made"
    DENIED_UNSIGNED = "denial.recorded"
    REFUSED = "decision.refused"
    RUNNING = "op.started"
    HANDED_OVER = "tool.handed_over"
    UNASKED = "tool.unasked"
    EXECUTED = "op.executed"
    FAILED = "op.failed"
    EXPIRED = "request.expired"
    WITHDRAWN = "request.withdrawn"
    INTERRUPTED = "op.interrupted"
    UNKNOWN = "op.unknown"
    TOLD = "runtime.told"
    EDITED = "runtime.edited"
    DELIVERED = "result.delivered"
    FELL_BACK = "surface.fell_back"
    KEY_ENROLLED = "key.enrolled"
    KEY_REVOKED = "key.revoked"
    AGENT_ADDED = "agent.added"
    AGENT_ROTATED = "agent.rotated"
    AGENT_REVOKED = "agent.revoked"
    RULE_MADE = "rule.made"
    RULE_ENDED = "rule.ended"
    RULED = "rule.answered"
    PUBLISHER_TRUSTED = "publisher.trusted"
    PUBLISHER_REMOVED = "publisher.removed"
    PACKAGE_ADDED = "package.added"
    PACKAGE_REMOVED = "package.removed"
    PACKAGE_DECLINED = "package.declined"
    BINDING_MADE = "binding.made"
    BINDING_ENDED = "binding.ended"
    BINDING_DECLINED = "binding.declined"
    LIMITED = "agent.limited"
    RESTORED = "ledger.restored"
    REDUCED = "ledger.reduced"
    CONFIG_CHANGED = "config.changed"
    STARTED = "gate.started"
    STOPPED = "gate.stopped"


REDUCIBLE: Final = frozenset(
    {
        EntryKind.REQUESTED,
        EntryKind.PREVIEWED,
        EntryKind.DECIDED,
        EntryKind.DENIED_UNSIGNED,
        EntryKind.REFUSED,
        EntryKind.RUNNING,
        EntryKind.EXECUTED,
        EntryKind.FAILED,
        EntryKind.WITHDRAWN,
        EntryKind.INTERRUPTED,
        EntryKind.UNKNOWN,
    }
)
"""The kinds of entries whose body may be removed. No other body is ever missing: who may approve and what is in force
depends on them."""
