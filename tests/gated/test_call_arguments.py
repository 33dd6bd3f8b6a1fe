"""The arguments of gated functions as JSON: exactly the same value comes back, or it is refused by name."""

import datetime as dt
import enum
import functools
import math
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.jsontext import Json, JsonObject, canonical, read_object
from aileron_tui.gated import AnswerRefused, ArgumentRefused
from aileron_tui.gated.call_arguments import Parameters, checked

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=20,
)


def everything(a: Any, /, b: Any, *more: Any, c: Any = 3, **others: Any) -> tuple[Any, ...]:
    return a, b, more, c, others


def returned(parameters: Parameters, shown: JsonObject) -> Any:
    positional, keywords = parameters.call(shown, {})
    return parameters.function(*positional, **keywords)


def same_types(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same_types, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_types(one[key], other[key]) for key in one)
    return bool(one == other)


@given(a=JSON, b=JSON, more=st.lists(JSON, max_size=2), others=st.dictionaries(st.sampled_from(["x", "y_"]), JSON))
def test_what_is_called_is_what_was_given(a: Any, b: Any, more: list[Any], others: dict[str, Any]) -> None:
    parameters = Parameters(everything)
    bound = parameters.bind((a, b, *more), others)
    assert set(bound.shown) == {"a", "b", "more", "c", "others"}
    sent = read_object(checked(bound.shown))
    assert same_types(returned(parameters, parameters.approved(bound.shown, sent)), everything(a, b, *more, **others))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda bind: bind((1, 2), {}), {"a": 1, "b": 2, "more": [], "c": 3, "others": {}}),
        (
            lambda bind: bind((1, 2, 3, 4), {"c": 5, "d": 6}),
            {"a": 1, "b": 2, "more": [3, 4], "c": 5, "others": {"d": 6}},
        ),
        # A keyword argument may have the name of a parameter that can only be given by position.
        (lambda bind: bind((1,), {"b": 2, "a": 7}), {"a": 1, "b": 2, "more": [], "c": 3, "others": {"a": 7}}),
    ],
    ids=["defaults", "all kinds", "the same name twice"],
)
def test_arguments_are_shown_by_parameter(call: Callable[..., Any], expected: JsonObject) -> None:
    parameters = Parameters(everything)
    bound = call(parameters.bind)
    assert bound.shown == expected
    assert returned(parameters, bound.shown)[4] == expected["others"]


@pytest.mark.parametrize("arguments", [((), {}), ((1,), {}), ((1, 2), {"b": 3})], ids=str)
def test_a_wrong_call_fails_like_any_other(arguments: Any) -> None:
    with pytest.raises(TypeError):
        Parameters(everything).bind(*arguments)


class Text(str):
    """A text that looks different when it is shown."""

    __slots__ = ()

    def __str__(self) -> str:
        return "harmless"


class Lying(dict[str, int]):
    def items(self) -> Any:
        return {"amount": 1}.items()


class Equal:
    def __eq__(self, _: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1

    def __repr__(self) -> str:
        raise RuntimeError("do not look at me")


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


@dataclass
class Point:
    x: int


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)

REFUSED = {
    "a tuple": (1, 2),
    "bytes": b"x",
    "a set": {1},
    "a date": dt.date(2026, 1, 1),
    "a path": Path("x"),
    "a decimal": Decimal(1),
    "a dataclass": Point(1),
    "a text enum": Colour.RED,
    "a number enum": Level.LOW,
    "a text subclass": Text("rm -r /"),
    "a dict subclass": Lying(amount=10**6),
    "an ordered dict": OrderedDict(a=1),
    "a default dict": defaultdict(int),
    "an object equal to everything": Equal(),
    "a type": int,
    "not a number": math.nan,
    "infinity": -math.inf,
    "an inexact integer": 2**53 + 1,
    "a huge integer": 10**5000,
    "a lone surrogate": "\udc80",
    "a surrogate in a key": {"\ud800": 1},
    "a key that is a number": {1: 2},
    "a key that is a text subclass": {Text("x"): 1},
    "a list that contains itself": CIRCLE,
    "much text": "x" * 1_000_000,
}


@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("place", [lambda value: value, lambda value: {"deep": [value]}], ids=["plain", "nested"])
def test_what_cannot_be_shown_exactly_is_refused_by_name(place: Callable[[Any], Any], value: Any) -> None:
    parameters = Parameters(lambda first, second: None)
    with pytest.raises(ArgumentRefused) as refused:
        checked(parameters.bind(("fine", place(value)), {}).shown)
    assert refused.value.parameter == "second"
    assert "the argument second" in str(refused.value)
    assert len(str(refused.value)) < 700
    assert isinstance(refused.value, TypeError)


