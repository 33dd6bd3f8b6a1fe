"""Warnings about names of ops, tools and servers, which are ASCII almost everywhere."""

from collections.abc import Iterable, Iterator

from aileron_tui.core.skeletons import plain_letters
from aileron_tui.core.tool_places import quoted_part


def name_warnings(what: str, names: Iterable[str]) -> Iterator[str]:
    """Warns about each name that is not plain ASCII. `what` says what has the name."""
    for name in dict.fromkeys(names):
        if not name.isascii():
            plain = plain_letters(name)
            looking = f", which looks like {quoted_part(plain)}" if plain.isascii() else ""
            yield f"the name of the {what} is not plain ASCII: {quoted_part(name)}{looking}"
