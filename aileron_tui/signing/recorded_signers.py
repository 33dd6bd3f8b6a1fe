"""The signers in a ledger: each recorded decision is checked against the keys that were enrolled at that point."""

from collections.abc import Callable
from typing import Final

from aileron_tui.core.deadline_extension import Extension
from aileron_tui.core.decision import Statement
from aileron_tui.core.entry_chain import Damage, Entry
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonObject
from aileron_tui.core.rule_answer import RuleAnswer, answer_problem, read_answer
from aileron_tui.core.times import moment
from aileron_tui.signing.agents import Agents
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.bindings import Bindings
from aileron_tui.signing.envelope import opened, read_envelope
from aileron_tui.signing.errors import EnvelopeRefused, RefusalReason, RuleFault
from aileron_tui.signing.extensions import opened_extension
from aileron_tui.signing.packages import Packages
from aileron_tui.signing.restorations import check_restoration
from aileron_tui.signing.rules import Rules
from aileron_tui.signing.trusted_publishers import TrustedPublishers

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
        self.rules = Rules()
        self.packages = Packages()
        self.bindings = Bindings()
        self.publishers = TrustedPublishers()

    def learn(self, entry: Entry) -> None:
        """Processes one key change. The rules that a revoked key signed end with it."""
        self.approvers.learn(entry)
        self.rules.learn(entry, self.approvers, lambda *_: False)

    def learn_agent(self, entry: Entry, follows: Callable[[str, int], bool]) -> None:
        """Processes a change to an agent, which an approver must have signed."""
        self.agents.learn(entry, self.approvers, follows)

    def learn_rule(self, entry: Entry, is_recent: Callable[[str, int], bool]) -> None:
        """Processes a change to a rule, which an approver must have signed."""
        self.rules.learn(entry, self.approvers, is_recent)

    def learn_package(self, entry: Entry, is_recent: Callable[[str, int], bool]) -> None:
        """Processes a change to packages, which an approver must have signed."""
        self.packages.learn(entry, self.approvers, is_recent)

    def learn_binding(self, entry: Entry, is_recent: Callable[[str, int], bool]) -> None:
        """Processes a change to a binding, which an approver must have signed."""
        self.bindings.learn(entry, self.approvers, is_recent)

    def learn_publisher(self, entry: Entry, follows: Callable[[str, int], bool]) -> None:
        """Processes a change to a trusted publisher, which an approver must have signed."""
        self.publishers.learn(entry, self.approvers, follows)

    def check_restoration(self, entry: Entry, follows: Callable[[str, int], bool]) -> None:
        """Checks that an approver signed a restoration from a backup."""
        check_restoration(entry, self.approvers, follows)

    def check_answer(self, entry: Entry, request: JsonObject | None) -> RuleAnswer:
        """The answer of a rule to a request, if the rule was in force and matched. None is a request without a body."""
        try:
            answer = read_answer(entry.body)
            now = moment(entry.time)
        except (JsonError, ValueError) as error:
            raise AileronError("the answer of the rule cannot be read", str(error)) from None
        known = self.rules.get(answer.rule)
        if known is None or (known.seq, known.signer) != (answer.made, answer.signer):
            raise RuleFault(f"there is no rule {answer.rule} in entry {answer.made}")
        if known.ended:
            raise RuleFault(f"{answer.rule} was no longer in force", f"since {known.ended}: {known.why}")
        if why := answer_problem(answer, known.rule, request, now):
            raise RuleFault("the rule does not answer this request", why)
        return answer

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
