"""Versions of what is stored and signed.

A statement, a prompt or a ledger entry carries its version in the field `version`; one without that field is version 1.
Every version ever written is read for ever, in exactly the bytes it had. A newer one is refused with a NewerFormat.
"""

from typing import Final

from aileron_tui.core.jsontext import Json, JsonError, JsonObject, kind

VERSION: Final = 2
"""The version in which statements, prompts, entries and exports are written."""


class NewerFormat(JsonError):
    """Something that only a newer version of the program can read."""

    def __init__(self, what: str, found: int) -> None:
        title = f"{what} was written by a newer version of aileron-tui"
        super().__init__(f"{title} (format {found}; this program reads up to {VERSION})", hint="Update aileron-tui.")
        self.detail = ""


def version_of(fields: JsonObject, what: str) -> int:
    """The version of an object as its fields state it, or a NewerFormat; `what` names it in the sentence."""
    if "version" not in fields:
        return 1
    return check_version(fields["version"], what)


def check_version(found: Json, what: str) -> int:
    """The version if it is one that is written out and that this program reads."""
    if type(found) is not int:
        raise JsonError(f"expected an integer, found {kind(found)}", "$.version")
    if found > VERSION:
        raise NewerFormat(what, found)
    if found < 2:
        raise JsonError("version 1 is written without this field", "$.version")
    return found
