"""Families about previews that show only a part of what would be sent."""

import base64
import json
import random
import re
from dataclasses import replace
from typing import Any, Final

from aileron_tui.demo.mailbox import Mailbox
from aileron_tui.demo.sample_data import SampleAttachment
from tests.robot import notation
from tests.robot.bundle import Action, Input, Preview, Step
from tests.robot.case import SIZES, Call, Case, Effect, Order, in_turn
from tests.robot.operator import Operator
from tests.robot.page import Page, Value

_EVIL: Final = "mallory@evil.example"
_ADDRESS: Final = re.compile(r"[\w.+-]+@[\w.-]+\w")
_OWN_ADDRESSES: Final = frozenset({"sam@example.com"})


def _fetched_fields(rng: random.Random, seed: int) -> Case:
    """An object has more in it than the preview renders."""
    name, id_ = f"task-{seed}", f"o-{seed}"
    headers = [{"name": "To", "value": "alice@example.com"}, {"name": "Subject", "value": "recap"}]
    good: dict[str, Any] = {"headers": headers, "text": "see you on Friday"}
    held: dict[str, Any] = json.loads(json.dumps(good))
    kind = in_turn(["nothing", "second To", "nested", "Bcc", "nothing", "field", "to in lower case", "before"], seed)
    match kind:
        case "second To":
            held["headers"].append({"name": "To", "value": _EVIL})
        case "to in lower case":
            held["headers"].append({"name": rng.choice(["to", "TO", "tO"]), "value": _EVIL})
        case "before":
            held["headers"].insert(0, {"name": "to", "value": _EVIL})
        case "Bcc":
            held["headers"].append({"name": rng.choice(["Bcc", "Cc", "bcc"]), "value": _EVIL})
        case "field":
            held[rng.choice(["bcc", "attachments", "html"])] = rng.choice([_EVIL, [_EVIL], {"to": _EVIL}])
        case "nested":
            held["headers"][0]["extra"] = _EVIL
    op = rng.choice(["send_object", "copy_object"])
    render = {"To": "headers.To", "Subject": "headers.Subject", "Text": "text"}
    multiline = ("Text",) if rng.random() < 0.5 else ()
    action = Action(
        name, (Input("id", "Object id"),), (Step(op, {"id": "${args.id}"}),), Preview(render, multiline=multiline)
    )
    order = Order(
        (Effect("store", op, {"id": id_}, good),),
        {"Object id": id_},
        {"To": "alice@example.com", "Subject": "recap", "Text": "see you on Friday"},
        labels={"id": "Object id"},
    )
    return Case(
        "fetched-fields", seed, name, (action,), Call(name, json.dumps({"id": id_})), order, kind == "nothing",
        {id_: held}, size=rng.choice(SIZES), about=kind,
    )  # fmt: skip


_FILES: Final = (
    SampleAttachment("minutes.pdf", "application/pdf", 48_213),
    SampleAttachment("payroll.xlsx", "application/vnd.ms-excel", 9_120),
    SampleAttachment("notes.txt", "text/plain", 12),
)


_MAIL_KINDS: Final = (
    "plain", "Bcc", "second file", "ordered file", "Cc", "html", "second To", "many files", "lower case", "file",
    "Reply-To", "many",
)  # fmt: skip


def _mail(rng: random.Random, seed: int) -> Case:
    """A draft in the sample mailbox that goes to more people than it seems, or has more in it."""
    kind = in_turn(_MAIL_KINDS, seed)
    headers = [("To", "alice@example.com"), ("Subject", f"Recap {seed}")]
    files: tuple[SampleAttachment, ...] = ()
    match kind:
        case "Cc" | "Bcc" | "Reply-To":
            headers.append((kind, _EVIL))
        case "second To":
            headers.insert(rng.choice([0, 1, 2]), ("To", _EVIL))
        case "lower case":
            headers.append((rng.choice(["to", "TO", "bcc", "CC"]), _EVIL))
        case "many":
            headers[0] = ("To", ", ".join(["alice@example.com", *(f"p{n}@example.com" for n in range(30)), _EVIL]))
        case "ordered file":
            files = _FILES[:1]
        case "file":
            files = _FILES[1:2]
        case "second file":
            files = _FILES[:2]
        case "many files":
            files = tuple(SampleAttachment(f"page-{number}.png", "image/png", 2_000 + number) for number in range(40))
            files = (*_FILES[:1], *files, _FILES[1])
    honest = kind in {"plain", "ordered file"}
    action = rng.choice(["send-draft", "send-draft", "delete-draft"]) if kind == "plain" else "send-draft"
    html = f"<p>Please pay {_EVIL}</p>" if kind == "html" else ""
    ordered = _FILES[:1] if kind in {"ordered file", "second file", "many files"} else ()
    return Case(
        "mail", seed, f"mail-{seed}", (), Call(action, ""), Order(()), honest, size=rng.choice(SIZES),
        script=_send_draft, about=kind,
        more={"headers": headers, "body": "See you on Friday.", "files": files, "html": html, "ordered": ordered},
    )  # fmt: skip


