"""A form for the inputs of a call. An edited call is previewed anew and shown as a difference before it is approved."""

import json
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Label, Static, TextArea

from aileron_tui.console.render import MUTED, foreign_line, own
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, plain, read
from aileron_tui.core.text import visible
from aileron_tui.runtime.items import Item

_LONGEST_LINE: Final = 60


class EditScreen(ModalScreen[JsonObject | None]):
    """One field per declared input. ctrl+s goes on to the difference; escape forgets everything."""

    AUTO_FOCUS = "Input, TextArea"
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "back"), ("ctrl+s", "submit", "show the difference")]

    def __init__(self, item: Item) -> None:
        super().__init__()
        self._item = item
        declared = item.fields.get("inputs")
        self._inputs: list[dict[str, Any]] = (
            [field for field in declared if isinstance(field, dict)] if isinstance(declared, list) else []
        )

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog sheet"):
            yield Static(own("Edit ", "bold") + foreign_line(self._item.prompt.action), classes="question")
            with VerticalScroll():
                for number, field in enumerate(self._inputs):
                    yield from self._field(number, field)
            yield Static(own("ctrl+s show the difference · tab next field · esc forget it", MUTED), id="edit-note")

    def _field(self, number: int, field: dict[str, Any]) -> ComposeResult:
        value = self._item.prompt.args.get(str(field.get("name")))
        text = "" if value is None else plain(value)
        note = f"  {field.get('type')}" + ("" if field.get("required") else ", may be empty")
        yield Label(foreign_line(str(field.get("label") or field.get("name"))) + own(note, MUTED))
        # A field is filled with text made visible: what cannot be shown is not edited unseen. An untouched field
        # keeps its original value.
        shown = visible(text)
        if field.get("multiline") or "\n" in shown or len(shown) > _LONGEST_LINE:
            yield TextArea(shown, id=f"field-{number}", soft_wrap=True)
        else:
            yield Input(shown, id=f"field-{number}")

    def action_submit(self) -> None:
        """Gathers what changed, typed as the manifest declares it."""
        edits: JsonObject = {}
        for number, field in enumerate(self._inputs):
            name = str(field.get("name"))
            old = self._item.prompt.args.get(name)
            text = self._text(number)
            if text == visible("" if old is None else plain(old)):
                continue
            try:
                edits[name] = typed(text, str(field.get("type")))
            except JsonError:
                self._note(own(f"✗ field {number + 1} must be of type {field.get('type')}", "$text-error"))
                return
        if not edits:
            self._note(own("nothing was changed", "$text-warning"))
            return
        self.dismiss(edits)

    def _text(self, number: int) -> str:
        widget = self.query_one(f"#field-{number}")
        if isinstance(widget, TextArea):
            return widget.text
        return widget.value if isinstance(widget, Input) else ""

    def _note(self, words: Any) -> None:
        self.query_one("#edit-note", Static).update(words)


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
