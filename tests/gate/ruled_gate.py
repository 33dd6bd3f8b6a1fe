"""Makes rules in a gate, and reads what the ledger says about them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.rule import Rule, RuleReach, RuleVerdict, new_rule_id
from aileron_tui.core.rule_change import RuleChange, ended, made
from aileron_tui.core.rule_list import RuleOffers, read_offers
from aileron_tui.core.times import timestamp
from aileron_tui.gate.gate import LEDGER_FILE, Gate
from aileron_tui.gate.replies import Reply
from aileron_tui.ledger.entry_check import CheckReport
from aileron_tui.ledger.full_check import audit
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.gate.conftest import ASKER, GateEnv, ask, dig, previewed_request

AGENT = "agent-1"


def in_an_hour() -> str:
    return timestamp(datetime.now(UTC) + timedelta(hours=1))


def named_rule(verdict: RuleVerdict = RuleVerdict.DENY, action: str = "send-draft", **changes: Any) -> Rule:
    """A rule by name, which says nothing about what would run."""
    return replace(Rule(new_rule_id(), verdict, AGENT, action, RuleReach.ANY, in_an_hour()), **changes)


async def offers(gate: Gate, id_: str) -> RuleOffers:
    reply = await gate.rule_offers(id_)
    assert reply.status == 200, reply.body
    return read_offers(reply.body)


async def waiting(gate: Gate, action: str = "send-draft", **args: Any) -> str:
    """The id of a request that waits, with its preview."""
    reply = await ask(gate, action, **args)
    assert reply.status == 202, reply.body
    return str((await previewed_request(gate, str(reply.body["approval_id"])))["id"])


async def offered_rule(gate: Gate, id_: str, reach: RuleReach = RuleReach.CALL) -> Rule:
    return next(offer.rule for offer in (await offers(gate, id_)).offers if offer.rule.reach is reach)


async def submit(gate: Gate, change: RuleChange, key: UnlockedKey) -> Reply:
    return await gate.change_rule({"envelope": sign(change, key).fields()})


async def head(gate: Gate) -> str:
    return str((await gate.rules())["head"])


async def make(env: GateEnv, gate: Gate, rule: Rule) -> None:
    reply = await submit(gate, made(rule, (await head(gate)), timestamp(datetime.now(UTC))), env.key)
    assert reply.status == 200, reply.body


async def end(env: GateEnv, gate: Gate, rule: Rule) -> None:
    reply = await submit(gate, ended(rule.id, (await head(gate)), timestamp(datetime.now(UTC))), env.key)
    assert reply.status == 200, reply.body


async def make_from(env: GateEnv, gate: Gate, id_: str, reach: RuleReach = RuleReach.CALL) -> Rule:
    """Makes a rule from a request, as the console does, and denies the request."""
    rule = await offered_rule(gate, id_, reach)
    await make(env, gate, rule)
    item = gate.find_request(id_)
    assert item
    assert (await gate.decide(id_, env.decision(item, Verdict.DENY))).status == 200
    assert (await gate.result(id_, agent=AGENT)).body["status"] == "denied"
    return rule


async def call(gate: Gate, action: str = "send-draft", *, agent: str = AGENT, **args: Any) -> Reply:
    asker = replace(ASKER, agent=agent)
    return await gate.call(action, args or {"draft_id": "r-12345"}, asker, agent=agent)


def is_asked(reply: Reply) -> bool:
    return reply.status == 202 and reply.body["status"] == "pending_approval"


def newest(env: GateEnv) -> HistoryRecord:
    with open_reader(env.data / LEDGER_FILE) as reader:
        return reader.page(limit=1)[0]


def entries(env: GateEnv, id_: str) -> tuple[Entry, ...]:
    with open_reader(env.data / LEDGER_FILE) as reader:
        return reader.of_request(id_)


def kinds(env: GateEnv, id_: str) -> list[str]:
    return [entry.kind for entry in entries(env, id_)]


def verified(env: GateEnv) -> CheckReport:
    with open_reader(env.data / LEDGER_FILE) as reader:
        report = audit(reader, RecordedSigners())
    assert report.fault is None, report.fault
    return report


def sends(env: GateEnv) -> int:
    return len(env.service.sent)


def reason(reply: Reply) -> str:
    return str(dig(reply.body, "reason"))
