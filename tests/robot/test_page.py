"""The robot's reading of a prompt: each row under its heading and label, and nothing lost."""

from tests.robot.case import Order
from tests.robot.order_check import not_shown, objection
from tests.robot.page import Page, parse

PROMPT = """\
▲ high risk  may send or publish
fetched by connector store · just now
  To (1 of 2) ▎ alice@example.com
              · "x" is xn--x
  Cc, Bcc     n/a
  Not shown   1,013 fetched fields; v
              shows everything
agent sent
  Id          ▎ omega
▸ asked by    ▎ default · says it is
              ▎ "root@gate"
▸ would run   ▎ send_item · store 1.0
  note        ▎ fixed
fetched Body                1 line
  ▎ one
agent sent Text             2 lines
  ▎ two
  ▎ three
"""

SENT = {"Id": "omega", "Text": "two\nthree"}


def read(text: str) -> Page:
    page = Page()
    page.rows = text.splitlines()
    parse(page, [list(line) for line in page.rows])
    return page


def test_the_rows_of_a_prompt() -> None:
    page = read(PROMPT)
    assert page.risk == "▲ high risk  may send or publish"
    assert {heading: [value.label for value in values] for heading, values in page.sections.items()} == {
        "top": [],
        "fetched by connector store": ["To (1 of 2)", "Cc, Bcc", "Not shown", "Body"],
        "agent sent": ["Id", "Text"],
        "asked by": ["asked by"],
        "would run": ["would run", "note"],
    }
    assert [value.rows for value in page.section("agent sent")] == [["omega"], ["two", "three"]]
    assert not_shown(page) == 1013


def test_a_prompt_is_refused_for_anything_that_was_not_ordered() -> None:
    page = read(PROMPT)
    assert "not plain" in objection(page, Order((), SENT))
    page.rows = [row for row in page.rows if "xn--" not in row]
    assert "1013 fetched fields" in objection(page, Order((), SENT))
    assert "To (1 of 2)" in objection(page, Order((), SENT, hidden=1013))
    fetched = {"To (1 of 2)": "alice@example.com", "Body": "one"}
    assert objection(page, Order((), SENT, fetched, hidden=1013)) == ""
    assert "Id" in objection(page, Order((), SENT | {"Id": "alpha"}, fetched, hidden=1013))
    page.rows.append("  ⚠ mixes Latin and Cyrillic letters")
    assert "warning" in objection(page, Order((), SENT, fetched, hidden=1013))
