"""What the program tells the operator about a call. The gate labels it as told by the program."""

from collections.abc import Mapping
from typing import Final, TypeAlias

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.gated.outcome_reports import described

Told: TypeAlias = Mapping[str, str] | str
"""What a preview function returns: texts by label, or one text."""

_LABEL: Final = "Preview"
_MOST_ROWS: Final = 100
_LONGEST_LABEL: Final = 100
_LONGEST_VALUE: Final = 50_000
_MOST_TEXT: Final = 100_000
_LONGEST_ERROR: Final = 500


def told(value: Told) -> JsonObject:
    """The preview, as the gate wants it. What does not fit is counted."""
    pairs = [(_LABEL, value)] if isinstance(value, str) else [*value.items()]
    rows: list[Json] = []
    room = _MOST_TEXT
    for label, item in pairs[:_MOST_ROWS]:
        text = _text(item)
        shown = _cut(text, min(room, _LONGEST_VALUE))
        room = max(200, room - len(shown))
        rows.append({"label": _cut(_text(label), _LONGEST_LABEL), "value": shown, "multiline": "\n" in text})
    preview: JsonObject = {"rows": rows}
    return preview | {"hidden": len(pairs) - _MOST_ROWS} if len(pairs) > _MOST_ROWS else preview


def unavailable(error: Exception) -> JsonObject:
    """The preview, if the function that makes it failed."""
    return {"rows": [], "unavailable": _cut(_text(described(error)), _LONGEST_ERROR)}


def _text(value: object) -> str:
    """A text that can be sent: a lone surrogate becomes visible."""
    return str(value).encode("utf-8", "backslashreplace").decode()


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    rest = f"… ({len(text):,} characters)"
    return text[: max(0, longest - len(rest))] + rest
