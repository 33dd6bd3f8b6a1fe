"""What a hook does with an event: asks the gate about a call, reports what became of one, or answers its user.

Every failure is a RuntimeFault or an answer that does not allow the call.
"""

import re
import time
from pathlib import Path
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.hook_event import HookAnswer, HookEvent, Verdict
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.doors.gate_link import GateLink, TimedOut
from aileron_tui.files.agent_tokens import read_token, token_path
from aileron_tui.files.paths import paths
from aileron_tui.files.private_files import PrivateFileError
from aileron_tui.runtime.errors import InvalidReply, NoGate
from aileron_tui.runtime.gate_discovery import discover

_LONGEST_WAIT: Final = 3600
_LONGEST_CLAIM: Final = 200
_LONGEST_ERROR: Final = 1000
_SHORT_SECONDS: Final = 5.0
"""How long a hook may take that no call waits for."""

_APPROVAL_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)
_COMMAND: Final = re.compile(r"/?aileron(?:-tui)?(?: +([a-z]+)(?: +([A-Za-z0-9][A-Za-z0-9._-]{0,127}))?)?", re.ASCII)
_COMMANDS: Final = frozenset(
    ("approve", "deny", "list", "show", "page", "watch", "history", "rules", "agent", "key", "gate", "setup", "doctor")
)
_RERUN_SETUP: Final = "Run `aileron-tui setup {door}` again, or `aileron-tui agent rotate {agent}` for a new token."


@dataclass(frozen=True, slots=True)
class Door:
    """Which agent's hook this is, how it reaches the gate, and until when it must have replied.

    With `data`, the gate is the one of that data folder, whatever the environment says. A project can change the
    environment of an agent's hooks.
    """

    name: str
    agent: str
    deadline: float
    data: Path | None = None
    url: str = ""
    token_file: Path | None = None

    def link(self, seconds: float | None = None) -> GateLink:
        """Connects to the gate."""
        data = self.data or paths().data
        found = discover(self.url, data)
        if self.token_file is None and self.url and not found.instance:
            raise NoGate("there is no token for this gate", self.url, "Pass the agent's token file with --token-file.")
        try:
            token = read_token(self.token_file or token_path(data, self.agent))
        except PrivateFileError as error:
            hint = f"Run `aileron-tui setup {self.name}`, or `aileron-tui agent add {self.agent}`."
            raise NoGate(f"the token of agent {self.agent} cannot be read", str(error), hint) from None
        deadline = self.deadline if seconds is None else min(self.deadline, time.monotonic() + seconds)
        return GateLink(found, token, deadline)


def ask(door: Door, event: HookEvent) -> HookAnswer:
    """Asks the gate about a call and waits for the answer."""
    body = call_body(door.name, event, max(1, min(_LONGEST_WAIT, int(door.deadline - time.monotonic()) - 1)))
    with door.link() as link:
        try:
            status, reply = link.ask("POST", "/v1/permissions", body, wait=_wait(door))
            while status == 202:
                id_ = reply.get("approval_id")
                if not isinstance(id_, str) or not _APPROVAL_ID.fullmatch(id_):
                    raise InvalidReply("the gate sent an invalid reply", "its approval_id is missing or invalid")
                if door.deadline - time.monotonic() < 1:
                    return nobody_answered()
                status, reply = link.ask("GET", f"/v1/permissions/{id_}", wait=_wait(door))
        except TimedOut:
            return nobody_answered()
    return read_answer(door.name, door.agent, status, reply)


def call_body(door: str, event: HookEvent, seconds: int) -> JsonObject:
    """A call as the gate wants it."""
    body: JsonObject = {
        "tool": event.tool,
        "input": event.input,
        "server": event.server,
        "folder": event.folder,
        "session": event.session,
        "call_id": event.call_id,
        "says": event.says[:_LONGEST_CLAIM],
    }
    sent: JsonObject = {name: value for name, value in body.items() if value != ""}
    return sent | {"door": door, "can_edit": event.can_edit, "seconds": seconds}


def read_answer(door: str, agent: str, status: int, reply: JsonObject) -> HookAnswer:
    """The answer in the gate's reply. Only a complete `allowed` allows a call."""
    match (status, reply):
        case (200, {"status": "allowed", "input": dict(input_), "edited": bool(edited), **rest}):
            rule = rest.get("rule")
            why = f"Allowed by {rule}." if isinstance(rule, str) else "Approved in aileron-tui."
            return HookAnswer(Verdict.ALLOW, why, input_, edited)
        case (200, {"status": "denied", **rest}):
            reason = rest.get("reason")
            why = f": {reason}" if isinstance(reason, str) and reason else "."
            return HookAnswer(Verdict.DENY, f"The operator denied this call{why}")
        case (200, {"status": "failed", "failure": {"error": {"class": "approval_timeout"}}}):
            return nobody_answered()
        case (200, {"status": "failed", "failure": {"error": {"message": str(message)}}}):
            return HookAnswer(Verdict.UNDECIDED, f"This call was not allowed: {message}")
        case (401, _):
            hint = _RERUN_SETUP.format(door=door, agent=agent)
            return _undecided(f"the gate does not accept the token of agent {agent}", hint)
        case (202, _):
            return nobody_answered()
        case (int(), {"error": {"message": str(message)}}) if status >= 400:
            return _undecided(f"the gate refused to ask about this call (status {status}): {message}", "")
    raise InvalidReply("the gate sent an invalid reply", f"status {status}")


