"""Our `dataclass` makes the same classes as the standard library's."""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from aileron_tui.core import values

Decorator = Callable[..., Any]


def _of(decorator: Decorator) -> tuple[type[Any], type[Any]]:
    @decorator(frozen=True, slots=True)
    class Point:
        """Two numbers, something secret, something that is not looked at."""

        KINDS: ClassVar[int] = 2
        x: int
        y: int = 2
        secret: str = dataclasses.field(default="", repr=False)
        noted: list[int] = dataclasses.field(default_factory=list, compare=False)

    @decorator(slots=True)
    class Counter:
        """May change."""

        count: int = 0

    return Point, Counter


OURS, COUNTER = _of(values.dataclass)
THEIRS, _ = _of(dataclasses.dataclass)

MADE = [(1,), (1, 2), (1, 2, "s"), (2, 1), (1, 2, "", [1]), ("a", None)]


@pytest.mark.parametrize("one", MADE, ids=repr)
@pytest.mark.parametrize("other", MADE, ids=repr)
def test_two_are_equal_and_hash_alike_where_those_of_the_standard_library_do(
    one: tuple[Any, ...], other: tuple[Any, ...]
) -> None:
    assert (OURS(*one) == OURS(*other)) == (THEIRS(*one) == THEIRS(*other))
    if OURS(*one) == OURS(*other):
        assert hash(OURS(*one)) == hash(OURS(*other))


@pytest.mark.parametrize("given", MADE, ids=repr)
def test_it_reads_like_one_of_the_standard_library_and_keeps_a_secret(given: tuple[Any, ...]) -> None:
    assert repr(OURS(*given)) == repr(THEIRS(*given))
    assert "hush" not in repr(OURS(1, 2, "hush"))


def test_those_of_different_classes_are_never_equal() -> None:
    again, _ = _of(values.dataclass)
    assert OURS(1) != again(1)
    assert OURS(1) != (1, 2, "", [])


def test_what_may_change_has_no_hash() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(COUNTER())
    one, other = COUNTER(1), COUNTER(0)
    assert one != other
    other.count = 1
    assert one == other


def test_the_tools_for_such_classes_take_them() -> None:
    point = OURS(1, secret="s")
    assert dataclasses.replace(point, y=5) == OURS(1, 5, "s")
    assert dataclasses.asdict(point) == {"x": 1, "y": 2, "secret": "s", "noted": []}
    assert copy.deepcopy(point) == point
    assert not hasattr(point, "__dict__")


@pytest.mark.parametrize("slots", [True, False])
@pytest.mark.parametrize("name", ["x", "noted", "other"])
def test_a_frozen_one_cannot_be_changed(slots: bool, name: str) -> None:
    @values.dataclass(frozen=True, slots=slots)  # type: ignore[literal-required]
    class Point:
        """One number and a list."""

        x: int
        noted: list[int] = dataclasses.field(default_factory=list)

    point = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to '{name}' of .*Point"):
        setattr(point, name, 2)
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot delete '{name}' of .*Point"):
        delattr(point, name)
    assert point == Point(1, [])
    assert copy.copy(point) == copy.deepcopy(point) == point
    assert Point(1).noted is not Point(1).noted


def test_a_subclass_of_a_frozen_one_has_the_fields_of_both() -> None:
    @values.dataclass(frozen=True, slots=True)
    class Point3(OURS):  # type: ignore[misc,valid-type]
        """With a height."""

        z: int = 3

        def __post_init__(self) -> None:
            seen.append(self.z)

    seen: list[int] = []
    point = Point3(1, z=5)
    assert (point.x, point.y, point.z, seen) == (1, 2, 5, [5])
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 2


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) missing 1 required positional argument: 'x'"):
        OURS()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        OURS(1, z=1)


def test_what_a_class_says_itself_stays() -> None:
    @values.dataclass(frozen=True)
    class Token:
        """Shows nothing of itself."""

        text: str

        def __repr__(self) -> str:
            return "Token(…)"

        def __eq__(self, other: object) -> bool:
            return self is other

        def __hash__(self) -> int:
            return 7

    token = Token("t")
    assert repr(token) == "Token(…)"
    assert token != Token("t")
    assert hash(token) == 7
