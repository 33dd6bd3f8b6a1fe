"""The part of a source that has no rules: a daemon or opencode decides for itself what it asks about."""

from typing import TYPE_CHECKING, NoReturn

from aileron_tui.runtime.errors import RuntimeFault

if TYPE_CHECKING:
    from aileron_tui.core.rule import Rule
    from aileron_tui.core.rule_list import ListedRule, RuleOffers


class NoRules:
    """Refuses everything about rules. `without_rules` is what messages call the source."""

    without_rules = "a daemon"

    def rules(self) -> tuple["ListedRule", ...]:
        """Raises RuntimeFault."""
        self._refuse_rules()

    def rule_offers(self, id_: str) -> "RuleOffers":  # noqa: ARG002  # as for a gate
        """Raises RuntimeFault."""
        self._refuse_rules()

    def make_rule(self, rule: "Rule") -> None:  # noqa: ARG002  # as for a gate
        """Raises RuntimeFault."""
        self._refuse_rules()

    def end_rule(self, id_: str) -> None:  # noqa: ARG002  # as for a gate
        """Raises RuntimeFault."""
        self._refuse_rules()

    def _refuse_rules(self) -> NoReturn:
        title = f"{self.without_rules} has no rules"
        hint = "Rules work for agents that call a gate."
        raise RuntimeFault(title, "it asks about every call that its own settings name", hint)
