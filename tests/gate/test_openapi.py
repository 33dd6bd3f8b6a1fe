"""The API document describes exactly the routes of the gate, and what they accept."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.doors.claude_route import claude_routes
from aileron_tui.gate.openapi import document
from aileron_tui.gate.route_table import Route, RouteAccess
from tests.gate.conftest import GateEnv, run_async
from tests.gate.documented_replies import check_documented, undocumented
from tests.gate.served_gate import ServedGate, served_gate
from tools.http_api import routes

ROUTES = routes()
DOCUMENT: dict[str, Any] = document(ROUTES)
VIEWER = (RouteAccess.VIEWER, RouteAccess.VIEWER_HANDSHAKE)


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def test_the_document_is_served_to_anyone_and_has_every_route(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, doors=claude_routes) as served:
            reply = await served.anonymous.get("/v1/openapi.json")
            assert reply.json() == json.loads(json.dumps(DOCUMENT))
            assert (await served.agent.get("/v1/openapi.json")).content == reply.content

    run_async(main())


def test_every_route_says_what_it_is_for_and_how_it_ends() -> None:
    assert {(route.method, route.path) for route in ROUTES} == {(method, path) for method, path, _ in operations()}
    for route in ROUTES:
        assert route.docs.summary, f"{route.method} {route.path} has no docs"
        assert not route.docs.summary.endswith(".")
        assert any(reply.status < 300 for reply in route.docs.replies), route.path
    ids = [operation["operationId"] for _, _, operation in operations()]
    assert len(set(ids)) == len(ids)


def test_every_reference_leads_somewhere() -> None:
    text = json.dumps(DOCUMENT)
    for kind, name in re.findall(r'"#/components/(\w+)/([\w-]+)"', text):
        assert name in DOCUMENT["components"][kind], name
    for name in DOCUMENT["components"]["schemas"]:
        assert f'"#/components/schemas/{name}"' in text, f"nothing uses {name}"


def test_examples_are_valid() -> None:
    tried = 0
    for _, path, operation in operations():
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        if "example" in content:
            assert not list(undocumented(DOCUMENT, content["schema"], content["example"])), path
            tried += 1
    assert tried >= 5


def path_of(route: Route) -> str:
    return route.path.replace("{name}", "send-draft").replace("{id}", "act-1")


def expected(reply: httpx.Response) -> set[str]:
    """The names that an error lists as those it knows."""
    message = reply.json()["error"]["message"]
    assert ' "zz-unknown"; expected: ' in message, message
    return set(message.partition("expected: ")[2].split(", ")) - {"none"}


def test_a_route_takes_what_the_document_says(env: GateEnv) -> None:
    """Every route lists what it knows when it refuses what it does not know."""

    async def main() -> None:
        async with served_gate(env) as served:
            for route in ROUTES:
                if route.access not in VIEWER and route.refused is None:
                    await check_names(served, route)

    run_async(main())


async def check_names(served: ServedGate, route: Route) -> None:
    operation = DOCUMENT["paths"][route.path][route.method.lower()]
    caller = served.approver if route.access in (RouteAccess.APPROVER, RouteAccess.METRICS) else served.agent
    caller = served.anonymous if route.access is RouteAccess.HANDSHAKE else caller
    asked = await caller.request(route.method, path_of(route), params={"zz-unknown": "1"})
    known = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"}
    assert expected(asked) == known, route.path
    if schema := operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema"):
        sent = await caller.request(route.method, path_of(route), json={"zz-unknown": 1})
        assert expected(sent) == set(schema["properties"]), route.path
        assert schema["additionalProperties"] is False
        assert schema.get("required") or not operation["requestBody"]["required"], route.path


def test_a_required_field_is_required(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            for route in ROUTES:
                if isinstance(route.docs.example, dict):
                    await check_required(served, route, route.docs.example)

    run_async(main())


async def check_required(served: ServedGate, route: Route, example: JsonObject) -> None:
    required = (route.docs.body or {}).get("required", [])
    whole = await served.agent.request(route.method, path_of(route), json=example)
    assert whole.status_code in (200, 202, 204, 404), whole.text
    for name in required if isinstance(required, list) else ():
        less = {key: value for key, value in example.items() if key != name}
        refused = await served.agent.request(route.method, path_of(route), json=less)
        assert (refused.status_code, f"$.{name}" in refused.text) == (400, True), (route.path, name)


def test_texts_can_be_as_long_as_the_document_says(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            tried = 0
            for route in (one for one in ROUTES if one.access is RouteAccess.AGENT):
                properties = (route.docs.body or {}).get("properties", {})
                for name, schema in properties.items() if isinstance(properties, dict) else ():
                    if isinstance(schema, dict) and "maxLength" in schema and "pattern" not in schema:
                        await check_length(served, route, name, int(str(schema["maxLength"])))
                        tried += 1
            assert tried >= 15

    run_async(main())


async def check_length(served: ServedGate, route: Route, name: str, most: int) -> None:
    example = route.docs.example if isinstance(route.docs.example, dict) else {}
    for length, too_long in ((most, False), (most + 1, True)):
        sent = await served.agent.request(route.method, path_of(route), json={**example, name: "x" * length})
        message = sent.json()["error"]["message"] if sent.status_code == 400 else ""
        assert (f"$.{name}" in message) is too_long, (route.path, name, length, message)


@pytest.mark.parametrize(
    ("status", "body", "headers", "problem"),
    [
        (200, {"state": "executed", "differs": False}, {}, ""),
        (200, {"state": "executed", "differs": False, "more": 1}, {}, "more is not documented"),
        (200, {"state": "executed"}, {}, "differs is missing"),
        (200, {"state": "gone", "differs": False}, {}, "state is gone"),
        (418, {}, {}, "418 is not documented"),
        (200, {"state": "executed", "differs": False}, {"Location": "/"}, "other headers"),
        (200, {"state": "executed", "differs": False}, {"Content-Type": "text/plain"}, "has the type text/plain"),
    ],
)
def test_replies_that_are_not_documented_are_noticed(
    status: int, body: dict[str, Any], headers: dict[str, str], problem: str
) -> None:
    """The check that every reply in the tests of the gate goes through."""
    request = httpx.Request("POST", "http://gate/v1/permissions/act-1/outcome")
    reply = httpx.Response(status, json=body, headers=headers, request=request)
    if problem:
        with pytest.raises(AssertionError, match=problem):
            run_async(check_documented(reply))
    else:
        run_async(check_documented(reply))


@pytest.mark.parametrize(
    "head",
    [
        b"\x00garbage\r\n\r\n",
        b"GET /v1/agent HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 70_000 + b"\r\n\r\n",
        b"GET /v1/agent HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n",
        b"GET /v1/agent HTTP/1.1\r\nHost: x\r\nNo colon\r\n\r\n",
    ],
    ids=["garbage", "large headers", "length", "header"],
)
def test_what_is_not_http_is_refused_as_json(env: GateEnv, head: bytes) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            received, _, body = (await served.raw(head)).partition(b"\r\n\r\n")
            assert received.startswith(b"HTTP/1.1 400 ")
            assert b"content-type: application/json" in received.lower()
            schema = DOCUMENT["components"]["schemas"]["Error"]
            assert not list(undocumented(DOCUMENT, schema, json.loads(body)))
            assert (await served.agent.get("/v1/agent")).status_code == 200

    run_async(main())


@pytest.mark.parametrize("access", RouteAccess)
def test_the_document_says_who_may_use_a_route(access: RouteAccess) -> None:
    schemes = {
        name
        for route in ROUTES
        if route.access is access
        for scheme in DOCUMENT["paths"][route.path][route.method.lower()]["security"]
        for name in scheme
    }
    agents = access in (RouteAccess.AGENT, RouteAccess.CATALOGUE)
    sessions = access in (RouteAccess.CATALOGUE, RouteAccess.APPROVER, RouteAccess.METRICS, RouteAccess.VIEWER)
    assert ("agentToken" in schemes, "session" in schemes) == (agents, sessions)
