"""Checks the templates of an action: the inputs they name, text that would be sent as it is, and hidden inputs."""

from collections.abc import Collection

from aileron_tui.core.findings import Path, Problems
from aileron_tui.core.interpolation import TOKEN, own_template
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.toml_schema import dotted


def check_template(node: Json, path: Path, declared: Collection[str], problems: Problems) -> None:
    """Reports every `${…}` in a table that is not replaced by a declared input, since it would be sent as text."""
    if isinstance(node, str):
        _check_tokens(node, path, declared, problems)
    elif isinstance(node, dict):
        for key, item in node.items():
            if "${" in key:
                fix = "Only values are replaced: write the key without ${…}."
                problems.add((*path, key), "literal-token", "a key contains ${…}, which is not replaced", fix)
            if not isinstance(item, str) or "${" in item:
                check_template(item, (*path, key), declared, problems)
    elif isinstance(node, list):
        for index, item in enumerate(node):
            check_template(item, (*path, index), declared, problems)


def _check_tokens(text: str, path: Path, declared: Collection[str], problems: Problems) -> None:
    names = TOKEN.findall(text)
    for name in dict.fromkeys(names):
        if name not in declared:
            fix = f'Declare "{name}" in [[inputs]], or correct the name.'
            problems.add(path, "undeclared-input", f"${{args.{name}}} is not an input of this action", fix)
    if text.count("${") > len(names):
        message = f"{dotted(path)} contains a ${{…}} that is not replaced"
        problems.add(path, "literal-token", message, "Only ${args.name} is replaced.")


def check_collisions(inputs: JsonObject, path: Path, declared: Collection[str], problems: Problems) -> None:
    """Reports each input of a step with the name of an input of the action, but with another value.

    The step's own value is sent, and never what the agent passes under that name. A daemon does the opposite.
    """
    for name, template in inputs.items():
        if name in declared and template != own_template(name):
            message = f'the agent\'s "{name}" is not sent, because this step defines "{name}" itself'
            fix = f'Rename the input, or write {name} = "{own_template(name)}".'
            problems.warn((*path, name), "input-collision", message, fix)
