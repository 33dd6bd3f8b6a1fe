"""What the API document says about the routes for approvers and viewers."""

from typing import Final

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.gate.decision_body import MAX_REASON_LENGTH
from aileron_tui.gate.history_routes import AUDIT as AUDIT_QUERY
from aileron_tui.gate.history_routes import SEARCH
from aileron_tui.gate.presence import SURFACES
from aileron_tui.gate.route_docs import (
    ReplyDocs,
    RouteDocs,
    body,
    choice,
    flag,
    mapping,
    number,
    record,
    ref,
    several,
    text,
)

_REQUESTS: Final = ReplyDocs(200, "The requests.", record("items", items=several(ref("Request"))))
_ITEM: Final = ReplyDocs(200, "The request as it is now.", record("item", item=ref("Request")))
_EVENTS: Final = ReplyDocs(200, "Events until the caller disconnects.", text(), media_type="text/event-stream")
_CHANGED: Final = ReplyDocs(409, "It does not wait any more, or what is shown has changed.", ref("Error"))
_INPUTS: Final = ReplyDocs(422, "Edited inputs are not valid.", ref("Error"))
_EMPTY: Final = body("")
_DECISION: Final[dict[str, JsonObject]] = {
    "approved": flag(""),
    "reason": text("Why it is denied; the agent gets it.", MAX_REASON_LENGTH),
    "edited_payload": mapping("The inputs that the operator changed."),
    "envelope": ref("Envelope"),
}
_ACCOUNTS: Final = choice("Whether an approver has to unlock the accounts of connectors.", "none", "locked", "unlocked")
_SESSION: Final = record(
    "token expires_at accounts",
    token=text("The bearer token of the session."),
    expires_at=text(),
    accounts=_ACCOUNTS,
)


