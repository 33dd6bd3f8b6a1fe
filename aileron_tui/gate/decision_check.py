"""Checks whether a signed decision is valid now: who signed it, for what, and that it was not used before.

An assertion that was made on the gate's page must in addition have the page's own origin and a nonce that the gate
issued for it, and every assertion a counter that is higher than the last one that the ledger has of its key.
"""

import secrets
from typing import Final

from aileron_tui.core.authenticator_data import counter_problem
from aileron_tui.core.decision import CHALLENGE_NONCE_SIZE, Statement, Verdict, challenge
from aileron_tui.core.jsontext import Json
from aileron_tui.core.risk import RiskLevel
from aileron_tui.files.config import SECURITY_KEY
from aileron_tui.gate.decision_body import SubmittedDecision
from aileron_tui.gate.gate_request import GateRequest
from aileron_tui.gate.gate_state import GateState
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.assertion import CheckedAssertion
from aileron_tui.signing.envelope import check_decision, opened_decision, read_envelope
from aileron_tui.signing.errors import EnvelopeRefused, RefusalReason

CHALLENGE_SECONDS: Final = 300
"""How long somebody may take to touch a security key on the page."""

_MOST_CHALLENGES: Final = 1000

Opened = tuple[Statement, str, CheckedAssertion | None]
"""A statement, the key that signed it, and what it says about itself if it is a security key."""


class DecisionCheck:
    """Verifies decisions against the current approvers and the ledger."""

    def __init__(self, gate_state: GateState) -> None:
        self._gate_state = gate_state
        self._cached_approvers = (-1, Approvers())
        self._last_opened: tuple[Json, Approvers, Opened] | None = None
        self._issued: dict[bytes, float] = {}
        self.page_origin = ""

    @property
    def needs_security_key(self) -> bool:
        """Whether only a security key can approve at high risk."""
        return self._gate_state.setup.config.policy.high_risk == SECURITY_KEY

    def approvers(self) -> Approvers:
        """The current approvers; another process may have just enrolled or revoked a key."""
        changed = self._gate_state.reader.last_key_change()
        if changed != self._cached_approvers[0]:
            self._cached_approvers = changed, Approvers.of(self._gate_state.reader.key_changes())
        return self._cached_approvers[1]

    def issue(self, signed: bytes) -> bytes:
        """A new challenge for an assertion on the page over these bytes. It can be used once, for a few minutes."""
        now = self._gate_state.boot_clock.seconds()
        self._issued = {nonce: end for nonce, end in self._issued.items() if end > now}
        while len(self._issued) >= _MOST_CHALLENGES:
            del self._issued[next(iter(self._issued))]
        nonce = secrets.token_bytes(CHALLENGE_NONCE_SIZE)
        self._issued[nonce] = now + CHALLENGE_SECONDS
        return challenge(signed, nonce)

    def used(self, decision: SubmittedDecision) -> None:
        """Takes note that a decision was recorded, so that its challenge cannot be used again."""
        if self._last_opened and self._last_opened[0] is decision.envelope and (said := self._last_opened[2][2]):
            self._issued.pop(said.nonce, None)

    def check(self, request: GateRequest, decision: SubmittedDecision, digest: str) -> None:
        """Raises EnvelopeRefused unless a decision is valid now for this digest and matches the fields around it."""
        statement, keyid, said = self._opened(decision.envelope)
        check_decision(
            statement,
            now=self._gate_state.clock(),
            instance=self._gate_state.instance,
            request=request.id,
            digest=digest,
            seen_nonce=self._gate_state.reader.nonce_used,
        )
        signed = (statement.verdict is Verdict.APPROVE, statement.reason, statement.edits)
        if signed != (decision.approved, decision.reason, decision.edits):
            raise EnvelopeRefused(RefusalReason.MALFORMED, "the signed statement differs from the fields around it")
        if (statement.action, statement.connector) != (request.name, request.connector.hash):
            raise EnvelopeRefused(RefusalReason.MALFORMED, "the signed statement is for another action or connector")
        if said:
            self.check_assertion(keyid, said)
        elif decision.approved and self.needs_security_key and _is_high_risk(request, decision):
            detail = "at high risk, only a security key or passkey can approve here"
            raise EnvelopeRefused(RefusalReason.NEEDS_SECURITY_KEY, detail, 'high_risk is "key" under [policy].')

    def check_assertion(self, keyid: str, said: CheckedAssertion) -> None:
        """Raises EnvelopeRefused unless an assertion was made for this gate just now."""
        if said.on_page:
            if said.origin != self.page_origin:
                raise EnvelopeRefused(RefusalReason.WRONG_ORIGIN, f"{said.origin} is not the page of this gate")
            if self._issued.get(said.nonce, 0.0) <= self._gate_state.boot_clock.seconds():
                detail = "this gate did not ask for it, or too long ago"
                raise EnvelopeRefused(RefusalReason.NOT_ISSUED, detail, "Try again.")
        if why := counter_problem(self._gate_state.reader.counter(keyid), said.counter):
            hint = "If it was copied, revoke it with `aileron-tui key revoke`."
            raise EnvelopeRefused(RefusalReason.COUNTER_WENT_BACK, why, hint)

    def _opened(self, envelope: Json) -> Opened:
        """The signed statement. An approval is checked twice, but its signature only once for the same approvers."""
        approvers, last = self.approvers(), self._last_opened
        if last is None or last[0] is not envelope or last[1] is not approvers:
            signed = read_envelope(envelope)
            statement, said = opened_decision(signed, approvers)
            self._last_opened = last = envelope, approvers, (statement, signed.keyid, said)
        return last[2]


def _is_high_risk(request: GateRequest, decision: SubmittedDecision) -> bool:
    """Whether a call is of high risk, as it was asked or as it was edited."""
    edited = request.edit.prompt.risk.level if decision.edits is not None and request.edit else None
    return RiskLevel.HIGH in (request.risk.level, edited)
