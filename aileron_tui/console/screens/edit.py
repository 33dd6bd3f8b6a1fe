"""A form for the inputs of a call. An edited call is previewed anew and shown as a difference before it is approved."""

import json
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Input, Label, RadioButton, RadioSet, Static, TextArea

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_hints import KeyHint, dialog_hints, hint
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import MUTED, foreign_line, own
from aileron_tui.console.screens.dialog import Dialog
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, plain, read
from aileron_tui.core.request import Request
from aileron_tui.core.visible_text import visible

_LONGEST_LINE: Final = 60


class ChoiceButton(RadioButton):
    """One of several: which is chosen shows without colour too."""

    @property
    def BUTTON_INNER(self) -> str:  # type: ignore[override]  # noqa: N802  # Textual reads it whenever it draws
        return "●" if self.value else "○"


class EditScreen(Dialog[JsonObject | None]):
    """One field per input that can be edited. ctrl+s goes on to the difference; escape forgets everything."""

    DEFAULT_CSS = """
    EditScreen Label { width: 1fr; }
    EditScreen RadioSet { width: 1fr; background: transparent; }
    """
    AUTO_FOCUS = "Input, TextArea, RadioSet"
    SHAPE = "dialog sheet"
    SCOPE = KeyScope.EDIT
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.EDIT)]

    def __init__(self, item: Request, edits: JsonObject | None = None) -> None:
        """`edits` is what was changed so far, if this is not the first time."""
        super().__init__()
        self._item = item
        self._edits = edits or {}
        self._inputs = inputs(item)

    def parts(self) -> ComposeResult:
        yield Static(own("Edit ", "bold") + foreign_line(self._item.prompt.action), classes="question")
        if why := unable(self._item):
            yield Static(own(why))
            return
        with VerticalScroll(classes="body", can_focus=False):
            for number, field in enumerate(self._inputs):
                yield from self._field(number, field)

    def keys(self) -> tuple[KeyHint, ...]:
        if not self._inputs:
            return (hint("edit.cancel", label="back"),)
        submit, choose, next_field, cancel = dialog_hints(KeyScope.EDIT)
        if_choices = (choose,) if any(map(choices, self._inputs)) else ()
        if_several = (next_field,) if len(self._inputs) > 1 else ()
        return submit, *if_choices, *if_several, cancel

    def _field(self, number: int, field: dict[str, Any]) -> ComposeResult:
        label = foreign_line(str(field.get("label") or field.get("name")))
        shown = self._start(field)
        if offered := choices(field):
            yield Label(label)
            buttons = [ChoiceButton(foreign_line(words), value == shown) for value, words in offered]
            yield RadioSet(*buttons, id=f"field-{number}", compact=True)
            return
        note = f"  {field.get('type')}" + ("" if field.get("required") else ", may be empty")
        yield Label(label + foreign_line(note, MUTED))
        # A field is filled with text made visible: what cannot be shown is not edited unseen. An untouched field
        # keeps its original value.
        if field.get("multiline") or "\n" in shown or len(shown) > _LONGEST_LINE:
            yield TextArea(shown, id=f"field-{number}", soft_wrap=True)
        else:
            # Not selected: the first key would throw away what is to be changed.
            yield Input(shown, id=f"field-{number}", select_on_focus=False)

    def action_choose(self) -> None:
        """Takes what is pointed at in a choice."""
        if isinstance(self.focused, RadioSet):
            self.focused.action_toggle_button()

    def action_submit(self) -> None:
        """Gathers what changed, typed as the manifest declares it."""
        edits: JsonObject = {}
        for number, field in enumerate(self._inputs):
            text = self._text(number)
            if text == self._before(field):
                continue
            name = str(field.get("name"))
            try:
                untouched = name in self._edits and text == self._start(field)
                edits[name] = self._edits[name] if untouched else typed(text, str(field.get("type")))
            except JsonError:
                self.say(foreign_line(f"✗ field {number + 1} must be of type {field.get('type')}", "$text-error"))
                return
        if not edits:
            self.say(own("nothing was changed", "$text-warning"))
            return
        self.dismiss(edits)

    def _before(self, field: dict[str, Any]) -> str:
        return _spelled(self._item.prompt.args.get(str(field.get("name"))))

    def _start(self, field: dict[str, Any]) -> str:
        """What stands in a field before anybody touches it."""
        name = str(field.get("name"))
        return _spelled(self._edits[name]) if name in self._edits else self._before(field)

    def _text(self, number: int) -> str:
        widget = self.query_one(f"#field-{number}")
        if isinstance(widget, RadioSet):
            field = self._inputs[number]
            return choices(field)[widget.pressed_index][0] if widget.pressed_index >= 0 else self._start(field)
        if isinstance(widget, TextArea):
            return widget.text
        return widget.value if isinstance(widget, Input) else ""


def _spelled(value: Json) -> str:
    return visible("" if value is None else plain(value))


def inputs(item: Request) -> list[dict[str, Any]]:
    """The inputs of a request that can be edited."""
    declared = item.fields.get("inputs")
    return [field for field in declared if isinstance(field, dict)] if isinstance(declared, list) else []


def unable(item: Request) -> str:
    """Why a request cannot be edited, or ""."""
    if inputs(item):
        return ""
    if item.daemon:
        return "the daemon runs this call as it was asked; deny it with a reason that says what to change"
    return "this action has no inputs to edit"


def choices(field: dict[str, Any]) -> list[tuple[str, str]]:
    """The values an input may have, each with its words; none if it takes any."""
    offered = field.get("choices")
    if not isinstance(offered, list):
        return []
    return [
        (choice[0], choice[1])
        for choice in offered
        if isinstance(choice, list) and len(choice) == 2 and all(isinstance(part, str) for part in choice)
    ]


def typed(text: str, type_: str) -> Json:
    """The value a person means by this text in a field of this type."""
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
