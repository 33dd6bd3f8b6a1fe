"""Checks a policy against the tools of its server: those that it names, their args, and whether previews only read."""

from collections.abc import Iterable, Mapping
from typing import Final

from aileron_tui.core.action_templates import check_template
from aileron_tui.core.findings import Finding, Path, Problems, Reading
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.mcp_policy import TOOL_WORDS, McpPolicy
from aileron_tui.core.mcp_tools import hints
from aileron_tui.core.preview_directive import PreviewDirective
from aileron_tui.core.toml_schema import nearest

_MORE_NAMES: Final = frozenset(("allOf", "anyOf", "oneOf", "$ref", "if", "patternProperties", "dependentSchemas"))


def check_policy(reading: Reading[McpPolicy], definitions: Mapping[str, JsonObject]) -> tuple[Finding, ...]:
    """The problems of a policy that only the definitions of the server's tools show. `definitions` is by name."""
    problems = Problems()
    for name, tool in reading.value.tools.items() if reading.value else ():
        path: Path = ("tools", name)
        if name not in definitions:
            message = f'the server has no tool "{name}", so this is never used'
            problems.warn(path, "unknown-tool", message, _suggestion(name, definitions))
        if tool.preview:
            known = _names(definitions.get(name, {}))
            check_template(tool.preview.args, (*path, "preview", "args"), known, problems, TOOL_WORDS)
            _check_preview(tool.preview, (*path, "preview"), definitions, problems)
    return problems.findings(reading.source)


def _check_preview(
    preview: PreviewDirective, path: Path, definitions: Mapping[str, JsonObject], problems: Problems
) -> None:
    definition = definitions.get(preview.op)
    if definition is None:
        message = f'the server has no tool "{preview.op}", so the preview is never available'
        problems.add((*path, "tool"), "unknown-tool", message, _suggestion(preview.op, definitions))
        return
    if not hints(definition).read_only:
        message = f"the server does not say that {preview.op} only reads, so it is never called for a preview"
        fix = "Name a tool with the annotation readOnlyHint."
        problems.add((*path, "tool"), "preview-not-read-only", message, fix)
    known = _names(definition)
    for name in () if known is None else sorted(preview.args.keys() - known):
        message = f'{preview.op} has no arg "{name}"'
        problems.add((*path, "args", name), "preview-arg", message, _suggestion(name, known or ()))
    for name in _required(definition):
        if name not in preview.args:
            message = f'{preview.op} needs the arg "{name}"'
            problems.add((*path, "args"), "preview-arg", message, f'Add {name} = "…" to args.')


def _names(definition: JsonObject) -> frozenset[str] | None:
    """The names of a tool's args, None if its definition does not list all of them."""
    match definition.get("inputSchema"):
        case {"properties": dict(properties), **rest} if not (rest.keys() & _MORE_NAMES):
            return frozenset(properties) if rest.get("additionalProperties", False) is False else None
    return None


def _required(definition: JsonObject) -> tuple[str, ...]:
    match definition.get("inputSchema"):
        case {"required": list(names)}:
            return tuple(name for name in names if isinstance(name, str))
    return ()


def _suggestion(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    close = nearest(name, names)
    return f'Did you mean "{close}"?' if close else f"Known names are {', '.join(names) or 'none'}."
