"""Writes docs/http-api.md from the routes of the gate; `--check` only checks that it is up to date.

Run it as `python -m tools.http_api`. The text before the reference is `tools/http_api_guide.md`.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast

from aileron_tui.doors.claude_route import claude_routes
from aileron_tui.gate.agent_docs import RUN
from aileron_tui.gate.api_schemas import HEADERS, QUERY, SCHEMAS
from aileron_tui.gate.gate_state import GateLimits
from aileron_tui.gate.http_app import GateApp
from aileron_tui.gate.http_limits import HttpLimits
from aileron_tui.gate.openapi import TAGS, common_errors, replies, tag
from aileron_tui.gate.origin_check import OriginCheck
from aileron_tui.gate.permission_routes import LONGEST_HOLD
from aileron_tui.gate.route_table import Route

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate

DOCUMENT: Final = Path(__file__).resolve().parent.parent / "docs" / "http-api.md"

_GUIDE: Final = Path(__file__).with_name("http_api_guide.md")
_SHARED: Final = ("Action", "Pending", "Result", "Ungated", "Permission", "Failure", "Error")


def routes() -> tuple[Route, ...]:
    """Every route of a gate. They are only read here and never called, so there is no gate behind them."""
    no_gate = cast("Gate", SimpleNamespace(instance="", ledger_id="", approvers=None))
    return GateApp(no_gate, OriginCheck("127.0.0.1", 8722), doors=claude_routes).table.routes


def document() -> str:
    """The whole page."""
    found = routes()
    parts = {"errors": _errors(found), "limits": _limits(), "reference": _reference(found)}
    page = _GUIDE.read_text(encoding="utf-8")
    for name, lines in parts.items():
        page = page.replace(f"@{name}@\n", "".join(lines))
    return page


def _errors(found: tuple[Route, ...]) -> Iterator[str]:
    """The errors that many routes have."""
    shared = {error.status: error for route in found if route.docs is RUN for error in common_errors(route)}
    yield "| status | meaning |\n|---|---|\n"
    yield from (f"| {status} | {error.meaning} |\n" for status, error in sorted(shared.items()))
    yield "\n"


def _limits() -> Iterator[str]:
    http, gate = HttpLimits(), GateLimits()
    yield "| what | limit |\n|---|---|\n"
    yield f"| body of a call | {_bytes(http.call_bytes)}, {http.depth} levels, {http.values:,} values |\n"
    rate, burst = _bytes(http.body_bytes_per_second), _bytes(http.body_bytes_burst)
    yield f"| bytes of calls | {rate} a second, {burst} at once |\n"
    yield f"| `Prefer: wait` | {http.max_wait_seconds} s; {LONGEST_HOLD:,} s for tool calls |\n"
    yield f"| HTTP requests | {http.calls_per_second:g} a second, {http.burst:,} at once |\n"
    yield f"| gated and tool calls | {http.requests_per_second:g} a second, {http.requests_burst} at once |\n"
    yield "| calls that a person must answer | `asks_per_10_minutes` ([configuration](configuration.md#policy)) |\n"
    yield f"| waiting requests | {gate.waiting_per_agent:,}, {_bytes(gate.waiting_bytes // 4)} in total |\n"
    yield f"| time of one step of an action | {gate.op_seconds:g} s; `seconds` of its connector, if that is set |\n\n"


def _reference(found: tuple[Route, ...]) -> Iterator[str]:
    yield f"## Routes for agents\n\n{TAGS['agents']} Errors of the table above are not repeated.\n"
    for route in found:
        if tag(route) in ("agents", "open"):
            yield from _section(route)
    yield "\n## Objects\n"
    for name in _SHARED:
        schema: Any = SCHEMAS[name]
        yield f"\n### {name}\n\n{schema['description']}\n\n"
        yield from _fields(schema)
    for name in ("approvers", "viewers"):
        yield f"\n## Routes for {name}\n\n{TAGS[name]} `GET /v1/openapi.json` has the details.\n\n"
        yield "| route | does |\n|---|---|\n"
        yield from (
            f"| `{route.method} {route.path}` | {route.docs.summary} |\n" for route in found if tag(route) == name
        )


def _section(route: Route) -> Iterator[str]:
    docs = route.docs
    yield f"\n### {route.method} {route.path}\n\n{docs.summary}.\n"
    if docs.description:
        yield f"\n{docs.description}\n"
    parameters = [(name, *HEADERS[name]) for name in docs.headers] + [(name, *QUERY[name]) for name in docs.query]
    if parameters:
        yield "\n| header or parameter | meaning |\n|---|---|\n"
        yield from (f"| `{name}` | {meaning}{_most(schema)} |\n" for name, meaning, schema in parameters)
    if docs.body is not None and docs.body.get("properties"):
        yield "\nBody:\n\n"
        yield from _fields(docs.body)
    if docs.example is not None:
        yield f"\n```json\n{json.dumps(docs.example)}\n```\n"
    yield "\n| status | meaning | body |\n|---|---|---|\n"
    shared = {error.status: error for error in common_errors(route)}
    for reply in replies(route):
        if shared.get(reply.status) is not reply and reply not in shared.values():
            yield f"| {reply.status} | {reply.meaning} | {_type(reply.schema) if reply.schema else ''} |\n"


def _fields(schema: Any, before: str = "") -> Iterator[str]:
    """The fields of an object as a table; those of nested objects are named with their path."""
    if not before:
        yield "| field | type | meaning |\n|---|---|---|\n"
    required = schema.get("required", ())
    for name, field in schema["properties"].items():
        meaning = f"{field.get('description', '')} {_choices(field)}".strip() + _most(field)
        kind = "object" if "properties" in field else _type(field)
        optional = "" if name in required or not schema.get("required") else ", optional"
        yield f"| `{before}{name}` | {kind}{optional} | {meaning} |\n"
        if "properties" in field:
            yield from _fields(field, f"{before}{name}.")
        elif "properties" in field.get("items", {}):
            yield from _fields(field["items"], f"{before}{name}[].")


def _type(schema: Any) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})" if name in _SHARED else name
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if schema.get("type") == "array":
        return "list of objects" if "properties" in schema["items"] else f"list of {_type(schema['items'])}"
    if "properties" in schema:
        return f"object with {', '.join(f'`{name}`' for name in schema['properties'])}"
    types = schema.get("type", "any")
    return " or ".join(types) if isinstance(types, list) else str(types)


def _choices(schema: Any) -> str:
    return f"One of {', '.join(f'`{value}`' for value in schema['enum'] if value)}." if "enum" in schema else ""


def _most(schema: Any) -> str:
    if "maxLength" in schema:
        return f" At most {schema['maxLength']:,} characters."
    if "maximum" in schema:
        return f" From {schema['minimum']:,} to {schema['maximum']:,}."
    return ""


def _bytes(size: float) -> str:
    return f"{size / 1024 / 1024:g} MiB" if size >= 1024 * 1024 else f"{size / 1024:g} KiB"


def main() -> int:
    """Returns 0 if the page is up to date or was written."""
    if "--check" in sys.argv[1:]:
        fresh = DOCUMENT.exists() and DOCUMENT.read_text(encoding="utf-8") == document()
        if not fresh:
            print("docs/http-api.md is out of date: run make http-api", file=sys.stderr)
        return 0 if fresh else 1
    DOCUMENT.write_text(document(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
