"""`${args.name}` in manifest tables: one textual pass; what was put in is never scanned again."""

import re
from collections.abc import Iterator
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject, compact

TOKEN: Final = re.compile(r"\$\{args\.([a-z][a-z0-9_]*)\}")


def references(template: Json) -> Iterator[str]:
    """The input names a template asks for, in order, with repeats. Keys are never templates."""
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
    """The names a template asks for that the call did not supply (null is not supplied), each once."""
    return list(dict.fromkeys(name for name in references(template) if args.get(name) is None))


def interpolate(template: Json, args: JsonObject) -> Json:
    """The template with each token replaced by the argument's text; a token without an argument stays as it is."""
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
