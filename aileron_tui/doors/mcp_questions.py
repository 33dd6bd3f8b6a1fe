"""What the MCP proxy asks the gate, and the answers. Each question waits in a thread of its own.

Threads hand over what they have to say through `post`, so that everything else happens in one thread.
"""

import re
import threading
import time
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import Final, TypeAlias

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.doors.gate_link import START, GateLink
from aileron_tui.files.agent_tokens import read_token, token_path
from aileron_tui.files.private_files import PrivateFileError
from aileron_tui.runtime.errors import InvalidReply, NoGate, NoReply
from aileron_tui.runtime.gate_discovery import discover

DOOR: Final = "mcp-proxy"
_LONGEST_WAIT: Final = 3600
_LONGEST_ERROR: Final = 1000
_LONGEST_REASON: Final = 2000
_SHORT_SECONDS: Final = 10.0
_RETRY_SECONDS: Final = 1.0
_REPORTS: Final = 3
_MOST_THREADS: Final = 64
_APPROVAL_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)

NOBODY: Final = (
    "Nobody answered in time, so nothing was run. This is not a denial: the call can be made again when somebody is "
    "there to answer in aileron-tui."
)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: a call of a tool, or whether a changed definition is accepted.

    `more` are further fields for the gate, such as the preview.
    """

    tool: str
    args: JsonObject
    server: str
    definition: str = ""
    is_definition: bool = False
    more: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The call may be made with these args. The signature has been checked."""

    id: str
    args: JsonObject


@dataclass(frozen=True, slots=True)
class Refused:
    """The call must not be made; the text says why."""

    text: str


@dataclass(frozen=True, slots=True)
class StillWaiting:
    """Nobody has answered yet; the request goes on waiting at the gate."""

    id: str


Answer: TypeAlias = Allowed | Refused | StillWaiting
Post: TypeAlias = Callable[[Callable[[], None]], None]
Check: TypeAlias = Callable[[JsonObject, str, Question], JsonObject]
"""Returns the args that may be executed according to a reply of the gate. Raises AileronError."""


@dataclass(frozen=True, slots=True)
class GateAccess:
    """How the proxy reaches its gate: as which agent, and in which data folder the gate's address and the token are."""

    agent: str
    data: Path
    url: str = ""
    token_file: Path | None = None

    def link(self, seconds: float) -> GateLink:
        """Connects to the gate for at most so many seconds."""
        try:
            found = discover(self.url, self.data)
        except NoGate as error:
            raise NoGate(error.title, error.detail, START) from None
        try:
            token = read_token(self.token_file or token_path(self.data, self.agent))
        except PrivateFileError as error:
            hint = f"Run `aileron-tui setup mcp` again, or `aileron-tui agent rotate {self.agent}` for a new token."
            raise NoGate(f"the token of agent {self.agent} cannot be read", str(error), hint) from None
        return GateLink(found, token, time.monotonic() + seconds)


