"""Checks every approval with the approvers' keys before anything runs."""

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.files.paths import paths
from aileron_tui.gated.errors import AnswerRefused, NotAsked
from aileron_tui.gated.gate_links import gate_of
from aileron_tui.gated.program import ProgramSettings

if TYPE_CHECKING:
    from aileron_tui.doors.executor import GrantCheck

_USED: Final[dict[str, None]] = {}
"""The requests that this process has run, whatever keys and settings it had then."""

_MOST_USED: Final = 100_000


class Grants:
    """The check of one process. It remembers which approvals were used."""

    def __init__(self, settings: ProgramSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._check: GrantCheck | None = None
        self._approvers: Mapping[str, object] = {}

    def prepare(self, failure: str) -> None:
        """Loads what the check needs, before anybody is asked: after an answer, nothing should take long or fail.

        Raises NotAsked, whose title is `failure`. If there is no agent or no gate, it says that instead of the keys.
        """
        try:
            with self._lock:
                self._current()
        except AileronError as no_keys:
            error = no_keys
            try:
                gate_of(self._settings)
            except AileronError as no_gate:
                error = no_gate
            raise NotAsked(failure, str(error), error.hint) from None

    def args(self, grant: JsonObject, id_: str, tool: str, asked: JsonObject) -> JsonObject:
        """What may be run. Raises AnswerRefused."""
        from aileron_tui.core.tool_call import ToolCall  # noqa: PLC0415  # not needed before something is allowed

        if id_ in _USED:
            raise AnswerRefused(f"the approval of {tool} was used before, so it was not run again")
        try:
            with self._lock:
                allowed = self._current().args(grant, id_, ToolCall(tool, asked, self._settings.program_name))
                _USED[id_] = None
                while len(_USED) > _MOST_USED:
                    del _USED[next(iter(_USED))]
                return allowed
        except AileronError as error:
            title = f"the approval of {tool} is not valid, so it was not run"
            raise AnswerRefused(title, str(error), error.hint) from None

    def _current(self) -> "GrantCheck":
        """The check with the keys as they are now: they come and go while a program runs."""
        from aileron_tui.doors.executor import GrantCheck, approvers_of  # noqa: PLC0415  # loads the cryptography

        settings = self._settings
        approvers = approvers_of(settings.data or paths().data, settings.agent)
        if self._check is None or approvers != self._approvers:
            self._check, self._approvers = GrantCheck(settings.agent, approvers), approvers
        return self._check
