"""The form for what can be edited."""

from dataclasses import replace
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, RadioSet, TextArea

from aileron_tui.console.screens.edit import EditScreen, choices, why_not_editable
from aileron_tui.console.themes import THEMES
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.request import Request
from aileron_tui.files.paths import bundled
from tests.console.hostile_texts import carried, hostile_texts
from tests.console.screen_app import SIZES, async_test, lines, unsafe
from tests.console.scripted_gate import request
from tests.runtime.daemon.asked import item


class Form(App[None]):
    """Nothing but the form, and what came of it."""

    CSS_PATH = sorted(str(path) for path in bundled("styles").glob("*.tcss"))  # as Textual declares it

    def __init__(self, shown: Request) -> None:
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = "aileron-dark"
        self._shown = shown
        self.came: list[JsonObject | None] = []

    def on_mount(self) -> None:
        self.push_screen(EditScreen(self._shown), self.came.append)


def words(app: App[Any]) -> str:
    return "\n".join(" ".join(line.split()) for line in lines(app) if line.strip())


async def press(pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("downs", "value"), [(1, "project"), (2, "user")])
@async_test
async def test_a_choice_is_made_with_the_keyboard(size: tuple[int, int], downs: int, value: str) -> None:
    app = Form(item("shell"))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        assert isinstance(app.focused, RadioSet)
        for offered in ("once: ask again next time", "always in this project", "always, for this user"):
            assert offered in words(app)
        await press(pilot, *["down"] * downs, "space")
        await press(pilot, "ctrl+s")
        assert app.came == [{"save_policy": value}]


@async_test
async def test_the_choice_that_stands_is_no_edit() -> None:
    app = Form(item("shell"))
    async with app.run_test(size=SIZES[2]) as pilot:
        await pilot.pause()
        radio = app.screen.query_one(RadioSet)
        assert radio.pressed_index == 0
        await press(pilot, "ctrl+s")
        assert app.came == []
        assert "nothing was changed" in words(app)


@async_test
async def test_a_form_starts_with_what_was_sent() -> None:
    app = Form(item("comms_draft"))
    async with app.run_test(size=SIZES[2]) as pilot:
        await pilot.pause()
        area = app.screen.query_one(TextArea)
        assert area.text == "Yes.\nSince noon."
        assert app.focused is area
        area.text = "No."
        await press(pilot, "ctrl+s")
        assert app.came == [{"draft_body": "No."}]


@async_test
async def test_a_field_stands_right_below_its_label_whatever_kind_it_is() -> None:
    one = request(1)
    fields: list[Json] = [
        {"name": name, "type": "string", "label": name, "multiline": name == "body"} for name in ("to", "body", "more")
    ]
    app = Form(replace(one, fields=one.fields | {"inputs": fields}))
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        for number, label in enumerate(app.screen.query("EditScreen .body Label")):
            assert app.screen.query_one(f"#field-{number}").region.y == label.region.bottom


@pytest.mark.parametrize("kind", ["action", "comms_send", "http_request", "carrier_pigeon"])
@async_test
async def test_there_is_no_empty_form(kind: str) -> None:
    app = Form(item(kind))
    async with app.run_test(size=SIZES[2]) as pilot:
        await pilot.pause()
        assert "the daemon cannot change this call" in words(app)
        assert not app.screen.query("Input, TextArea, RadioSet")
        await press(pilot, "ctrl+s")
        assert app.came == []
        await press(pilot, "escape")
        assert app.came == [None]


@pytest.mark.parametrize(("typed", "why"), [("maybe", "✗ force must be of type boolean"), ("", "✗ force is required")])
@async_test
async def test_a_value_that_cannot_be_keeps_the_form_open(typed: str, why: str) -> None:
    one = request(1)
    fields: JsonObject = {"inputs": [{"name": "force", "type": "boolean", "required": True}]}
    app = Form(replace(one, fields=fields, prompt=replace(one.prompt, args={"force": False})))
    async with app.run_test(size=SIZES[0]) as pilot:
        await pilot.pause()
        app.screen.query_one(Input).value = typed
        await press(pilot, "ctrl+s")
        assert why in words(app)
        assert app.came == []


