"""The arguments of a gated function as JSON, and back.

Only values that JSON carries exactly are accepted: None, bool, int, float, str, and lists and dicts of them, each of
exactly that type. Whatever else Python has (tuples, bytes, dates, enums, dataclasses, subclasses) would not come back
as the same value, or could say one thing when it is shown and another when it is used. They are refused by name.

The function gets copies that nobody else has, made before the gate was asked. What is shown is what runs, whatever
the caller does with its own objects meanwhile.
"""

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical, kind, step
from aileron_tui.core.values import dataclass
from aileron_tui.gated.errors import AnswerRefused, ArgumentRefused

_DEEPEST: Final = 26
"""How deeply a value may be nested. The gate counts a few levels more around it."""

_LARGEST: Final = 900_000
"""How many bytes all arguments may have together. The gate takes 1 MiB for the whole call."""

_LONGEST_NAME: Final = 100
_MOST_BITS: Final = 1024
_EXACT: Final = frozenset({type(None), bool, int, float, str, list, dict})
_RECEIVERS: Final = ("self", "cls")
_WHY: Final = (
    "A gated function takes only None, bool, int, float, str, and lists and dicts of them, so that what is shown is "
    "exactly what runs."
)


@dataclass(frozen=True, slots=True)
class BoundArguments:
    """The arguments of one call: those that are shown, signed and run, and those that only the program knows."""

    shown: JsonObject
    context: Mapping[str, Any]


