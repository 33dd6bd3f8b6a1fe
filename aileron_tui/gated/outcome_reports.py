"""Tells the gate what became of calls, in a thread of its own, so that no function waits for it.

What could not be reported when the program ends is logged. The gate then still knows that the call was handed over.
"""

import atexit
import logging
import os
import threading
import time
import weakref
from collections import deque
from typing import Final

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.gated.errors import GatedError
from aileron_tui.gated.exchanges import PATH, Exchange, Exchanges, asking, withdrawing
from aileron_tui.gated.gate_links import GateLinks
from aileron_tui.runtime.errors import RuntimeFault

EXECUTED: Final = "executed"
FAILED: Final = "failed"
UNKNOWN: Final = "unknown"
NOT_RUN: Final = "the program stopped waiting, so the call was not run"

_LONGEST_ERROR: Final = 1000
_LAST_SECONDS: Final = 5.0
_SHORTEST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0
_log: Final = logging.getLogger("aileron_tui.gated")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call. Without a status, the program no longer waits for it.

    Without an id, it is not known whether the gate got the question; asking it again joins it.
    """

    id: str
    tool: str
    status: str = ""
    error: str = ""
    question: JsonObject | None = None

    def body(self) -> JsonObject:
        """The report, as the gate wants it."""
        body: JsonObject = {"status": self.status}
        if not self.error:
            return body
        return body | {"error": self.error[:_LONGEST_ERROR].encode("utf-8", "backslashreplace").decode()}


def described(error: BaseException) -> str:
    """An exception in words, whatever its own methods do."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  # the exception is foreign code
        text = "its text cannot be made"
    return f"{name}: {text}" if text else name


class OutcomeReports:
    """The outcomes that the gate has not been told yet. In a forked process, they are told at once."""

    def __init__(self, links: GateLinks, *, at_once: bool = False) -> None:
        self._links = links
        self._at_once = at_once
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._waiting: deque[Outcome] = deque()
        self._current: Outcome | None = None
        self._thread: threading.Thread | None = None
        self._ending = False
        atexit.register(_at_exit, weakref.ref(self))

    def add(self, outcome: Outcome) -> None:
        """Reports an outcome soon; at once if the program is ending."""
        if os.getpid() != self._process:
            return  # the process that was forked reports its own
        with self._changed:
            at_once = self._at_once or self._ending or not threading.main_thread().is_alive()
            if not at_once:
                self._waiting.append(outcome)
                self._changed.notify_all()
                at_once = not self._has_thread()
                if at_once:
                    self._waiting.remove(outcome)
        if at_once:
            self._report(outcome, time.monotonic() + _LAST_SECONDS)

    def flush(self, seconds: float = _LAST_SECONDS) -> None:
        """Reports what has not been reported, for some seconds."""
        if os.getpid() != self._process:
            return
        until = time.monotonic() + seconds
        with self._changed:
            self._ending = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._waiting and self._current is None, seconds)
            left, late = [*self._waiting], self._current
            self._waiting.clear()
            self._ending = False
        if late is not None:
            _log_unreported(late, "it did not answer in time")
        for outcome in left:
            self._report(outcome, until)

    def close(self) -> None:
        """Ends the thread as soon as everything is reported. What comes later is reported at once."""
        with self._changed:
            self._at_once = True
            self._changed.notify_all()

    def _has_thread(self) -> bool:
        """Starts the thread if needed. Returns False if there can be none, because the interpreter is ending."""
        if self._thread is not None and self._thread.is_alive():
            return True
        self._thread = threading.Thread(target=self._run, name="outcomes of gated calls", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._thread = None
        return self._thread is not None

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._at_once or self._waiting)
                if not self._waiting:
                    return
                outcome = self._current = self._waiting.popleft()
            try:
                self._report(outcome, None)
            finally:
                with self._changed:
                    self._current = None
                    self._changed.notify_all()

    def _report(self, outcome: Outcome, until: float | None) -> None:
        """Reports one outcome. Goes on trying until the gate has it, the time is over or the program ends."""
        pause, tries = _SHORTEST_PAUSE, 0
        while True:
            tries += 1
            problem = self._try(outcome, again=tries > 1)
            if not problem:
                return
            if (until is not None and time.monotonic() + pause > until) or self._ending or problem.final:
                _log_unreported(outcome, problem.text)
                return
            with self._changed:
                self._changed.wait_for(lambda: self._ending, pause)
            pause = min(_LONGEST_PAUSE, 2 * pause)

    def _try(self, outcome: Outcome, *, again: bool) -> "_Problem | None":
        try:
            return self._links.carry(_reporting(outcome, again=again))
        except RuntimeFault as error:
            return _Problem(str(error))
        except Exception as error:  # noqa: BLE001  # nothing ends this thread
            return _Problem(described(error), final=True)


def _log_unreported(outcome: Outcome, why: str) -> None:
    _log.error("the gate does not know what became of %s (%s): %s", outcome.tool, outcome.id, why)


def _at_exit(reports: "weakref.ref[OutcomeReports]") -> None:
    if (left := reports()) is not None:
        left.flush()
        left.close()


@dataclass(frozen=True, slots=True)
class _Problem:
    """Why an outcome was not reported; `final` if trying again is of no use."""

    text: str
    final: bool = False


def _reporting(outcome: Outcome, *, again: bool) -> Exchanges[_Problem | None]:
    if not outcome.status:
        id_ = outcome.id
        if not id_:
            try:
                id_ = (yield from asking(outcome.tool, "", outcome.question or {})).id
            except GatedError:  # it was denied, or could not be asked
                return None
        if (yield from withdrawing(id_)):
            return None
        outcome = Outcome(id_, outcome.tool, FAILED, NOT_RUN)
    status, reply = yield Exchange("POST", f"{PATH}/{outcome.id}/outcome", outcome.body())
    if status == 200 or (status == 409 and again):  # an earlier report may have arrived although its reply was lost
        return None
    text = f"it answered with status {status}"
    match reply:
        case {"error": {"message": str(message)}}:
            text = ascii(message[:200])
    return _Problem(text, final=status not in (401, 429) and status < 500)
