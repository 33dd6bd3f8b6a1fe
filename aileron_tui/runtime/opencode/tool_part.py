"""The tool part of a message: what opencode stores about the call of a tool."""

from datetime import UTC, datetime
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.runtime.daemon.listed_client import DaemonResult
from aileron_tui.runtime.errors import InvalidReply

_REJECTED: Final = "The user rejected permission"
_ENDED: Final = ("completed", "error")


@dataclass(frozen=True, slots=True)
class CallPlace:
    """Where opencode stores the call that a request is about. All but `folder` and `session` are "" if it has none."""

    folder: str
    session: str
    message: str = ""
    call: str = ""


@dataclass(frozen=True, slots=True)
class ToolPart:
    """One call of a tool. `args` is None until opencode has stored the arguments.

    `agent` is what opencode calls the agent. `started` is when the call was made, if that is known.
    """

    tool: str
    status: str
    args: JsonObject | None
    error: str = ""
    agent: str = ""
    started: datetime | None = None

    @property
    def ended(self) -> bool:
        """Whether the call has ended, so that an answer cannot have an effect any more."""
        return self.status in _ENDED

    @property
    def rejected(self) -> bool:
        """Whether the call ended because a request about it was rejected."""
        return self.status == "error" and self.error.startswith(_REJECTED)

    def result(self, *, allowed: bool) -> DaemonResult | None:
        """How a request about the call ended; None if the call has not ended. `allowed`: the request was allowed.

        opencode may ask about one call several times, so a call can be rejected after one of its requests was allowed.
        """
        if self.status == "completed":
            return DaemonResult(RequestState.EXECUTED)
        if self.rejected and not allowed:
            return DaemonResult(RequestState.DENIED)
        if self.status == "error":
            return DaemonResult(RequestState.FAILED, error=self.error)
        return None


def read_place(folder: str, request: Json) -> CallPlace | None:
    """Where the call of a request is stored, or None if the request does not name its session."""
    match request:
        case {"sessionID": str() as session, "tool": {"messageID": str() as message, "callID": str() as call}}:
            return CallPlace(folder, session, message, call)
        case {"sessionID": str() as session}:
            return CallPlace(folder, session)
    return None


def read_part(message: JsonObject, place: CallPlace) -> ToolPart:
    """The part of a message with this call; raises InvalidReply unless there is exactly one."""
    parts = message.get("parts")
    found = [
        part
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict) and part.get("type") == "tool" and part.get("callID") == place.call
    ]
    if len(found) != 1:
        raise InvalidReply(f"opencode stores {'no call' if not found else 'several calls'} with this id")
    part = found[0]
    if (part.get("sessionID", place.session), part.get("messageID", place.message)) != (place.session, place.message):
        raise InvalidReply("opencode sent the call of another message")
    tool, state, info = part.get("tool"), part.get("state"), message.get("info")
    if not isinstance(tool, str) or not isinstance(state, dict):
        raise InvalidReply("opencode sent a call that cannot be read")
    status, args = state.get("status"), state.get("input")
    if not isinstance(status, str) or not isinstance(args, dict):
        raise InvalidReply("opencode sent a call that cannot be read")
    error, agent = state.get("error"), info.get("agent") if isinstance(info, dict) else None
    return ToolPart(
        tool,
        status,
        None if status == "pending" else args,
        error if isinstance(error, str) else "",
        agent if isinstance(agent, str) else "",
        _started(state.get("time")),
    )


def _started(time: Json) -> datetime | None:
    start = time.get("start") if isinstance(time, dict) else None
    if not isinstance(start, int) or isinstance(start, bool):
        return None
    try:
        return datetime.fromtimestamp(start / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
