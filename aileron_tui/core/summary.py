"""The summary of a request: the values that tell it apart from other requests of the same action."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aileron_tui.core.prompt import Prompt
    from aileron_tui.core.prompt_rows import Row

MOST_VALUES: Final = 8

_MOST_ROWS: Final = 100
_LONGEST_LABEL: Final = 80
_LONGEST_BLANK: Final = 8
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+")
_TELLING: Final = frozenset(
    [
        "to",
        "recipient",
        "recipients",
        "cc",
        "bcc",
        "subject",
        "title",
        "name",
        "command",
        "cmd",
        "path",
        "file",
        "target",
        "url",
        "channel",
        "amount",
        "branch",
        "repository",
        "repo",
        "query",
        "message",
    ]
)
_IDENTIFYING: Final = frozenset(
    ["id", "ids", "uuid", "guid", "hash", "digest", "sha", "checksum", "etag", "token", "nonce", "cursor"]
)
_ID_VALUE: Final = re.compile(
    r"(?=\D*\d)(?=\d*[A-Za-z])(?:[0-9a-f]{12,64}|[0-9A-Za-z]{16,64}|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})"
)


def summary(prompt: "Prompt") -> tuple[str, ...]:
    """The values of a prompt that matter most, the most telling first, as foreign text that is not yet visible.

    The rows of the preview come before the inputs. Recipients, subjects, targets, commands and paths come before
    other values, long texts after them, and ids last. A value that is missing, blank or a repetition is left out.
    """
    fetched = prompt.preview.rows if prompt.preview else ()
    return of_rows(fetched, prompt.inputs)


def of_rows(*groups: "Iterable[Row]") -> tuple[str, ...]:
    """The summary of these rows. Every value of a group comes before those of the next group."""
    found: dict[str, None] = {}
    for rows in groups:
        found |= dict.fromkeys(_ranked(rows))
    return tuple(found)[:MOST_VALUES]


def _ranked(rows: "Iterable[Row]") -> Iterator[str]:
    """The values of the rows, the most telling first; equally telling ones stay in order."""
    known = [row for row, _ in zip(rows, range(_MOST_ROWS), strict=False)]
    present = [row for row in known if not row.missing and not _is_blank(row.value)]
    return (row.value for row in sorted(present, key=_rank))


def _rank(row: "Row") -> int:
    words = {word.casefold() for word in _WORD.findall(row.label[:_LONGEST_LABEL])}
    if words & _IDENTIFYING:
        return 3
    if words & _TELLING:
        return 0
    if _ID_VALUE.fullmatch(row.value):
        return 3
    return 2 if row.multiline else 1


def _is_blank(value: str) -> bool:
    """Whether a short value has nothing but ordinary blanks; long padding is shown, because it may hide something."""
    return len(value) <= _LONGEST_BLANK and not value.strip(" \t\n")
