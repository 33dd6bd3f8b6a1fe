"""The rules that the gate applies. Another process may make or end one at any moment."""

from aileron_tui.core.key_change import is_security_key
from aileron_tui.core.rule import allows_high_risk
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import SECURITY_KEY
from aileron_tui.gate.gate_state import GateState, log
from aileron_tui.signing.rules import KnownRule, Rules


class RuleRegistry:
    """The rules according to the ledger. Must only be used from the gate's event loop."""

    def __init__(self, gate_state: GateState) -> None:
        self._gate_state = gate_state
        self._seen = (-1, -1)
        self._rules = Rules()
        self._by_call: dict[tuple[str, str], list[KnownRule]] = {}

    def current(self) -> Rules:
        """The rules as of now. A revoked key ends the rules that it signed."""
        reader = self._gate_state.reader
        last_change = reader.last_rule_change()
        last = (last_change, reader.last_key_change() if last_change else 0)
        if last != self._seen:
            known = len(self._rules.invalid)
            self._rules.catch_up(reader)
            self._seen, self._by_call = last, {}
            for rule in self._rules.values():
                if not rule.ended:
                    self._by_call.setdefault((rule.rule.agent, rule.rule.action), []).append(rule)
            for line in self._rules.invalid[known:]:
                log.error("ignored a change to a rule: %s", inline(line))
        return self._rules

    def in_force(self, agent: str, action: str) -> list[KnownRule]:
        """The rules in force for the calls of an agent to an action. Setting the clock back extends none."""
        self.current()
        if not (found := self._by_call.get((agent, action))):
            return []
        now, clock = self._gate_state.latest_time(), self._gate_state.boot_clock
        only_keys = self._gate_state.setup.config.policy.high_risk == SECURITY_KEY
        return [
            known
            for known in found
            if known.in_force(now, clock)
            and not (only_keys and allows_high_risk(known.rule) and not is_security_key(known.signer))
        ]
