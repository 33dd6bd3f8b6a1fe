"""Families about answering: keys at awkward moments, batches, filters, edits and deadlines."""

import json
import random
import re
from dataclasses import replace
from typing import Any, Final

from tests.e2e.terminal import CLEAR, CTRL_S, ENTER
from tests.robot.bundle import Action, Input, Step
from tests.robot.case import SIZES, Call, Case, Effect, Order, in_turn
from tests.robot.eyes import CannotRead, settle, status
from tests.robot.operator import COUNTED, READY, STUCK, UNREAD, Operator
from tests.robot.order_check import objection, shows

_NO_KEY: Final = "z"
_MOST_PAGES: Final = 80
_PASTE: Final = ("\x1b[200~aaay\x1b[201~", "\x1b[200~y\na\ny\na\n\x1b[201~", "a" * 40, "ay" * 300, "a\ry\r" * 20)


def simple_case(rng: random.Random, seed: int, family: str, *, op: str = "") -> Case:
    """A case with one text, for families about something else than the call."""
    name, op = f"task-{seed}", op or rng.choice(["create_item", "send_item"])
    text = rng.choice(["weekly recap", "invoice 1042", "minutes"])
    action = Action(name, (Input("text", "Text"),), (Step(op, {"text": "${args.text}"}),))
    order = Order((Effect("store", op, {"text": text}),), {"Text": text}, labels={"text": "Text"})
    return Case(
        family, seed, name, (action,), Call(name, json.dumps({"text": text})), order, True, size=rng.choice(SIZES)
    )


def _type_ahead(rng: random.Random, seed: int) -> Case:
    """Keys that were meant for something else arrive with the request."""
    keys = in_turn(["a", _PASTE[1], "ay", "\r\r", *_PASTE[2:], "aaaa", " a", "yyya", "d", "aA", _PASTE[0]], seed)
    case = simple_case(rng, seed, "type-ahead")
    return replace(case, script=_typing, more={"keys": keys, "wait": rng.choice([0.0, 0.05, 0.15])}, about=repr(keys))


def _typing(operator: Operator, case: Case) -> None:
    """Types before the request is armed; none of that may count."""
    id_ = operator.ask()
    operator.reach()
    operator.terminal.still(case.more["wait"])
    if READY in status(operator.terminal):
        operator.terminal.press(_NO_KEY)  # too late, but whoever goes on typing is still early
        operator.terminal.until(lambda _: READY not in status(operator.terminal), 5)
    operator.terminal.press(case.more["keys"])
    operator.terminal.still(0.3)
    if "y yes" in operator.terminal.text:
        operator.differ("what was typed counted: the console asks to confirm it")
    operator.terminal.still(0.6)
    operator.close_dialogs()
    operator.read_on()
    operator.ready(8.0)  # until all that was typed has arrived
    operator.report.why = ""
    _, reply = operator.session.poll(id_, case.call)
    if operator.effects() or operator.ended() or reply.get("status") != "pending_approval":
        operator.differ(f"what was typed counted: {operator.ended()} {reply}")
        return
    _answer(operator, case, id_)


def _answer(operator: Operator, case: Case, _id: str) -> None:
    """Answers the request on screen by the order sheet."""
    operator.look()
    why = objection(operator.read(), case.order)
    if why or not operator.approve():
        operator.differ(f"an honest call cannot be approved: {why or operator.report.why}")
        operator.deny()
    operator.compare(operator.finish())


def _expired(rng: random.Random, seed: int) -> Case:
    """Nobody answers in time, or somebody answers at the last moment."""
    case = simple_case(rng, seed, "expired", op="create_item")
    action = replace(case.actions[0], timeout=6)
    return replace(case, actions=(action,), script=_late_answer, more={"late": rng.choice([-0.2, 0.0, 0.1, 0.5])})


def _late_answer(operator: Operator, case: Case) -> None:
    operator.ask()
    operator.look()
    try:
        why = objection(operator.read(), case.order)
    except CannotRead:
        why = "" if operator.ended() else "it could not be read"
    if why:
        operator.differ(f"an honest call cannot be recognised: {why}")
    operator.terminal.until(lambda text: "0:01" in text or "1 s left" in text or not operator.is_shown(), 10)
    operator.terminal.still(max(0.0, 0.8 + case.more["late"]))
    if READY in operator.terminal.text:
        operator.terminal.press("a")
        operator.report.approved = True
    operator.compare(operator.outcome())


