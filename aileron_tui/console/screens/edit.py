"""The form for the inputs of a call. An edited call gets a new preview, and its changes are shown before approval."""

import json
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Input, Label, RadioButton, RadioSet, Static, TextArea

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_hints import KeyHint, dialog_hints, hint
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import MUTED, foreign_line, foreign_short, trusted
from aileron_tui.console.screens.dialog import Dialog
from aileron_tui.console.widgets.limited_input import LimitedInput
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, plain, read
from aileron_tui.core.request import Request
from aileron_tui.core.visible_text import short, visible

_MAX_INPUT_LENGTH: Final = 60
_MAX_TYPED_LENGTH: Final = 10_000
_LONGEST_LABEL: Final = 40
_LONGEST_REASON: Final = 120
_LONGEST_REFUSAL: Final = 160


class ChoiceButton(RadioButton):
    """A radio button whose state is visible without colour."""

    @property
    def BUTTON_INNER(self) -> str:  # type: ignore[override]  # noqa: N802  # Textual reads it whenever it draws
        return "●" if self.value else "○"


class EditScreen(Dialog[JsonObject | None]):
    """One field per input that can be edited. ctrl+s shows the changes; escape discards them."""

    DEFAULT_CSS = """
    EditScreen Label { width: 1fr; }
    EditScreen RadioSet { width: 1fr; background: transparent; }
    """
    AUTO_FOCUS = "Input, TextArea, RadioSet"
    SHAPE = "dialog sheet"
    SCOPE = KeyScope.EDIT
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.EDIT)]

    def __init__(self, request: Request, edits: JsonObject | None = None, refused: str = "") -> None:
        """`edits` are the changes made when the form was open before; `refused` says why they were not accepted."""
        super().__init__()
        self._refused = refused
        self._request = request
        self._edits = edits or {}
        self._inputs = inputs(request)

    def parts(self) -> ComposeResult:
        yield Static(trusted("Edit ", "bold") + foreign_line(self._request.prompt.action), classes="question")
        if why := why_not_editable(self._request):
            yield Static(trusted(why))
            return
        with VerticalScroll(classes="body", can_focus=False):
            for number, field in enumerate(self._inputs):
                yield from self._field(number, field)

    def on_mount(self) -> None:
        """Says why the changes were not accepted the last time."""
        if self._refused:
            self.say(foreign_short(f"✗ {self._refused}", _LONGEST_REFUSAL, "$text-error"))

    def keys(self) -> tuple[KeyHint, ...]:
        if not self._inputs:
            return (hint("edit.cancel", label="back"),)
        submit, choose, next_field, cancel = dialog_hints(KeyScope.EDIT)
        if_choices = (choose,) if any(map(choices, self._inputs)) else ()
        if_several = (next_field,) if len(self._inputs) > 1 else ()
        return submit, *if_choices, *if_several, cancel

    def _field(self, number: int, field: dict[str, Any]) -> ComposeResult:
        label = foreign_line(str(field.get("label") or field.get("name")))
        shown = self._initial_text(field)
        if options := choices(field):
            yield Label(label)
            buttons = [ChoiceButton(foreign_line(words), value == shown) for value, words in options]
            yield RadioSet(*buttons, id=f"field-{number}", compact=True)
            return
        note = f"  {field.get('type')}" + ("" if field.get("required") else ", optional")
        yield Label(label + foreign_line(note, MUTED))
        # A field holds visible text, so that nothing invisible is edited. An untouched field keeps its original value.
        if field.get("multiline") or "\n" in shown or len(shown) > _MAX_INPUT_LENGTH:
            yield TextArea(shown, id=f"field-{number}", soft_wrap=True)
        else:
            # Not selected on focus, or the first key would replace the text.
            yield LimitedInput(shown, id=f"field-{number}", select_on_focus=False, max_length=_MAX_TYPED_LENGTH)

    def action_choose(self) -> None:
        """Selects the highlighted radio button."""
        if isinstance(self.focused, RadioSet):
            self.focused.action_toggle_button()

    def action_submit(self) -> None:
        """Closes the form with the changed inputs, converted to the types that the manifest declares."""
        edits: JsonObject = {}
        for number, field in enumerate(self._inputs):
            text = self._text(number)
            if text == self._original_text(field):
                continue
            name = str(field.get("name"))
            try:
                untouched = name in self._edits and text == self._initial_text(field)
                value = self._edits[name] if untouched else parse_value(text, str(field.get("type")))
            except JsonError:
                self._refuse(field, f"must be of type {field.get('type')}")
                return
            if value is None and field.get("required"):
                self._refuse(field, "is required")
                return
            edits[name] = value
        if not edits:
            self.say(trusted("nothing was changed", "$text-warning"))
            return
        self.dismiss(edits)

    def _refuse(self, field: dict[str, Any], why: str) -> None:
        """Says what is wrong with a field; the form stays open."""
        label = str(field.get("label") or field.get("name"))
        label = label if len(label) <= _LONGEST_LABEL else f"{label[:_LONGEST_LABEL]}…"
        self.say(foreign_line(f"✗ {label} {why}", "$text-error"))

    def _original_text(self, field: dict[str, Any]) -> str:
        return _as_text(self._request.prompt.args.get(str(field.get("name"))))

    def _initial_text(self, field: dict[str, Any]) -> str:
        """The text of a field when the form opens."""
        name = str(field.get("name"))
        return _as_text(self._edits[name]) if name in self._edits else self._original_text(field)

    def _text(self, number: int) -> str:
        widget = self.query_one(f"#field-{number}")
        if isinstance(widget, RadioSet):
            field = self._inputs[number]
            return choices(field)[widget.pressed_index][0] if widget.pressed_index >= 0 else self._initial_text(field)
        if isinstance(widget, TextArea):
            return widget.text
        return widget.value if isinstance(widget, Input) else ""


def _as_text(value: Json) -> str:
    return visible("" if value is None else plain(value))


def inputs(request: Request) -> list[dict[str, Any]]:
    """The inputs of a request that can be edited."""
    declared = request.fields.get("inputs")
    return [field for field in declared if isinstance(field, dict)] if isinstance(declared, list) else []


def why_not_editable(request: Request) -> str:
    """Why a request cannot be edited; "" if it can."""
    if inputs(request):
        return ""
    if isinstance(why := request.fields.get("not_editable"), str) and why:
        return short(f"{why}; deny it with a reason that says what to change", _LONGEST_REASON)
    if request.daemon:
        return f"{request.runner} cannot change this call; deny it with a reason that says what to change"
    return "this action has no inputs to edit"


def choices(field: dict[str, Any]) -> list[tuple[str, str]]:
    """The values an input may have, each with its label; empty if it takes any value."""
    declared = field.get("choices")
    if not isinstance(declared, list):
        return []
    return [
        (choice[0], choice[1])
        for choice in declared
        if isinstance(choice, list) and len(choice) == 2 and all(isinstance(part, str) for part in choice)
    ]


def parse_value(text: str, type_: str) -> Json:
    """Converts the text of a field to the field's type. Raises JsonError if the text does not fit it."""
    if type_ == "string":
        return text
    if not text.strip():
        return None
    value = read(text)
    fits = {
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "boolean": isinstance(value, bool),
        "array": isinstance(value, list),
        "object": isinstance(value, dict),
    }
    if not fits.get(type_, False):
        raise JsonError(f"not of type {type_}: {json.dumps(text)[:40]}")
    return value
