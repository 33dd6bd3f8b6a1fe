"""Compares a prompt as it was read with the order sheet."""

import re
from typing import Final

from tests.robot import notation, would_run
from tests.robot.case import Order
from tests.robot.lookalikes import as_seen, as_seen_in_a_hurry
from tests.robot.page import Page, Value

_NOT_SHOWN: Final = re.compile(r"^([\d,]+) fetched fields?; v shows everything$")
_REAL_NAME: Final = re.compile(r"^\s*· .*\bxn--")
_UNREADABLE: Final = 1_000_000


def objection(page: Page, order: Order) -> str:
    """Why this prompt is not what the order sheet says; "" if it is."""
    if page.warnings and not order.warned:
        return f"it has a warning: {page.warnings[0]}"
    if not order.warned and (real := [row for row in page.rows if _REAL_NAME.search(row)]):
        return f"it names a host that is not plain: {real[0]}"
    if (hidden := not_shown(page)) > order.hidden:
        return f"{hidden} fetched fields are not shown"
    for heading, rows in (("agent sent", order.sent), ("fetched by", order.fetched)):
        if why := _rows_differ(page.section(heading), dict(rows), heading, blurred=order.blurred):
            return why
    return "" if order.labels is None else would_run.objection(page, order, order.labels)


def not_shown(page: Page) -> int:
    """How many fetched fields the screen says it does not show."""
    rows = [" ".join(value.rows) for value in page.section("fetched by") if value.label == "Not shown"]
    found = [_NOT_SHOWN.match(row) for row in rows]
    return sum(int(match[1].replace(",", "")) if match else _UNREADABLE for match in found)


def _rows_differ(values: list[Value], rows: dict[str, str], heading: str, *, blurred: bool) -> str:
    left = dict(rows)
    for value in values:
        if value.placeholder:
            continue
        if value.label not in left:
            return f"{heading}: the row {value.label!r} is not on the order sheet"
        if not shows(value, left.pop(value.label), blurred=blurred):
            return f"{heading}: {value.label!r} is {value.rows!r}"
    return f"{heading}: no row for {sorted(left)}" if left else ""


def shows(value: Value, text: str, *, blurred: bool = False) -> bool:
    """Whether a value on screen shows this text, as far as a person can see."""
    same = notation.same_quote if value.is_block else notation.same_field
    return same(value.rows, text, as_seen_in_a_hurry if blurred else as_seen)
