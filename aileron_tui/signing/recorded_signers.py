"""The signers in a ledger: each recorded decision is checked against the keys that were enrolled at that point."""

from collections.abc import Callable
from typing import Final

from aileron_tui.core.deadline_extension import Extension
from aileron_tui.core.decision import Statement
from aileron_tui.core.entry_chain import Damage, Entry
from aileron_tui.core.jsontext import Json
from aileron_tui.signing.agents import Agents
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import opened, read_envelope
from aileron_tui.signing.errors import EnvelopeRefused, RefusalReason
from aileron_tui.signing.extensions import opened_extension

_DAMAGE: Final = {
    RefusalReason.UNKNOWN_KEY: Damage.KEY,
    RefusalReason.REVOKED_KEY: Damage.KEY,
    RefusalReason.NEWER_FORMAT: Damage.NEWER,
}


class RecordedSigners:
    """Processes enrolments and revocations in order and checks the decisions between them."""

    def __init__(self) -> None:
        self.approvers = Approvers()
        self.agents = Agents()

    def learn(self, entry: Entry) -> None:
        """Processes one key change."""
        self.approvers.learn(entry)

    def learn_agent(self, entry: Entry, follows: Callable[[str, int], bool]) -> None:
        """Processes a change to an agent, which an approver must have signed."""
        self.agents.learn(entry, self.approvers, follows)

    def check(self, envelope: Json) -> tuple[Statement, str] | tuple[Damage, str]:
        """The statement and the signer's fingerprint, or what is wrong with the envelope."""
        try:
            signed = read_envelope(envelope)
            return opened(signed, self.approvers), signed.keyid
        except EnvelopeRefused as error:
            return _DAMAGE.get(error.reason, Damage.SIGNATURE), str(error)

    def check_extension(self, envelope: Json) -> tuple[Extension, str] | tuple[Damage, str]:
        """The extension and the signer's fingerprint, or what is wrong with the envelope."""
        try:
            signed = read_envelope(envelope)
            return opened_extension(signed, self.approvers)[0], signed.keyid
        except EnvelopeRefused as error:
            return _DAMAGE.get(error.reason, Damage.SIGNATURE), str(error)