class Parameters:
    """The parameters of a function. `context` are those that are passed on as they are and not part of the call."""

    def __init__(self, function: Callable[..., Any], context: Collection[str] = ()) -> None:
        partial = function if isinstance(function, functools.partial) else None
        self.function: Callable[..., Any] = partial.func if partial else function
        self._fixed = (partial.args, partial.keywords) if partial else ((), {})
        self._signature = _signature(self.function)
        names = list(self._signature.parameters)
        if unknown := sorted(set(context) - set(names)):
            raise TypeError(f"{_name(function)} has no parameter {unknown[0]!r}")
        receiver = names[:1] if _is_method(self.function) and names[:1] in ([name] for name in _RECEIVERS) else []
        self.context = frozenset({*context, *receiver})
        self._receivers = frozenset(receiver) - set(context)
        for name in names:
            if name not in self.context and len(name) > _LONGEST_NAME:
                raise TypeError(f"the name of the parameter {name[:20]}… is longer than {_LONGEST_NAME} characters")

    def bind(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> BoundArguments:
        """The arguments by parameter, with defaults. Raises TypeError as the function itself would."""
        fixed, fixed_keywords = self._fixed
        bound = self._signature.bind(*fixed, *args, **{**fixed_keywords, **keywords})
        bound.apply_defaults()
        values: dict[str, Any] = dict(bound.arguments)
        context = {name: values.pop(name) for name in self.context if self._is_hidden(name, values[name])}
        kinds = {name: parameter.kind for name, parameter in self._signature.parameters.items()}
        shown: JsonObject = {
            name: _copied(list(value) if kinds[name] is inspect.Parameter.VAR_POSITIONAL else value, name)
            for name, value in values.items()
        }
        return BoundArguments(shown, context)

    def _is_hidden(self, name: str, value: object) -> bool:
        """Whether an argument is not part of the call. A `self` that is plain JSON is an argument like any other."""
        return name not in self._receivers or type(value) not in _EXACT

    def call(self, shown: JsonObject, context: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments to call the function with: copies, so that the function may change them."""
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for name, parameter in self._signature.parameters.items():
            value: Any = context[name] if name in context else plain(shown[name])
            match parameter.kind:
                case inspect.Parameter.VAR_POSITIONAL:
                    positional += value
                case inspect.Parameter.VAR_KEYWORD:
                    keywords |= value
                case inspect.Parameter.KEYWORD_ONLY:
                    keywords[name] = value
                case _:
                    positional.append(value)
        return positional, keywords

    def approved(self, asked: JsonObject, approved: Mapping[str, Json]) -> JsonObject:
        """What was approved, with the values of this program where they were not edited.

        An edited value must have the type of the one that it replaces, because the function was written for it; only
        None may be replaced by anything.
        """
        if approved.keys() != asked.keys():
            raise AnswerRefused("the approved call has other parameters than this function, so it was not run")
        return {name: _approved(name, asked[name], value) for name, value in approved.items()}

    def resumed(self, approved: Mapping[str, Json]) -> JsonObject:
        """What was approved for an earlier run of this program."""
        names = {name for name in self._signature.parameters if name not in self.context}
        if approved.keys() != names:
            detail = "the function has changed since it was asked about"
            raise AnswerRefused("the approved call does not fit this function, so it was not run", detail)
        values: JsonObject = {name: plain(value) for name, value in approved.items()}
        containers = {inspect.Parameter.VAR_POSITIONAL.name: list, inspect.Parameter.VAR_KEYWORD.name: dict}
        for name, parameter in self._signature.parameters.items():
            expected = containers.get(parameter.kind.name)
            if expected and name in names and type(values[name]) is not expected:
                raise AnswerRefused(f"the approved value of {name} does not fit this function, so it was not run")
        return values


def checked(values: JsonObject) -> bytes:
    """The canonical bytes of arguments. Raises ArgumentRefused if they are too large or a number is not exact."""
    try:
        data = canonical(values)
    except JsonError as error:
        name = next((name for name in values if not _is_exact(values[name])), "")
        raise _refused(name, error.title[:200], error.hint or _WHY) from None
    if len(data) > _LARGEST:
        largest = max(values, key=lambda name: len(canonical(values[name])))
        hint = "Pass a name or a path instead of the content, and show what matters in a preview."
        raise _refused(largest, f"the arguments have {len(data):,} bytes; {_LARGEST:,} are possible", hint)
    return data


def plain(value: Json) -> Json:
    """A copy made of Python's own types only."""
    match value:
        case dict():
            return {str(key): plain(value[key]) for key in sorted(value)}
        case list():
            return [plain(item) for item in value]
        case bool() | None:
            return value
        case float():
            return float(value)
        case int():
            return int(value)
        case _:
            return str(value)


def _approved(name: str, asked: Json, approved: Json) -> Json:
    if canonical(asked) == canonical(approved):
        return asked
    edited = plain(approved)
    if type(asked) is float and type(edited) is int:
        return float(edited)
    if asked is None or type(asked) is type(edited):
        return edited
    detail = f"it was {kind(asked)} and is now {kind(edited)}"
    raise AnswerRefused(f"the edited value of {name} has another type, so the call was not run", detail)


def _copied(value: object, path: str, depth: int = 1) -> Json:
    """A value as JSON, made of new lists and dicts. Raises ArgumentRefused."""
    if type(value) not in _EXACT:
        raise _refused(path, f"it is {_described(value)}")
    if depth > _DEEPEST:
        raise _refused(path, f"it is nested deeper than {_DEEPEST} levels, or contains itself")
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, float):
        return _number(value, path)
    if isinstance(value, list):
        return [_copied(item, step(path, index), depth + 1) for index, item in enumerate(value.copy())]
    if isinstance(value, dict):
        fields = value.copy()
        for key in fields:
            if type(key) is not str:
                raise _refused(path, f"a key of this dict is {_described(key)}")
        # In the order in which they are shown, so that their order cannot say anything else.
        return {_text(key, path): _copied(fields[key], step(path, key), depth + 1) for key in sorted(fields)}
    if isinstance(value, int):
        if value.bit_length() > _MOST_BITS:
            raise _refused(path, "this integer is too large to be exact as a double", "Pass it as a string.")
        return value
    return None


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _refused(path, "it contains a lone surrogate, which is not text") from None
    return value


def _number(value: float, path: str) -> float:
    if value - value != 0:
        raise _refused(path, f"{value} is not a JSON number")
    return value or 0.0  # minus zero is shown as 0


def _is_exact(value: Json) -> bool:
    try:
        canonical(value)
    except JsonError:
        return False
    return True


def _refused(path: str, detail: str, hint: str = _WHY) -> ArgumentRefused:
    where = f"the argument {path}" if path else "an argument"
    error = ArgumentRefused(f"{where} cannot be asked about", detail, hint)
    error.parameter = path.partition(".")[0].partition("[")[0]
    return error


def _described(value: object) -> str:
    """The type of a value, in words. The value itself is never asked: its own methods can say anything."""
    exact = type(value)
    return f"of type {exact.__module__}.{exact.__qualname__}".replace("builtins.", "")


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        raise TypeError(f"{_name(function)} has no signature, so it is not known what its arguments mean") from None


def _is_method(function: Callable[..., Any]) -> bool:
    """Whether a function was written in the body of a class."""
    owner, _, _ = getattr(function, "__qualname__", "").rpartition(".")
    return bool(owner) and not owner.endswith("<locals>") and inspect.isfunction(function)


def _name(function: object) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))
