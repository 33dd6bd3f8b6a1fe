"""Everything that a process shares for its gated calls: connections, the check of approvals, reports."""

import os
import threading
from dataclasses import replace
from typing import Final

from aileron_tui.files.paths import paths
from aileron_tui.gated.gate_links import GateLinks
from aileron_tui.gated.grants import Grants
from aileron_tui.gated.outcome_reports import OutcomeReports
from aileron_tui.gated.program import ProgramSettings, session


class GateSession:
    """What calls of one process share. A forked process has its own."""

    def __init__(self, settings: ProgramSettings, *, forked: bool = False) -> None:
        settings = self.settings = replace(settings, data=settings.data or paths().data)
        self.name = session()
        self.links = GateLinks(settings)
        self.grants = Grants(settings)
        self.reports = OutcomeReports(GateLinks(settings), at_once=forked)


class _Current:
    """The session of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._settings = ProgramSettings()
        self._session: GateSession | None = None
        self._forked = False

    def session(self) -> GateSession:
        """The session, made when it is needed for the first time."""
        with self._lock:
            if self._session is None:
                self._session = GateSession(self._settings, forked=self._forked)
            return self._session

    @property
    def settings(self) -> ProgramSettings:
        """The settings of the next session."""
        return self._settings

    def configure(self, settings: ProgramSettings) -> None:
        """Replaces the session. Calls that have begun keep theirs."""
        with self._lock:
            before, self._session, self._settings = self._session, None, settings
        if before is not None:
            before.reports.close()

    def forget(self) -> None:
        """Nothing of the session is of use in a forked process: its connections belong to the other one."""
        self._lock = threading.Lock()
        self._session = None
        self._forked = True


CURRENT: Final = _Current()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=CURRENT.forget)
