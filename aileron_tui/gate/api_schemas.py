"""The parts of the API document that several routes share: schemas, headers and query parameters."""

from typing import Final

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.gate.http_request import MAX_NAME_LENGTH
from aileron_tui.gate.route_docs import anything, choice, flag, mapping, number, record, ref, several, text

SEGMENT: Final = "^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$"
"""What a path can contain in place of `{…}`."""

_TIME: Final[JsonObject] = {"type": "string", "format": "date-time"}

_WORDS: Final = (
    "What happened to the call: `pending_approval` and `running` are not final. `completed` means that it ran, "
    "`denied` that a person or a rule refused it, and `failed` that it went wrong or nobody answered."
)

SCHEMAS: Final[dict[str, JsonObject]] = {
    "Error": record(
        "error",
        "Why the gate refused a call or could not do what was asked. `message` says if anything was done.",
        error=record(
            "code message",
            code=text("A word for programs, such as `invalid_body`."),
            message=text("A sentence for people."),
            details=several(record("input message", input=text(), message=text()), "The inputs that are not valid."),
        ),
        state=text("The state of the request, if that is why."),
        item=mapping("The request as it is now, for approvers, if that is why."),
    ),
    "Failure": record(
        "error",
        "Why a call produced no result.",
        error=record(
            "class message retriable boundary",
            **{
                "class": text(
                    "What went wrong. `approval_timeout`: nobody answered, which is not a denial. `withdrawn`: the "
                    "request was withdrawn. `outcome_unknown`: it may have taken effect; do not repeat it blindly."
                )
            },
            message=text("A sentence for people and models."),
            retriable=flag("Whether the same call may work later."),
            boundary=text("Where it was stopped, such as `external`."),
            audit_id=text(),
            details=mapping("More about it, such as the status that a service returned."),
        ),
    ),
    "Action": record(
        "name inputs approval",
        "An action that an agent may call.",
        name=text(),
        version=text(),
        source=text("Where it comes from."),
        match=record("intent", intent=text("What it is for.")),
        inputs=several(
            record(
                "name type required",
                name=text(),
                type=choice("", "string", "integer", "number", "boolean", "array", "object"),
                required=flag(""),
                description=text(),
                items_type=text("The type of the items of an array."),
            )
        ),
        approval=record("required", required=flag("Whether a person must approve each call.")),
        risk=choice("How risky a call is.", "low", "normal", "high"),
        idempotent=flag("Whether the manifest says that repeating a call changes nothing more."),
        body=text("More about it, as Markdown."),
    ),
    "Pending": record(
        "status approval_id result_url message",
        "The call waits for a person, or was approved and is running.",
        status=choice("", "pending_approval", "running"),
        approval_id=text("The id of the request."),
        result_url=text("Where to poll for the result; also in `Location`."),
        expires_at={**_TIME, "description": "When it ends if nobody answers. An operator can extend it."},
        message=text(),
    ),
    "Result": record(
        "status",
        "The state of a call, or how it ended.",
        status=choice(_WORDS, "pending_approval", "running", "completed", "failed", "denied"),
        audit_id=text("The id of a completed call in the history."),
        result=text("What the action returned, as text."),
        output=anything("The same as JSON, if `result` is strict JSON of at most 1 MiB; otherwise absent."),
        reason=text("Why it was denied, if they said so."),
        failure=ref("Failure"),
        expires_at={**_TIME, "description": "When it ends if nobody answers."},
        message=text(),
    ),
    "Ungated": record(
        "audit_id result",
        "The result of an action that needs no approval.",
        audit_id=text(),
        result=text("What the action returned, as text."),
        output=anything("The same as JSON, if `result` is strict JSON of at most 1 MiB; otherwise absent."),
    ),
    "Envelope": record(
        "payload payloadType signatures",
        "A signed statement (DSSE).",
        payload=text("The statement as Base64."),
        payloadType=text(),
        signatures=several(
            record(
                "keyid sig",
                "Exactly one. Of a security key or passkey it also has the assertion.",
                keyid=text(),
                sig=text(),
                authenticatorData=text("What the security key says about itself, as Base64."),
                clientDataJSON=text("What it was asked to sign, as Base64."),
            )
        ),
    ),
    "Permission": record(
        "status approval_id",
        "The answer about a tool call.",
        status=choice(
            "`allowed`: execute it now, with exactly `input`. `denied`: a person or a rule refused it. `failed`: do "
            "not execute it; `failure` says why. `running`: it was approved, and the answer follows.",
            *("allowed", "denied", "failed", "pending_approval", "running"),
        ),
        approval_id=text(),
        input=mapping("What may be executed, also if nothing was edited."),
        edited=flag("Whether a person changed the input."),
        decision=ref("Envelope"),
        shown=text("The digest of what was shown. Together with the call, it is what was signed."),
        rule=text("The rule that allowed it, if one did."),
        rule_envelope=ref("Envelope"),
        reason=text("Why it was denied, if they said so."),
        failure=ref("Failure"),
        expires_at=_TIME,
        message=text(),
    ),
    "OwnRequest": record(
        "id action asked_at expires_at",
        id=text(),
        action=text("The action or the tool."),
        asked_at=_TIME,
        expires_at=_TIME,
        tool=text("The tool, if it is a tool call; then it also has what the program that asked knows it by."),
        server=text(),
        call_id=text(),
        session=text(),
        batch=text(),
    ),
    "Health": record(
        "status service version timestamp instance",
        status=choice("", "ok", "failing"),
        service=text("Always `aileron`."),
        version=text(),
        timestamp=_TIME,
        instance=text("The id of this run of the gate."),
        reason=text("Why it is failing."),
        doing=text("What takes a while and keeps calls waiting, such as compiling a connector."),
    ),
    "Request": mapping("One request as approvers see it: the prompt, its digest, its state and its deadline."),
}

