"""Calls before they become requests: are the inputs those the manifest declares, and is it the same call again?"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final

from aileron_tui.core.action import Input
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical, kind

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_ARTICLES: Final = {"integer": "an", "array": "an", "object": "an"}


def faults(inputs: Iterable[Input], args: JsonObject) -> list[tuple[str, str]]:
    """What is wrong with the arguments of a call: pairs of an input's name and a sentence."""
    declared = {field.name: field for field in inputs}
    found = [(name, _unknown(name, declared)) for name in args if name not in declared]
    for name, field in declared.items():
        value = args.get(name)
        if value is None:
            if field.required:
                found.append((name, f'"{name}" is required'))
        elif not _fits(value, field.type):
            found.append((name, f'"{name}" must be {_article(field.type)}, not {kind(value)}'))
        elif field.items_type and isinstance(value, list):
            found.extend((name, sentence) for sentence in _item_faults(name, value, field.items_type))
    if not found:
        try:
            canonical(args)
        except JsonError as error:
            name = error.path.removeprefix("$.").partition(".")[0].partition("[")[0]
            found.append((name, f'"{name}": {error.title}. {error.hint}'.strip()))
    return found


def fingerprint(agent: str, action: str, args: JsonObject) -> str:
    """Equal for equal calls of one agent."""
    return hashlib.sha256(canonical([agent, action, args])).hexdigest()


def _unknown(name: str, declared: dict[str, Input]) -> str:
    known = ", ".join(declared) or "none"
    return f'"{name}" is not an input of this action; its inputs are: {known}'


def _fits(value: Json, type_: str) -> bool:
    return isinstance(value, _TYPES[type_]) and isinstance(value, bool) == (type_ == "boolean")


def _item_faults(name: str, items: list[Json], type_: str) -> Iterator[str]:
    for index, item in enumerate(items):
        if not _fits(item, type_):
            yield f'"{name}"[{index}] must be {_article(type_)}, not {kind(item)}'
            return


def _article(type_: str) -> str:
    return f"{_ARTICLES.get(type_, 'a')} {type_}"
