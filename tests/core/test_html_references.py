"""HTML-escaped text is shown as it was received, with a note about what it may mean; it is never decoded."""

import pytest

from aileron_tui.core.html_references import html_note
from aileron_tui.core.lookalikes import remarks
from aileron_tui.core.prompt import row_lines
from aileron_tui.core.prompt_rows import Row
from tests.hostile import HOSTILE

NOTE = "looks HTML-escaped, shown as received"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("Here&#39;s the plan", f"{NOTE}: &#39; would be '"),
        ("a &amp; b &#x27;c", f"{NOTE}: &amp; would be &, &#x27; would be '"),
        ("&lt;b&gt; &amp; &quot;", f"{NOTE}: &lt; would be <, &gt; would be >, &amp; would be &, and so on"),
        ("zero&#8203;width &#x202e;", f"{NOTE}: &#8203; would be ⟨U+200B⟩, &#x202e; would be ⟨U+202E⟩"),
        ("&#32;", f"{NOTE}: &#32; would be a space"),
        ("&#39;" * 1000, NOTE),
        ("fish & chips; &bogus; &#; &#x; &;", ""),
        ("https://a.example/?x=1&y=2", ""),
        ("", ""),
    ],
)
def test_the_note(text: str, note: str) -> None:
    assert html_note(text) == note
    assert remarks(text).notes == ((note,) if note else ())
    assert not remarks(text).warnings


def test_the_value_itself_is_not_decoded() -> None:
    shown = list(row_lines([(Row("Begins", "Here&#39;s the plan"), None)]))
    assert shown == [
        "  Begins: Here&#39;s the plan",
        f"    · {NOTE}: &#39; would be '",
    ]


@pytest.mark.parametrize("text", HOSTILE.values())
def test_hostile_text_is_only_quoted_visibly(text: str) -> None:
    assert html_note(f"{text}&#27;[2J&#x9b;").isprintable()
