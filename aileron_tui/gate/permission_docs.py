"""What the API document says about the routes for tool calls."""

from typing import Final

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.gate.agent_docs import PENDING
from aileron_tui.gate.route_docs import ReplyDocs, RouteDocs, body, choice, flag, mapping, number, record, ref, several
from aileron_tui.gate.route_docs import text as string

_ANSWERED: Final = ReplyDocs(200, "The answer; `status` says what it is.", ref("Permission"), ("Preference-Applied",))
_ID: Final = "Your id of the call. The same id asks about the same call again; without one, each call is a new request."
_SESSION: Final = string("The session of the agent; a claim.", 200)
_REPORT: Final[dict[str, JsonObject]] = {
    "status": choice("What became of the call.", "executed", "failed"),
    "input": mapping("What was executed. If it is not what was approved, the history says so."),
    "error": string("What went wrong.", 16 * 1024),
}
_REPORTED: Final = ReplyDocs(
    200,
    "The report is recorded.",
    record(
        "state differs",
        state=choice("", "executed", "failed"),
        differs=flag("Whether something else was executed than was approved."),
    ),
)
_NOT_HANDED_OVER: Final = ReplyDocs(409, "The call was not handed over, or was reported before.", ref("Error"))

ASK: Final = RouteDocs(
    "Ask whether a tool call may be executed",
    "The gate decides and executes nothing. Without `Prefer: wait=N` the reply is 202, unless a rule answers at once. "
    "With it, the reply is held for up to N seconds (3600 at most); a caller that disconnects while it waits withdraws "
    "the request. An approval is handed over once; fetch it within a minute.",
    body=body(
        "tool input",
        tool=string("The tool, such as `Bash`.", 200, minLength=1),
        input=mapping("The arguments of the call."),
        server=string("The MCP server of the tool.", 200),
        folder=string("The folder in which it would be executed.", 4096),
        session=_SESSION,
        call_id=string(_ID, 200),
        door=string("What asks, such as `http`, which is the default.", 32),
        can_edit=flag("Whether the program can execute the call with an input that a person has edited."),
        seconds=number("How long the program can wait. 0 means that it does not say.", 0, 3600),
        says=string("What the agent calls itself; a claim.", 200),
    ),
    example={"tool": "Bash", "input": {"command": "make deploy"}, "call_id": "call-1"},
    headers=("Prefer",),
    replies=(
        _ANSWERED,
        PENDING,
        ReplyDocs(409, "Another call with this `call_id` waits already.", ref("Error")),
    ),
)
POLL: Final = RouteDocs(
    "Poll for the answer about a tool call",
    "Only for requests of the same agent. Once an approval was fetched, polling again gives `failed` with the class "
    "`already_handed_over`.",
    headers=("Prefer",),
    replies=(_ANSWERED, PENDING),
)
OUTCOME: Final = RouteDocs(
    "Report what became of a tool call",
    "Optional. Without it, the history ends with the approval.",
    body=body("status", **_REPORT),
    example={"status": "executed", "input": {"command": "make deploy"}},
    replies=(_REPORTED, _NOT_HANDED_OVER),
)
CALL_OUTCOME: Final = RouteDocs(
    "Report what became of a tool call, by your own id",
    "The same for a program that knows only its own `call_id`.",
    body=body("status call_id", session=_SESSION, call_id=string("Your id of the call.", 200, minLength=1), **_REPORT),
    example={"status": "executed", "call_id": "call-1"},
    replies=(_REPORTED, ReplyDocs(404, "No such call was handed over.", ref("Error")), _NOT_HANDED_OVER),
)
DOOR: Final = RouteDocs(
    "Report that a door is in use",
    "A door is what asks about tool calls, such as a hook. If it falls silent while its session goes on, the operator "
    "is told.",
    body=body(
        "door session event",
        door=string("The name of the door.", 32, minLength=1),
        session=string("The session of the agent.", 200, minLength=1),
        event=choice("What happened.", "started", "heard", "ended"),
        transcript=string("The file that grows while the session goes on.", 4096),
    ),
    example={"door": "http", "session": "s-1", "event": "started"},
    replies=(ReplyDocs(204, "Noted."),),
)
AGENT: Final = RouteDocs(
    "Get your own name and waiting requests",
    replies=(
        ReplyDocs(
            200,
            "What the gate knows about the caller.",
            record(
                "agent version instance waiting",
                agent=string("The name of the token."),
                version=string(),
                instance=string(),
                waiting=several(ref("OwnRequest")),
            ),
        ),
    ),
)