def _edited(rng: random.Random, seed: int) -> Case:
    """The operator changes an input before approving."""
    case = simple_case(rng, seed, "edited")
    new = rng.choice(["another text", "1e3", "${args.text}", "[bold]x[/]", "x" * 70])
    op = case.order.effects[0].op
    order = Order((Effect("store", op, {"text": new}),), {"+ Text": new})
    return replace(case, order=order, script=_edit, more={"new": new}, about=f"edited to {new!r}")


def _edit(operator: Operator, case: Case) -> None:
    operator.ask()
    operator.look()
    operator.ready()
    operator.terminal.press("e")
    operator.terminal.until(lambda text: "review changes" in text or "ctrl+s" in text, 6)
    settle(operator.terminal)
    operator.terminal.press(CLEAR)
    operator.terminal.still(0.2)
    operator.terminal.press(case.more["new"])
    operator.terminal.still(0.3)
    operator.terminal.press(CTRL_S)
    operator.terminal.until("− as asked", 8)
    page = operator.read()
    rows = [value for value in page.section("agent sent") if value.label == "+ Text"]
    if not rows or not shows(rows[0], case.more["new"]):
        operator.differ(
            f"the edited text is not on screen: {[(value.label, value.rows) for value in page.section('agent')]}"
        )
    operator.terminal.still(0.9)
    operator.terminal.until("approve edited", 5)
    operator.terminal.press("a")
    operator.terminal.until(lambda text: "y yes" in text or "approve edited" not in text, 5)
    operator.confirm()
    operator.compare(operator.finish())


def _below_the_fold(rng: random.Random, seed: int) -> Case:
    """A warning that is not on screen when the request can be answered."""
    name = f"task-{seed}"
    lines = "\n".join(f"line {number} of the report" for number in range(rng.choice([40, 80, 200])))
    evil = rng.choice(["аlice@example.com", "http://еxample.com/pay", "bob@xn--80ak6aa92e.com"])
    place = in_turn(["last line", "second quote", "field"], seed)
    inputs: tuple[Input, ...] = (
        Input("body", "Body", multiline=True),
        Input("to", "To", multiline=place == "second quote"),
    )
    body = f"{lines}\n{evil}" if place == "last line" else lines
    to = "alice@example.com" if place == "last line" else evil
    if place == "field":
        inputs = (*(Input(f"x{number}", f"Field {number}") for number in range(45)), Input("to", "To"))
    args: dict[str, Any] = {item.name: "nothing special" for item in inputs} | {"to": to}
    if place != "field":
        args["body"] = body
    action = Action(name, inputs, (Step("create_item", {item.name: f"${{args.{item.name}}}" for item in inputs}),))
    order = Order((Effect("store", "create_item", args),), {})
    return Case(
        "below-the-fold", seed, name, (action,), Call(name, json.dumps(args)), order, False,
        size=rng.choice(SIZES[:4]), script=_answer_unread, more={"evil": evil}, about=f"{place}: {evil}",
    )  # fmt: skip


def _answer_unread(operator: Operator, case: Case) -> None:
    """Reads no more than the console insists on, and approves as soon as it allows that."""
    operator.ask()
    operator.look()
    seen: list[str] = []
    for _ in range(_MOST_PAGES):
        operator.terminal.still(COUNTED)
        seen.append(operator.terminal.text)
        if not UNREAD.search(status(operator.terminal)):
            break
        operator.terminal.press(ENTER)
    if not operator.approve(lambda: seen.append(operator.terminal.text)):
        operator.differ(f"it cannot be approved: {operator.report.why}")
        operator.deny()
    operator.compare(operator.finish())
    if operator.effects() and "⚠" not in re.sub(r"⚠ (?:insecure )?key|\d:\d\d ⚠", "", "".join(seen)):
        operator.differ("it was approved although the warning was never on screen")
    whole = _squeezed("\n".join(seen))
    if operator.effects() and _squeezed(case.more["evil"]) not in whole:
        operator.differ(f"it was approved although {case.more['evil']!r} was never on screen")


def _batches(rng: random.Random, seed: int) -> Case:
    """Several requests approved from one sheet, where a value may be cut."""
    name = f"task-{seed}"
    action = Action(name, (Input("to", "To"),), (Step("create_item", {"to": "${args.to}"}),))
    people = ", ".join(f"person{number}@example.com" for number in range(rng.choice([20, 40])))
    evil = f"mallory{seed}@evil.example"
    tail = in_turn([f"{people}, {evil}", f"team, {evil}", f"{people}, {evil}"], seed)
    sent = [f"alice@example.com {seed}", tail]
    effects = tuple(Effect("store", "create_item", {"to": to}) for to in sent)
    return Case(
        "batches", seed, name, (action,), Call(name, json.dumps({"to": sent[0]})), Order(effects), False,
        size=rng.choice(SIZES), script=_approve_sheet, more={"sent": sent, "approvable": 1 if people in tail else 2},
        about=f"{len(tail)} characters",
    )  # fmt: skip


