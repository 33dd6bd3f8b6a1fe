"""A generated case: what the agent does, what the operator ordered, and what may happen."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tests.robot.bundle import Action
from tests.robot.service import Fault, Spelled

if TYPE_CHECKING:
    from tests.robot.operator import Operator

_Kind = TypeVar("_Kind")
ROUND: Final = 28
"""The number of families, which is how far apart the seeds of one family are."""
SIZES: Final = ((40, 15), (60, 20), (80, 24), (100, 30), (120, 40))


def in_turn(kinds: Sequence[_Kind], seed: int) -> _Kind:
    """The kind for a seed, so that a few cases of one family have every kind."""
    return kinds[seed // ROUND % len(kinds)]


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that the service did: which connector called which op with which args.

    `content` is what an object held when an op used it, for ops that use an object by its id.
    """

    connector: str
    op: str
    args: Mapping[str, Any]
    content: Any = None

    def words(self) -> str:
        """The effect as text in which a number and a text differ."""
        content = "" if self.content is None else f" of {plain(self.content)}"
        return f"{self.connector}.{self.op}({plain(dict(self.args))}){content}"


def plain(value: Any) -> str:
    """JSON with numbers in the spelling in which they were sent."""
    match value:
        case Spelled():
            return str(value)
        case str():
            return json.dumps(value)
        case dict():
            return "{" + ", ".join(f"{json.dumps(key)}: {plain(item)}" for key, item in sorted(value.items())) + "}"
        case list() | tuple():
            return "[" + ", ".join(plain(item) for item in value) + "]"
    return json.dumps(value)


@dataclass(frozen=True, slots=True)
class StepOrder:
    """A step that the order allows, with the inputs it sends, as texts."""

    op: str
    connector: str
    inputs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Order:
    """The operator's order sheet: what a prompt must say to be approved, and what may then happen.

    `sent` and `fetched` are the rows that the prompt must have, and no others, except rows without a value.
    """

    effects: tuple[Effect, ...]
    sent: Mapping[str, str] = field(default_factory=dict)
    fetched: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] | None = None
    """The label of each input by its name; None if what would run is not on this order sheet."""
    warned: bool = False
    """Whether the order is for something odd, so that a warning about it is expected."""
    hidden: int = 0
    """How many fetched fields may be hidden, because the order says that they do not matter."""
    blurred: bool = False
    """Whether the robot reads it as a person in a hurry does, who takes `rn` for `m` and `I` for `l`."""


@dataclass(frozen=True, slots=True)
class Call:
    """An agent's call. `args` is the text of a JSON object, so that a case can spell numbers as it likes."""

    action: str
    args: str
    agent: str = "worker"
    """What the agent calls itself."""
    token: str = "default"
    """The name of the agent whose token is used."""
    session: str = ""
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One case. `honest` says whether the call is what the order asks for, so that it must be approved."""

    family: str
    seed: int
    name: str
    actions: tuple[Action, ...]
    call: Call
    order: Order
    honest: bool
    objects: Mapping[str, Any] = field(default_factory=dict)
    faults: Mapping[str, Fault] = field(default_factory=dict)
    changes: Mapping[str, tuple[str, Any]] = field(default_factory=dict)
    size: tuple[int, int] = (80, 24)
    script: "Callable[[Operator, Case], None] | None" = None
    more: Mapping[str, Any] = field(default_factory=dict)
    about: str = ""

    def with_size(self, size: tuple[int, int]) -> "Case":
        """The same case in a window of another size."""
        return replace(self, size=size)
