"""Finds the calls of earlier runs of the program: approved and not run, still waiting, or with an unknown outcome."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any, Final

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.gated.calls import GatedCall, GatedFunction
from aileron_tui.gated.exchanges import is_id
from aileron_tui.gated.gate_session import GateSession
from aileron_tui.gated.handles import AsyncPending, Pending
from aileron_tui.gated.outcome_reports import UNKNOWN, Outcome
from aileron_tui.gated.program import is_running


@dataclass(frozen=True, slots=True)
class EarlierCall:
    """A call of an earlier run that cannot be run by `result`, and why, in words."""

    id: str
    tool: str
    batch: str
    why: str


@dataclass(frozen=True, slots=True)
class Resumed:
    """What earlier runs of the program left behind.

    `calls` were approved or still wait for an answer; `result` runs them. `unknown` were given to an earlier run, which
    never said what became of them: they may have been run. `other` cannot be run by this program.
    """

    calls: tuple[Pending[Any] | AsyncPending[Any], ...]
    unknown: tuple[EarlierCall, ...]
    other: tuple[EarlierCall, ...]
    _report: Callable[[Outcome], None] = field(repr=False)

    def acknowledge(self) -> None:
        """Records that the outcome of the `unknown` calls stays unknown. They are not listed again."""
        for call in self.unknown:
            self._report(Outcome(call.id, call.tool, UNKNOWN, _NEVER_SAID))


class GatedFunctions:
    """The gated functions of this process by name. Of two with the same name, the last one counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[GatedFunction, bool]] = {}

    def add(self, function: GatedFunction, *, is_async: bool) -> None:
        """Remembers a function, so that calls of an earlier run can find it."""
        with self._lock:
            self._known[function.name] = function, is_async

    def resume(self, session: GateSession, reply: JsonObject) -> Resumed:
        """What the gate knows about calls of processes that have ended."""
        calls: list[Pending[Any] | AsyncPending[Any]] = []
        other: list[EarlierCall] = []
        for name in ("approved", "waiting"):
            for item in _of_ended(session, reply.get(name)):
                found = self._found(session, item)
                if isinstance(found, EarlierCall):
                    other.append(found)
                else:
                    calls.append(found)
        unknown = tuple(_earlier(item, _NEVER_SAID) for item in _of_ended(session, reply.get("handed_over")))
        return Resumed(tuple(calls), unknown, tuple(other), session.reports.add)

    def _found(self, session: GateSession, item: JsonObject) -> Pending[Any] | AsyncPending[Any] | EarlierCall:
        """A handle, or why there is none."""
        with self._lock:
            known = self._known.get(_text(item, "tool"))
        if known is None:
            return _earlier(item, _NOT_HERE)
        function, is_async = known
        if not function.can_resume:
            names = ", ".join(sorted(function.parameters.context))
            return _earlier(item, f"it needs {names}, which only the run that asked had")
        call = GatedCall(function, session, None, {}, _text(item, "batch"))
        call.id = _text(item, "id")
        return AsyncPending(call) if is_async else Pending(call)


def _of_ended(session: GateSession, items: Json) -> Iterator[JsonObject]:
    """The calls of this program whose process has ended. Other programs may have the same agent."""
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict) or not is_id(item.get("id")):
            continue
        asked_by = _text(item, "session")
        if _text(item, "server") == session.settings.program_name and asked_by and not is_running(asked_by):
            yield item


def _earlier(item: JsonObject, why: str) -> EarlierCall:
    return EarlierCall(_text(item, "id"), _text(item, "tool"), _text(item, "batch"), why)


def _text(item: JsonObject, name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""


_NEVER_SAID: Final = "it was given to an earlier run of the program, which never said what became of it"
_NOT_HERE: Final = "this program has no gated function with this name, or has not imported it yet"
