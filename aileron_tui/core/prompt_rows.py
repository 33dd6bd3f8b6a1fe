"""The rows of a prompt: the inputs that the agent sent, and the preview that was fetched for the operator."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from aileron_tui.core.fieldpath import Location, count_others, find
from aileron_tui.core.jsontext import Json, JsonObject, compact, plain
from aileron_tui.core.values import dataclass

if TYPE_CHECKING:
    from aileron_tui.core.action import Input
    from aileron_tui.core.preview_directive import PreviewDirective

_MAX_REPEATED_ROWS: Final = 20
_MAX_FOLDED_LABEL: Final = 24


@dataclass(frozen=True, slots=True)
class Row:
    """A label and a value, both still foreign text. A missing value is shown as n/a, unlike an empty one."""

    label: str
    value: str = ""
    missing: bool = False
    multiline: bool = False


def input_rows(inputs: Iterable["Input"], args: JsonObject) -> tuple[Row, ...]:
    """Rows for the inputs that the agent sent: declared ones in the manifest's order, then any others by name.

    A required input that is absent or null has a row that is marked as missing; an optional one has no row.
    """
    rows: list[Row] = []
    declared: set[str] = set()
    for field in inputs:
        declared.add(field.name)
        value = args.get(field.name)
        if value is not None:
            multiline = field.multiline or field.type in ("array", "object") or isinstance(value, list | dict)
            rows.append(Row(field.title, plain(value), multiline=multiline))
        elif field.required:
            rows.append(Row(field.title, missing=True, multiline=field.multiline))
    for name in sorted(args.keys() - declared):
        value = args[name]
        if value is not None:
            rows.append(Row(name, plain(value), multiline=isinstance(value, list | dict)))
    return tuple(rows)


def preview_rows(preview: "PreviewDirective", answer: Json) -> tuple[tuple[Row, ...], int]:
    """Rows for the parts of the connector's answer that the manifest names, and the number of values not shown.

    The rows are in the manifest's order. A header that occurs several times has a row for each.
    """
    rows: list[Row] = []
    shown: list[Location] = []
    for label, path in preview.render:
        found = find(answer, path)
        matches = [match for match in found if match.value is not None]
        multiline = label in preview.multiline
        shown.extend(match.location for match in matches or found)
        if len(matches) > _MAX_REPEATED_ROWS:
            values = plain([match.value for match in matches])
            rows.append(Row(f"{label} ({len(matches):,} values)", values, multiline=True))
            continue
        for number, match in enumerate(matches, 1):
            text = plain(match.value) if multiline else compact(match.value)
            title = f"{label} ({number} of {len(matches)})" if len(matches) > 1 else label
            rows.append(Row(title, text, multiline=multiline))
        if not matches:
            rows.append(Row(label, missing=True, multiline=multiline))
    return tuple(rows), count_others(answer, shown)


def fold_missing(rows: Iterable[Row], longest_label: int = _MAX_FOLDED_LABEL) -> tuple[Row, ...]:
    """Puts each row without a value on one line, and merges neighbouring ones, to save lines on the screen.

    No merged label is longer than `longest_label`.
    """
    folded: list[Row] = []
    for row in rows:
        last = folded[-1] if folded else None
        if row.missing and last and last.missing and len(label := f"{last.label}, {row.label}") <= longest_label:
            folded[-1] = Row(label, missing=True)
        else:
            folded.append(Row(row.label, missing=True) if row.missing else row)
    return tuple(folded)
