"""What a key holder signs to be let in as an approver."""

from typing import Final

from aileron_tui.core.decision import pae
from aileron_tui.core.jsontext import canonical

SESSION_TYPE: Final = "application/vnd.aileron.session+json"


def session_proof(challenge: str, instance: str) -> bytes:
    """The bytes to sign: bound to one gate and one challenge, and never to be mistaken for a decision."""
    return pae(SESSION_TYPE, canonical({"challenge": challenge, "instance": instance, "purpose": "session"}))
