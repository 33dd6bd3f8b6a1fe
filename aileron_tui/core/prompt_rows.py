"""The rows of a prompt: what the agent sent, and what was fetched for the operator."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from aileron_tui.core.fieldpath import MISSING, resolve
from aileron_tui.core.jsontext import Json, JsonObject, compact, plain
from aileron_tui.core.values import dataclass

if TYPE_CHECKING:
    from aileron_tui.core.action import Input, PreviewDirective


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled value, still as foreign text. A missing one is shown as n/a, which is not the same as empty."""

    label: str
    value: str = ""
    missing: bool = False
    multiline: bool = False


def input_rows(inputs: Iterable["Input"], args: JsonObject) -> tuple[Row, ...]:
    """What the agent sent: declared inputs in the manifest's order, then any others by name.

    A required input that is absent or null is a missing row; an optional one is left out.
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
    """The parts of the connector's answer that the manifest names, in its order."""
    rows: list[Row] = []
    for label, path in preview.render:
        value = resolve(answer, path)
        multiline = label in preview.multiline
        if value is MISSING:
            rows.append(Row(label, missing=True, multiline=multiline))
        else:
            rows.append(Row(label, plain(value) if multiline else compact(value), multiline=multiline))
    return tuple(rows)
