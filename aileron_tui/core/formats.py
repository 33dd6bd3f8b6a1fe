"""Format versions of everything that is stored or signed.

A statement, a prompt or a ledger entry has its version in the field `version`; without that field it is version 1.
Every version that was ever written stays readable, byte for byte. A newer version is refused with NewerFormat.
"""

from typing import Final

from aileron_tui.core.jsontext import Json, JsonError, JsonObject, kind

VERSION: Final = 2
"""The version in which statements, entries and exports are written."""

PROMPT_VERSION: Final = 5
"""The version in which prompts are written."""

RECORDING_VERSION: Final = 1
"""The version in which recordings of previews are written, in the field `recording`."""


class NewerFormat(JsonError):
    """A document that only a newer version of the program can read."""

    def __init__(self, what: str, found: int, newest: int = VERSION) -> None:
        title = f"{what} was written by a newer version of aileron-tui"
        super().__init__(f"{title} (format {found}; this program reads up to {newest})", hint="Update aileron-tui.")
        self.detail = ""


def version_of(fields: JsonObject, what: str, newest: int = VERSION) -> int:
    """The version in the fields of an object. Raises NewerFormat if it is too new; `what` names the object there."""
    if "version" not in fields:
        return 1
    return check_version(fields["version"], what, newest)


def check_version(found: Json, what: str, newest: int = VERSION) -> int:
    """Returns a version as found in the field `version`, if it is valid there and this program can read it."""
    if type(found) is not int:
        raise JsonError(f"expected an integer, found {kind(found)}", "$.version")
    if found > newest:
        raise NewerFormat(what, found, newest)
    if found < 2:
        raise JsonError("version 1 is written without this field", "$.version")
    return found
