"""Replaces `${args.name}` in manifest tables. Inserted text is not scanned again."""

import re
from collections.abc import Iterator
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject, compact

TOKEN: Final = re.compile(r"\$\{args\.([a-z][a-z0-9_]*)\}")


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


def interpolate(template: Json, args: JsonObject) -> Json:
    """Returns the template with each token replaced by its argument; a token without an argument is kept."""
    if isinstance(template, str):
        return TOKEN.sub(lambda token: _text(token, args), template) if "${" in template else template
    if isinstance(template, dict):
        return {key: interpolate(item, args) for key, item in template.items()}
    if isinstance(template, list):
        return [interpolate(item, args) for item in template]
    return template


def _text(token: re.Match[str], args: JsonObject) -> str:
    value = args.get(token[1])
    return token[0] if value is None else compact(value)