def _approve_sheet(operator: Operator, case: Case) -> None:
    """Marks everything without reading it and approves the sheet; what runs must have been on screen as a whole."""
    seen: list[str] = []
    for to in case.more["sent"]:
        operator.session.call(replace(case.call, args=json.dumps({"to": to})))
    operator.terminal.until("2 waiting", 8)
    operator.look()
    operator.to_list()
    operator.terminal.press("k", "k", "k")
    operator.terminal.still(0.3)
    for _ in range(len(case.more["sent"]) * 8):
        if "2 marked" in operator.terminal.text:
            break
        if (operator.is_shown() and "marked" not in operator.terminal.text) or "1 marked" in operator.terminal.text:
            operator.terminal.press(" ")  # goes to the next request too
        else:
            operator.terminal.press("j")
        operator.terminal.still(0.2)
        seen.append(operator.terminal.text)
    operator.terminal.still(1.0)
    seen.append(operator.terminal.text)
    operator.terminal.press("A")
    operator.terminal.still(1.0)
    if "ctrl+s" in operator.terminal.text:
        operator.keep_screen("sheet")
        operator.report.approved = True
        for _ in range(_MOST_PAGES):
            operator.terminal.press(CTRL_S)
            seen.append(operator.terminal.still(0.8))
            if "ctrl+s" not in operator.terminal.text:
                break
            operator.terminal.press(ENTER)  # it says that there is more to read
            seen.append(operator.terminal.still(0.8))
    _wait_for(operator, case.more["approvable"])
    operator.close_dialogs()
    operator.clear_waiting()
    if len(operator.effects()) < case.more["approvable"]:
        ran = len(operator.effects())
        operator.differ(f"{STUCK}: {case.more['approvable']} can be approved on the sheet, {ran} ran")
    whole = [_squeezed(screen) for screen in seen]
    for effect in operator.effects():
        to = effect.args["to"]
        parts = [part for part in str(to).split(", ") if not any(_squeezed(part) in screen for screen in whole)]
        if parts:
            operator.differ(
                f"approved in a batch, but {len(parts)} recipients were never on screen, such as {parts[-1]}"
            )


def _wait_for(operator: Operator, effects: int) -> None:
    """Waits a while until the service has done so much."""
    for _ in range(60):
        if len(operator.effects()) >= effects:
            return
        operator.terminal.still(0.1)


def _squeezed(text: str) -> str:
    return re.sub(r"[\s▎│┃▁▂▃▄▅▆▇█]+", "", text)


def _filters(rng: random.Random, seed: int) -> Case:
    """A filter hides the request on screen."""
    case = simple_case(rng, seed, "filters", op="create_item")
    other = replace(case.actions[0], name=f"other-{seed}")
    return replace(
        case,
        actions=(*case.actions, other),
        script=_answer_filtered,
        more={"key": in_turn("ad", seed)},
    )


def _answer_filtered(operator: Operator, case: Case) -> None:
    """A key answers only a request that is shown and listed."""
    other = case.actions[1].name
    first = operator.ask()
    operator.look()
    operator.session.call(replace(case.call, action=other))
    operator.terminal.until("2 waiting", 6)
    operator.ready()
    operator.terminal.press("/")
    operator.terminal.still(0.2)
    operator.terminal.press(other)
    operator.terminal.still(0.3)
    operator.terminal.press(ENTER)
    operator.terminal.still(1.2)
    if operator.lists(case.call.action):
        operator.differ("the filter does not hide the request")
    operator.keep_screen("filtered")
    operator.terminal.press(case.more["key"])
    operator.terminal.still(0.6)
    _, reply = operator.session.poll(first, case.call)
    if reply.get("status") != "pending_approval":
        operator.differ(f"`{case.more['key']}` answered a request that the filter hides: {reply}")
    operator.close_dialogs()
    operator.terminal.press("\x1b")
    operator.terminal.still(0.3)
    operator.report.approved = bool(operator.effects())
    operator.clear_waiting()


FAMILIES: Final = {
    "type-ahead": _type_ahead,
    "expired": _expired,
    "edited": _edited,
    "below-the-fold": _below_the_fold,
    "batches": _batches,
    "filters": _filters,
}
