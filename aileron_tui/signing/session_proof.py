"""The bytes that a key signs to open a session as an approver."""

from typing import Final

from aileron_tui.core.decision import pae
from aileron_tui.core.jsontext import JsonObject, canonical

SESSION_TYPE: Final = "application/vnd.aileron.session+json"


def session_proof(challenge: str, instance: str, ledger: str) -> bytes:
    """The bytes to sign: bound to one gate, one run of it and one challenge, and never valid as a decision.

    `ledger` is the hash of the first entry of the gate's ledger, which identifies the gate wherever it runs.
    """
    fields: JsonObject = {"challenge": challenge, "instance": instance, "ledger": ledger, "purpose": "session"}
    return pae(SESSION_TYPE, canonical(fields))
