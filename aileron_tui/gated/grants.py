"""Checks every approval with the approvers' keys before anything runs."""

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.files.paths import paths
from aileron_tui.gated.errors import AnswerRefused
from aileron_tui.gated.program import ProgramSettings

if TYPE_CHECKING:
    from aileron_tui.doors.executor import GrantCheck


class Grants:
    """The check of one process. It remembers which approvals were used."""

    def __init__(self, settings: ProgramSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._check: GrantCheck | None = None
        self._approvers: Mapping[str, object] = {}

    def args(self, grant: JsonObject, id_: str, tool: str, asked: JsonObject) -> JsonObject:
        """What may be run. Raises AnswerRefused."""
        from aileron_tui.core.tool_call import ToolCall  # noqa: PLC0415  # not needed before something is allowed
        from aileron_tui.doors.executor import GrantCheck, approvers_of  # noqa: PLC0415  # loads the cryptography

        settings = self._settings
        try:
            with self._lock:
                approvers = approvers_of(settings.data or paths().data, settings.agent)
                if self._check is None or approvers != self._approvers:  # keys come and go while a program runs
                    self._check, self._approvers = GrantCheck(settings.agent, approvers), approvers
                return self._check.args(grant, id_, ToolCall(tool, asked, settings.program_name))
        except AileronError as error:
            title = f"the approval of {tool} is not valid, so it was not run"
            raise AnswerRefused(title, str(error), error.hint) from None
