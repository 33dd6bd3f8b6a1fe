"""Suites: a named list of actions that belong together."""

from typing import Any, Final

from aileron_tui.core.findings import Problems, Reading
from aileron_tui.core.manifest_names import reference_fault
from aileron_tui.core.toml_manifest import read_toml_manifest
from aileron_tui.core.toml_schema import Fields, StringListSchema
from aileron_tui.core.values import dataclass

_FIELDS: Final[Fields] = {"name": str, "description": str, "actions": StringListSchema()}


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite. An entry is a full reference (`github://…@1.2.3`) or a path inside the suite's folder."""

    name: str
    description: str
    actions: tuple[str, ...]

    @property
    def paths(self) -> tuple[tuple[int, str], ...]:
        """The entries that are paths, each with its index in the list."""
        entries = enumerate(self.actions)
        return tuple((index, _normalised(entry)) for index, entry in entries if "://" not in entry)


def _normalised(path: str) -> str:
    return "/".join(part for part in path.split("/") if part not in ("", "."))


def read_suite(data: bytes | str, file: str) -> Reading[Suite]:
    """Returns the suite in a `suite.toml`, with every problem found in it."""
    return read_toml_manifest(data, file, _FIELDS, _suite)


def _suite(table: dict[str, Any], problems: Problems) -> Suite:
    fixes = {
        "name": "Give the suite a name.",
        "description": "Describe in one sentence what the suite is for.",
        "actions": "List at least one action.",
    }
    for key, fix in fixes.items():
        if problems.missing(table.get(key), (key,)):
            problems.add((key,), "required", f"{key} is required", fix)
    actions: list[str] = table.get("actions", [])
    for index, entry in enumerate(actions):
        path = ("actions", index)
        fix = "Write a path inside this folder, or a reference such as github://owner/repo/actions/name@1.2.3."
        if not entry.strip():
            problems.add(path, "suite-entry", f"actions[{index}] is empty", fix)
        elif "://" in entry:
            if fault := reference_fault(entry):
                problems.add(path, "suite-entry", f'"{entry}" is not a valid reference: {fault}', fix)
        elif ".." in entry.split("/"):
            problems.add(path, "suite-entry", f'"{entry}" is outside the folder of the suite', fix)
    return Suite(table.get("name", ""), table.get("description", ""), tuple(actions))
