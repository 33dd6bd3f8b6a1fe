"""Reads the requests of a daemon of any version, including requests of unknown kinds.

Only a request without an id is refused. One that cannot be read otherwise can be denied but not approved. So can one
with an arg that cannot be part of a digest (a number too large for a double), which is shown as it was written.
`Request.deny_only` says why.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from aileron_tui.core.action import Step
from aileron_tui.core.caution import Caution
from aileron_tui.core.daemon_kinds import ACTION, KINDS, NO_EFFECT, EditableArgument, is_abandoned, restart_caution
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical, compact, plain
from aileron_tui.core.name_warnings import name_warnings
from aileron_tui.core.prompt import Asker, ConnectorRef, PreviewResult, Prompt
from aileron_tui.core.request import Request
from aileron_tui.core.risk import Risk, RiskLevel, RiskRule, by_names, by_rule
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.runtime.daemon.request_rows import argument_rows, read_row
from aileron_tui.runtime.daemon.times import time_of
from aileron_tui.runtime.errors import InvalidReply
from aileron_tui.sandbox.failure import FailureKind as Class
from aileron_tui.sandbox.failure import short_reason

_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}")
_PREFIX: Final = re.compile(r"(?:preview unavailable:\s*)+", re.IGNORECASE)
_CLASS: Final = re.compile(r"([a-z]+(?:_[a-z]+)+):\s*")
_BOUNDARY: Final = re.compile(r"\(boundary=\w{1,100}\)\Z")
_LONGEST_WHY: Final = 200
_NO_REASON: Final = "no reason given"
_UNREADABLE: Final = "the daemon sent a preview that cannot be read"
_CLOCK_TOLERANCE: Final = timedelta(minutes=1)
_INVALID_ARGS: Final = "the daemon sent inputs that are not an object"


class NotEditable(AileronError):
    """An edit that the daemon would ignore."""


def read_daemon_request(  # noqa: PLR0913  # a request is built from many parts
    value: Json,
    *,
    source: str,
    instance: str,
    head: str,
    action: JsonObject | None,
    session: JsonObject | None,
    rules: Sequence[RiskRule],
    seen: datetime,
    started: datetime | None = None,
) -> Request:
    """Reads a request in a daemon's JSON; raises InvalidReply.

    `action` and `session` are what the daemon says about the action and the session that the request names, if
    anything. `seen` is when we received it, for a request that does not say when it was made, or gives a time in the
    future. `started` is when the daemon started, if that is known.
    """
    if not isinstance(value, dict):
        raise InvalidReply("the daemon sent something that is not a request", compact(value)[:80])
    id_ = value.get("id")
    if not isinstance(id_, str) or not id_:
        raise InvalidReply("the daemon sent a request without an id")
    kind = _text(value.get("kind")) or ACTION
    name = _text(value.get("action_name")) or kind
    args, deny_only = _args(value.get("args"))
    about_action = action if action is not None and action.get("name", name) == name and kind == ACTION else None
    connector = _connector(_text(value.get("connector_fqn")), about_action)
    prompt = Prompt(
        kind=kind,
        action=name,
        connector=connector,
        args=args,
        inputs=argument_rows(kind, args, value.get("input_fields")),
        preview=_preview(value.get("preview")),
        asker=_asker(_text(value.get("session_id")), session),
        risk=_risk_by_rules(name, connector.name, about_action, rules) or _risk_of_call(kind, name, args, about_action),
    )
    try:
        prompt, faults = _made_canonical(prompt)
        digest = prompt.digest
    except JsonError as error:
        raise InvalidReply("the daemon sent a request that cannot be shown", str(error)) from None
    deny_only = deny_only or faults
    declared = KINDS.get(kind)
    asked = time_of(value.get("requested_at"))
    ahead = asked is not None and asked > seen
    form = declared.form if declared and not deny_only else ()
    return Request(
        id=id_,
        prompt=prompt,
        digest=digest,
        state=RequestState.PENDING,
        requested_at=timestamp(seen if asked is None or ahead else asked),
        expires_at="",
        revision=0,
        fetching=False,
        instance=instance,
        head=head,
        asked_again="",
        reason="",
        fields=value | {"inputs": list(form)},
        source=source,
        daemon=True,
        deny_only=deny_only,
        question=declared.question if declared else "",
        cautions=(
            *restart_caution(kind, asked, started),
            *_clock_caution(asked, seen),
            *_name_cautions(name, about_action),
            *_cautions(kind, args),
        ),
        reports_end=declared is None or declared.reports_end,
        abandoned=is_abandoned(kind, asked, started),
    )


def unreadable_request(  # noqa: PLR0913  # what is known about a request that cannot be read
    id_: str, why: str, *, source: str, instance: str, head: str, seen: datetime
) -> Request:
    """A request of which only the id can be used. It can be denied, but not approved."""
    prompt = Prompt(
        kind="unreadable",
        action="unreadable request",
        connector=ConnectorRef(""),
        args={},
        inputs=(),
        preview=None,
        asker=Asker(),
        risk=Risk(RiskLevel.HIGH, "effect unknown"),
    )
    return Request(
        id=id_,
        prompt=prompt,
        digest=prompt.digest,
        state=RequestState.PENDING,
        requested_at=timestamp(seen),
        expires_at="",
        revision=0,
        fetching=False,
        instance=instance,
        head=head,
        asked_again="",
        reason="",
        fields={"id": id_, "inputs": []},
        source=source,
        daemon=True,
        deny_only=f"the daemon sent a request that cannot be read ({why[:_LONGEST_WHY]})",
        question="This request cannot be read.",
    )


def made_before_restart(request: Request) -> Request:
    """A request that the daemon already had before it restarted, whatever its clock says."""
    if request.abandoned or request.prompt.kind not in KINDS:
        return request
    return replace(request, abandoned=True, cautions=(Caution(NO_EFFECT), *request.cautions))


def edited(request: Request, edits: JsonObject) -> Request:
    """The request as it would be with these edits; raises NotEditable if the daemon would ignore them."""
    _checked(request, edits)
    args = request.prompt.args | edits
    prompt = replace(request.prompt, args=args, inputs=argument_rows(request.prompt.kind, args))
    before = _cautions(prompt.kind, request.prompt.args)
    try:
        return replace(
            request,
            prompt=prompt,
            digest=prompt.digest,
            edited_from=request.edited_from or request.prompt,
            cautions=(*(one for one in request.cautions if one not in before), *_cautions(prompt.kind, args)),
        )
    except JsonError as error:
        raise NotEditable("the edit cannot be written as JSON", str(error)) from None


def payload(request: Request, edits: JsonObject | None) -> JsonObject | None:
    """The edited payload of an answer, or None without edits; `request` is the edited request."""
    if not edits:
        return None
    editable = _checked(request, edits)
    value = edits[editable.name]
    if request.prompt.args.get(editable.name) != value:
        raise NotEditable("the edit differs from what was shown", hint="Open the request and edit it again.")
    return {editable.sent_as: value}


def _checked(request: Request, edits: JsonObject) -> EditableArgument:
    """Returns the arg that is edited; raises NotEditable if the edits are not allowed."""
    kind = KINDS.get(request.prompt.kind)
    editable = kind.editable if kind else None
    if editable is None or not request.fields.get("inputs"):
        hint = "Deny it with a reason that says what to change."
        raise NotEditable("a daemon runs this request unchanged", "an edit would have no effect", hint)
    name = editable.name
    if edits.keys() != {name}:
        raise NotEditable("a daemon runs this request unchanged", f'only "{name}" can be edited')
    value = edits[name]
    if not isinstance(value, str):
        raise NotEditable(f'"{name}" must be text')
    if editable.required and not value.strip():
        raise NotEditable(f'"{name}" must not be empty', hint="Deny the request instead.")
    if editable.choices and value not in dict(editable.choices):
        allowed = ", ".join(f'"{choice}"' for choice, _ in editable.choices)
        raise NotEditable(f'"{value}" is not a valid value for "{name}"', hint=f"Use one of {allowed}.")
    return editable


def _clock_caution(asked: datetime | None, seen: datetime) -> tuple[Caution, ...]:
    if asked is None or asked - seen <= _CLOCK_TOLERANCE:
        return ()
    return (Caution("the daemon's clock is ahead of this machine's: it is not known when the agent asked"),)


def _name_cautions(name: str, action: JsonObject | None) -> Iterator[Caution]:
    ops = [step.op for step in _steps(action)]
    return map(Caution, (*name_warnings("action", [name]), *name_warnings("op", ops)))


def _cautions(kind: str, args: JsonObject) -> tuple[Caution, ...]:
    if kind in KINDS:
        return tuple(KINDS[kind].cautions(args))
    if kind == ACTION:
        return ()
    return (Caution(f'unknown kind of request "{kind}": everything that was sent is listed'),)


def _text(value: Json) -> str:
    """The text of a field; anything but text is shown as JSON."""
    return "" if value is None else compact(value)


def _args(value: Json) -> tuple[JsonObject, str]:
    if value is None:
        return {}, ""
    return (value, "") if isinstance(value, dict) else ({"args": value}, _INVALID_ARGS)


def _made_canonical(prompt: Prompt) -> tuple[Prompt, str]:
    """The prompt with each arg that has no canonical form written as text, and the error for the first of them."""
    try:
        canonical(prompt.args)
    except JsonError as error:
        args: JsonObject = {name: value if _canonical(value) else plain(value) for name, value in prompt.args.items()}
        return replace(prompt, args=args), str(error)
    return prompt, ""


def _canonical(value: Json) -> bool:
    try:
        canonical(value)
    except JsonError:
        return False
    return True


def _connector(name: str, action: JsonObject | None) -> ConnectorRef:
    match action:
        case {"requires": {"connectors": list() as required}} if name:
            for entry in required:
                if isinstance(entry, dict) and entry.get("name") == name:
                    hash_ = _text(entry.get("hash")).lower()
                    return ConnectorRef(name, _text(entry.get("version")), hash_ if _HASH.fullmatch(hash_) else "")
    return ConnectorRef(name)


def _asker(id_: str, session: JsonObject | None) -> Asker:
    if not id_ or session is None or session.get("id", id_) != id_:
        return Asker(session=id_)
    return Asker(session=id_, folder=_text(session.get("working_dir")), says=_text(session.get("agent")))


def _preview(value: Json) -> PreviewResult | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        return PreviewResult((), _UNREADABLE)
    fields, unavailable = value.get("fields"), _text(value.get("unavailable"))
    if fields is not None and not isinstance(fields, list):
        return PreviewResult((), _UNREADABLE)
    fetched = tuple(read_row(field) for field in fields or ())
    return PreviewResult(fetched, _reason(unavailable) if unavailable or not fetched else "")


def _reason(text: str) -> str:
    """Why there is no preview, without the daemon's prefix and suffix and the body of the upstream's response."""
    text = text.strip()
    text = text[prefix.end() :] if (prefix := _PREFIX.match(text)) else text
    inner = _BOUNDARY.sub("", text).rstrip()  # the text is stripped already; `\\s*` before it would take quadratic time
    class_ = _CLASS.match(inner)
    if class_ and (inner != text or class_[1] in set(Class)):
        return short_reason(class_[1], inner[class_.end() :]) if inner[class_.end() :].strip() else _NO_REASON
    return short_reason("", inner) if inner.strip() else _NO_REASON


def _risk_by_rules(name: str, connector: str, action: JsonObject | None, rules: Sequence[RiskRule]) -> Risk | None:
    return by_rule(name, _steps(action) or (Step("", connector, "", None, {}),), rules)


def _risk_of_call(kind: str, name: str, args: JsonObject, action: JsonObject | None) -> Risk:
    if kind in KINDS:
        return KINDS[kind].risk(args)
    if kind != ACTION:
        return Risk(RiskLevel.HIGH, "effect unknown")
    return by_names(name, _steps(action))


def _steps(action: JsonObject | None) -> tuple[Step, ...]:
    """The steps that the daemon lists, or none if one of them cannot be read."""
    execute = action.get("execute") if action else None
    steps: list[Step] = []
    for entry in execute if isinstance(execute, list) else ():
        match entry:
            case {"connector": str() as connector, "op": str() as op, **others} if op:
                idempotent = others.get("idempotent")
                steps.append(Step("", connector, op, idempotent if isinstance(idempotent, bool) else None, {}))
            case _:
                return ()
    return tuple(steps)
