"""What a prompt says would run, as the robot understands it, compared with the steps on the order sheet.

The section has one row for each input that is not exactly what the agent sent. With one step, everything else that the
agent sent is sent as it is; with several, a row of each step says which inputs these are.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.robot import notation
from tests.robot.case import Effect, Order, plain
from tests.robot.lookalikes import as_seen
from tests.robot.page import Page, Value
from tests.robot.service import Spelled, spelled

REQUIRED: Final = True
"""Whether a prompt that does not name the op is refused."""
_ABOUT_CONNECTOR: Final = frozenset({"Op", "Connector", "Hash", "Signature"})
_STEP: Final = re.compile(r"^Step (\d+)$")
_NUMBERED: Final = re.compile(r"^(\d+)\. (.+)$")
_AS_SENT: Final = "as the agent sent"
_NOT_SENT: Final = ", not sent"


@dataclass(slots=True)
class _Step:
    """A step as the screen describes it. `as_sent` is None if it has everything that the agent sent."""

    op: str = ""
    connector: str = ""
    inputs: dict[str, Value] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    as_sent: set[str] | None = None


def objection(page: Page, order: Order, labels: Mapping[str, str]) -> str:
    """Why what would run is not what was ordered; "" if it is. `labels` has the label of each input by its name."""
    steps = _steps(page.section("would run"))
    if not steps:
        return "it does not say what would run" if REQUIRED else ""
    if len(steps) != len(order.effects):
        return f"{len(steps)} steps would run, {len(order.effects)} were ordered"
    for step, effect in zip(steps, order.effects, strict=True):
        if why := _differs(step, effect, order, labels):
            return f"would run: {why}"
    return ""


def _steps(values: list[Value]) -> list[_Step]:
    steps: dict[int, _Step] = {}
    single = _Step()
    for value in values:
        label, text = value.label, _joined(value)
        if found := _STEP.match(label):
            op, connector = [*text.split(" · "), ""][:2]
            steps[int(found[1])] = _Step(
                op.strip(), connector.split()[0].rpartition("/")[2] if connector else "", as_sent=set()
            )
        elif found := _NUMBERED.match(label):
            _add(steps.setdefault(int(found[1]), _Step(as_sent=set())), found[2], value)
        elif label == "would run":
            single.op, single.connector = (part.split(" ")[0] for part in [*text.split(" · "), "", ""][:2])
        elif label not in _ABOUT_CONNECTOR and not label.startswith("Signature of "):
            _add(single, label, value)
    if steps:
        return [steps[number] for number in sorted(steps)]
    return [single] if single.op else []


def _joined(value: Value) -> str:
    """The rows as one line; a row that is full was cut inside a word."""
    return "".join(row if len(row) >= value.room - 1 else f"{row} " for row in value.rows).strip()


def _add(step: _Step, name: str, value: Value) -> None:
    if name == _AS_SENT:
        step.as_sent = {part.strip() for part in "".join(value.rows).split(",")}
    elif name.endswith(_NOT_SENT):
        step.left_out.add(name.removesuffix(_NOT_SENT))
    else:
        step.inputs[name] = value


def _differs(step: _Step, effect: Effect, order: Order, labels: Mapping[str, str]) -> str:
    if step.op != effect.op or not step.connector.startswith(effect.connector):
        return f"{step.connector}.{step.op} instead of {effect.connector}.{effect.op}"
    if extra := step.inputs.keys() - effect.args.keys():
        return f"{step.op} also sends {sorted(extra)}"
    if absent := step.left_out & effect.args.keys():
        return f"{step.op} does not send {sorted(absent)}"
    for name, item in effect.args.items():
        if name in step.inputs:
            if not _shows(step.inputs[name], item):
                return f"{step.op} sends {name} = {step.inputs[name].rows}"
            continue
        if step.as_sent is not None and name not in step.as_sent:
            return f"{step.op} does not send {name}"
        if order.sent.get(labels.get(name, "")) != text_of(item):
            return f"{step.op} sends {name} as the agent sent it"
    sent = {name for name, label in labels.items() if label in order.sent}
    passed = (sent if step.as_sent is None else step.as_sent) - step.left_out - step.inputs.keys()
    if extra := passed - effect.args.keys():
        return f"{step.op} also sends {sorted(extra)} as the agent sent it"
    return ""


def text_of(item: Any) -> str:
    """A value as the text of a row."""
    if isinstance(item, str):
        return str(item)
    return plain(item)


def _shows(value: Value, item: Any) -> bool:
    if isinstance(item, str | Spelled | bool) or item is None:
        same = notation.same_quote if value.is_block else notation.same_field
        return same(value.rows, text_of(item), as_seen)
    text = "".join(row.lstrip(" ▾▸") for row in value.rows)
    try:
        return plain(spelled(text)) == plain(item)
    except json.JSONDecodeError:
        return False
