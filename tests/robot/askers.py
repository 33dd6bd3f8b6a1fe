"""Families about agents: who asks, who gets the result, and agents that ask twice or leave."""

import random
import re
from dataclasses import replace
from typing import Final

from tests.robot.answering import simple_case
from tests.robot.case import Call, Case, in_turn
from tests.robot.operator import Operator
from tests.robot.order_check import objection, shows
from tests.robot.service import Fault
from tests.robot.session import OTHER_AGENT


def _agent_names(rng: random.Random, seed: int) -> Case:
    """An agent calls itself something that it is not, such as by another agent's name."""
    token = rng.choice(["default", OTHER_AGENT])
    others = {"default": OTHER_AGENT, OTHER_AGENT: "default"}
    names = ["Gate self-check (verified)", "operator", "aileron (trusted)", "root@gate", "system", others[token]]
    claim = rng.choice([*names, others[token]])
    case = simple_case(rng, seed, "agent-names")
    where = rng.choice(["agent", "agent", "session", "folder"])
    call = replace(
        case.call,
        token=token,
        agent=claim if where == "agent" else "worker",
        session=claim if where == "session" else "",
        folder=claim if where == "folder" else "",
    )
    return replace(
        case, call=call, script=_who_asks, more={"claim": claim, "other": others[token]}, about=f"{where}: {claim}"
    )


def _who_asks(operator: Operator, case: Case) -> None:
    """The screen names the agent by its token, and marks what the agent says about itself as its own words."""
    id_ = operator.ask()
    operator.look()
    page = operator.read()
    asker = " ".join(" ".join(value.rows) for value in page.section("asked by"))
    if not re.match(rf"{re.escape(case.call.token)}(?: · says it is .*)?$", asker):
        operator.differ(f"{case.call.token} asks, and the screen says {asker!r}")
    for heading, values in page.sections.items():
        for value in values:
            marked = heading == "asked by" or re.search(r"says", f"{heading} {value.label}", re.IGNORECASE)
            if shows(value, case.more["claim"]) and not marked and heading != "agent sent":
                operator.differ(f"the screen states {value.label!r}: {value.rows!r}, which only the agent says")
    thief = replace(case.call, token=case.more["other"])
    if (stolen := operator.session.poll(id_, thief))[0] == 200:
        operator.differ(f"another agent can see the request: {stolen}")
    if why := objection(page, case.order):
        operator.differ(f"an honest call cannot be recognised: {why}")
        operator.deny()
    elif not operator.approve():
        operator.differ(f"an honest call cannot be approved: {operator.report.why}")
        operator.deny()
    operator.compare(operator.finish())
    if (stolen := operator.session.poll(id_, thief))[0] == 200:
        operator.differ(f"another agent can collect the result: {stolen}")
    if (reply := operator.session.result(id_, case.call)).get("status") != "completed":
        operator.differ(f"the agent that asked was told {reply}")


def _joined(rng: random.Random, seed: int) -> Case:
    """The same call several times, from one agent or from two."""
    case = simple_case(rng, seed, "joined")
    each = [["default"] * 2, ["default", OTHER_AGENT], ["default"] * 3, ["default", OTHER_AGENT] * 2]
    tokens = in_turn(each, seed)
    return replace(case, script=_answer_each, more={"tokens": tokens}, about=", ".join(tokens))


def _answer_each(operator: Operator, case: Case) -> None:
    """Each approval runs the call once, however often it was asked for."""
    asked: list[tuple[str, Call]] = []
    for number, token in enumerate(case.more["tokens"]):
        call = replace(case.call, agent=f"worker-{number}", token=token)
        _, reply = operator.session.call(call)
        asked.append((reply["approval_id"], call))
    approvals = 0
    for _ in asked:
        operator.look()
        why = objection(operator.read(), case.order)
        if why or not operator.approve():
            operator.differ(f"an honest call cannot be approved: {why or operator.report.why}")
            operator.deny()
            return
        approvals += 1
        pill = operator.finish()
        if not pill.startswith("done"):
            operator.differ(f"an honest call ended as {pill!r}")
        if "nothing waiting" in operator.terminal.still(0.2):
            break
    effects = operator.effects()
    if len(effects) != approvals:
        operator.differ(f"{approvals} approvals, but it ran {len(effects)} times")
    if len({id_ for id_, _ in asked}) != approvals or approvals < len(set(case.more["tokens"])):
        operator.differ(f"{approvals} approvals for {asked}")
    for id_, call in asked:
        if (reply := operator.session.result(id_, call)).get("status") != "completed":
            operator.differ(f"the agent {call.token} was told {reply}")


def _withdrawn(rng: random.Random, seed: int) -> Case:
    """The agent goes away while the operator answers."""
    case = simple_case(rng, seed, "withdrawn")
    moment = in_turn(["before a", "while it runs", "with a", "before y", "after a"], seed)
    faults = {case.order.effects[0].op: Fault.SLOW} if moment == "while it runs" else {}
    return replace(case, script=_agent_leaves, faults=faults, more={"moment": moment}, about=moment)


def _agent_leaves(operator: Operator, case: Case) -> None:
    connection = operator.session.hold(case.call)
    moment = case.more["moment"]
    operator.look()
    why = objection(operator.read(), case.order)
    if why or not operator.ready():
        operator.differ(f"an honest call cannot be approved: {why or operator.report.why}")
    if moment == "before a":
        connection.close()
        operator.terminal.still(0.1)
    operator.terminal.press("a")
    operator.report.approved = True
    if moment == "with a":
        connection.close()
    operator.terminal.still(0.4)
    if moment == "before y":
        connection.close()
    operator.confirm()
    if moment == "while it runs":
        operator.terminal.until(lambda _: bool(operator.received()), 8)
    if moment in {"after a", "while it runs"}:
        connection.close()
    operator.terminal.still(0.2)
    operator.close_dialogs()
    pill = operator.finish()
    operator.compare(pill)
    if moment == "while it runs" and not pill.startswith("done"):
        operator.differ(f"it was done, and the screen says {pill!r}")
    connection.close()


FAMILIES: Final = {"agent-names": _agent_names, "joined": _joined, "withdrawn": _withdrawn}
