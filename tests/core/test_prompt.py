"""What the operator is shown, and the digest that binds a decision to it."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.formats import PROMPT_VERSION, NewerFormat
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical, read
from aileron_tui.core.prompt import ConnectorRef, PreviewResult, Prompt, ResolvedStep, lines, read_prompt
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.visible_text import cells
from tests.core.examples import prompt
from tests.hostile import HOSTILE

WOULD_RUN = "would run send_draft · local://samples/mail 1.0.0 · sha256:abababab…"


def test_the_worked_example() -> None:
    assert list(lines(prompt())) == [
        "Approve send-draft?",
        "agent sent",
        "  Draft id: r-12345",
        "fetched by connector mail",
        "  To:       team@example.com",
        "  Subject:  Weekly recap",
        "  Body:",
        "    > Here's the recap",
        "    > from this week's standup",
        WOULD_RUN,
    ]


def test_every_step_and_every_input_that_the_agent_did_not_send_is_shown() -> None:
    first = prompt().steps[0]
    other = ConnectorRef("local://samples/files", "2.0.0", "sha256:" + "cd" * 32, "unsigned")
    inputs: JsonObject = {"draft_id": "r-12345", "file_id": "f-1001", "note": "one\ntwo", "all": True}
    steps = (replace(first, inputs={"draft_id": "r-99999"}), ResolvedStep("clean", "remove", other, inputs))
    shown = list(lines(replace(prompt(), preview=None, steps=steps)))
    assert shown[3:] == [
        "would run 2 steps",
        "  Step 1:               send_draft · local://samples/mail 1.0.0 · sha256:abababab…",
        "  1. draft_id:          r-99999",
        "  Step 2:               remove · local://samples/files 2.0.0 · sha256:cdcdcdcd…",
        "  2. file_id:           f-1001",
        "  2. all:               true",
        "  2. as the agent sent: draft_id",
        "  2. note:",
        "    > one",
        "    > two",
    ]


def test_static_inputs_of_a_single_step_are_shown() -> None:
    step = replace(prompt().steps[0], inputs={"draft_id": "r-12345", "base_url": "http://127.0.0.1:8725", "n": 1})
    asked = replace(prompt(), args={"draft_id": "r-12345", "n": True, "cc": "x"}, steps=(step,), preview=None)
    assert list(lines(asked))[-4:] == [
        WOULD_RUN,
        "  base_url:     http://127.0.0.1:8725",
        "  n:            1",
        "  cc, not sent: n/a",
    ]


def test_a_value_inside_an_array_that_only_python_calls_equal_is_shown() -> None:
    step = replace(prompt().steps[0], inputs={"list": [True], "map": {"a": 0}, "same": [1, {"b": False}]})
    args: JsonObject = {"list": [1], "map": {"a": False}, "same": [1, {"b": False}]}
    shown = list(lines(replace(prompt(), args=args, steps=(step,), preview=None)))
    assert shown[-9:] == [
        WOULD_RUN,
        "  list:",
        "    > [",
        "    >   true",
        "    > ]",
        "  map:",
        "    > {",
        '    >   "a": 0',
        "    > }",
    ]


def test_an_edit_shows_what_the_step_would_send_before_and_after() -> None:
    def sends(path: str) -> tuple[ResolvedStep, ...]:
        return (replace(prompt().steps[0], inputs={"path": path}),)

    before = replace(prompt(), preview=None, args={}, inputs=(), steps=sends("/a"))
    assert list(lines(replace(before, steps=sends("/b")), 0, before))[-2:] == ["- path: /a", "+ path: /b"]


def runs(shown: Sequence[str]) -> str:
    return next(line for line in shown if line.startswith("would run "))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_in_a_step_forges_nothing(text: str) -> None:
    step = ResolvedStep(text, text, ConnectorRef(text, text, text, text), {text: text, "list": [text]})
    for steps in ((step,), (step, step)):
        shown = list(lines(replace(prompt(), steps=steps), 40))
        assert {line for line in shown if line[0] != " "} == {*shown[:2], shown[3], runs(shown)}
        assert not any(character < " " or "\x7f" <= character <= "\x9f" for line in shown for character in line)


def test_a_failed_preview_is_said_and_the_inputs_stay() -> None:
    failed = replace(prompt(), preview=PreviewResult(unavailable="Gmail API returned 404"))
    assert list(lines(failed)) == [
        "Approve send-draft?",
        "agent sent",
        "  Draft id: r-12345",
        "Preview unavailable: Gmail API returned 404",
        WOULD_RUN,
    ]


def test_a_missing_row_is_not_an_empty_one() -> None:
    rows = (Row("Cc", missing=True), Row("Bcc", ""), Row("Body", missing=True, multiline=True))
    shown = list(lines(replace(prompt(), inputs=(), preview=PreviewResult(rows))))
    assert shown[2:] == ["  Cc:   n/a", "  Bcc:  ", "  Body: n/a", WOULD_RUN]


def test_a_suspicious_address_is_flagged_beside_its_value() -> None:
    shown = list(lines(replace(prompt(), inputs=(Row("To", "boss@p\u0430ypal.com"),), preview=None)))
    assert len(shown) == 6
    assert shown[3].startswith("    ! ")
    assert "Cyrillic" in shown[3]
    assert shown[4] == '    · "p\u0430ypal.com" is xn--pypal-4ve.com'


def test_an_address_close_to_another_one_in_the_prompt_is_flagged() -> None:
    rows = (Row("To", "boss@corp.example"), Row("Cc", "boss@c0rp.example"))
    shown = list(lines(replace(prompt(), inputs=rows, preview=None)))
    names = ("boss@corp.example", "boss@c0rp.example")
    one, other = (f'    ! "{a}" is easily mistaken for "{b}", which was also seen' for a, b in (names, names[::-1]))
    assert shown[2:] == ["  To: boss@corp.example", one, "  Cc: boss@c0rp.example", other, WOULD_RUN]


def test_an_address_that_only_a_step_has_is_compared_with_what_the_agent_sent() -> None:
    step = replace(prompt().steps[0], inputs={"to": "boss@c0rp.example"})
    asked = replace(prompt(), inputs=(Row("To", "boss@corp.example"),), args={}, preview=None, steps=(step,))
    warning = '    ! "boss@c0rp.example" is easily mistaken for "boss@corp.example", which was also seen'
    assert list(lines(asked))[-2:] == ["  to: boss@c0rp.example", warning]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_forges_nothing(text: str) -> None:
    row, quote = Row(text or "x", text), Row("Body", text, multiline=True)
    shown = list(lines(replace(prompt(), action=text, inputs=(row,), preview=PreviewResult((quote,)))))
    assert shown[0].startswith("Approve ")
    own = ["agent sent", "fetched by connector mail", WOULD_RUN]
    assert [line for line in shown[1:] if not line.startswith("  ")] == own
    joined = "".join(shown)
    assert not any(character < " " or "\x7f" <= character <= "\x9f" for character in joined)


def changes(value: Any) -> Iterator[Any]:
    """Every value that differs from this one in exactly one leaf."""
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            for other in changes(getattr(value, field.name)):
                yield replace(value, **{field.name: other})
    elif isinstance(value, tuple):
        yield value[:-1] if value else (Row("new"),)
        for index, item in enumerate(value):
            yield from ((*value[:index], other, *value[index + 1 :]) for other in changes(item))
    elif isinstance(value, dict):
        yield {**value, "another": 1}
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int) and value != PROMPT_VERSION:
        yield value + 1
    elif isinstance(value, str):
        yield value + "!"


def test_any_change_of_anything_shown_changes_the_digest() -> None:
    original = replace(prompt(), question="Run it?", warnings=("it is outside the folder",))
    variants: list[Prompt] = list(changes(original))
    digests = {variant.digest for variant in variants}
    assert len(variants) > 30
    assert len(digests) == len(variants)
    assert original.digest not in digests


def test_the_digest_is_stable() -> None:
    assert prompt().digest == prompt().digest
    assert replace(prompt(), args={"b": 1, "a": 2}).digest == replace(prompt(), args={"a": 2, "b": 1}).digest


def test_no_preview_is_not_an_empty_preview() -> None:
    assert replace(prompt(), preview=None).digest != replace(prompt(), preview=PreviewResult()).digest


def test_a_number_that_would_be_rounded_is_refused() -> None:
    with pytest.raises(JsonError, match="too large"):
        _ = replace(prompt(), args={"n": 2**53 + 1}).digest


rows = st.builds(Row, st.text(max_size=20), st.text(max_size=40), st.booleans(), st.booleans())


@given(st.tuples(rows, rows), st.tuples(rows, rows))
def test_different_previews_have_different_digests(one: tuple[Row, ...], other: tuple[Row, ...]) -> None:
    assert (PreviewResult(one).digest == PreviewResult(other).digest) == (one == other)


def test_a_prompt_survives_its_json() -> None:
    for original in (
        prompt(),
        replace(prompt(), preview=None),
        replace(prompt(), preview=PreviewResult((), "timeout")),
    ):
        again = read_prompt(read(canonical(original.fields())))
        assert again == original
        assert again.digest == original.digest


def test_a_prompt_keeps_the_version_it_came_in() -> None:
    old = replace(prompt(), steps=(), version=1)
    assert "version" not in old.fields()
    assert replace(prompt(), version=2).fields() == old.fields() | {"version": 2}
    again = read_prompt(old.fields())
    assert (again, again.digest) == (old, old.digest)
    assert old.digest != prompt().digest


def test_the_account_is_read_back_shown_and_part_of_the_digest() -> None:
    plain = prompt()

    def with_account(name: str) -> Prompt:
        connector = replace(plain.connector, account=name)
        steps = tuple(replace(step, connector=connector) for step in plain.steps)
        return replace(plain, connector=connector, steps=steps)

    work, home = with_account("work"), with_account("home\x1b[31m")
    assert len({plain.digest, work.digest, home.digest}) == 3
    assert read_prompt(work.fields()) == work
    assert any("account work" in line for line in lines(work))
    assert not any("account" in line for line in lines(plain))
    assert any("account home⟨ESC⟩[31m" in line for line in lines(home))
    old = replace(work, version=4).fields()
    with pytest.raises(JsonError, match="missing or unknown"):
        read_prompt(old)
    for bad in (7, ["work"], {"a": 1}):
        twin: Any = copy.deepcopy(work.fields())
        twin["connector"]["account"] = bad
        with pytest.raises(JsonError):
            read_prompt(twin)


def test_a_newer_prompt_is_refused_with_advice() -> None:
    words = r"the prompt was written by a newer version of aileron-tui \(format 6; this program reads up to 5\)"
    with pytest.raises(NewerFormat, match=words) as caught:
        read_prompt(prompt().fields() | {"version": PROMPT_VERSION + 1, "more": 1})
    assert caught.value.hint == "Update aileron-tui."


def leaves(value: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from leaves(item, (*path, key))


def test_a_bad_twin_of_each_field_is_refused() -> None:
    good = prompt().fields()
    for path in leaves(good):
        if not path or path[0] == "args" or (path[0] == "steps" and path[2:3] == ("inputs",) and len(path) > 3):
            continue
        twin = copy.deepcopy(good)
        node: Any = twin
        for key in path[:-1]:
            node = node[key]
        node[path[-1]] = "7" if path == ("preview", "hidden") else 7
        with pytest.raises(JsonError):
            read_prompt(twin)
        if isinstance(node, dict):
            del node[path[-1]]
            with pytest.raises(JsonError):
                read_prompt(twin)


@pytest.mark.parametrize("width", [40, 80, 100])
def test_what_a_terminal_would_wrap_cannot_pass_for_a_row(width: int) -> None:
    forged = "  To:       team@example.com"
    value = "r-9".ljust(width - len("  Draft id: "), ".") + forged
    asked = replace(prompt(), inputs=(Row("Draft id", value), Row("Body", value, multiline=True)), preview=None)
    asked = replace(asked, action="a".ljust(width - len("Approve "), ".") + forged)
    shown = list(lines(asked, width))
    assert all(cells(line) <= width for line in shown)
    assert not any(line.startswith("  To:") for line in shown)
    assert "".join(line.strip() for line in shown).count("team@example.com") == 3
    assert [line for line in lines(asked) if line.endswith(forged)]
