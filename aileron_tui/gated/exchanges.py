"""What a gated call says to the gate and what it understands, whoever carries it: a thread or an event loop.

Each function is a generator of exchanges. It gets the status and the body of each reply, or the error instead.
"""

import re
import time
from collections.abc import Generator
from typing import Final, NoReturn, TypeAlias, TypeGuard, TypeVar

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.doors.gate_link import TimedOut
from aileron_tui.gated.errors import Denied, GatedError, NobodyAnswered, NotAsked, OutcomeUnknown, Withdrawn
from aileron_tui.runtime.errors import InvalidReply, NoGate, NoReply, RuntimeFault

T = TypeVar("T")

PATH: Final = "/v1/permissions"
HELD_SECONDS: Final = 120
"""How long the gate holds one reply open."""

_SHORT_SECONDS: Final = 30.0
_SPARE_SECONDS: Final = 15.0
_BUSY_SECONDS: Final = 20.0
"""How long a gate may refuse because it has too much to do."""

_GONE_SECONDS: Final = 60.0
"""How long a gate may be away while a call waits, for example because it is started again."""

_MOST_LOST: Final = 4
"""How many connections may be lost before a reply. A gate closes some if very many are opened at once."""

_PAUSE: Final = 0.5
_LONGEST_MESSAGE: Final = 500
_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One HTTP request. The gate may hold its reply for `wait` seconds; it must be there after `seconds`."""

    method: str
    path: str
    body: JsonObject | None = None
    wait: int = 0
    seconds: float = _SHORT_SECONDS


@dataclass(frozen=True, slots=True)
class Pause:
    """Some seconds without an exchange."""

    seconds: float


HttpReply: TypeAlias = tuple[int, JsonObject]
Exchanges: TypeAlias = Generator[Exchange | Pause, HttpReply, T]


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that the gate knows. `grant` is its reply if it allowed the call at once."""

    id: str
    grant: JsonObject | None = None


def asking(tool: str, agent: str, body: JsonObject) -> Exchanges[Asked]:
    """Asks about a call. It can be sent again: the gate knows a call by its id."""
    until, lost, refused = time.monotonic() + _BUSY_SECONDS, 0, False
    while True:
        try:
            status, reply = yield Exchange("POST", PATH, body)
        except NoReply as error:
            lost += 1
            if lost > _MOST_LOST or isinstance(error, TimedOut):
                raise _not_asked(tool, error) from None
            yield Pause(_PAUSE * lost)
            continue
        except RuntimeFault as error:
            raise _not_asked(tool, error) from None
        if status in (429, 503) and time.monotonic() < until:
            yield Pause(2 * _PAUSE)
        elif status == 401 and not refused:  # the connection may be older than the token
            refused = True
        elif status == 202:
            return Asked(_id(reply))
        else:
            return Asked(_id(reply), reply) if _is_allowed(status, reply) else _refuse(tool, agent, status, reply)


def fetching(tool: str, agent: str, id_: str, deadline: float | None = None) -> Exchanges[JsonObject | None]:
    """Waits for the answer to a call and returns the gate's grant, or None if the deadline passes before."""
    last_heard = time.monotonic()
    while True:
        wait = HELD_SECONDS if deadline is None else min(HELD_SECONDS, int(deadline - time.monotonic()) + 1)
        if wait < 1:
            return None
        try:
            status, reply = yield Exchange("GET", f"{PATH}/{id_}", wait=wait, seconds=wait + _SPARE_SECONDS)
        except (NoReply, NoGate) as error:
            if time.monotonic() - last_heard > _GONE_SECONDS + wait:
                detail = error.detail or error.title
                title = f"the gate went away while {tool} waited for an answer, so it was not run"
                raise NotAsked(title, detail, error.hint) from None
            yield Pause(_PAUSE)
            continue
        except RuntimeFault as error:
            raise NotAsked(f"the gate's answer for {tool} could not be read, so it was not run", str(error)) from None
        if status in (401, 429, 503) and time.monotonic() - last_heard < _BUSY_SECONDS:
            yield Pause(2 * _PAUSE)
            continue
        last_heard = time.monotonic()
        if status == 202:
            continue
        return reply if _is_allowed(status, reply) else _refuse(tool, agent, status, reply)


