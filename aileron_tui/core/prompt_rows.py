"""The rows of a prompt: the inputs that the agent sent, and the preview that was fetched for the operator."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from aileron_tui.core.fieldpath import MISSING, resolve
from aileron_tui.core.jsontext import Json, JsonObject, compact, plain
from aileron_tui.core.values import dataclass

if TYPE_CHECKING:
    from aileron_tui.core.action import Input, PreviewDirective


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


def preview_rows(preview: "PreviewDirective", answer: Json) -> tuple[Row, ...]:
    """Rows for the parts of the connector's answer that the manifest names, in the manifest's order."""
    rows: list[Row] = []
    for label, path in preview.render:
        value = resolve(answer, path)
        multiline = label in preview.multiline
        if value is MISSING:
            rows.append(Row(label, missing=True, multiline=multiline))
        else:
            rows.append(Row(label, plain(value) if multiline else compact(value), multiline=multiline))
    return tuple(rows)
