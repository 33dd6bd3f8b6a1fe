"""A gate with rules that a test controls."""

import threading
from dataclasses import replace
from datetime import timedelta

from textual.pilot import Pilot

from aileron_tui.console.app import Console
from aileron_tui.console.screens.rule import RuleScreen
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.rule import Rule, RuleReach, RuleVerdict
from aileron_tui.core.rule_list import ListedRule, PastCall, RefusedOffer, RuleOffer, RuleOffers
from aileron_tui.core.times import timestamp
from aileron_tui.runtime.errors import NotWaiting
from tests.console import sample_requests as samples
from tests.console.sample_requests import NOW
from tests.console.screen_app import wait_until
from tests.console.scripted_gate import ScriptedGate

DIGEST = "sha256:" + "1" * 64
HIGH = Risk(RiskLevel.HIGH, "it sends something")
NORMAL = Risk(RiskLevel.NORMAL, "it moves something")
ONLY_EXACT = "at high risk, a rule can allow only an exact call"


def movable(number: int = 1, risk: Risk = NORMAL, **args: str) -> Request:
    """A request to move a file, with a preview."""
    sent = args or {"file_id": "f-1001", "to_folder": "d-reports"}
    prompt = samples.prompt(
        tuple(Row(name, value) for name, value in sent.items()),
        (Row("Name", "Quarterly report.pdf"), Row("Owner", "sam@example.com")),
        action="move-file",
        risk=risk,
    )
    prompt = replace(prompt, asker=replace(prompt.asker, agent="laptop-claude"), args={**sent})
    return samples.waiting(samples.item(prompt), number, 252)


def offered(request: Request, reach: RuleReach) -> Rule:
    """The rule that a gate offers for a request."""
    prompt, exact = request.prompt, reach is RuleReach.CALL
    return Rule(
        id=f"rule-{'c' if exact else 'a'}{'0' * 15}",
        verdict=RuleVerdict.ALLOW,
        agent=prompt.agent,
        action=prompt.action,
        reach=reach,
        ends=timestamp(NOW + timedelta(hours=1)),
        args=prompt.args if exact else None,
        connector=prompt.connector.hash,
        runs=DIGEST,
        shown=prompt.preview.digest if exact and prompt.preview else "",
        risk=prompt.risk.level,
    )


def listed(number: int, *, in_force: bool = True, used: int = 0, **changes: object) -> ListedRule:
    """A rule as a gate lists it."""
    reach = RuleReach.CALL if number % 2 else RuleReach.ANY
    rule = replace(offered(movable(), reach), id=f"rule-{number:016x}", **changes)  # type: ignore[arg-type]
    now = NOW
    last = timestamp(now - timedelta(minutes=5)) if used else ""
    ended, why = ("", "") if in_force else (timestamp(now), "it was ended")
    made = timestamp(now - timedelta(hours=2))
    return ListedRule(rule, in_force, made, "sam", "SHA256:abc", ended, why, used, last)


class RuleGate(ScriptedGate):
    """Offers rules, takes them, and lists them.

    Offers wait for `let`, and new rules for `slow`. `only` are the reaches that it offers, and `twist` changes their
    rules. `rule_trouble` refuses every change.
    """

    def __init__(self, *items: Request, name: str = "", rules: tuple[ListedRule, ...] = ()) -> None:
        super().__init__(*items, name=name)
        self.listed = list(rules)
        self.made: list[Rule] = []
        self.ended: list[str] = []
        self.let = threading.Event()
        self.let.set()
        self.slow = threading.Event()
        self.slow.set()
        self.refused: tuple[RefusedOffer, ...] = ()
        self.only: tuple[RuleReach, ...] | None = None
        self.twist: JsonObject = {}
        self.past_calls: list[PastCall] = []
        self.rule_trouble: AileronError | None = None

    def rule_offers(self, id_: str) -> RuleOffers:
        assert self.let.wait(20)
        request = self.items[id_]
        if not request.state.decidable:
            raise NotWaiting(409, {"error": {"code": "INVALID_STATE", "message": "x"}, "state": "denied"})
        high = request.prompt.risk.level is RiskLevel.HIGH
        reaches = self.only if self.only is not None else (RuleReach.CALL,) if high else (RuleReach.CALL, RuleReach.ANY)
        refused = self.refused or ((RefusedOffer("any", ONLY_EXACT),) if high else ())
        rules = [replace(offered(request, reach), **self.twist) for reach in reaches]  # type: ignore[arg-type]
        examples = tuple(self.past_calls)
        return RuleOffers(tuple(RuleOffer(rule, 8, len(examples), examples[:5]) for rule in rules), refused, 7)

    def make_rule(self, rule: Rule) -> None:
        assert self.slow.wait(20)
        if self.rule_trouble:
            raise self.rule_trouble
        self.made.append(rule)
        now = timestamp(NOW)
        self.listed.insert(0, ListedRule(rule, True, now, "sam", "SHA256:abc", "", "", 0, ""))

    def rules(self) -> tuple[ListedRule, ...]:
        if self.trouble:
            raise self.trouble
        return tuple(self.listed)

    def end_rule(self, id_: str) -> None:
        if self.rule_trouble:
            raise self.rule_trouble
        self.ended.append(id_)
        self.listed = [
            replace(one, in_force=False, ended=timestamp(NOW), why="it was ended") if one.rule.id == id_ else one
            for one in self.listed
        ]


def past_calls(count: int, **args: str) -> list[PastCall]:
    """Calls of the past."""
    at = NOW - timedelta(hours=3)
    sent: JsonObject = {**(args or {"file_id": "f-1001", "to_folder": "d-reports"})}
    return [PastCall(f"act-{n}", timestamp(at - timedelta(minutes=n)), "executed", sent) for n in range(count)]


async def prompt_read(app: Console, pilot: Pilot[None]) -> None:
    """Reads the prompt to its end."""
    for _ in range(200):
        await pilot.pause(0.06)
        if not app._main.key_state.unread:
            return
        await pilot.press("enter")
    raise AssertionError("the prompt cannot be read to its end")


async def opened(app: Console, pilot: Pilot[None]) -> RuleScreen:
    """Presses R, once the prompt was read, and waits until the rule is on the sheet."""
    await prompt_read(app, pilot)
    await pilot.press("R")
    assert isinstance(app.screen, RuleScreen)
    sheet = app.screen
    await wait_until(pilot, lambda: sheet._offer is not None)
    return sheet


async def read(pilot: Pilot[None], sheet: RuleScreen) -> None:
    """Reads the sheet to its end."""
    for _ in range(200):
        await pilot.pause(0.06)
        if not sheet._body.unread:
            return
        await pilot.press("enter")
    raise AssertionError("the sheet cannot be read to its end")
