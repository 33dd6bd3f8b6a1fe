"""The decision in a ledger entry, read without verifying its signature."""

import base64
import binascii

from aileron_tui.core.decision import Statement, Verdict, read_statement
from aileron_tui.core.entry_chain import Entry, EntryKind
from aileron_tui.core.jsontext import JsonError, JsonObject

Decision = tuple[Statement, str]
"""The statement in an envelope, and the key that the envelope names."""


def decision_of(entry: Entry) -> Decision | None:
    """The decision in an entry, or None if the entry has no decision or it cannot be read."""
    if entry.kind != EntryKind.DECIDED:
        return None
    match entry.body.get("envelope"):
        case {"payload": str() as payload, "payloadType": type_, "signatures": [{"keyid": str() as signer}]}:
            try:
                statement = read_statement(base64.b64decode(payload))
                return (statement, signer) if statement.payload_type == type_ else None
            except (JsonError, binascii.Error, ValueError):
                return None
    return None


def edits_of(statement: Statement) -> JsonObject:
    """The inputs that were changed before the call was approved. Empty for a denial, because nothing runs then."""
    return statement.edits or {} if statement.verdict is Verdict.APPROVE else {}
