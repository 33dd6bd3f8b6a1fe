"""Replaces `${args.name}` in manifest tables. Inserted text is not scanned again.

Every value that refers to an input that was not given is left out, together with its key, so a template is never sent
as text. That also holds for a template inside a longer string: a path or a query with a gap in it could mean something
that its author did not intend.
"""

import re
from collections.abc import Iterator
from typing import Final, TypeGuard

from aileron_tui.core.jsontext import Json, JsonObject, compact

TOKEN: Final = re.compile(r"\$\{args\.([a-z][a-z0-9_]*)\}")

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
    return {key: item for key, item in ((key, _filled(item, args)) for key, item in table.items()) if _is_given(item)}


def _filled(template: Json, args: JsonObject) -> Json | object:
    if isinstance(template, str):
        if "${" not in template:
            return template
        names = TOKEN.findall(template)
        if template.count("${") > len(names) or any(args.get(name) is None for name in names):
            return _OMITTED
        return TOKEN.sub(lambda token: compact(args[token[1]]), template)
    if isinstance(template, dict):
        return interpolate(template, args)
    if isinstance(template, list):
        return [item for item in (_filled(item, args) for item in template) if _is_given(item)]
    return template


def _is_given(item: Json | object) -> TypeGuard[Json]:
    return item is not _OMITTED