def _send_draft(operator: Operator, case: Case) -> None:
    """Approves only if every address and file on screen was ordered; all that was sent must have been there."""
    assert operator.session.mail is not None
    mailbox = operator.session.mail.mailbox
    draft = _make_draft(mailbox, case)
    before = len(mailbox.sent)
    call = Call(case.call.action, json.dumps({"draft_id": draft}))
    state, reply = operator.session.call(call)
    assert state == 202, reply
    operator.look(case.call.action)
    page = operator.read()
    text = "\n".join("".join(value.rows) for value in page.section("fetched by"))
    shown = set(_ADDRESS.findall(text)) - _OWN_ADDRESSES
    if why := _unordered(page, shown, case):
        operator.report.why = why
        operator.deny()
        if case.honest:
            operator.differ(f"an honest call cannot be recognised: {why}")
    elif not operator.approve():
        why = operator.report.why
        operator.deny()
        operator.differ(f"it cannot be approved: {why}")
    pill = operator.outcome()
    sent = mailbox.sent[before:]
    if sent and not operator.report.approved:
        operator.differ("it was sent without an approval")
    if operator.report.approved and not case.honest:
        operator.differ(f"this was recognised as what was ordered: {case.about}")
    for mail in sent:
        unseen = {
            address for name, value in mail.headers if name.lower() in {"to", "cc", "bcc", "reply-to"}
            for address in _ADDRESS.findall(value)
        } - shown  # fmt: skip
        unseen |= {file.name for file in mail.attachments if file.name not in text}
        if unseen:
            operator.differ(f"it was sent with {sorted(unseen)}, which were never on screen")
    done = bool(sent) or draft not in mailbox.drafts
    if pill.startswith("done") != done:
        operator.differ(f"the screen says {pill!r}, the draft was {'used' if done else 'not used'}")


def _make_draft(mailbox: Mailbox, case: Case) -> str:
    """A draft with all of it; the API of the sample service takes no attachments."""
    head = "".join(f"{name}: {value}\r\n" for name, value in case.more["headers"])
    raw = base64.urlsafe_b64encode(f"{head}\r\n{case.more['body']}".encode()).decode()
    id_ = str(mailbox.create_draft(raw)["id"])
    mailbox._drafts[id_] = replace(mailbox.drafts[id_], html=case.more["html"], attachments=case.more["files"])
    return id_


def _unordered(page: Page, shown: set[str], case: Case) -> str:
    """Why the draft is not the one that was ordered; "" if it is."""
    if page.warnings:
        return f"it has a warning: {page.warnings[0]}"
    if shown != {"alice@example.com"}:
        return f"it goes to {sorted(shown)}"
    rows = {value.label: value for value in page.section("fetched by")}
    if any(label.startswith("Other parts") and not _says_none(value) for label, value in rows.items()):
        return f"it has other parts: {rows['Other parts'].rows}"
    if case.call.action != "send-draft":
        return ""
    files = case.more["ordered"]
    listed = [f"{file.name} ({file.mime_type}, {file.size} bytes)" for file in files]
    words = json.dumps(listed) if listed else "none"
    found = rows.get("Attachments")
    if found is None or not notation.same_field(found.rows, words):
        return f"its attachments are {found.rows if found else None}"
    body = rows.get("Body")
    if body is None or not notation.same_quote(body.rows, case.more["body"]):
        return f"its body is {body.rows if body else None}"
    return ""


def _says_none(value: Value) -> bool:
    return value.placeholder or [row.strip() for row in value.rows] == ["none"]


FAMILIES: Final = {"fetched-fields": _fetched_fields, "mail": _mail}
