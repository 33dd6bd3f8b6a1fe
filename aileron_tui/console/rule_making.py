"""How a rule is made from the request on screen: the gate offers it, the sheet shows it, and the key signs it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from aileron_tui.console.key_hints import hint
from aileron_tui.core.errors import AileronError
from aileron_tui.core.rule import Rule, RuleVerdict, rule_problem
from aileron_tui.core.rule_list import RuleOffers, differs_from
from aileron_tui.core.rule_words import rule_words
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import short
from aileron_tui.runtime.errors import NoReply
from aileron_tui.surface.board import Tone
from aileron_tui.surface.source import signable_rules

if TYPE_CHECKING:
    from aileron_tui.console.port import ConsolePort
    from aileron_tui.core.prompt import Prompt
    from aileron_tui.core.request import Request
    from aileron_tui.core.rule_change import RuleChange
    from aileron_tui.surface.security_key_touch import Touched

RULES: Final = "rules"
"""The kind of work under which rules are read and changed in threads."""

_LONGEST_WORDS: Final = 200


class RuleMaking:
    """Makes a rule from one request, exactly as it was shown. `made` is called with the request once there is one."""

    def __init__(self, port: "ConsolePort", request: "Request", made: "Callable[[Request], None]") -> None:
        self.port = port
        self.request = request
        self._made = made

    def problem(self) -> str:
        """Why no rule can be made from the request now, in words, or "" if one can."""
        now = self.port.board.requests.get(self.request.key)
        if now is None or not now.state.decidable:
            return "the request no longer waits"
        if now.digest != self.request.digest or now.fetching:
            return "the request changed: close this sheet and read it again"
        return self.port.answer_problem(self.request)

    def load(self, loaded: Callable[[RuleOffers], None], failed: Callable[[str], None]) -> None:
        """Asks the source what it offers; calls `loaded`, or `failed` with the reason."""

        def ask() -> None:
            try:
                source = self.port.source(self.request.source)
                if source is None:
                    raise AileronError("not connected")
                offers = source.rule_offers(self.request.id)
                for offer in offers.offers:
                    check_offer(offer.rule, self.request.prompt)
            except AileronError as error:
                self.port.report(failed, str(error))
            else:
                self.port.report(loaded, offers)

        self.port.run_blocking(RULES, self.request.source, ask)

    def statement(self, rule: Rule) -> "RuleChange":
        """In a thread: what a security key is to sign to make the rule."""
        source = self.port.source(self.request.source)
        if source is None:
            raise AileronError("not connected")
        return signable_rules(source).rule_statement(rule)

    def make(self, rule: Rule, done: Callable[[str], None], touched: "Touched | None" = None) -> None:
        """Signs the rule, unless a security key has, and makes it; calls `done` with why it was not made, or ""."""

        def sign() -> None:
            try:
                source = self.port.source(self.request.source)
                if source is None:
                    raise AileronError("not connected: no rule was made")
                if touched is None:
                    source.make_rule(rule)
                else:
                    signable_rules(source).make_signed_rule(touched.envelope)
            except NoReply as error:
                rules = hint("rules", self.port.keymap_in_use, label="shows the rules").text
                self.port.report(done, f"unknown whether the rule was made, {rules}: {error}")
            except AileronError as error:
                self.port.report(done, str(error))
            else:
                self.port.report(self._report_made, rule, done)

        self.port.run_blocking(RULES, self.request.source, sign)

    def _report_made(self, rule: Rule, done: Callable[[str], None]) -> None:
        self._made(self.request)
        done("")
        words = rule_words(rule, utc_now())
        self.port.show_message(f"Rule made: {short(words[0].lower() + words[1:], _LONGEST_WORDS)}", Tone.GOOD)


def check_offer(rule: Rule, prompt: "Prompt") -> None:
    """Refuses an offered rule that is not about the call on screen, or that goes further than it may."""
    why = differs_from(rule, prompt) or rule_problem(rule)
    if not why and rule.verdict is not RuleVerdict.ALLOW:
        why = f"it says {rule.verdict}"
    if not why and rule.risk is not prompt.risk.level:
        why = f"its risk is {rule.risk}, but the call's is {prompt.risk.level}"
    if why:
        raise AileronError(
            "the gate offered a rule that does not fit this call", why, "Close this sheet and try again."
        )
