"""The API document (OpenAPI 3.1), made from the routes themselves. Imported only when somebody asks for it."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from aileron_tui import __version__
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.gate.api_schemas import HEADERS, QUERY, REPLY_HEADERS, SCHEMAS, SEGMENT
from aileron_tui.gate.route_docs import ReplyDocs, ref
from aileron_tui.gate.route_table import Route, RouteAccess

TAGS: Final = {
    "agents": "For agents: call actions, ask about tool calls, fetch results.",
    "open": "For anyone who can reach the address.",
    "approvers": "For surfaces where a person answers. They need a session, which an enrolled key opens; `/v1/metrics` "
    "also accepts the token for metrics.",
    "viewers": "Only on the Unix socket of the gate: what waits, without previews.",
}
"""Who uses a route."""

_TAG_OF: Final = {
    RouteAccess.OPEN: "open",
    RouteAccess.AGENT: "agents",
    RouteAccess.CATALOGUE: "agents",
    RouteAccess.HANDSHAKE: "approvers",
    RouteAccess.APPROVER: "approvers",
    RouteAccess.METRICS: "approvers",
    RouteAccess.VIEWER_HANDSHAKE: "viewers",
    RouteAccess.VIEWER: "viewers",
}
_SECURITY: Final[dict[RouteAccess, list[Json]]] = {
    RouteAccess.OPEN: [],
    RouteAccess.HANDSHAKE: [],
    RouteAccess.VIEWER_HANDSHAKE: [],
    RouteAccess.AGENT: [{"agentToken": []}],
    RouteAccess.CATALOGUE: [{"agentToken": []}, {"session": []}],
    RouteAccess.APPROVER: [{"session": []}],
    RouteAccess.METRICS: [{"metricsToken": []}, {"session": []}],
    RouteAccess.VIEWER: [{"session": []}],
}
_PARAMETER: Final = re.compile(r"\{(\w+)\}")
_DESCRIPTION: Final = (
    "A gate asks a person before an agent's call runs. Agents call actions, which the gate runs once they are "
    "approved, or ask about tool calls, which their own program executes. Only a person allows a call, or a rule that "
    "a person has signed."
)


def document(routes: Iterable[Route]) -> JsonObject:
    """Returns the document for these routes."""
    paths: dict[str, Json] = {}
    for route in routes:
        operations = paths.setdefault(route.path, {})
        if isinstance(operations, dict):
            operations[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "aileron-tui gate",
            "version": __version__,
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": words} for name, words in TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": {**SCHEMAS},
            "headers": {
                name: {"description": words, "schema": schema} for name, (words, schema) in REPLY_HEADERS.items()
            },
            "securitySchemes": {
                "agentToken": {"type": "http", "scheme": "bearer", "description": "The token of an agent."},
                "metricsToken": {"type": "http", "scheme": "bearer", "description": "The token for metrics."},
                "session": {"type": "http", "scheme": "bearer", "description": "The token of a session."},
            },
        },
    }


def tag(route: Route) -> str:
    """Who uses a route."""
    return _TAG_OF[route.access]


def replies(route: Route) -> tuple[ReplyDocs, ...]:
    """Every reply of a route in order: its own, and the errors that follow from who may use it and what it takes."""
    found = {reply.status: reply for reply in common_errors(route)}
    return tuple(reply for _, reply in sorted((found | {reply.status: reply for reply in route.docs.replies}).items()))


def common_errors(route: Route) -> Iterator[ReplyDocs]:
    """The errors of a route that others have too."""
    docs, error = route.docs, ref("Error")
    if route.access not in (RouteAccess.OPEN, RouteAccess.HANDSHAKE):
        yield ReplyDocs(401, "The token is missing or not valid.", error, ("WWW-Authenticate",))
    yield ReplyDocs(403, "The token may not use this route, or the call was made by a web page.", error)
    if route.refused:
        return
    yield ReplyDocs(400, "The query, a header or the body is not valid; the message says where.", error)
    if "{" in route.path:
        yield ReplyDocs(404, "There is nothing with this name or id for this caller.", error)
    if docs.body is not None:
        yield ReplyDocs(408, "The body did not arrive in time.", error)
        yield ReplyDocs(413, "The body is too large.", error)
        yield ReplyDocs(415, "The body is not `application/json`.", error)
    yield ReplyDocs(429, "Too much at once; try again after `Retry-After` seconds.", error, ("Retry-After",))
    yield ReplyDocs(503, "The gate cannot do that now; the message says what was done.", error)


def _operation(route: Route) -> JsonObject:
    docs = route.docs
    operation: JsonObject = {
        "operationId": _operation_id(route),
        "summary": docs.summary,
        "tags": [tag(route)],
        "security": _SECURITY[route.access],
    }
    if docs.description:
        operation["description"] = docs.description
    if parameters := [*_parameters(route)]:
        operation["parameters"] = parameters
    if docs.body is not None:
        content: JsonObject = {"schema": docs.body}
        if docs.example is not None:
            content["example"] = docs.example
        operation["requestBody"] = {"required": docs.body_required, "content": {"application/json": content}}
    return operation | {"responses": {str(reply.status): _reply(reply) for reply in replies(route)}}


def _operation_id(route: Route) -> str:
    words = [word for word in re.split(r"\W+", route.path.removeprefix("/v1").removesuffix(".json")) if word]
    return "-".join([route.method.lower(), *words])


def _parameters(route: Route) -> Iterator[Json]:
    for name in _PARAMETER.findall(route.path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string", "pattern": SEGMENT}}
    for place, names, known in (("header", route.docs.headers, HEADERS), ("query", route.docs.query, QUERY)):
        for name in names:
            words, schema = known[name]
            yield {"name": name, "in": place, "description": words, "schema": schema}


def _reply(reply: ReplyDocs) -> JsonObject:
    headers: JsonObject = {name: {"$ref": f"#/components/headers/{name}"} for name in (*reply.headers, "X-Request-ID")}
    shown: JsonObject = {"description": reply.meaning, "headers": headers}
    return shown if reply.schema is None else shown | {"content": {reply.media_type: {"schema": reply.schema}}}
