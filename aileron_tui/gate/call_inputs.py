"""Checks the inputs of a call against the manifest, and recognises repeated calls."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final

from aileron_tui.core.action import Action, Input
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical, kind
from aileron_tui.core.prompt import Asker

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_LONGEST_LINE: Final = 80
_ARTICLES: Final = {"integer": "an", "array": "an", "object": "an"}


def input_errors(inputs: Iterable[Input], args: JsonObject) -> list[tuple[str, str]]:
    """Returns the errors in the arguments of a call, as pairs of input name and message."""
    declared = {field.name: field for field in inputs}
    errors = [(name, _unknown_input(name, declared)) for name in args if name not in declared]
    for name, field in declared.items():
        value = args.get(name)
        if value is None:
            if field.required:
                errors.append((name, f'"{name}" is required'))
        elif not _has_type(value, field.type):
            errors.append((name, f'"{name}" must be {_with_article(field.type)}, not {kind(value)}'))
        elif field.items_type and isinstance(value, list):
            errors.extend((name, message) for message in _item_errors(name, value, field.items_type))
    if not errors:
        try:
            canonical(args)
        except JsonError as error:
            name = error.path.removeprefix("$.").partition(".")[0].partition("[")[0]
            errors.append((name, f'"{name}": {error.title}. {error.hint}'.strip()))
    return errors


def tool_inputs(args: JsonObject) -> tuple[Input, ...]:
    """The inputs of a tool call. Only their values say what type they have, and an edit must keep it."""
    return tuple(
        Input(name, type_, "", multiline=isinstance(value, str) and ("\n" in value or len(value) > _LONGEST_LINE))
        for name, value in args.items()
        if (type_ := _type_of(value))
    )


def _type_of(value: Json) -> str:
    """The type that an input with this value has, or "" for null."""
    return next((type_ for type_ in _TYPES if _has_type(value, type_)), "")


def no_longer_possible(action: Action | None, args: JsonObject, *, was_gated: bool = True) -> str:
    """Says why a waiting call cannot be approved with the manifests as they are now; "" if it can.

    What was not gated when it was called waits only because it lacked an account.
    """
    if action is None:
        return "its action was removed"
    if was_gated and not action.gated:
        return "its action was changed and no longer needs approval; call it again"
    if errors := input_errors(action.inputs, args):
        return f"its action was changed and its inputs are no longer valid: {'; '.join(text for _, text in errors)}"
    return ""


def fingerprint(agent: str, asker: Asker, action: str, args: bytes) -> str:
    """Returns a hash that is equal for equal calls of the same agent. `args` are the inputs as canonical JSON.

    Calls with another agent's token are never equal. The name and the session that an agent gives only tell apart the
    calls of agents that share a token.
    """
    caller = canonical([agent, asker.says, asker.session, action])
    return hashlib.sha256(b"%b,%b]" % (caller[:-1], args)).hexdigest()


def tool_fingerprint(agent: str, session: str, call_id: str) -> str:
    """Returns a hash that is equal for the same tool call of an agent, as its program identifies it."""
    return hashlib.sha256(canonical(["tool", agent, session, call_id])).hexdigest()


def effect_of(agent: str, action: str, args: JsonObject) -> str:
    """Returns a hash that is equal for calls with the same effect, whatever the agent calls itself or its session."""
    return fingerprint(agent, Asker(), action, canonical(args))


def _unknown_input(name: str, declared: dict[str, Input]) -> str:
    known = ", ".join(declared) or "none"
    return f'"{name}" is not an input of this action; expected: {known}'


def _has_type(value: Json, type_: str) -> bool:
    return isinstance(value, _TYPES[type_]) and isinstance(value, bool) == (type_ == "boolean")


def _item_errors(name: str, items: list[Json], type_: str) -> Iterator[str]:
    for index, item in enumerate(items):
        if not _has_type(item, type_):
            yield f'"{name}"[{index}] must be {_with_article(type_)}, not {kind(item)}'
            return


def _with_article(type_: str) -> str:
    return f"{_ARTICLES.get(type_, 'a')} {type_}"
