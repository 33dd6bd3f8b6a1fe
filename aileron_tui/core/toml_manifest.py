"""Reads manifests that are a TOML file as a whole: those of connectors and suites."""

from collections.abc import Callable
from typing import Any, TypeVar

from aileron_tui.core import frontmatter
from aileron_tui.core.findings import Problems, Reading, TomlSource
from aileron_tui.core.toml_schema import Fields, enforce_schema

T = TypeVar("T")


def read_toml_manifest(
    data: bytes | str, file: str, fields: Fields, build: Callable[[dict[str, Any], Problems], T]
) -> Reading[T]:
    """Returns what `build` makes of the file, with every problem found in it."""
    try:
        source = TomlSource(file, frontmatter.decode(data, file))
        table = frontmatter.tables(source)
    except frontmatter.UnreadableManifest as error:
        return Reading(None, (error.finding,), TomlSource(file))
    problems = Problems()
    enforce_schema(table, fields, (), problems)
    value = build(table, problems)
    return Reading(None if problems.rejected else value, problems.findings(source), source)
