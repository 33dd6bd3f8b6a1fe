"""Families about previews that show only a part of what would be sent."""

import base64
import json
import random
import re
from typing import Any, Final

from tests.robot.bundle import Action, Input, Preview, Step
from tests.robot.case import SIZES, Call, Case, Effect, Order
from tests.robot.operator import Operator

_EVIL: Final = "mallory@evil.example"
_ADDRESS: Final = re.compile(r"[\w.+-]+@[\w.-]+\w")
_OWN_ADDRESSES: Final = frozenset({"sam@example.com"})


def _fetched_fields(rng: random.Random, seed: int) -> Case:
    """An object has more in it than the preview renders."""
    name, id_ = f"task-{seed}", f"o-{seed}"
    headers = [{"name": "To", "value": "alice@example.com"}, {"name": "Subject", "value": "recap"}]
    good: dict[str, Any] = {"headers": headers, "text": "see you on Friday"}
    held: dict[str, Any] = json.loads(json.dumps(good))
    kind = rng.choice(["nothing", "nothing", "second To", "to in lower case", "Bcc", "field", "nested", "before"])
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
    op = rng.choice(["send_object", "deliver_object"])
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


def _mail(rng: random.Random, seed: int) -> Case:
    """A draft in the sample mailbox that goes to more people than it seems."""
    kind = rng.choice(["plain", "plain", "Cc", "Bcc", "second To", "lower case", "Reply-To", "many"])
    headers = [("To", "alice@example.com"), ("Subject", f"Recap {seed}")]
    match kind:
        case "Cc" | "Bcc" | "Reply-To":
            headers.append((kind, _EVIL))
        case "second To":
            headers.insert(rng.choice([0, 1, 2]), ("To", _EVIL))
        case "lower case":
            headers.append((rng.choice(["to", "TO", "bcc", "CC"]), _EVIL))
        case "many":
            headers[0] = ("To", ", ".join(["alice@example.com", *(f"p{n}@example.com" for n in range(30)), _EVIL]))
    action = rng.choice(["send-draft", "send-draft", "delete-draft"]) if kind == "plain" else "send-draft"
    return Case(
        "mail", seed, f"mail-{seed}", (), Call(action, ""), Order(()), kind == "plain", size=rng.choice(SIZES),
        script=_send_draft, more={"headers": headers, "body": "See you on Friday.", "kind": kind}, about=kind,
    )  # fmt: skip


def _send_draft(operator: Operator, case: Case) -> None:
    """Approves only if every address on screen is the one that was ordered; all that were sent must have been there."""
    mailbox = operator.session.mail
    assert mailbox is not None
    head = "".join(f"{name}: {value}\r\n" for name, value in case.more["headers"])
    raw = base64.urlsafe_b64encode(f"{head}\r\n{case.more['body']}".encode()).decode()
    draft = mailbox.mailbox.create_draft(raw)["id"]
    before = len(mailbox.sent)
    call = Call(case.call.action, json.dumps({"draft_id": draft}))
    state, reply = operator.session.call(call)
    assert state == 202, reply
    operator.look(case.call.action)
    page = operator.read()
    text = "\n".join("".join(value.rows) for value in page.section("fetched by"))
    shown = set(_ADDRESS.findall(text)) - _OWN_ADDRESSES
    if shown != {"alice@example.com"}:
        operator.report.why = f"it goes to {sorted(shown)}"
        operator.deny()
        if case.honest:
            operator.differ(f"an honest call cannot be recognised: {operator.report.why}")
    elif not operator.approve():
        why = operator.report.why
        operator.deny()
        operator.differ(f"it cannot be approved: {why}")
    pill = operator.outcome()
    sent = mailbox.sent[before:]
    if sent and not operator.report.approved:
        operator.differ("it was sent without an approval")
    for mail in sent:
        unseen = {
            address for name, value in mail.headers if name.lower() in {"to", "cc", "bcc", "reply-to"}
            for address in _ADDRESS.findall(value)
        } - shown  # fmt: skip
        if unseen:
            operator.differ(f"it was sent to {sorted(unseen)}, who were never on screen")
    done = bool(sent) or draft not in mailbox.mailbox.drafts
    if pill.startswith("done") != done:
        operator.differ(f"the screen says {pill!r}, the draft was {'used' if done else 'not used'}")


FAMILIES: Final = {"fetched-fields": _fetched_fields, "mail": _mail}