@async_test
async def test_a_hostile_type_is_only_shown() -> None:
    app = Form(replace(request(1), fields={"inputs": [{"name": "draft_id", "type": "\x1b[2Jnumber"}]}))
    async with app.run_test(size=SIZES[0]) as pilot:
        await pilot.pause()
        await press(pilot, "1", "ctrl+s")
        assert "must be of type ⟨ESC⟩[2Jnumber" in words(app)
        assert not unsafe(app)


def test_it_is_told_why_something_cannot_be_edited() -> None:
    assert why_not_editable(item("shell")) == ""
    assert why_not_editable(request(1)) == ""
    assert "deny it with a reason" in why_not_editable(item("action"))
    gated = request(1)
    odd: list[JsonObject] = [{}, {"inputs": []}, {"inputs": "x"}, {"inputs": [7]}]
    for fields in odd:
        assert why_not_editable(replace(gated, fields=fields)) == "this action has no inputs to edit"


@pytest.mark.parametrize("offered", [None, "x", {}, [], [7], [["a"]], [["a", 7]], [["a", "b", "c"]]])
def test_choices_in_odd_shapes_are_none(offered: Any) -> None:
    assert choices({"choices": offered}) == []


@hostile_texts(parts=6)
@async_test
async def test_hostile_words_in_a_form_are_only_shown(texts: dict[str, str]) -> None:
    """Each as title, label, choice, type and value, several in one form."""
    words = [carried(text)[:2000] for text in texts.values()]  # more than a field shows
    app = Form(item("shell"))
    async with app.run_test(size=(60, 250)) as pilot:
        for start in range(0, len(words), 4):
            some, names = words[start : start + 4], list(texts)[start : start + 4]
            args: JsonObject = dict(zip(some, some, strict=True))
            draft = item("comms_draft", args=args, action_name=" ".join(text[:80] for text in some))
            inputs: list[Json] = []
            for text in some:
                label = text[:80]
                inputs.append({"name": text, "label": label, "choices": [["", label], ["x", label]]})
                inputs.append({"name": text, "label": label, "type": label})
                inputs.append({"name": text, "label": label, "type": "string", "multiline": True})
            await app.push_screen(EditScreen(replace(draft, fields=draft.fields | {"inputs": inputs})), app.came.append)
            await pilot.pause()
            assert not unsafe(app), names
            assert app.screen.query_one(".body").max_scroll_y == 0, names
            await press(pilot, "ctrl+s")
            assert app.came == [], names
            await app.pop_screen()


@async_test
async def test_a_long_label_is_shown_to_its_end() -> None:
    labelled: JsonObject = {"name": "draft_id", "type": "string", "label": "a long label " * 9 + "with an end"}
    app = Form(replace(request(1), fields=request(1).fields | {"inputs": [labelled]}))
    async with app.run_test(size=SIZES[2]) as pilot:
        await pilot.pause()
        assert "with an end string, optional" in " ".join(words(app).replace("│", " ").split())


@pytest.mark.parametrize("size", [*SIZES, (60, 20)])
@pytest.mark.parametrize("long", [False, True])
@async_test
async def test_the_keys_of_a_form_are_on_screen_and_so_is_the_field_one_is_in(
    size: tuple[int, int], long: bool
) -> None:
    shown = item("comms_draft")
    if long:
        one: JsonObject = {"name": "draft_id", "type": "string", "required": True, "label": "Draft id"}
        fields: list[Json] = [one | {"label": f"Field {number}", "multiline": bool(number % 2)} for number in range(12)]
        shown = replace(request(1), fields=request(1).fields | {"inputs": fields})
    app = Form(shown)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        for _ in range(12 if long else 1):
            assert "ctrl+s review changes" in words(app)
            assert "esc cancel" in words(app)
            assert app.focused is not None
            assert app.screen.query_one(".body").region.contains_point(app.focused.region.offset)
            await press(pilot, "tab")
