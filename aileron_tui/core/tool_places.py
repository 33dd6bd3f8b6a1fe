"""Paths that a tool call names: where they lead, whether that is outside the agent's folder, and what is protected."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.protected_paths import protected_path
from aileron_tui.core.tool_call import FileFacts, FileKind
from aileron_tui.core.tool_paths import absolute, is_inside
from aileron_tui.core.values import dataclass

FULL_PATH: Final = "Full path"
_LONGEST_QUOTE: Final = 200


@dataclass(frozen=True, slots=True)
class Place:
    """A path as it was written and as an absolute path, "" if that is not known."""

    written: str
    path: str
    changes: bool = False
    needs_text: bool = False


def quoted_part(text: str) -> str:
    """A text as a warning quotes it: rows show all of it."""
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"


def place_rows(places: Sequence[Place], files: Mapping[str, FileFacts]) -> Iterator[Row]:
    """Rows for paths that are not simply what they say."""
    for place in places:
        if place.path and place.path != place.written:
            yield Row(FULL_PATH, place.path)
        facts = files.get(place.path)
        if facts and facts.resolved and facts.resolved != place.path:
            yield Row("Leads to", facts.resolved)


def is_outside(place: Place, folder: str, files: Mapping[str, FileFacts]) -> bool:
    """Whether a path may be outside the agent's folder, as written or where it leads. Nothing belongs to `/`."""
    folder = absolute(folder, "")
    facts, folder_facts = files.get(place.path), files.get(folder)
    real_folder = (folder_facts and folder_facts.resolved) or folder
    if not place.path or "/" in (folder, real_folder) or not is_inside(place.path, folder):
        return True
    if facts is None:
        return False
    return not is_inside(facts.resolved, real_folder) if facts.resolved else facts.kind is FileKind.UNKNOWN


def protection(place: Place, files: Mapping[str, FileFacts], own: Sequence[str]) -> str:
    """What a path is that no rule may allow a change to, in words, or ""."""
    facts = files.get(place.path)
    found = (protected_path(text, own) for text in (place.written, place.path, facts.resolved if facts else "") if text)
    return next((kind for kind in found if kind), "")


def place_warnings(
    places: Sequence[Place], folder: str, files: Mapping[str, FileFacts], own: Sequence[str]
) -> Iterator[str]:
    """What to warn about: paths outside the agent's folder, protected files, and names that look like options."""
    for place in places:
        name = quoted_part(place.written)
        if not folder:
            yield f"the agent's folder is not known, so this may be anywhere: {name}"
        elif is_outside(place, folder, files):
            facts = files.get(place.path)
            is_unknown = facts is not None and facts.kind is FileKind.UNKNOWN and not facts.resolved
            where = "the gate could not look at it, so it may be outside" if is_unknown else "outside"
            yield f"{where} the agent's folder: {name}"
        found = protection(place, files, own)
        if found and (place.changes or found == "the files of aileron-tui"):
            yield f"{name} is or belongs to {found}"
        if place.changes and place.written.rpartition("/")[2].startswith("-"):
            yield f"the file's name looks like an option of a program: {name}"
