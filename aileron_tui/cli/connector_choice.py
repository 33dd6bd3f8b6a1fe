"""Finds the connector that a command names by its full name or any part of it that is unique."""

from collections.abc import Collection

from aileron_tui.core.errors import AileronError
from aileron_tui.core.toml_schema import nearest


class NoConnector(AileronError):
    """No connector has this name, or several have it in theirs."""


def choose_connector(text: str, names: Collection[str], what: str) -> str:
    """The name that is meant. `what` says in words which connectors these are."""
    if text in names:
        return text
    wanted = text.lower()
    ends = [name for name in names if name.lower().endswith(f"/{wanted}")]
    found = sorted(ends or [name for name in names if wanted and wanted in name.lower()])
    if len(found) == 1:
        return found[0]
    if found:
        raise NoConnector(f'several {what} match "{text}"', ", ".join(found), "Write more of the name.")
    if not names:
        raise NoConnector(f'there is no connector "{text}"', f"there are no {what}")
    last = {name.rpartition("/")[2].lower(): name for name in sorted(names)}
    close = last.get(nearest(text.rpartition("/")[2], list(last)), "")
    hint = f"Did you mean {close}?" if close else ""
    raise NoConnector(f'there is no connector "{text}"', f"{what}: {', '.join(sorted(names))}", hint)
