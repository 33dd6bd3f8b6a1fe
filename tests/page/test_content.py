"""What the page shows: all of a prompt, told apart by who wrote it, and nothing in it interpreted."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser
from itertools import chain

import pytest

from aileron_tui.core.caution import Caution
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.lookalikes import known_names, remarks
from aileron_tui.core.prompt import Asker, ConnectorRef, PreviewResult, Prompt, ResolvedStep, lines
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.visible_text import inline
from aileron_tui.page.documents import Documents
from aileron_tui.page.history_rendering import history_row, record_view
from aileron_tui.page.rendering import TOO_LONG, prompt_view, waiting_view
from aileron_tui.page.sections import FIRST_LINES, MAX_CHARACTERS
from aileron_tui.page.views import HistoryView, Line, PromptView
from aileron_tui.surface.history_records import ShownPrompt, read_record
from tests import hostile
from tests.console import tool_requests
from tests.console.sample_requests import NOW, RECAP, item, prompt

DOCUMENTS = Documents()
HTML = {
    "script": "<script>alert(1)</script>",
    "image": '"><img src=x onerror=alert(1)>',
    "attribute": "' onmouseover='alert(1)",
    "comment": "--><!-- x",
    "entity": "&lt;script&gt; &amp;quot; &#60;",
    "template": "{{ 7 * 7 }} {% include '/etc/passwd' %} {# x #}",
    "fragment of ours": '</bdi></div><div class="prompt" data-id="act-2" data-digest="sha256:0">',
    "style": "</style><style>*{display:none}</style>",
    "form": '<form action="https://evil.example"><button>Approve',
    "base": '<base href="https://evil.example/">',
    "frame": '<iframe srcdoc="<script>parent.x()</script>"></iframe>',
    "long": "A" * 5000,
}
CORPUS: Mapping[str, str] = dict(
    chain.from_iterable(
        group.items()
        for group in (
            HTML,
            hostile.TERMINAL,
            hostile.STRINGS,
            hostile.SINGLE,
            hostile.UNSEEN,
            hostile.SPACES,
            hostile.STACKED,
            hostile.MARKUP,
            hostile.FORGED,
            hostile.EMOJI,
            hostile.LOOKALIKE,
        )
    )
)


class Markup(HTMLParser):
    """The elements of a fragment, and its text."""

    def __init__(self, fragment: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.values: list[str] = []
        self.text = ""
        self.others = 0
        self.feed(fragment.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.values += [value or "" for _, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.others += 1

    def handle_decl(self, decl: str) -> None:
        self.others += 1


def everywhere(text: str) -> Request:
    """A request with a text in every place where an agent, a connector or a daemon can put it."""
    rows = (Row(text, text), Row(text, f"{text}\n{text}", multiline=True), Row("Missing", missing=True))
    args: JsonObject = {"value": text}
    connector = ConnectorRef(text, text, text, text, text)
    shown = Prompt(
        kind="action",
        action=text,
        connector=connector,
        args=args,
        inputs=rows,
        preview=PreviewResult(rows, hidden=2),
        asker=Asker(text, text, text, text),
        risk=Risk(RiskLevel.HIGH, text),
        steps=(ResolvedStep(text, text, connector, {"other": text}), ResolvedStep("2", text, connector, args)),
        question=text,
        warnings=(text,),
    )
    failed = replace(shown, preview=PreviewResult((), unavailable=text))
    cautions = (Caution(text),)
    waiting = replace(item(prompt()), prompt=shown, edited_from=failed, cautions=cautions)  # not all of it fits JSON
    return replace(waiting, reason=text, extended_by=(text,), question=text)


def fragments(request: Request) -> Iterator[bytes]:
    """Every fragment that shows a request."""
    text = request.prompt.action
    readers = {request.id: [text]}
    yield DOCUMENTS.waiting(waiting_view([request], NOW, readers, problem=text))
    yield DOCUMENTS.prompt(prompt_view(request, NOW, readers))
    ended = replace(request, state=type(request.state)("denied"))
    yield DOCUMENTS.prompt(prompt_view(ended, NOW, readers))
    names = (
        "action",
        "connector",
        "agent",
        "outcome",
        "surface",
        "signer",
        "reason",
        "error",
        "says",
        "asked",
        "decided",
    )
    record = read_record({"seq": 1, "id": "act-1", "summary": [text], **dict.fromkeys(names, text)})
    rows = request.prompt.inputs
    yield DOCUMENTS.history(HistoryView((history_row(record, NOW),), prompt_view(request, NOW, {}).action))
    yield DOCUMENTS.record(record_view(record, ShownPrompt(rows, rows, asked=(), filled=rows, note="kept"), NOW))


PLAIN = [Markup(fragment) for fragment in fragments(everywhere("plain"))]
TAGS = {"span"}.union(*(markup.tags for markup in PLAIN))
ATTRIBUTES = {"class"}.union(*(markup.attributes for markup in PLAIN))


@pytest.mark.parametrize("name", CORPUS)
def test_nothing_in_foreign_text_is_interpreted(name: str) -> None:
    text = CORPUS[name]
    first = inline(text)[:40].partition("…")[0].strip()
    for fragment in fragments(everywhere(text)):
        markup = Markup(fragment)
        assert markup.tags <= TAGS | {"p", "details", "summary"}
        assert markup.attributes <= ATTRIBUTES
        assert not markup.others
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]", fragment.decode())
        assert first in " ".join(markup.text.split()) or " ".join(first.split()) in " ".join(markup.text.split())


def shown_text(view: PromptView) -> str:
    return Markup(DOCUMENTS.prompt(view)).text


@pytest.mark.parametrize(
    "request_",
    [
        item(prompt()),
        item(prompt((Row("Body", RECAP * 9, multiline=True),))),
        item(prompt(unavailable="the mail service did not answer")),
        item(prompt((Row("To", "boss@pаypal.com"), Row("Note", "https://sam:pw@example.com")))),
        *(make() for make in (tool_requests.push, tool_requests.edit, tool_requests.outside, tool_requests.linked)),
        *(make() for make in (tool_requests.fetch, tool_requests.mcp, tool_requests.proxied)),
    ],
    ids=lambda request: request.prompt.action,
)
def test_the_page_says_all_that_show_says(request_: Request) -> None:
    """Every line of the plain prompt, its remarks and its cautions are on the page."""
    text = " ".join(shown_text(prompt_view(request_, NOW, {})).split())
    for line in lines(request_.prompt):
        words = re.sub(r"^[-+ ]*(?:>|!|·)?\s*", "", line)
        label, _, value = words.partition(": ")
        for part in (label.strip().removesuffix(":"), value.strip()):
            if not line.startswith(("Approve ", "would run")) and line[:1] == " " and part:
                assert " ".join(part.split()) in text, line
    values = [
        row.value
        for row in (*request_.prompt.inputs, *(request_.prompt.preview.rows if request_.prompt.preview else ()))
    ]
    known = known_names(values)
    for sentence in (*(one for value in values for one in remarks(value, known).warnings), *request_.cautions_at(NOW)):
        assert " ".join(inline(sentence).split()) in text
    assert inline(request_.prompt.risk.reason) in text


def headings(view: PromptView) -> dict[str, str]:
    return {section.name: joined(section.heading) for section in view.sections}


def joined(line: Line) -> str:
    return "".join(piece.text for piece in line)


def test_parts_are_told_apart_by_who_wrote_them() -> None:
    view = prompt_view(item(prompt()), NOW, {})
    assert headings(view) == {"fetched": "fetched by connector mail", "sent": "agent sent"}
    told = prompt_view(tool_requests.proxied(), NOW, {})
    assert headings(told)["fetched"].startswith("told by")
    steps = prompt_view(everywhere("x"), NOW, {})
    assert list(headings(steps)) == ["fetched", "sent", "runs"]
    quote = next(quote for section in view.sections for quote in section.quotes)
    assert joined(quote.origin) == "fetched by connector mail"


def test_an_edit_is_shown_beside_the_original() -> None:
    asked, edited = prompt((Row("To", "a@example.com"),)), prompt((Row("To", "b@example.com"),))
    view = prompt_view(replace(item(edited), edited_from=asked), NOW, {})
    sent = next(section for section in view.sections if section.name == "sent")
    assert [(field.sign, joined(field.value)) for field in sent.fields] == [
        ("-", "a@example.com"),
        ("+", "b@example.com"),
    ]
    assert "edited" in sent.note


def test_a_long_text_is_folded_with_a_count_and_one_that_is_too_long_cannot_be_approved() -> None:
    text = "\n".join(f"line {number}" for number in range(FIRST_LINES + 60))
    view = prompt_view(item(prompt((Row("Text", text, multiline=True),))), NOW, {})
    quote = next(section for section in view.sections if section.name == "sent").quotes[0]
    assert (len(quote.lines), len(quote.rest)) == (FIRST_LINES, 60)
    assert not view.cannot_approve
    huge = item(prompt((Row("Text", "x" * (MAX_CHARACTERS + 7), multiline=True),)))
    view = prompt_view(huge, NOW, {})
    assert view.cannot_approve == TOO_LONG
    assert re.search(r"Not shown here: [\d,]+ more characters", shown_text(view))
    many = item(prompt(tuple(Row(f"Row {number}", "x") for number in range(600))))
    assert prompt_view(many, NOW, {}).cannot_approve == TOO_LONG


def test_blank_padding_is_counted() -> None:
    view = prompt_view(item(prompt((Row("Text", "top" + "\n" * 400 + "bottom", multiline=True),))), NOW, {})
    assert "⟨399 blank lines⟩" in shown_text(view)


def test_nothing_is_approved_while_the_preview_is_fetched_or_after_the_end() -> None:
    fetching = prompt_view(item(prompt(), fetching=True), NOW, {})
    assert "still being fetched" in fetching.cannot_approve
    waiting = item(prompt())
    ended = prompt_view(replace(waiting, state=type(waiting.state)("expired")), NOW, {})
    assert (ended.can_answer, ended.outcome) == (False, "nobody answered")


def test_a_summary_tells_equal_actions_apart() -> None:
    first = item(prompt(rows=(Row("To", "team@example.com"), Row("Subject", "Recap of week 19"))), id_="act-1")
    second = item(prompt(rows=(Row("To", "team@example.com"), Row("Subject", "Recap of week 20"))), id_="act-2")
    view = waiting_view([first, second], NOW, {})
    assert "week 20" in view.rows[1].summary
    assert view.rows[0].left == "4:19 left"
    assert waiting_view([first], NOW + timedelta(minutes=10), {}).rows[0].left == "0:00 left"