def nobody_answered() -> HookAnswer:
    """The answer if the time is over."""
    return HookAnswer(
        Verdict.UNDECIDED,
        "Nobody answered in time, so the call was not run. This is not a denial: it may be asked again when somebody "
        "is there to answer in aileron-tui.",
    )


def not_asked(error: AileronError) -> HookAnswer:
    """The answer if the gate could not be asked."""
    return _undecided(str(error), error.hint)


def report(door: Door, event: HookEvent) -> str:
    """Tells the gate what became of a call; returns what the user must know about it, or ""."""
    if not event.call_id:
        return ""
    body: JsonObject = {"session": event.session, "call_id": event.call_id}
    with door.link(_SHORT_SECONDS) as link:
        status, reply = link.ask("POST", "/v1/permissions/outcome", body | outcome_body(event))
    return difference(event, status, reply)


def outcome_body(event: HookEvent) -> JsonObject:
    """What became of a call, as the gate wants it."""
    body: JsonObject = {"status": "failed" if event.failed else "executed", "input": event.input}
    return body | {"error": event.text[:_LONGEST_ERROR]} if event.failed and event.text else body


def difference(event: HookEvent, status: int, reply: JsonObject) -> str:
    """What the user must know if something else was executed than was approved; otherwise ""."""
    if status != 200 or reply.get("differs") is not True:
        return ""
    return (
        "aileron-tui: what was executed is not what was approved. Another hook or setting changed the input of this "
        f"call of {event.tool}. The console and `aileron-tui history` show both."
    )


def announce(door: Door, event: HookEvent) -> None:
    """Tells the gate that a session began or ended."""
    if not event.session:
        return
    body: JsonObject = {"door": door.name, "session": event.session, "event": event.kind.value}
    if event.transcript:
        body["transcript"] = event.transcript
    with door.link(_SHORT_SECONDS) as link:
        link.ask("POST", "/v1/doors", body)


def prompt_answer(door: Door, text: str) -> str:
    """The answer to something that the user typed for aileron-tui; "" if it is for the model."""
    if not is_status(text):
        return prompt_hint(text)
    try:
        with door.link(_SHORT_SECONDS) as link:
            status, reply = link.ask("GET", "/v1/agent")
    except AileronError as error:
        return "\n".join(part for part in (f"aileron-tui: {error}", error.hint) if part)
    return status_text(reply) if status == 200 else read_answer(door.name, door.agent, status, reply).reason


def is_status(text: str) -> bool:
    """Whether the user asks how the gate is doing: `aileron` or `aileron status`."""
    command = _COMMAND.fullmatch(text.strip())
    return command is not None and command[1] in (None, "status") and command[2] is None


def prompt_hint(text: str) -> str:
    """Where to run a command that the user typed for aileron-tui; "" if the text is for the model.

    Nothing is done here: these words came through the agent's program, so they prove nothing about who typed them.
    """
    command = _COMMAND.fullmatch(text.strip())
    if command is None or command[1] not in _COMMANDS:
        return ""
    words = " ".join(word for word in ("aileron-tui", command[1], command[2]) if word)
    return f"Run this in a terminal of your own:\n  {words}"


def status_text(reply: JsonObject) -> str:
    """What the gate says about an agent and its requests, in words."""
    match reply:
        case {"agent": str(agent), "version": str(version), "waiting": list(waiting)}:
            from aileron_tui.core.visible_text import inline  # noqa: PLC0415  # most replies have no foreign text

            rows = [
                inline(f"  {item['id']}  {item.get('action', '')}  until {item.get('expires_at', '')}")
                for item in waiting
                if isinstance(item, dict) and "id" in item
            ]
            count = f"{len(waiting)} waiting for an answer:" if waiting else "Nothing is waiting."
            return "\n".join([f"The gate (aileron-tui {version}) knows this agent as {agent}. {count}", *rows])
    return "aileron-tui: the gate sent an invalid reply."


def _undecided(problem: str, hint: str) -> HookAnswer:
    end = f" {hint}" if hint else ""
    return HookAnswer(
        Verdict.UNDECIDED, f"aileron-tui could not get an answer, so the call was not run: {problem}.{end}"
    )


def _wait(door: Door) -> int:
    """Seconds for which the gate may hold a reply: until the deadline, so that it is always there first."""
    return max(1, min(_LONGEST_WAIT, int(door.deadline - time.monotonic())))
