"""The part of a source that has no rules: a daemon decides for itself what it asks about."""

from typing import TYPE_CHECKING, NoReturn

from aileron_tui.runtime.errors import RuntimeFault

if TYPE_CHECKING:
    from aileron_tui.core.rule import Rule
    from aileron_tui.core.rule_list import ListedRule, RuleOffers


class NoRules:
    """Refuses everything about rules."""

    def rules(self) -> tuple["ListedRule", ...]:
        """Raises RuntimeFault."""
        _refuse()

    def rule_offers(self, id_: str) -> "RuleOffers":  # noqa: ARG002  # as for a gate
        """Raises RuntimeFault."""
        _refuse()

    def make_rule(self, rule: "Rule") -> None:  # noqa: ARG002  # as for a gate
        """Raises RuntimeFault."""
        _refuse()

    def end_rule(self, id_: str) -> None:  # noqa: ARG002  # as for a gate
        """Raises RuntimeFault."""
        _refuse()


def _refuse() -> NoReturn:
    hint = "Rules work for agents that call a gate."
    raise RuntimeFault("a daemon has no rules", "it asks about every call that its own settings name", hint)