class Asking:
    """One question on its way. Withdrawing it ends the request at the gate."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._link: GateLink | None = None
        self._is_withdrawn = False
        self.id = ""

    @property
    def is_withdrawn(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self._is_withdrawn

    def withdraw(self) -> None:
        """Stops waiting. The gate takes the end of the connection for a withdrawal."""
        with self._lock:
            self._is_withdrawn = True
            if self._link is not None:
                self._link.abort()

    def use(self, link: GateLink | None) -> bool:
        """Sets the connection that waits; returns whether anybody still wants it."""
        with self._lock:
            self._link = link
            return not self._is_withdrawn


class Questions:
    """Asks the gate, and reports to it what became of calls."""

    def __init__(self, access: GateAccess, session: str, check: Check, post: Post) -> None:
        self._access = access
        self._session = session
        self._check = check
        self._check_lock = threading.Lock()
        self._post = post
        self._slots = threading.Semaphore(_MOST_THREADS)
        self._count = 0
        self._threads: set[threading.Thread] = set()

    def ask(self, question: Question, seconds: float, then: Callable[[Answer], None], resumed: str = "") -> Asking:
        """Asks, or goes on waiting for the request `resumed`. `then` gets the answer."""
        asking = Asking()
        asking.id = resumed
        if not self._slots.acquire(blocking=False):
            text = f"Nothing was run: {_MOST_THREADS} calls are waiting already. Make this call again later."
            self._post(lambda: then(Refused(text)))
            return asking
        self._count += 1
        body = self._body(question, self._count)

        def run() -> None:
            try:
                answer = self._answer(asking, question, body, seconds)
            finally:
                self._slots.release()
            self._post(lambda: then(answer))

        self._start("question", run)
        return asking

    def report(self, id_: str, args: JsonObject, error: str = "") -> None:
        """Tells the gate what became of a call that was handed over."""
        body: JsonObject = {"status": "failed" if error else "executed", "input": args}
        if error:
            body["error"] = error[:_LONGEST_ERROR].encode(errors="replace").decode()  # the server's, maybe not Unicode
        self._start("report", lambda: self._send("POST", f"/v1/permissions/{id_}/outcome", body))

    def withdraw(self, id_: str) -> None:
        """Withdraws a request that nobody waits for at the moment."""
        self._start("withdrawal", lambda: self._send("DELETE", f"/v1/permissions/{id_}", None))

    def finish(self, seconds: float) -> None:
        """Waits until everything is reported and withdrawn, but not longer than this."""
        deadline = time.monotonic() + seconds
        while self._threads and (left := deadline - time.monotonic()) > 0:
            for thread in list(self._threads):  # one that ends may have started another
                thread.join(left)
                break

    def _start(self, name: str, work: Callable[[], None]) -> None:
        def run() -> None:
            try:
                work()
            finally:
                self._threads.discard(thread)

        thread = threading.Thread(target=run, name=name, daemon=True)
        self._threads.add(thread)
        thread.start()

    def _send(self, method: str, path: str, body: JsonObject | None) -> None:
        for attempt in range(_REPORTS):
            try:
                with self._access.link(_SHORT_SECONDS) as link:
                    status, _ = link.ask(method, path, body)
            except AileronError:
                status = 0
            if 0 < status < 500 and status != 429:
                return
            time.sleep(0.2 * 4**attempt)

    def _body(self, question: Question, number: int) -> JsonObject:
        body: JsonObject = {
            "tool": question.tool,
            "input": question.args,
            "server": question.server,
            "session": self._session,
            "call_id": str(number),
            "door": DOOR,
            "can_edit": not question.is_definition,
            "resumable": True,
        }
        if question.definition:
            body["definition"] = question.definition
        if question.is_definition:
            body["kind"] = "definition"
        return body | question.more

    def _answer(self, asking: Asking, question: Question, body: JsonObject, seconds: float) -> Answer:
        """Whatever goes wrong is a refusal."""
        try:
            status, reply = self._exchange(asking, body, seconds)
            return self._read(status, reply, question)
        except AileronError as error:
            if asking.is_withdrawn and asking.id:
                self.withdraw(asking.id)
            return _not_asked(str(error), error.hint)
        except Exception as error:  # noqa: BLE001  # a bug must not leave a call without an answer
            return _not_asked(type(error).__name__, "Run `aileron-tui doctor`.")

    def _exchange(self, asking: Asking, body: JsonObject, seconds: float) -> tuple[int, JsonObject]:
        """Asks until there is an answer or the time is over. A request that is known waits out a gate that restarts."""
        end = time.monotonic() + seconds
        while True:
            try:
                return self._attempt(asking, body, end)
            except (NoGate, NoReply):
                if not asking.id or asking.is_withdrawn:
                    raise
            if time.monotonic() + _RETRY_SECONDS > end:
                return 202, {"approval_id": asking.id}
            time.sleep(_RETRY_SECONDS)

    def _attempt(self, asking: Asking, body: JsonObject, end: float) -> tuple[int, JsonObject]:
        left = max(1.0, end - time.monotonic())
        with self._access.link(left + _SHORT_SECONDS) as link:
            if not asking.use(link):
                raise NoGate("the call was withdrawn")
            try:
                wait = min(_LONGEST_WAIT, int(left))
                if asking.id:
                    status, reply = link.ask("GET", f"/v1/permissions/{asking.id}", wait=wait)
                else:
                    status, reply = link.ask("POST", "/v1/permissions", body, wait=wait)
                while status == 202:
                    asking.id = _approval_id(reply)
                    if (wait := min(_LONGEST_WAIT, int(end - time.monotonic()))) < 1:
                        break
                    status, reply = link.ask("GET", f"/v1/permissions/{asking.id}", wait=wait)
                return status, reply
            finally:
                asking.use(None)

    def _read(self, status: int, reply: JsonObject, question: Question) -> Answer:
        match (status, reply):
            case (200, {"status": "allowed"}):
                id_ = _approval_id(reply)
                try:
                    with self._check_lock:
                        return Allowed(id_, self._check(reply, id_, question))
                except AileronError as error:
                    self.report(id_, question.args, f"nothing was run: the proxy did not accept the answer: {error}")
                    return Refused(f"Nothing was run: the answer of the gate was not accepted: {error}. {error.hint}")
            case (200, {"status": "denied", **rest}):
                reason = rest.get("reason")
                why = f": {inline(reason[:_LONGEST_REASON])}" if isinstance(reason, str) and reason else ""
                return Refused(f"The operator denied this call{why}. Nothing was run.")
            case (200, {"status": "failed", "failure": {"error": {"class": "approval_timeout"}}}):
                return Refused(NOBODY)
            case (200, {"status": "failed", "failure": {"error": {"message": str(message)}}}):
                return Refused(f"Nothing was run: {inline(message[:_LONGEST_REASON])}.")
            case (202, _):
                return StillWaiting(_approval_id(reply))
            case (401, _):
                hint = f"Run `aileron-tui agent rotate {self._access.agent}` for a new token."
                return _not_asked(f"the gate does not accept the token of agent {self._access.agent}", hint)
            case (int(), {"error": {"message": str(message)}}) if status >= 400:
                return _not_asked(f"the gate refused (status {status}): {inline(message[:_LONGEST_REASON])}", "")
        raise InvalidReply("the gate sent an invalid reply", f"status {status}")


def _approval_id(reply: JsonObject) -> str:
    id_ = reply.get("approval_id")
    if not isinstance(id_, str) or not _APPROVAL_ID.fullmatch(id_):
        raise InvalidReply("the gate sent an invalid reply", "its approval_id is missing or invalid")
    return id_


def _not_asked(problem: str, hint: str) -> Refused:
    end = f" {hint}" if hint else ""
    return Refused(f"Nothing was run, because aileron-tui could not ask: {problem}.{end}")
