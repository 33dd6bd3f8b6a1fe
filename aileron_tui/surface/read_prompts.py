"""Which prompts have been read on this surface: everything that must be read has been on screen."""

from collections.abc import Container
from datetime import datetime

from aileron_tui.core.request import Request


class ReadPrompts:
    """Remembers prompts by their digest and the cautions shown with them. Whatever changes must be read again."""

    def __init__(self) -> None:
        self._read: dict[str, dict[tuple[str, str], tuple[str, ...]]] = {}

    def record(self, request: Request, now: datetime) -> None:
        """Records that this prompt has been read."""
        if not request.fetching:
            self._read.setdefault(request.key, {})[_version(request)] = request.cautions_at(now)

    def contains(self, request: Request, now: datetime) -> bool:
        """Whether exactly this prompt has been read."""
        read = self._read.get(request.key)
        return read is not None and not request.fetching and read.get(_version(request)) == request.cautions_at(now)

    def keep(self, keys: Container[str]) -> None:
        """Forgets requests that are not among these."""
        self._read = {key: read for key, read in self._read.items() if key in keys}


def _version(request: Request) -> tuple[str, str]:
    return request.digest, request.edited_from.digest if request.edited_from else ""
