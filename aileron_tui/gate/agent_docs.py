"""What the API document says about the routes for calling actions, and about those that anyone may use."""

from typing import Final

from aileron_tui.gate.route_docs import ReplyDocs, RouteDocs, body, mapping, record, ref, several

_WAITING: Final = ("Retry-After", "Preference-Applied")
PENDING: Final = ReplyDocs(202, "It waits for approval. Poll `result_url`.", ref("Pending"), ("Location", *_WAITING))

HEALTH: Final = RouteDocs(
    "Check that a gate is running",
    replies=(
        ReplyDocs(200, "The gate works.", ref("Health")),
        ReplyDocs(503, "The gate cannot do its work; `reason` says why.", ref("Health")),
    ),
)
DOCUMENT: Final = RouteDocs(
    "Get this document",
    "OpenAPI 3.1, made from the routes of the running gate.",
    replies=(ReplyDocs(200, "The document.", mapping("An OpenAPI document.")),),
)
ACTIONS: Final = RouteDocs(
    "List the actions",
    replies=(
        ReplyDocs(
            200,
            "The actions of the installed manifests.",
            record(
                "items",
                items=several(ref("Action")),
                load_errors=several(mapping("A problem."), "What could not be loaded."),
            ),
        ),
    ),
)
ACTION: Final = RouteDocs("Get one action", replies=(ReplyDocs(200, "The action.", ref("Action")),))
RUN: Final = RouteDocs(
    "Call an action",
    "An action that needs no approval runs at once. Any other waits for a person. Without `Prefer: wait=N` the reply "
    "is 202 at once. With it, the reply is held until the call has ended, for up to N seconds (300 at most); a caller "
    "that disconnects while it waits withdraws the request.\n\n"
    "An identical call (same agent, session, action and inputs) joins the request that waits already: one prompt, one "
    "run, one result. If the result of an identical call was never fetched, it is the reply.",
    body=body("", args=mapping("The inputs of the action.")),
    body_required=False,
    example={"args": {"draft_id": "r-12345"}},
    headers=("Prefer", "X-Aileron-Agent", "X-Aileron-Session-Id", "X-Aileron-Folder"),
    replies=(
        ReplyDocs(
            200,
            "The call has ended; `status` says how. Without `status`, the action needed no approval and ran.",
            {"anyOf": [ref("Result"), ref("Ungated")]},
            _WAITING,
        ),
        PENDING,
        ReplyDocs(
            403,
            "The token may not do this (`error.code`), or the action may not (`error.class`: `capability_denied`).",
            {"anyOf": [ref("Error"), ref("Failure")]},
        ),
        ReplyDocs(
            412,
            "The connector's account cannot be used, for example because it is locked (`binding_required`). "
            "Nothing was run.",
            ref("Failure"),
        ),
        ReplyDocs(422, "Inputs are missing, unknown or have the wrong type. Nothing was run.", ref("Error")),
        ReplyDocs(500, "The action needed no approval, and its connector failed.", ref("Failure")),
        ReplyDocs(
            502,
            "The action needed no approval, and the service behind it failed. `outcome_unknown` means that it may have "
            "taken effect.",
            ref("Failure"),
        ),
    ),
)
RESULT: Final = RouteDocs(
    "Poll for a result",
    "Only for requests of the same agent. `Prefer: wait=N` holds the reply until the call has ended, for up to N "
    "seconds (300 at most). Disconnecting from a poll withdraws nothing. The result can be fetched again for a day.\n\n"
    "For a tool call this is the same as `GET /v1/permissions/{id}`: an approval is handed over once.",
    headers=("Prefer",),
    replies=(
        ReplyDocs(
            200, "The state of the call, or its result.", {"anyOf": [ref("Result"), ref("Permission")]}, _WAITING
        ),
        ReplyDocs(202, "The tool call waits for approval.", ref("Pending"), PENDING.headers),
    ),
)
WITHDRAW: Final = RouteDocs(
    "Withdraw a call that waits",
    "Only for calls of actions by the same agent.",
    replies=(
        ReplyDocs(204, "It is withdrawn, and nothing was run."),
        ReplyDocs(409, "It does not wait any more; `state` says what happened.", ref("Error")),
    ),
)
