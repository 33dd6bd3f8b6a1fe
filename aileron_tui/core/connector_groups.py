"""Groups calls that use the same connectors. Calls of different groups cannot change what the others' previews show."""

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from aileron_tui.core.prompt import Prompt

T = TypeVar("T")


def connectors_of(prompt: "Prompt") -> frozenset[str]:
    """The names of the connectors that a call uses."""
    return frozenset(step.connector.name for step in prompt.steps) or frozenset({prompt.connector.name})


def grouped(items: Iterable[T], names: Callable[[T], Collection[str]]) -> list[list[T]]:
    """Groups items so that no two groups have a name in common; items without a name are one group.

    The order inside a group is that of the items.
    """
    groups: list[tuple[set[str], list[tuple[int, T]]]] = []
    for number, item in enumerate(items):
        own = set(names(item)) or {""}
        joined: list[tuple[int, T]] = [(number, item)]
        others: list[tuple[set[str], list[tuple[int, T]]]] = []
        for group in groups:
            if group[0] & own:
                own |= group[0]
                joined += group[1]
            else:
                others.append(group)
        groups = [*others, (own, joined)]
    ordered = (sorted(members, key=lambda member: member[0]) for _, members in groups)
    return [[item for _, item in members] for members in sorted(ordered, key=lambda members: members[0][0])]
