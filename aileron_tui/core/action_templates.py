"""Checks the templates of an action: the inputs they name, text that would be sent as it is, and hidden inputs."""

import re
from collections.abc import Collection
from typing import Final

from aileron_tui.core.findings import Path, Problems
from aileron_tui.core.interpolation import TOKEN, own_template
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.toml_schema import dotted
from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class TemplateWords:
    """What a token looks like, and what is said about one that is not declared. `{name}` is replaced in both texts."""

    token: re.Pattern[str]
    message: str
    fix: str


ACTION_WORDS: Final = TemplateWords(
    TOKEN, "${{args.{name}}} is not an input of this action", 'Declare "{name}" in [[inputs]], or correct the name.'
)


def check_template(
    node: Json,
    path: Path,
    declared: Collection[str] | None,
    problems: Problems,
    words: TemplateWords = ACTION_WORDS,
) -> None:
    """Reports every `${…}` in a table that is not replaced by a declared input, since it would be sent as text.

    If `declared` is None, it is not known which inputs there are, and any name is accepted.
    """
    if isinstance(node, str):
        _check_tokens(node, path, declared, problems, words)
    elif isinstance(node, dict):
        for key, item in node.items():
            if "${" in key:
                fix = "Only values are replaced: write the key without ${…}."
                problems.add((*path, key), "literal-token", "a key contains ${…}, which is not replaced", fix)
            if not isinstance(item, str) or "${" in item:
                check_template(item, (*path, key), declared, problems, words)
    elif isinstance(node, list):
        for index, item in enumerate(node):
            check_template(item, (*path, index), declared, problems, words)


def _check_tokens(
    text: str, path: Path, declared: Collection[str] | None, problems: Problems, words: TemplateWords
) -> None:
    names = words.token.findall(text)
    for name in dict.fromkeys(names):
        if declared is not None and name not in declared:
            problems.add(path, "undeclared-input", words.message.format(name=name), words.fix.format(name=name))
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