def withdrawing(id_: str) -> Exchanges[bool]:
    """Withdraws a call. Returns False if it was handed over to this program before, which must say that it did not run
    it."""
    status, _ = yield Exchange("DELETE", f"{PATH}/{id_}")
    if status not in (404, 409):
        return True
    status, reply = yield Exchange("GET", f"{PATH}/{id_}")
    return not (_is_allowed(status, reply) or _failure(reply)[0] == "already_handed_over")


def listing() -> Exchanges[JsonObject]:
    """What the gate knows about this agent's calls."""
    try:
        status, reply = yield Exchange("GET", "/v1/agent")
        if status == 401:
            status, reply = yield Exchange("GET", "/v1/agent")
    except RuntimeFault as error:
        raise NotAsked("the gate could not be asked about earlier calls", str(error), error.hint) from None
    if status != 200:
        raise NotAsked("the gate did not say which calls it knows", _message(reply, status))
    return reply


def _is_allowed(status: int, reply: JsonObject) -> bool:
    return status == 200 and reply.get("status") == "allowed"


def _refuse(tool: str, agent: str, status: int, reply: JsonObject) -> NoReturn:
    """Raises what the gate said instead of allowing a call."""
    raise _refusal(tool, agent, status, reply)


def _refusal(tool: str, agent: str, status: int, reply: JsonObject) -> GatedError:
    match (status, reply):
        case (200, {"status": "denied", **rest}):
            reason = rest.get("reason")
            return Denied.because(tool, reason if isinstance(reason, str) else "")
        case (200, {"status": "failed"}):
            class_, message = _failure(reply)
            match class_:
                case "approval_timeout":
                    hint = "This is not a denial: it may be asked again when somebody is there to answer."
                    return NobodyAnswered(f"nobody answered in time, so {tool} was not run", hint=hint)
                case "withdrawn":
                    return Withdrawn(f"{tool} was withdrawn, so it was not run", message)
                case "already_handed_over" | "outcome_unknown":
                    hint = "Look at what it changes before you call it again."
                    return OutcomeUnknown(f"it is not known whether {tool} was run", message, hint)
            return NotAsked(f"{tool} was not allowed, so it was not run", message)
        case (401, _):
            hint = f"Run `aileron-tui agent rotate {agent}` for a new token, or `aileron-tui agent add {agent}`."
            return NotAsked(f"the gate does not accept the token of agent {agent}, so {tool} was not run", hint=hint)
    if status >= 400:
        return NotAsked(f"the gate refused to ask about {tool}, so it was not run", _message(reply, status))
    return NotAsked(f"the gate sent an invalid reply, so {tool} was not run", f"status {status}")


def _not_asked(tool: str, error: RuntimeFault) -> NotAsked:
    return NotAsked(f"the gate could not be asked, so {tool} was not run", str(error), error.hint)


def _failure(reply: JsonObject) -> tuple[str, str]:
    """The class and the message of a call that ended without a decision."""
    match reply:
        case {"failure": {"error": {"class": str(class_), "message": str(message)}}}:
            return class_, _visible(message)
    return "", ""


def _message(reply: JsonObject, status: int) -> str:
    match reply:
        case {"error": {"message": str(message)}}:
            return f"{_visible(message)} (status {status})"
    return f"status {status}"


def _visible(message: str) -> str:
    from aileron_tui.core.visible_text import inline  # noqa: PLC0415  # only if a call is not allowed

    rest = f"… ({len(message):,} characters)" if len(message) > _LONGEST_MESSAGE else ""
    return inline(message[:_LONGEST_MESSAGE]) + rest


def is_id(value: Json) -> TypeGuard[str]:
    """Whether a value can be the id of a request, and part of a path."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _id(reply: JsonObject) -> str:
    id_ = reply.get("approval_id")
    if not is_id(id_):
        error = InvalidReply("the gate sent an invalid reply", "its approval_id is missing or invalid")
        raise NotAsked(error.title, error.detail)
    return id_
