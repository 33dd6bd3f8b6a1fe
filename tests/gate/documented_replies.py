"""Checks that replies of a gate are as its API document says: the status, the type, and every field."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import httpx

from aileron_tui.gate.openapi import document
from aileron_tui.gate.route_table import RouteTable
from tools.http_api import routes

_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "boolean": bool,
    "null": type(None),
}


@cache
def _documented() -> tuple[RouteTable, dict[str, Any]]:
    table = RouteTable(routes())
    return table, document(table.routes)


async def check_documented(response: httpx.Response) -> None:
    """Raises AssertionError if the document does not describe this reply. Can be an event hook of a client."""
    table, described = _documented()
    request = response.request
    route, _, _ = table.find(request.method, request.url.path.split("/")[1:])
    if route is None:
        return
    place = f"{request.method} {route.path} {response.status_code}"
    replies = described["paths"][route.path][request.method.lower()]["responses"]
    assert str(response.status_code) in replies, f"{place} is not documented"
    reply = replies[str(response.status_code)]
    media_type = response.headers.get("content-type", "").partition(";")[0]
    assert media_type in reply.get("content", {"": None}), f"{place} has the type {media_type}"
    expected = {name.lower() for name in reply["headers"]}
    known = {name.lower() for name in described["components"]["headers"]}
    assert not (known & set(response.headers)) - expected, f"{place} has other headers"
    if media_type == "application/json":
        await response.aread()
        schema = reply["content"][media_type]["schema"]
        problems = list(undocumented(described, schema, response.json()))
        assert not problems, f"{place}: {problems}"


def undocumented(described: dict[str, Any], schema: dict[str, Any], value: Any, path: str = "$") -> Iterator[str]:
    """What in a value is not as its schema says; a field that the schema does not name is a problem too."""
    if "$ref" in schema:
        schema = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        found = [list(undocumented(described, one, value, path)) for one in schema["anyOf"]]
        yield from min(found, key=len)
        return
    types = schema.get("type", [])
    types = types if isinstance(types, list) else [types]
    if types and not any(isinstance(value, _TYPES[one]) for one in types):
        yield f"{path} is not {types}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path} is {value}"
    if isinstance(value, dict) and "properties" in schema:
        yield from (f"{path}.{name} is missing" for name in schema.get("required", []) if name not in value)
        for name, item in value.items():
            if name in schema["properties"]:
                yield from undocumented(described, schema["properties"][name], item, f"{path}.{name}")
            else:
                yield f"{path}.{name} is not documented"
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from undocumented(described, schema["items"], item, f"{path}[{index}]")