def test_a_default_is_shown_too_and_must_be_json() -> None:
    missing = object()

    def search(text: str, limit: int = 10, where: Any = missing) -> None: ...

    assert Parameters(search).bind(("x",), {"where": None}).shown == {"text": "x", "limit": 10, "where": None}
    with pytest.raises(ArgumentRefused, match="the argument where"):
        Parameters(search).bind(("x",), {})


def test_nobody_can_change_the_arguments_afterwards() -> None:
    mine: dict[str, Any] = {"to": ["a@example.com"]}
    parameters = Parameters(lambda mail: mail)
    bound = parameters.bind((mine,), {})
    mine["to"].append("b@example.com")
    first = returned(parameters, bound.shown)
    assert first == {"to": ["a@example.com"]}
    first["to"].clear()
    assert returned(parameters, bound.shown) == {"to": ["a@example.com"]}


def test_the_fixed_arguments_of_a_partial_function_are_shown() -> None:
    def send(to: str, subject: str, *, copy: bool = False) -> None: ...

    bound = Parameters(functools.partial(functools.partial(send, "a@example.com"), copy=True)).bind(("Hello",), {})
    assert bound.shown == {"to": "a@example.com", "subject": "Hello", "copy": True}


def test_context_is_passed_on_and_not_shown() -> None:
    client = object()
    parameters = Parameters(lambda to, client: (to, client), ["client"])
    bound = parameters.bind(("a",), {"client": client})
    assert bound.shown == {"to": "a"}
    positional, keywords = parameters.call(bound.shown, bound.context)
    assert parameters.function(*positional, **keywords) == ("a", client)
    with pytest.raises(TypeError, match="no parameter 'cleint'"):
        Parameters(lambda client: None, ["cleint"])


@pytest.mark.parametrize(
    ("asked", "approved", "expected"),
    [
        (1.0, 1, 1.0),
        (1.0, 2, 2.0),
        (1, 2, 2),
        (None, {"a": 1}, {"a": 1}),
        ("a", "b", "b"),
        ([1.5], [2], [2]),
    ],
    ids=str,
)
def test_an_edited_value_keeps_its_type(asked: Json, approved: Json, expected: Json) -> None:
    found = Parameters(lambda value: None).approved({"value": asked}, read_object(canonical({"value": approved})))
    assert same_types(found["value"], expected)


@pytest.mark.parametrize(
    ("asked", "approved"),
    [("5", 5), (5, "5"), (1, 1.5), (True, 1), (1, True), ([], {}), ("a", None), ({}, [])],
    ids=str,
)
def test_an_edit_to_another_type_is_refused(asked: Json, approved: Json) -> None:
    with pytest.raises(AnswerRefused, match="edited value of value"):
        Parameters(lambda value: None).approved({"value": asked}, {"value": approved})


@pytest.mark.parametrize("approved", [{}, {"value": 1, "extra": 2}, {"other": 1}], ids=str)
def test_other_parameters_are_refused(approved: JsonObject) -> None:
    parameters = Parameters(lambda value: None)
    with pytest.raises(AnswerRefused):
        parameters.approved({"value": 1}, approved)
    with pytest.raises(AnswerRefused):
        parameters.resumed(approved)


def test_a_resumed_call_must_fit_the_function() -> None:
    parameters = Parameters(everything)
    given: JsonObject = {"a": 1, "b": 2, "more": [3], "c": 4, "others": {"d": 5}}
    assert returned(parameters, parameters.resumed(given)) == (1, 2, (3,), 4, {"d": 5})
    changed: tuple[JsonObject, ...] = ({"more": "34"}, {"others": [1]})
    for changes in changed:
        with pytest.raises(AnswerRefused):
            parameters.resumed(given | changes)


def test_a_method_is_shown_without_its_object() -> None:
    class Mailbox:
        def send(self, to: str) -> None: ...

    def outside(self: Any, to: str) -> None: ...

    assert Parameters(Mailbox.send).bind((Mailbox(), "a"), {}).shown == {"to": "a"}
    with pytest.raises(ArgumentRefused, match="the argument self"):
        Parameters(outside).bind((Mailbox(), "a"), {})
