"""Replaces `${args.name}` in manifest tables and MCP policies. Inserted text is not scanned again.

Every value that refers to an input that was not given is left out, together with its key, so a template is never sent
as text. That also holds for a template inside a longer string: a path or a query with a gap in it could mean something
that its author did not intend.
"""

import re
from collections.abc import Iterator
from typing import Final, TypeGuard

from aileron_tui.core.jsontext import Json, JsonObject, compact

TOKEN: Final = re.compile(r"\$\{args\.([a-z][a-z0-9_]*)\}")
"""A token for an input of an action."""
TOOL_TOKEN: Final = re.compile(r"\$\{args\.([^${}]+)\}")
"""A token for an arg of an MCP tool, which may have any name."""

_OMITTED: Final = object()


def own_template(name: str) -> str:
    """The template that passes on the input of the same name unchanged."""
    return f"${{args.{name}}}"


def references(template: Json) -> Iterator[str]:
    """Yields the input names that a template uses, in order, with repeats. Object keys are not templates."""
    stack: list[Json] = [template]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            if "${" in node:
                yield from TOKEN.findall(node)
        elif isinstance(node, dict):
            stack.extend(reversed(node.values()))
        elif isinstance(node, list):
            stack.extend(reversed(node))


def missing_args(template: Json, args: JsonObject) -> list[str]:
    """Returns the names in a template that the call did not supply, each once. Null counts as not supplied."""
    return list(dict.fromkeys(name for name in references(template) if args.get(name) is None))


def interpolate(table: JsonObject, args: JsonObject) -> JsonObject:
    """Returns the table with each token replaced by the text of its argument."""
    return _filled_table(table, args, TOKEN)


def interpolate_tool(table: JsonObject, args: JsonObject) -> JsonObject:
    """Like `interpolate`, for the args of an MCP tool.

    They have types, so a template that is a single token is replaced by the argument itself, such as an array.
    """
    return _filled_table(table, args, TOOL_TOKEN)


def _filled_table(table: JsonObject, args: JsonObject, token: re.Pattern[str]) -> JsonObject:
    filled = ((key, _filled(item, args, token)) for key, item in table.items())
    return {key: item for key, item in filled if _is_given(item)}


def _filled(template: Json, args: JsonObject, token: re.Pattern[str]) -> Json | object:
    if isinstance(template, str):
        if "${" not in template:
            return template
        names = token.findall(template)
        if template.count("${") > len(names) or any(args.get(name) is None for name in names):
            return _OMITTED
        if token is TOOL_TOKEN and token.fullmatch(template):
            return args[names[0]]
        return token.sub(lambda found: compact(args[found[1]]), template)
    if isinstance(template, dict):
        return _filled_table(template, args, token)
    if isinstance(template, list):
        return [item for item in (_filled(item, args, token) for item in template) if _is_given(item)]
    return template


def _is_given(item: Json | object) -> TypeGuard[Json]:
    return item is not _OMITTED
