"""Which bodies of a request are removed once the request is older than `[ledger] keep`: those that say anything.

What has only digests, names and signatures stays, because with it the ledger still proves who approved what ran.
"""

from typing import Final

from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import REDUCIBLE, EntryKind
from aileron_tui.ledger.recorded_decision import decision_of

OLDEST_VERSION: Final = 2
"""Before this version, the hash of an entry covered its body, so a body cannot be removed."""

_SAY_NOTHING: Final = frozenset({"gated", "reported", "retried"})
_OF_PREVIEWS: Final = frozenset({"digest", "retried"})


def says_something(entry: Entry) -> bool:
    """Whether an entry has a body that is to be removed."""
    body = entry.body
    if entry.kind not in REDUCIBLE or entry.version < OLDEST_VERSION or entry.removed or not body:
        return False
    match entry.kind:
        case EntryKind.REQUESTED:
            return True
        case EntryKind.PREVIEWED:
            return bool(body.keys() - _OF_PREVIEWS)
        case EntryKind.RUNNING:
            return body.get("gated") is False
        case EntryKind.DENIED_UNSIGNED:
            return bool(body.get("reason"))
        case EntryKind.DECIDED:
            found = decision_of(entry)
            return found is None or bool(found[0].reason or found[0].edits)
        case _:
            return bool(body.keys() - _SAY_NOTHING)