HEADERS: Final[dict[str, tuple[str, JsonObject]]] = {
    "Prefer": (
        "`wait=N` holds the reply for up to N seconds. Other preferences, and values that cannot be read, are ignored.",
        {"type": "string", "examples": ["wait=60"]},
    ),
    "X-Aileron-Agent": ("What the agent calls itself. The prompt shows it as a claim.", text(most=MAX_NAME_LENGTH)),
    "X-Aileron-Session-Id": ("The session of the agent, also a claim.", text(most=MAX_NAME_LENGTH)),
    "X-Aileron-Folder": ("The folder that the agent works in, also a claim.", text(most=MAX_NAME_LENGTH)),
    "Last-Event-ID": ("The last event that the caller has seen.", {"type": "string"}),
}
"""The headers that a caller can send."""

REPLY_HEADERS: Final[dict[str, tuple[str, JsonObject]]] = {
    "Location": ("The URL to poll, the same as `result_url`.", {"type": "string"}),
    "Retry-After": ("How many seconds to wait before the next attempt.", {"type": "integer", "minimum": 1}),
    "Preference-Applied": ("How long the reply was held at most, such as `wait=60`.", {"type": "string"}),
    "WWW-Authenticate": ("Always `Bearer`.", {"type": "string"}),
    "X-Request-ID": ("The id of this exchange in the log of the gate; the caller may choose it.", {"type": "string"}),
}
"""The headers of replies."""

QUERY: Final[dict[str, tuple[str, JsonObject]]] = {
    "surface": ("A surface, such as `console`.", {"type": "string"}),
    "text": ("Words to search for.", text(most=1000)),
    "since": ("A date or a time in UTC.", {"type": "string"}),
    "until": ("A date or a time in UTC.", {"type": "string"}),
    "outcome": ("An outcome; can be repeated.", several({"type": "string"})),
    "action": ("An action or a tool.", {"type": "string"}),
    "agent": ("An agent.", {"type": "string"}),
    "signer": ("A key.", {"type": "string"}),
    "before": ("The number `next` of the page before.", number("", 0)),
    "limit": ("How many at most.", number("", 1)),
    "audit_id": ("One event.", {"type": "string"}),
    "connector_fqn": ("A connector.", {"type": "string"}),
    "class": ("A class of failures.", {"type": "string"}),
    "timeout": ("The timeout in the settings of Claude Code, in seconds.", number("", 1, 999_999)),
}
"""The parameters of queries."""
