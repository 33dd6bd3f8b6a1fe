"""What the API document says about the routes that open the page."""

from typing import Final

from aileron_tui.gate.route_docs import ReplyDocs, RouteDocs, body, choice, flag, number, record, ref, text

_NO_PAGE: Final = ReplyDocs(404, "This gate has no page; the message says why.", ref("Error"))

CODES: Final = RouteDocs(
    "Get a code that opens the page",
    "A browser on this machine opens `url` and passes on the code, which works once and for 30 seconds. Keep it out of "
    "process arguments and logs.",
    body=body(
        "purpose",
        purpose=choice("`enroll` opens the page to register a passkey, and nothing else.", "open", "enroll"),
        name=text("The name of the passkey; only for `enroll`.", 64),
    ),
    example={"purpose": "open"},
    replies=(
        ReplyDocs(
            200,
            "The code.",
            record(
                "url code expires_at",
                url=text("The address with the code in its fragment."),
                code=text(),
                expires_at=text(),
                enrolment=text("The id of the enrolment."),
            ),
        ),
        _NO_PAGE,
    ),
)
ENROLMENT: Final = RouteDocs(
    "Wait for a passkey that is being registered on the page",
    "It is registered, but not enrolled: that needs a signed key change.",
    headers=("Prefer",),
    replies=(
        ReplyDocs(
            200,
            "What is known so far. With `registered`, the public part as Base64.",
            record(
                "status name",
                status=choice("", "waiting", "registered", "ended"),
                name=text(),
                credential=text(),
                algorithm=number("The COSE number of the algorithm."),
                spki=text(),
                backup_eligible=flag("Whether the passkey may be copied to other devices."),
                backed_up=flag("Whether it is."),
                reason=text("Why it ended without a passkey."),
            ),
        ),
    ),
)
