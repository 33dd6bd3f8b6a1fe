"""Sets the pin of an action: the hash of a connector that it requires. Everything else in the file stays as it is."""

import re
from dataclasses import replace
from typing import Final

from aileron_tui.core.action import Action, read_action
from aileron_tui.core.errors import AileronError

_PAIR: Final = re.compile(r"(?:hash|\"hash\"|'hash')[ \t]*=[ \t]*(?P<value>\"[^\"\\\n]*\"|'[^'\n]*')")


class PinError(AileronError):
    """A pin that cannot be set."""


def with_pins(data: bytes, file: str, hashes: dict[str, str]) -> bytes:
    """The file with the pins of these connectors, by name; raises PinError if it cannot be changed safely."""
    reading = read_action(data, file)
    action = reading.value
    if action is None:
        finding = reading.findings[0]
        raise PinError(f"cannot read {file}", f"line {finding.line}: {finding.message}", finding.fix)
    lines = data.decode("utf-8").split("\n")
    for index, requirement in enumerate(action.requires):
        pin = hashes.get(requirement.name, requirement.hash)
        if pin == requirement.hash:
            continue
        place = reading.source.position(("requires", "connectors", index, "hash"))
        line, column = lines[place.line - 1], place.column - 1
        pair = _PAIR.match(line, column)
        if pair is None:
            hint = f'Write hash = "{pin}" by hand.'
            raise PinError(f"cannot set the pin in {file}", f"line {place.line} is written in another way", hint)
        lines[place.line - 1] = f'{line[: pair.start("value")]}"{pin}"{line[pair.end("value") :]}'
    return _checked("\n".join(lines).encode(), file, action, hashes)


def _checked(data: bytes, file: str, before: Action, hashes: dict[str, str]) -> bytes:
    """The changed file, if it says what it said before and the pins."""
    requires = tuple(replace(each, hash=hashes.get(each.name, each.hash)) for each in before.requires)
    if read_action(data, file).value != replace(before, requires=requires):
        raise PinError(f"cannot set the pin in {file}", "it is written in a way that cannot be changed safely")
    return data
