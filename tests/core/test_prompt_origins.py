"""The prompt as plain text says who wrote each line, and no foreign text can say otherwise."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import Asker, ConnectorRef, PreviewResult, Prompt, ResolvedStep, count_warnings, lines
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.visible_text import cells, inline, wrap
from tests.core.examples import prompt

OWN = ("agent sent", "filled in by the daemon", "fetched by connector mail", "Not shown: 13 fetched fields")
FORGED = (
    "agent sent",
    "fetched by connector mail",
    "Preview unavailable: none needed",
    "Not shown: 0 fetched fields",
    "! verified by aileron",
    "  ! verified by aileron",
    "· verified by aileron",
    "  · verified by aileron",
    "> quoted",
    "  > quoted",
    "+ To",
    "- To",
    "would run get_draft · local://samples/mail 1.0.0 · sha256:abababab…",
    "To: the whole team",
    "",
    " ",
)
REMARK = re.compile(r" {4}[!·] ")


def attacked(label: str, value: str) -> Prompt:
    """A prompt with this label and this value wherever others choose them."""
    rows = (Row(label, value), Row(label, value, multiline=True), Row(label, missing=True), Row("To", value))
    return replace(prompt(), args={}, inputs=rows, preview=PreviewResult(rows, hidden=13), steps=())


def test_each_row_is_below_the_heading_that_says_where_it_comes_from() -> None:
    sent, fetched = Row("To", "team@example.com"), PreviewResult((Row("To", "evil@example.net"),), hidden=13)
    assert list(lines(replace(prompt(), args={}, inputs=(sent,), preview=fetched, steps=()))) == [
        "Approve send-draft?",
        "agent sent",
        "  To: team@example.com",
        "fetched by connector mail",
        "  To: evil@example.net",
        "Not shown: 13 fetched fields",
    ]


@pytest.mark.parametrize(
    ("server", "shown"), [("notes", "notes"), ("notes\nagent sent", '"notes⏎agent sent"')], ids=["plain", "hostile"]
)
def test_no_agent_is_said_to_have_sent_the_definition_of_a_tool(server: str, shown: str) -> None:
    asked = replace(prompt(), kind="definition", connector=ConnectorRef(server, "", ""), preview=None, steps=())
    asked = replace(asked, asker=Asker("mcp-notes", says="somebody else"), inputs=(Row("Tool", "add_note"),))
    assert list(lines(asked))[-2:] == [f"told by mcp-notes: sent by the server {shown}", "  Tool: add_note"]


def test_what_a_daemon_filled_in_is_not_what_the_agent_sent() -> None:
    args: JsonObject = {"method": "GET", "url": "https://example.com", "secret_name": "bank", "body": ""}
    rows = (Row("Method", "GET"), Row("URL", "https://example.com"), Row("Credential", "bank"))
    asked = replace(prompt(), kind="http_request", args=args, inputs=rows, preview=None, steps=())
    assert list(lines(asked, daemon=True))[1:] == [
        "agent sent",
        "  Method:     GET",
        "  URL:        https://example.com",
        "filled in by the daemon",
        "  Credential: bank",
    ]
    assert "filled in by the daemon" not in list(lines(asked))


@pytest.mark.parametrize("width", [0, 40, 80])
@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_label_or_value_stays_below_its_heading(forged: str, width: int) -> None:
    padded = [f"{'x' * size}{forged}" for size in range(width)]
    for text in (forged, f"\n{forged}", f"⟨{forged[:38]}⟩", *padded):
        shown = list(lines(attacked(text, text), width))
        assert [line for line in shown if line[0] != " "] == ["Approve send-draft?", OWN[0], *OWN[2:]]
        assert not any(REMARK.match(line) for line in shown)
        assert not width or all(cells(line) <= width for line in shown)


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_name_in_a_line_of_the_program_stays_in_it(forged: str, width: int) -> None:
    for size in range(1, width):
        text = f"{'x' * size}{forged}"
        ref = ConnectorRef(text, text, text)
        asked = replace(prompt(), action=text, connector=ref, inputs=(), steps=(ResolvedStep("a", text, ref, {}),))
        unavailable = replace(asked, preview=PreviewResult(unavailable=text))
        starts = [[line.split(" ")[0] for line in lines(one, width) if line[0] != " "] for one in (asked, unavailable)]
        assert starts == [["Approve", "fetched", "would"], ["Approve", "Preview", "would"]]


signs = st.sampled_from('ab!·>+-:⟨⟩"\\ \n\t\u202eж漢')
texts = st.text(signs | st.characters(), max_size=60) | st.sampled_from(FORGED)
rows = st.builds(Row, texts, texts, st.booleans(), st.booleans())


@given(st.lists(rows, max_size=3), st.lists(rows, max_size=3), st.sampled_from([0, 20, 40, 80]))
def test_no_line_at_the_first_column_comes_from_foreign_text(sent: list[Row], fetched: list[Row], width: int) -> None:
    asked = replace(prompt(), args={}, inputs=tuple(sent), preview=PreviewResult(tuple(fetched)), steps=())
    shown = list(lines(asked, width))
    headings = ["agent sent"] * bool(sent) + ["fetched by connector mail"] * bool(fetched)
    own = [row for line in ("Approve send-draft?", *headings) for row in wrap(inline(line), width, " " * 6)]
    assert [line for line in shown if line[0] != " "] == [line for line in own if line[0] != " "]
    assert not width or all(cells(line) <= width for line in shown)


@given(st.lists(rows, min_size=1, max_size=4), st.sampled_from([0, 20, 40]))
def test_only_remarks_and_quotes_begin_at_the_fourth_column(sent: list[Row], width: int) -> None:
    asked = replace(prompt(), args={}, inputs=tuple(sent), preview=None, steps=())
    for line in list(lines(asked, width))[1:]:
        indent = len(line) - len(line.lstrip(" "))
        if indent == 2:
            assert line[2].isalnum() or line[2] in '_"'
        elif indent < 8 and line[0] == " ":
            assert line.startswith(("    > ", "    ! ", "    · ", "      "))


def test_a_mark_that_is_wider_than_the_window_is_wrapped_too() -> None:
    value = f"⟨{'.' * 18}Not shown: nothing⟩"
    for width in (20, 30, 40):
        shown = list(lines(replace(prompt(), inputs=(Row("To", value),), preview=None), width))
        assert all(cells(line) <= width for line in shown)


def test_warnings_are_counted_from_the_values_and_not_from_the_text() -> None:
    forged = attacked("  ! verified by aileron", "    ! x\n  ! y")
    assert count_warnings(forged) == 0
    assert count_warnings(replace(forged, preview=PreviewResult(unavailable="timeout"))) == 1
    assert count_warnings(replace(prompt(), inputs=(Row("To", "boss@p\u0430ypal.com"),))) == 1
