"""Reads the permission requests of opencode.

The rows under "agent sent" are the arguments that opencode stores for the call. What opencode says in the request
itself (permission, patterns, a diff) is shown apart, because the arguments are what runs.
"""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from aileron_tui.core.caution import Caution
from aileron_tui.core.daemon_kinds import OPENCODE
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, compact, plain
from aileron_tui.core.prompt import Asker, ConnectorRef, PreviewResult, Prompt
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskRule
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.runtime.daemon import request_reader as daemon_requests
from aileron_tui.runtime.errors import InvalidReply
from aileron_tui.runtime.opencode.call_prompt import call_prompt
from aileron_tui.runtime.opencode.tool_part import ToolPart

NO_PASSWORD: Final = "opencode has no password: any program that reaches its port, even the agent, can answer for you"  # noqa: S105  # a sentence
OTHERS_REJECTED: Final = "if you deny it, opencode also rejects the other waiting requests of this session"

_LONGEST_WHY: Final = 200
_ANY_TOOL: Final = ("external_directory", "doom_loop")
_EDITING: Final = ("edit", "write", "multiedit", "patch", "apply_patch")


def read_request(  # noqa: PLR0913  # a request is built from many parts
    item: JsonObject,
    part: ToolPart | str,
    *,
    folder: str,
    source: str,
    instance: str,
    head: str,
    rules: Sequence[RiskRule],
    seen: datetime,
    has_password: bool,
) -> Request:
    """Reads a request in opencode's JSON; raises InvalidReply.

    `part` is what opencode stores about the call, or why that is not known. `seen` is when we received the request.
    """
    id_, permission, session = item.get("id"), item.get("permission"), item.get("sessionID")
    if not isinstance(id_, str) or not id_:
        raise InvalidReply("opencode sent a request without an id")
    if not isinstance(permission, str) or not isinstance(session, str):
        raise InvalidReply("opencode sent a request without a permission or a session")
    args = part.args if isinstance(part, ToolPart) else None
    tool = part.tool if isinstance(part, ToolPart) else permission
    call = call_prompt(tool, permission, args, folder, rules)
    prompt = Prompt(
        kind=OPENCODE,
        action=tool,
        connector=ConnectorRef(""),
        args=args or {},
        inputs=call.rows,
        preview=PreviewResult(tuple(_told(item, permission, args or {}))),
        asker=Asker(session=session, folder=folder, says=part.agent if isinstance(part, ToolPart) else ""),
        risk=call.risk,
        question=call.question,
        warnings=call.warnings,
    )
    try:
        digest = prompt.digest
    except JsonError as error:
        raise InvalidReply("opencode sent a request that cannot be shown", str(error)) from None
    cautions = (*map(Caution, call.warnings), *_cautions(item, permission, part, folder))
    return Request(
        id=id_,
        prompt=prompt,
        digest=digest,
        state=RequestState.PENDING,
        requested_at=timestamp(_asked_at(part, seen)),
        expires_at="",
        revision=0,
        fetching=False,
        instance=instance,
        head=head,
        asked_again="",
        reason="",
        fields={"id": id_, "inputs": [], "folder": folder, "request": item, "call": _call_fields(part)},
        source=source,
        daemon=True,
        deny_only=_deny_only(item, part),
        question=call.question,
        cautions=cautions if has_password else (*cautions, Caution(NO_PASSWORD)),
        runner=OPENCODE,
    )


def unreadable_request(  # noqa: PLR0913  # what is known about a request that cannot be read
    id_: str, why: str, *, source: str, instance: str, head: str, seen: datetime
) -> Request:
    """A request of which only the id can be used. It can be denied, but not approved."""
    request = daemon_requests.unreadable_request(id_, why, source=source, instance=instance, head=head, seen=seen)
    why_deny_only = f"opencode sent a request that cannot be read ({why[:_LONGEST_WHY]})"
    return replace(request, deny_only=why_deny_only, runner=OPENCODE)


def has_others(request: Request) -> bool:
    """Whether the request has the caution about other requests of its session."""
    return Caution(OTHERS_REJECTED) in request.cautions


def with_others(request: Request, *, others_wait: bool) -> Request:
    """The request with the caution about other requests of its session if there are any, else without it."""
    others = Caution(OTHERS_REJECTED)
    if has_others(request) == others_wait:
        return request
    kept = tuple(caution for caution in request.cautions if caution != others)
    return replace(request, cautions=(*kept, others) if others_wait else kept)


def _told(item: JsonObject, permission: str, args: JsonObject) -> Iterator[Row]:
    """What opencode says about the call, without what repeats an argument."""
    yield Row("Asks for", permission)
    yield _listed("Patterns", item.get("patterns"))
    yield _listed("Always would allow", item.get("always"))
    metadata = item.get("metadata")
    details = metadata if isinstance(metadata, dict) else {} if metadata is None else {"metadata": metadata}
    for name in sorted(details, key=lambda name: (name == "diff", name)):
        value = details[name]
        if name not in args or not _is_same(value, args[name]):
            label = "Diff" if name == "diff" else name
            yield Row(label, plain(value), multiline=isinstance(value, list | dict) or "\n" in plain(value))


def _listed(label: str, value: Json) -> Row:
    if value is None or value == []:
        return Row(label, missing=True)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return Row(label, value[0], multiline="\n" in value[0])
    return Row(label, compact(value))  # as JSON, so that one pattern cannot look like several


def _cautions(item: JsonObject, permission: str, part: ToolPart | str, folder: str) -> Iterator[Caution]:
    if isinstance(part, str):
        yield Caution(f"the arguments of this call are not known ({part}): you see only what opencode says about it")
        return
    if part.args is None:
        yield Caution("opencode has not stored the arguments of this call yet: you see only what it says about it")
        return
    expected = _EDITING if permission == "edit" else (permission,)
    if permission not in _ANY_TOOL and part.tool not in expected:
        yield Caution(f'opencode asks for "{permission}", but the call is one of the tool "{part.tool}"')
    match item.get("metadata"), part.args:
        case {"filepath": str() as file}, {"filePath": str() as path}:
            if file not in (path, posixpath.normpath(posixpath.join(folder, path))):
                yield Caution(f'opencode says that the file is "{file}"')


def _deny_only(item: JsonObject, part: ToolPart | str) -> str:
    """Why the request can only be denied: the call has ended, or is not the one that opencode asks about.

    Every client of opencode can change what it stores about a call, but not what it asks about nor what runs.
    """
    if isinstance(part, str):
        return ""
    if part.ended:
        said = f': "{part.error[:_LONGEST_WHY]}"' if part.error else ""
        return f"opencode says that this call has already ended{said}"
    metadata, args = item.get("metadata"), part.args
    if not isinstance(metadata, dict) or args is None:
        return ""
    for name, value in metadata.items():
        stored = args if name == "input" and isinstance(value, dict) and "input" not in args else args.get(name)
        if stored is not None and not _is_same(value, stored):
            return f'what opencode asks about and the call that it stores differ in "{name}"'
    return ""


def _is_same(one: Json, other: Json) -> bool:
    """Whether two values are the same. Since 1 == True in Python, their text is compared too."""
    return one == other and compact(one) == compact(other)


def _call_fields(part: ToolPart | str) -> Json:
    if isinstance(part, str):
        return {"unknown": part}
    return {"tool": part.tool, "status": part.status, "input": part.args, "error": part.error}


def _asked_at(part: ToolPart | str, seen: datetime) -> datetime:
    started = part.started if isinstance(part, ToolPart) else None
    return seen if started is None or started > seen or started.year < seen.year - 1 else started
