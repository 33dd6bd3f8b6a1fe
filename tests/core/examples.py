"""Small good values that tests start from and change."""

from aileron_tui.core.action import Action, Approval, Input, Requirement, Step
from aileron_tui.core.decision import Statement, Verdict
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.preview_directive import PreviewDirective
from aileron_tui.core.prompt import Asker, ConnectorRef, PreviewResult, Prompt, ResolvedStep
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import Risk, RiskLevel

MAIL = "local://samples/mail"
HASH = "sha256:" + "ab" * 32
SENT: JsonObject = {"draft_id": "r-12345"}


def action(op: str = "send_draft", *, idempotent: bool | None = None) -> Action:
    """An action like `send-draft`, with one step."""
    return Action(
        name="send-draft",
        version="1.0.0",
        source="local://samples/mail/actions/send-draft@1.0.0",
        requires=(Requirement(MAIL, "1.0.0", HASH, (op,)),),
        intent="send a draft",
        inputs=(Input("draft_id", "string", "The draft.", label="Draft id"),),
        execute=(Step("send", MAIL, op, idempotent, {"draft_id": "${args.draft_id}"}),),
        approval=Approval(
            required=True,
            preview=PreviewDirective(
                "get_draft",
                {"id": "${args.draft_id}"},
                (("To", "message.payload.headers.To"), ("Body", "message.snippet")),
                frozenset({"Body"}),
            ),
        ),
        body="",
    )


def prompt() -> Prompt:
    """The worked example: send-draft with a good draft id."""
    return Prompt(
        kind="action",
        action="send-draft",
        connector=ConnectorRef(MAIL, "1.0.0", HASH, "unsigned"),
        args={"draft_id": "r-12345"},
        inputs=(Row("Draft id", "r-12345"),),
        preview=PreviewResult(
            (
                Row("To", "team@example.com"),
                Row("Subject", "Weekly recap"),
                Row("Body", "Here's the recap\nfrom this week's standup", multiline=True),
            )
        ),
        asker=Asker("scripted agent", "s-1", "/home/me/project"),
        risk=Risk(RiskLevel.HIGH, "it sends"),
        steps=(ResolvedStep("send", "send_draft", ConnectorRef(MAIL, "1.0.0", HASH, "unsigned"), SENT),),
    )


def statement() -> Statement:
    """An approval of the worked example."""
    return Statement(
        request="act-20260512T101530-9f1c2ab34d5e6f70",
        instance="gate-1",
        action="send-draft",
        connector=HASH,
        digest=prompt().digest,
        verdict=Verdict.APPROVE,
        edits=None,
        reason="",
        surface="console",
        time="2026-05-12T10:15:30.000000Z",
        expires="2026-05-12T10:20:30.000000Z",
        nonce="0123456789abcdef" * 2,
        head=HASH,
    )
