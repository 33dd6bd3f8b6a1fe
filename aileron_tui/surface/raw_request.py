"""A request as JSON: the exact call and preview, with the values that a decision is bound to."""

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.request import Request


def raw_fields(request: Request, fetched: Json = None) -> JsonObject:
    """The values to show, starting with the call; `fetched` is everything that the preview op returned."""
    prompt = request.prompt
    preview: Json = prompt.preview.fields() if prompt.preview else None
    shown = prompt.fields()
    from_daemon: JsonObject = {}
    if request.daemon:
        from_daemon = {name: value for name, value in request.fields.items() if name != "inputs"}
    return {
        "action": prompt.action,
        "args": prompt.args,
        **({"edit": request.edit} if request.edit else {}),
        "preview": "fetching" if request.fetching else preview,
        **({"everything fetched": fetched} if fetched is not None else {}),
        "id": request.id,
        **({"source": request.source} if request.source else {}),
        "digest": request.digest,
        "head": request.head,
        "instance": request.instance,
        **({"steps": shown["steps"]} if prompt.steps else {}),
        "connector": shown["connector"],
        "asker": shown["asker"],
        "risk": shown["risk"],
        "state": request.state,
        "revision": request.revision,
        "requested_at": request.requested_at,
        "expires_at": request.expires_at,
    } | ({"kind": prompt.kind, f"as {request.runner} sent it": from_daemon} if from_daemon else {})
