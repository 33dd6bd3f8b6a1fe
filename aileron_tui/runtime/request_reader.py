"""Reads and checks the requests that a gate sends."""

from typing import TYPE_CHECKING

from aileron_tui.core.jsontext import Json, JsonError, JsonObject
from aileron_tui.core.prompt import read_prompt
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.errors import InvalidReply

if TYPE_CHECKING:
    from aileron_tui.core.caution import Caution
    from aileron_tui.core.prompt import Prompt


def read_gate_request(value: Json, instance: str = "", source: str = "") -> Request:
    """Reads a request in a gate's JSON; raises InvalidReply. `instance` is the gate that we are connected to."""
    if not isinstance(value, dict):
        raise InvalidReply("the gate sent something that is not a request")
    before = value.get("edited_from")
    try:
        prompt = read_prompt(value.get("prompt"))
        edited_from = None if before is None else read_prompt(before)
        digest = prompt.digest
    except JsonError as error:
        raise InvalidReply("the gate sent a prompt that cannot be read", str(error)) from None
    texts = {name: _text(value, name) for name in ("id", "digest", "state", "requested_at", "instance", "head")}
    if texts["digest"] != digest:
        raise InvalidReply(
            "the gate's digest does not match its prompt",
            f"{texts['id']}: the gate says {texts['digest']}, the prompt has {digest}",
            "Do not answer. The gate, or something between you and it, is broken or hostile.",
        )
    if instance and texts["instance"] != instance:
        raise InvalidReply("the request belongs to another gate", f"{texts['instance']}, not {instance}")
    if value.get("action_name") != prompt.action:
        raise InvalidReply("the request and its prompt name different actions", texts["id"])
    if texts["state"] not in set(RequestState):
        raise InvalidReply("the gate sent a request in an unknown state", texts["state"])
    revision = value.get("revision", 0)
    return Request(
        id=texts["id"],
        prompt=prompt,
        digest=digest,
        state=RequestState(texts["state"]),
        requested_at=texts["requested_at"],
        expires_at=_text(value, "expires_at", optional=True),
        extendable_until=_text(value, "extendable_until", optional=True),
        extended_by=_names(value.get("extended_by")),
        revision=revision if isinstance(revision, int) else 0,
        fetching=value.get("preview_state") == "fetching",
        instance=texts["instance"],
        head=texts["head"],
        asked_again=_text(value, "asked_again", optional=True),
        reason=_text(value, "reason", optional=True),
        fields=value,
        source=source,
        edited_from=edited_from,
        question=prompt.question,
        cautions=_cautions(prompt, _text(value, "asked_again", optional=True)),
    )


def _cautions(prompt: "Prompt", asked_again: str) -> "tuple[Caution, ...]":
    if not asked_again and not prompt.warnings:
        return ()
    from aileron_tui.core.caution import Caution  # noqa: PLC0415  # few requests need one

    again = f"this call may have taken effect already: the outcome of {asked_again} is unknown"
    return tuple(map(Caution, (*((again,) if asked_again else ()), *prompt.warnings)))


def _text(value: JsonObject, name: str, *, optional: bool = False) -> str:
    found = value.get(name, "" if optional else None)
    if not isinstance(found, str):
        raise InvalidReply("the gate sent a request with a required field missing", name)
    return found


def _names(value: Json) -> tuple[str, ...]:
    return tuple(name for name in value if isinstance(name, str)) if isinstance(value, list) else ()
