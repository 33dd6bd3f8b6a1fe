"""What the API document says about a route, beside its method, its path and who may use it.

Schemas are JSON Schema as OpenAPI 3.1 uses it. A schema that several routes share is in `gate/api_schemas.py`.
"""

from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class ReplyDocs:
    """One status with its meaning, the schema of its body if it has one, and the headers that it may have."""

    status: int
    meaning: str
    schema: JsonObject | None = None
    headers: tuple[str, ...] = ()
    media_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class RouteDocs:
    """What a route is for. Errors that many routes share follow from who may use it and what it takes.

    `body` is the schema of its body, and `headers` and `query` are the names of its parameters in
    `gate/api_schemas.py`. `example` is a body that works.
    """

    summary: str
    description: str = ""
    body: JsonObject | None = None
    body_required: bool = True
    example: Json = None
    headers: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    replies: tuple[ReplyDocs, ...] = ()


UNDOCUMENTED: Final = RouteDocs("")


def ref(name: str) -> JsonObject:
    """Refers to a schema that several routes share."""
    return {"$ref": f"#/components/schemas/{name}"}


def text(meaning: str = "", most: int = 0, **more: Json) -> JsonObject:
    """A string of at most `most` characters, if given."""
    return _described({"type": "string", **({"maxLength": most} if most else {}), **more}, meaning)


def choice(meaning: str, *values: str) -> JsonObject:
    """One of some strings."""
    return _described({"type": "string", "enum": [*values]}, meaning)


def number(meaning: str, least: int | None = None, most: int | None = None) -> JsonObject:
    """A whole number."""
    limits: JsonObject = {"minimum": least} if least is not None else {}
    return _described({"type": "integer", **limits, **({} if most is None else {"maximum": most})}, meaning)


def flag(meaning: str) -> JsonObject:
    """True or false."""
    return _described({"type": "boolean"}, meaning)


def anything(meaning: str) -> JsonObject:
    """Any JSON value."""
    return {"description": meaning}


def several(items: JsonObject, meaning: str = "", most: int = 0) -> JsonObject:
    """A list."""
    return _described({"type": "array", "items": items, **({"maxItems": most} if most else {})}, meaning)


def mapping(meaning: str) -> JsonObject:
    """An object with any fields."""
    return _described({"type": "object"}, meaning)


def record(required: str, meaning: str = "", /, **fields: JsonObject) -> JsonObject:
    """An object with these fields. `required` names those that are always there."""
    schema: JsonObject = {"type": "object", "properties": dict(fields)}
    return _described(schema | {"required": [*required.split()]} if required else schema, meaning)


def body(required: str, /, **fields: JsonObject) -> JsonObject:
    """An object with these fields and no others, as the gate accepts it."""
    return record(required, **fields) | {"additionalProperties": False}


def _described(schema: JsonObject, meaning: str) -> JsonObject:
    return schema | {"description": meaning} if meaning else schema
