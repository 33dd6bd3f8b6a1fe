"""Writes docs/keys.md from the console's table of keys; `--check` only checks that it is up to date.

Run it as `python -m tools.keys`.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from aileron_tui.console.key_actions import KeyAction, KeyGroup, KeyScope
from aileron_tui.console.key_names import display
from aileron_tui.console.key_table import MOUSE, SEARCH, of

DOCUMENT: Final = Path(__file__).resolve().parent.parent / "docs" / "keys.md"

_BEFORE: Final = """\
# Keys

`?` shows these keys in the console, and `ctrl+p` finds each command by its name. Enter and space never answer.

To change a key, set it in `config.toml` by its id. Separate several keys with commas; the comma key is `comma`:

```toml
[console.keys]
history = "H"
"history.export" = "E,f5"
```

The console does not start if an id or a key is unknown, or if one key would do two things on one screen. Approve and
deny cannot be bound to enter, space, tab, the arrow keys, page up, page down, home or end.
"""


def document() -> str:
    """The whole page."""
    return _BEFORE + "".join(_lines())


def _lines() -> Iterator[str]:
    for scope in KeyScope:
        yield f"\n## {scope}\n\n| key | name | what it does | id |\n|---|---|---|---|\n"
        for group in KeyGroup:
            yield from (_row(action) for action in of(scope) if action.group is group)
    yield "\n## Search in the history\n\n| filter | what it finds |\n|---|---|\n"
    yield from (f"| `{what}` | {does} |\n" for what, does in SEARCH)
    yield "\n## Mouse\n\n| mouse | what it does |\n|---|---|\n"
    yield from (f"| {what} | {does} |\n" for what, does in MOUSE)


def _row(action: KeyAction) -> str:
    keys = " ".join(f"`{_written(key)}`" for key in action.keys)
    name = "" if action.fixed else f"`{action.id}`"
    return f"| {keys} | {action.label} | {action.tooltip} | {name} |\n"


def _written(key: str) -> str:
    return key if "+" in key else display(key)


def main() -> int:
    """Returns 0 if the page is up to date or was written."""
    if "--check" in sys.argv[1:]:
        fresh = DOCUMENT.exists() and DOCUMENT.read_text(encoding="utf-8") == document()
        if not fresh:
            print("docs/keys.md is out of date: run make keys", file=sys.stderr)
        return 0 if fresh else 1
    DOCUMENT.write_text(document(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
