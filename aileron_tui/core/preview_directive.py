"""Preview directives: what is called before asking, with which args, and which parts of its result are shown."""

from typing import Any

from aileron_tui.core.findings import Path, Problems
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.toml_schema import dotted
from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class PreviewDirective:
    """The preview op, its arguments, and which parts of its result are shown, in order.

    The op of an MCP policy is a tool of the same server.
    """

    op: str
    args: JsonObject
    render: tuple[tuple[str, str], ...]
    multiline: frozenset[str]


def read_directive(op: str, table: dict[str, Any], path: Path, problems: Problems) -> PreviewDirective:
    """Returns the directive in a table, and reports what is wrong with the parts that are shown.

    The op and the templates of its args are checked by the caller, who knows which there are.
    """
    render: dict[str, str] = table.get("render", {})
    for label, target in render.items():
        here = (*path, "render", label)
        if not label.strip():
            problems.add(here, "render-label", "a label in render is empty", "Give the field a label.")
        if problems.missing(target.strip(), here):
            fix = "Write a path such as message.snippet."
            problems.add(here, "render-path", f"the path of {dotted(here)} is empty", fix)
    multiline = table.get("multiline", ())
    for index, label in enumerate(multiline):
        if label not in render:
            fix = f"Use one of {', '.join(render)}." if render else "Add it to render."
            problems.add((*path, "multiline", index), "multiline-label", f'"{label}" is not a label in render', fix)
    return PreviewDirective(op, table.get("args", {}), tuple(render.items()), frozenset(multiline))
