"""What the API document says about the routes for tool calls."""

from typing import Final

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.gate.agent_docs import PENDING
from aileron_tui.gate.route_docs import ReplyDocs, RouteDocs, body, choice, flag, mapping, number, record, ref, several
from aileron_tui.gate.route_docs import text as string

_ANSWERED: Final = ReplyDocs(200, "The answer; `status` says what it is.", ref("Permission"), ("Preference-Applied",))
_ID: Final = "Your id of the call. The same id asks about the same call again; without one, each call is a new request."
_SESSION: Final = string("The session of the agent; a claim.", 200)
_HASH: Final = string(
    "The hash of the definition of the tool. It needs `server`, and is part of what is signed.",
    71,
    pattern="^(sha256:[0-9a-f]{64})?$",
)
_PREVIEW: Final = body(
    "",
    rows=several(
        body(
            "",
            label=string("", 100),
            value=string("", 200_000),
            multiline=flag("Whether it is shown as a text of its own."),
            missing=flag("Whether there is no such value."),
        ),
        most=100,
    ),
    unavailable=string("Why there is no preview.", 1000),
    hidden=number("How many values are not in `rows`.", 0, 1_000_000),
    **{"from": string("What it was fetched with.", 200)},
) | {
    "type": ["object", "null"],
    "description": "What was fetched for the operator, marked as told by the agent. Only for calls; needs `server`.",
}
_REPORT: Final[dict[str, JsonObject]] = {
    "status": choice(
        "What became of the call. `unknown` if it may have taken effect.", "executed", "failed", "unknown"
    ),
    "input": mapping("What was executed. If it is not what was approved, the history says so."),
    "error": string("What went wrong.", 16 * 1024),
}
_KNOWN: Final = {name: string() for name in ("id", "tool", "server", "call_id", "session", "batch")}
_REPORTED: Final = ReplyDocs(
    200,
    "The report is recorded.",
    record(
        "state differs",
        state=choice("", "executed", "failed", "unknown"),
        differs=flag("Whether something else was executed than was approved."),
    ),
)
_NOT_HANDED_OVER: Final = ReplyDocs(409, "The call was not handed over, or was reported before.", ref("Error"))

ASK: Final = RouteDocs(
    "Ask whether a tool call may be executed",
    "The gate decides and executes nothing. Without `Prefer: wait=N` the reply is 202, unless a rule answers at once. "
    "With it, the reply is held for up to N seconds (3600 at most); a caller that disconnects while it waits withdraws "
    "the request. An approval is handed over once; fetch it within a minute, or send `resumable`.",
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
        batch=string("A name that calls share which belong together.", 100),
        resumable=flag(
            "Lets an approval wait 15 minutes to be fetched, for a program that may come back after a crash."
        ),
        definition=_HASH,
        kind=choice(
            "`definition` asks whether a changed definition of a tool is accepted. `input` is then `before` (an object "
            "or null) and `after`, and no rule answers it. The default is `call`.",
            *("", "call", "definition"),
        ),
        preview=_PREVIEW,
        risk=choice("Raises the risk. It is never lowered.", "", "normal", "high"),
        risk_reason=string("Why, in a few words.", 200),
    ),
    example={"tool": "Bash", "input": {"command": "make deploy"}, "call_id": "call-1"},
    headers=("Prefer",),
    replies=(
        _ANSWERED,
        PENDING,
        ReplyDocs(409, "Another call with this `call_id` waits already.", ref("Error")),
    ),
)
WITHDRAW: Final = RouteDocs(
    "Withdraw a tool call that waits",
    "Only for tool calls of the same agent.",
    replies=(
        ReplyDocs(204, "It is withdrawn."),
        ReplyDocs(409, "It does not wait any more; `state` says what happened.", ref("Error")),
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
                "agent version instance waiting approved handed_over",
                agent=string("The name of the token."),
                version=string(),
                instance=string(),
                waiting=several(ref("OwnRequest"), "What waits for an answer."),
                approved=several(
                    record("id tool expires_at", **_KNOWN, expires_at=string()),
                    "Tool calls that were approved and can be fetched.",
                ),
                handed_over=several(
                    record("id tool at", **_KNOWN, at=string()),
                    "Tool calls that were fetched and never reported on, newest first.",
                ),
            ),
        ),
    ),
)
