"""The decision in a ledger entry, read without verifying its signature."""

from collections.abc import Sequence

from aileron_tui.core.base64_text import from_base64
from aileron_tui.core.decision import Statement, Verdict, read_statement, statement_version
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonError, JsonObject

Decision = tuple[Statement, str]
"""The statement in an envelope, and the key that the envelope names."""


def decision_of(entry: Entry) -> Decision | None:
    """The decision in an entry, or None if it is not a decision or cannot be read."""
    try:
        return read_decision(entry)
    except JsonError:
        return None


def read_decision(entry: Entry) -> Decision | None:
    """The decision in an entry, or None if the entry is of another kind or has no body. Raises JsonError."""
    if entry.kind != EntryKind.DECIDED or entry.removed:
        return None
    match entry.body.get("envelope"):
        case {"payload": str() as payload, "payloadType": str() as type_, "signatures": [{"keyid": str() as signer}]}:
            version = statement_version(type_)
            try:
                data = from_base64(payload)
            except ValueError:
                raise JsonError("damaged base64", "$.body.envelope.payload") from None
            statement = read_statement(data)
            if statement.version != version:
                raise JsonError("not the type of the decision", "$.body.envelope.payloadType")
            return statement, signer
    raise JsonError("not a signed envelope", "$.body.envelope")


def approved_args(entries: Sequence[Entry]) -> JsonObject:
    """The inputs of a request as they were approved, or as they were made if no approval changed them."""
    made, *later = entries
    args = made.body.get("args")
    approved: JsonObject = args if isinstance(args, dict) else {}
    for entry in later:
        if found := decision_of(entry):
            approved = approved | edits_of(found[0])
    return approved


def edits_of(statement: Statement) -> JsonObject:
    """The inputs that were changed before the call was approved. Empty for a denial, because nothing runs then."""
    return statement.edits or {} if statement.verdict is Verdict.APPROVE else {}