CHALLENGE: Final = RouteDocs(
    "Get a challenge to sign",
    body=_EMPTY,
    body_required=False,
    replies=(
        ReplyDocs(
            200,
            "What to sign with an enrolled key.",
            record("challenge instance ledger", challenge=text(), instance=text(), ledger=text()),
        ),
    ),
)
OPEN_SESSION: Final = RouteDocs(
    "Open a session",
    body=body(
        "challenge keyid signature",
        challenge=text(),
        keyid=text("The fingerprint of the key."),
        signature=text("The signature as Base64."),
    ),
    replies=(ReplyDocs(200, "The session.", _SESSION),),
)
CLOSE_SESSION: Final = RouteDocs("Close your session", replies=(ReplyDocs(204, "Closed."),))
PRESENCE: Final = RouteDocs(
    "Say who is at a surface",
    "Counts while the session watches, and otherwise for 30 seconds. Alerts go to surfaces where somebody is awake.",
    body=body(
        "surface awake",
        surface=choice("", *SURFACES),
        awake=flag("Whether somebody is at it."),
        reading={"type": ["string", "null"], "description": "The id of the request that they read."},
    ),
    replies=(ReplyDocs(204, "Noted."),),
)
LIST: Final = RouteDocs("List the waiting requests, oldest first", replies=(_REQUESTS,))
WATCH: Final = RouteDocs(
    "Watch requests as they arrive, change and end",
    "First a `snapshot` with the waiting `items` and who reads them (`readers`), then `pending`, `updated`, `resolved` "
    "(with `surface` and `by`, the name of the key), `reading` (`id`, `readers`) and `alert` (`id`, `surface`, "
    "`reason`, and in `more` for how many other requests).",
    headers=("Last-Event-ID",),
    query=("surface",),
    replies=(_EVENTS,),
)
SHOW: Final = RouteDocs("Get one request", replies=(ReplyDocs(200, "The request.", ref("Request")),))
DECIDE: Final = RouteDocs(
    "Send a signed decision",
    "The signature covers the digest of what was shown. A security key or passkey signs the same bytes inside an "
    'assertion. With `[policy] high_risk = "key"`, any other approval at high risk gets 403 `needs_security_key`.',
    body=body("approved", **_DECISION),
    replies=(
        ReplyDocs(200, "It counts.", record("id state", id=text(), state=text())),
        _CHANGED,
        _INPUTS,
    ),
)
DECIDE_BATCH: Final = RouteDocs(
    "Send several signed decisions",
    "Each item has the `id` of a request and the fields of a decision. Each counts or not on its own.",
    body=body("items", items=several(record("id", id=text()) | {"additionalProperties": True})),
    replies=(
        ReplyDocs(
            200,
            "How many counted, and a reply for each.",
            record(
                "items",
                items=several(mapping("The reply to one decision.")),
                approved=number(""),
                denied=number(""),
                skipped=number(""),
            ),
        ),
    ),
)
EXTEND: Final = RouteDocs(
    "Let a request wait five more minutes", body=body("envelope", envelope=ref("Envelope")), replies=(_ITEM, _CHANGED)
)
REFRESH: Final = RouteDocs(
    "Fetch the preview again",
    "With `edited_payload`, the prompt is that of the edited call.",
    body=body("", edited_payload=_DECISION["edited_payload"]),
    body_required=False,
    replies=(_ITEM, _CHANGED, _INPUTS),
)
FETCHED: Final = RouteDocs(
    "Fetch everything that the preview op returns",
    replies=(
        ReplyDocs(200, "What it returned.", record("fetched", fetched={"description": "Any JSON."})),
        ReplyDocs(409, "There is no preview, or the request does not wait.", ref("Error")),
        ReplyDocs(413, "It is too large to be shown.", ref("Error")),
        ReplyDocs(502, "The preview op failed.", ref("Error")),
    ),
)
RULE_OFFERS: Final = RouteDocs(
    "List the rules that can be made from a request",
    replies=(
        ReplyDocs(
            200,
            "The rules, narrowest first.",
            record(
                "offers refused days head",
                offers=several(mapping("A rule, and what it would have answered.")),
                refused=several(record("reach why", reach=text(), why=text()), "Why others cannot be made."),
                days=number("How many days were looked at."),
                head=text(),
            ),
        ),
        _CHANGED,
    ),
)
RULES: Final = RouteDocs(
    "List the rules, newest first",
    replies=(
        ReplyDocs(
            200,
            "The rules.",
            record(
                "rules invalid head",
                rules=several(mapping("A rule.")),
                invalid=several({"description": "A rule that cannot be read."}),
                head=text(),
            ),
        ),
    ),
)
CHANGE_RULE: Final = RouteDocs(
    "Make or end a rule",
    body=body("envelope", envelope=ref("Envelope")),
    replies=(
        ReplyDocs(200, "It is recorded.", record("id state", id=text(), state=text())),
        ReplyDocs(409, "The rule cannot be made.", ref("Error")),
    ),
)
HISTORY: Final = RouteDocs(
    "Search the history, newest first",
    query=SEARCH,
    replies=(
        ReplyDocs(
            200,
            "One page.",
            record(
                "items next",
                items=several(mapping("One request. `signed_by` is the name of the key that signed the answer.")),
                next={"type": ["integer", "null"], "description": "The value of `before` for the next page."},
            ),
        ),
    ),
)
HISTORY_REQUEST: Final = RouteDocs(
    "Get everything that the ledger has about a request", replies=(ReplyDocs(200, "The entries.", mapping("")),)
)
AUDIT: Final = RouteDocs(
    "List the history as events in Aileron's format",
    query=AUDIT_QUERY,
    replies=(ReplyDocs(200, "The events.", mapping("")),),
)
AUDIT_EVENT: Final = RouteDocs("Get one audit event", replies=(ReplyDocs(200, "The event.", mapping("")),))
METRICS: Final = RouteDocs(
    "Get the metrics",
    "In the text format of Prometheus. Needs `[metrics] enabled = true` in the configuration.",
    replies=(
        ReplyDocs(200, "The metrics.", text(), media_type="text/plain"),
        ReplyDocs(404, "Metrics are off, or their extra is not installed; the message says which.", ref("Error")),
    ),
)
STATUS: Final = RouteDocs("Get the status of the gate", replies=(ReplyDocs(200, "The status.", mapping("")),))

VIEWER_SESSION: Final = RouteDocs(
    "Open a session that only reads",
    body=_EMPTY,
    body_required=False,
    replies=(
        ReplyDocs(
            200,
            "The session.",
            record(
                "token expires_at instance accounts",
                token=text(),
                expires_at=text(),
                instance=text(),
                accounts=_ACCOUNTS,
            ),
        ),
    ),
)
VIEWER_CLOSE: Final = CLOSE_SESSION
VIEWER_LIST: Final = RouteDocs("List the waiting requests without previews", replies=(_REQUESTS,))
VIEWER_WATCH: Final = RouteDocs("Watch requests without previews", headers=("Last-Event-ID",), replies=(_EVENTS,))
