"""The inputs of an action: `--arg NAME=VALUE`, converted to the declared type, and `--args JSON`."""

import argparse
from collections.abc import Mapping
from typing import Final

from aileron_tui.core.jsontext import Json, JsonError, JsonObject, read, read_object

_JSON_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


class InvalidInputs(Exception):
    """The inputs on the command line are not valid."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("--arg", metavar="NAME=VALUE", action="append", default=[], help="one input; can be repeated")
    parser.add_argument("--args", metavar="JSON", default="{}", help="several inputs as one JSON object")


def read_inputs(action: str, types: Mapping[str, str], options: argparse.Namespace) -> JsonObject:
    """The inputs; `types` are the declared types by name."""
    try:
        args = read_object(options.args)
    except JsonError as error:
        raise InvalidInputs(f"--args: {error}") from None
    for word in options.arg:
        name, equals, text = word.partition("=")
        if not equals:
            raise InvalidInputs(f"--arg {word}: expected NAME=VALUE")
        if name not in types:
            raise InvalidInputs(f"{action} has no input {name}; its inputs are: {', '.join(types) or 'none'}")
        args[name] = _value(name, text, types[name])
    return args


def _value(name: str, text: str, type_: str) -> Json:
    """A string is taken as it is; every other type is JSON."""
    if type_ not in _JSON_TYPES:
        return text
    try:
        value = read(text)
    except JsonError:
        value = None
    if not isinstance(value, _JSON_TYPES[type_]) or isinstance(value, bool) != (type_ == "boolean"):
        raise InvalidInputs(f"--arg {name}: expected JSON of type {type_}, found {text!r}")
    return value
