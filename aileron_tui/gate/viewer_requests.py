"""What viewers see of a request: what the agent sent, and the state of the request.

Everything is made from what approvers get, and only the fields named here are passed on. A field or an event that is
added for approvers stays hidden from viewers until it is named here too.
"""

import json
from dataclasses import replace
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.prompt import read_prompt
from aileron_tui.gate.event_feed import FeedEvent
from aileron_tui.gate.replies import compact_json

_FIELDS: Final = (
    "id",
    "kind",
    "action_name",
    "connector_fqn",
    "args",
    "requested_at",
    "expires_at",
    "revision",
    "session_id",
    "input_fields",
    "asked_again",
    "state",
    "instance",
    "reminder",
)
_REQUEST_EVENTS: Final = frozenset({"pending", "updated"})


def viewer_list(encoded: bytes) -> bytes:
    """Turns the list of waiting requests for approvers into the one for viewers."""
    body: JsonObject = json.loads(encoded)
    items = body["items"]
    seen: list[Json] = (
        [viewer_request(item) for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    )
    problem = body.get("problem")
    return compact_json({"items": seen, **({"problem": problem} if problem else {})})


def viewer_event(event: FeedEvent) -> FeedEvent | None:
    """Turns an event for approvers into one for viewers; returns None if it is not for viewers."""
    if event.name == "health":
        return event  # anyone can ask for the health
    if event.name == "snapshot":
        return FeedEvent(event.id, event.name, viewer_list(event.encoded))
    if event.name in _REQUEST_EVENTS:
        return FeedEvent(event.id, event.name, compact_json(viewer_request(json.loads(event.encoded))))
    return None


def viewer_request(request: JsonObject) -> JsonObject:
    """What viewers see of a request. Its digest is that of the prompt without the preview, so it cannot be signed."""
    seen: JsonObject = {name: request[name] for name in _FIELDS if name in request}
    prompt = replace(read_prompt(request["prompt"]), preview=None)
    seen |= {"prompt": prompt.fields(), "digest": prompt.digest, "head": "", "preview_state": "not shown"}
    if "edited_from" in request:
        seen["edited_from"] = replace(read_prompt(request["edited_from"]), preview=None).fields()
    return seen
