"""What a rule would have answered in the past, as far as the ledger knows.

The ledger has the inputs, the connector, the risk and the digests of previews, but not which warnings a prompt had. So
a call that an allow rule is counted for might have been asked about because of a warning, never the other way round.
"""

import json
from typing import Final

from aileron_tui.core.jsontext import JsonObject, canonical
from aileron_tui.core.rule import Rule, RuleReach
from aileron_tui.core.rule_answer import request_call
from aileron_tui.core.rule_match import RuleCall, covers, obstacle
from aileron_tui.core.values import dataclass
from aileron_tui.ledger.rule_calls import CallFilter, RecordedCall
from aileron_tui.ledger.store import LedgerView

EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class Replay:
    """What a rule would have answered: `answered` of `asked` calls of its agent to its action, and some of them."""

    asked: int
    answered: int
    examples: tuple[RecordedCall, ...]

    def fields(self) -> JsonObject:
        """The replay as JSON."""
        examples: list[JsonObject] = [
            {"id": call.id, "asked": call.asked, "outcome": call.outcome, "args": json.loads(call.data)["body"]["args"]}
            for call in self.examples
        ]
        return {"asked": self.asked, "answered": self.answered, "examples": [*examples]}


def replay(reader: LedgerView, rule: Rule, since: str = "", *, examples: int = EXAMPLES) -> Replay:
    """Applies a rule to the past calls of its agent to its action since a time. Its end does not matter here."""
    exact = rule.reach is RuleReach.CALL and rule.args is not None
    # The stored bytes are canonical JSON, so they contain the inputs as they are compared.
    containing = b'"args":' + canonical(rule.args) if exact else b""
    wanted = CallFilter(rule.action, rule.agent, since, containing, rule.shown)
    found: list[RecordedCall] = []
    answered = 0
    for recorded in reader.calls(wanted):
        call = past_call(json.loads(recorded.data.decode())["body"], rule)
        if covers(rule, call) and not obstacle(rule, call):
            answered += 1
            if len(found) < examples:
                found.append(recorded)
    return Replay(reader.count_calls(wanted), answered, tuple(found))


def past_call(body: JsonObject, rule: Rule) -> RuleCall:
    """The call in the body of a `request.made` entry. What the ledger does not have is taken to be as in the rule."""
    return request_call(body, rule.runs, rule.shown)
