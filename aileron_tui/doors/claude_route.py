"""The hooks of Claude Code over HTTP, served by the gate itself: the same JSON in and out, without a process per call.

Claude Code runs a tool if the reply is an error or has no decision, unless its settings say `onFailure: block`. So once
the token has been accepted, everything that goes wrong is a reply with status 200 that blocks the call.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from aileron_tui.core import claude_hooks
from aileron_tui.core.errors import AileronError
from aileron_tui.core.hook_event import SILENCE, EventKind, HookEvent, HookReply, bounded
from aileron_tui.doors.hook_calls import (
    call_body,
    difference,
    is_status,
    not_asked,
    outcome_body,
    prompt_hint,
    read_answer,
    status_text,
)
from aileron_tui.gate.gate_state import log
from aileron_tui.gate.held_calls import HeldCalls
from aileron_tui.gate.http_request import MAX_NAME_LENGTH, ClientDisconnected, HttpRequest, Refusal, json_response
from aileron_tui.gate.permission_routes import LONGEST_HOLD, read_question, read_report
from aileron_tui.gate.route_docs import ReplyDocs, RouteDocs, mapping
from aileron_tui.gate.route_table import Route, RouteAccess

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate

_DOOR: Final = "claude"
_DEFAULT_TIMEOUT: Final = 600
"""The timeout of Claude Code for a hook without one."""

_MARGIN_SECONDS: Final = 5
_DOCS: Final = RouteDocs(
    "Answer a hook of Claude Code",
    "The JSON of Claude Code in and out. Once the token was accepted, every reply has the status 200, because Claude "
    "Code would run the call after an error; whatever goes wrong blocks the call.",
    body=mapping("An event of Claude Code."),
    query=("timeout",),
    replies=(ReplyDocs(200, "What Claude Code shall do.", mapping("The output of a hook.")),),
)


def claude_routes(gate: "Gate", held: HeldCalls) -> tuple[Route, ...]:
    """The routes for Claude Code."""
    return (Route("POST", "/hooks/claude", RouteAccess.AGENT, ClaudeRoute(gate, held).hook, _DOCS, _refused),)


class ClaudeRoute:
    """Replies to the events of Claude Code."""

    def __init__(self, gate: "Gate", held: HeldCalls) -> None:
        self._gate = gate
        self._held = held

    async def hook(self, http_request: HttpRequest) -> Response:
        """Replies to one event. `timeout` in the query is the timeout in the settings of Claude Code."""
        seconds = _seconds(http_request.query("timeout").get("timeout", []))
        event = claude_hooks.read_event(await http_request.body(http_request.limits.call_bytes, None))
        try:
            reply = await self._reply(http_request, event, seconds)
        except ClientDisconnected:
            raise
        except Exception as error:  # noqa: BLE001  # a reply with another status would let the call run
            if not isinstance(error, Refusal | AileronError):
                log.exception("a hook of Claude Code failed")
            reply = _failure(event, error)
        return json_response(reply.output or {})

    async def _reply(self, http_request: HttpRequest, event: HookEvent, seconds: int) -> HookReply:
        agent = http_request.agent.name
        match event.kind:
            case EventKind.ASK:
                self._held.check_rate(http_request)
                asked = read_question(call_body(_DOOR, event, seconds), agent)
                call = partial(self._gate.ask_permission, asked, agent=agent)
                said = await self._held.wait(http_request, call, seconds)
                return claude_hooks.reply(event, read_answer(_DOOR, agent, said.status, said.body))
            case EventKind.OUTCOME if event.call_id:
                report = read_report(outcome_body(event))
                said = await self._gate.report_call_outcome(event.session, event.call_id, report, agent=agent)
                return claude_hooks.message(difference(event, said.status, said.body))
            case EventKind.PROMPT:
                text = status_text(self._gate.own_requests(agent)) if is_status(event.text) else prompt_hint(event.text)
                return claude_hooks.prompt_reply(text)
            case EventKind.STARTED | EventKind.ENDED if 0 < len(event.session) <= MAX_NAME_LENGTH:
                self._gate.door_heard(agent, _DOOR, event.session, event=event.kind.value)
        return SILENCE


def _failure(event: HookEvent, error: Exception) -> HookReply:
    """The reply if an event could not be handled: a denial, unless nothing waits for it."""
    known = error if isinstance(error, AileronError) else AileronError(str(error) or "the gate failed")
    return claude_hooks.reply(event, not_asked(known)) if event.kind is EventKind.ASK else SILENCE


def _refused(error: Exception) -> Response:
    """The reply to an event that could not be read. It blocks a tool call, and anything else that can be blocked."""
    known = error if isinstance(error, AileronError) else AileronError(str(error))
    return json_response({"decision": "block", "reason": bounded(not_asked(known).reason)})


def _seconds(values: list[str]) -> int:
    """How long a call may wait for an answer, so that the reply is there before the timeout."""
    text = values[0] if values else str(_DEFAULT_TIMEOUT)
    if not (text.isascii() and text.isdigit() and len(text) < 7 and int(text) > 0):
        raise Refusal(400, "invalid_query", "timeout must be a number of seconds")
    timeout = int(text)
    return max(1, min(LONGEST_HOLD, timeout - min(_MARGIN_SECONDS, timeout // 3 + 1)))
