"""Writes docs/configuration.md from the definitions of the config keys; `--check` only checks that it is up to date.

Run it as `python -m tools.configuration`.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from aileron_tui.files.config_schema import TABLES, ConfigKey, ConfigTable

DOCUMENT: Final = Path(__file__).resolve().parent.parent / "docs" / "configuration.md"

_BEFORE: Final = """\
# Configuration

`aileron-tui` reads `~/.aileron/config.toml`, or `config.toml` in the folder that `AILERON_TUI_HOME` names. The file and
every key in it are optional. A key that is unknown, has the wrong type or is out of range is an error that names the
line. `aileron-tui doctor` checks the file.

Policies for MCP servers are files of their own, in the folder `mcp` beside it ([more](mcp.md#previews)).
"""
_TYPES: Final = {bool: "boolean", int: "integer", str: "string", list: "list of strings", dict: "table of strings"}


def document() -> str:
    """The whole page."""
    return _BEFORE + "".join(line for table in TABLES for line in _section(table))


def _section(table: ConfigTable) -> Iterator[str]:
    heading = f"`{table.header}`" if table.header else "At the top"
    yield f"\n## {heading}\n\n{table.meaning}\n\n```toml\n" + (f"{table.header}\n" if table.header else "")
    yield from (f"{key.name} = {key.example}\n" for key in table.keys if key.example)
    yield "```\n\n| key | type | default | meaning |\n|---|---|---|---|\n"
    yield from (f"| `{key.name}` | {_TYPES[key.type]} | {_default(key)} | {_meaning(key)} |\n" for key in table.keys)


def _default(key: ConfigKey) -> str:
    if key.required:
        return "required"
    if key.default in ("", None, (), {}):
        return "not set"
    return f"`{json.dumps(key.default)}`"  # JSON and TOML write these values alike


def _meaning(key: ConfigKey) -> str:
    """The meaning of a key and the values it accepts."""
    parts = [key.meaning]
    if key.choices:
        parts.append(f"One of {', '.join(f'`{choice}`' for choice in key.choices)}.")
    if key.limits:
        parts.append(f"Must be {key.limits}.")
    if key.pattern_hint:
        parts.append(key.pattern_hint)
    return " ".join(parts)


def main() -> int:
    """Returns 0 if the page is up to date or was written."""
    if "--check" in sys.argv[1:]:
        fresh = DOCUMENT.exists() and DOCUMENT.read_text(encoding="utf-8") == document()
        if not fresh:
            print("docs/configuration.md is out of date: run make configuration", file=sys.stderr)
        return 0 if fresh else 1
    DOCUMENT.write_text(document(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
