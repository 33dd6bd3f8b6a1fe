"""One call of a gated function: what is asked, whether it was run, and how it ended.

A call is run at most once. Whatever happens to it is reported to the gate, in the background.
"""

import os
import secrets
import threading
import weakref
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.gated.call_arguments import BoundArguments, Parameters, checked
from aileron_tui.gated.errors import AnswerRefused, GatedError, Withdrawn
from aileron_tui.gated.exchanges import Asked, Exchanges, asking
from aileron_tui.gated.gate_session import GateSession
from aileron_tui.gated.outcome_reports import EXECUTED, FAILED, UNKNOWN, Outcome, described

DOOR: Final = "python"
BATCH: Final[ContextVar[str]] = ContextVar("batch", default="")

_NEVER_RUN: Final = "the program never ran the call"


@dataclass(frozen=True, slots=True)
class GatedFunction:
    """A function with everything that its decorator says about it.

    `name` is its name in prompts and rules. `seconds` is how long the operator has, 0 for as long as the gate allows.
    """

    name: str
    parameters: Parameters
    preview: Callable[..., Any] | None = None
    risk: str = ""
    seconds: int = 0
    batch: str = ""

    @property
    def can_resume(self) -> bool:
        """Whether an approved call can be run after a crash: everything that it needs is in its arguments."""
        return not self.parameters.context

    def bound(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> BoundArguments:
        """The arguments of a call, checked. Raises TypeError, also as ArgumentRefused."""
        bound = self.parameters.bind(args, keywords)
        checked(bound.shown)
        return bound

    def previewed(self, bound: BoundArguments) -> Any:
        """What the preview function returns for a call. It gets copies of the arguments, like the function itself."""
        if self.preview is None:
            return None
        positional, keywords = self.parameters.call(bound.shown, bound.context)
        return self.preview(*positional, **keywords)


class GatedCall:
    """One call. `asked` are the arguments that were asked about, None if an earlier run of the program asked."""

    def __init__(
        self,
        function: GatedFunction,
        session: GateSession,
        asked: JsonObject | None,
        context: Mapping[str, Any],
        batch: str = "",
    ) -> None:
        self.function = function
        self.session = session
        self.id = ""
        self.batch = batch
        self._asked = asked
        self._context = context
        self._process = os.getpid()
        self._grant: JsonObject | None = None
        self._question: JsonObject = {}
        self._lock = threading.Lock()
        self._taken = False
        self._abandoned = False
        self._unrun: weakref.finalize[..., Any] | None = None

    @property
    def tool(self) -> str:
        """The name of the function in prompts."""
        return self.function.name

    def asking(self, preview: JsonObject | None) -> Exchanges[Asked]:
        """Asks about the call."""
        function, settings = self.function, self.session.settings
        body: JsonObject = {
            "tool": function.name,
            "input": self._asked or {},
            "server": settings.program_name,
            "session": self.session.name,
            "call_id": secrets.token_hex(16),
            "door": DOOR,
            "can_edit": True,
            "resumable": function.can_resume,
        }
        optional: JsonObject = {
            "preview": preview,
            "risk": function.risk,
            "seconds": function.seconds,
            "batch": self.batch,
        }
        self._question = body | {name: value for name, value in optional.items() if value}
        return asking(function.name, settings.agent, self._question)

    def was_asked(self, asked: Asked) -> None:
        """The gate knows the call, and may have allowed it at once."""
        self.id = asked.id
        if asked.grant is not None:
            self.was_granted(asked.grant)

    @property
    def is_granted(self) -> bool:
        """Whether the gate has allowed the call, which still has to be checked."""
        return self._grant is not None

    def was_granted(self, grant: JsonObject) -> None:
        """The gate has allowed the call. It is reported if it is never run."""
        with self._lock:
            if self._abandoned:
                return
            self._grant = grant
        unrun = Outcome(self.id, self.tool, FAILED, _NEVER_RUN)
        self._unrun = weakref.finalize(self, self.session.reports.add, unrun)

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """What to call the function with, once: after the approval was checked, exactly what was approved."""
        self.check_process()
        with self._lock:
            grant, self._grant = self._grant, None
            self._taken = grant is not None
        if grant is None:
            raise Withdrawn(f"{self.tool} was withdrawn, so it was not run")
        if self._unrun is not None:
            self._unrun.detach()
        try:
            return self._checked(grant)
        except GatedError as error:
            self.report(FAILED, f"not run: {error}")
            raise

    def _checked(self, grant: JsonObject) -> tuple[list[Any], dict[str, Any]]:
        parameters, asked = self.function.parameters, self._asked
        if asked is None:
            given = grant.get("input")
            if not isinstance(given, dict):
                raise AnswerRefused(f"the approval of {self.tool} has no arguments, so it was not run")
            allowed = self.session.grants.args(grant, self.id, self.tool, given)
            return parameters.call(parameters.resumed(allowed), self._context)
        allowed = self.session.grants.args(grant, self.id, self.tool, asked)
        return parameters.call(parameters.approved(asked, allowed), self._context)

    def check_process(self) -> None:
        """Refuses to go on in a forked process: the call belongs to the one that asked."""
        if os.getpid() != self._process:
            raise AnswerRefused(f"{self.tool} was asked about by another process, so it is not run in this one")

    def ended(self, error: BaseException | None) -> None:
        """Reports how the function ended. If it was interrupted, nobody knows what it did."""
        if error is None:
            self.report(EXECUTED)
        elif isinstance(error, Exception):
            self.report(FAILED, described(error))
        else:
            self.report(UNKNOWN, f"interrupted while it ran: {described(error)}")

    def report(self, status: str, error: str = "") -> None:
        """Tells the gate what became of the call."""
        self.session.reports.add(Outcome(self.id, self.tool, status, error))

    def abandon(self) -> None:
        """Withdraws the call, in the background, unless it is being run.

        If it was allowed meanwhile, the gate is told that it was not run.
        """
        with self._lock:
            if self._taken or self._abandoned or os.getpid() != self._process:
                return
            self._grant, self._abandoned = None, True
        if self._unrun is not None:
            self._unrun.detach()
        if self.id or self._question:
            self.session.reports.add(Outcome(self.id, self.tool, question=self._question))
