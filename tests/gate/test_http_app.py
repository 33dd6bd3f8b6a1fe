"""Who may use which route, and the worked example over HTTP."""

import httpx
import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.demo import sample_data
from aileron_tui.demo.sample_service import ServiceFault
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.http_app import GateApp
from aileron_tui.gate.origin_check import OriginCheck
from aileron_tui.gate.route_table import Route, RouteAccess
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import DRAFT, SEND, WAITING, ServedGate, error_code, served_gate

AGENTS = {RouteAccess.AGENT, RouteAccess.CATALOGUE}


def routes(gate: Gate) -> tuple[Route, ...]:
    """Every route there is, so that a new one cannot be forgotten here."""
    return GateApp(gate, OriginCheck("127.0.0.1", 1)).table.routes


def path(route: Route) -> str:
    return route.path.replace("{name}", "send-draft").replace("{id}", "act-1")


def test_the_agent_token_opens_no_approver_route(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            tried = 0
            for route in routes(served.gate):
                answer = await served.agent.request(route.method, path(route), json={})
                if route.access in AGENTS or route.access is RouteAccess.OPEN:
                    assert answer.status_code != 403, route
                    continue
                assert answer.status_code == 403, route
                assert error_code(answer) == "forbidden"
                tried += 1
            assert tried >= 13

    run_async(main())


def test_agents_may_use_exactly_the_documented_routes(env: GateEnv) -> None:
    async def main() -> None:
        async with env.gate() as gate:
            assert {(route.method, route.path) for route in routes(gate) if route.access in AGENTS} == {
                ("GET", "/v1/actions"),
                ("GET", "/v1/actions/{name}"),
                ("POST", "/v1/actions/{name}/run"),
                ("GET", "/v1/action-approvals/{id}/result"),
                ("DELETE", "/v1/action-approvals/{id}"),
                ("POST", "/v1/permissions"),
                ("GET", "/v1/permissions/{id}"),
                ("DELETE", "/v1/permissions/{id}"),
                ("POST", "/v1/permissions/{id}/outcome"),
                ("POST", "/v1/permissions/outcome"),
                ("POST", "/v1/doors"),
                ("GET", "/v1/agent"),
            }
            assert [route.path for route in routes(gate) if route.access is RouteAccess.OPEN] == [
                "/v1/health",
                "/v1/openapi.json",
            ]

    run_async(main())


@pytest.mark.parametrize("unknown", ["/v1/nothing", "/v1/action-approvals/act-1/approve", "/", "/v1/actions/x/run/y"])
def test_an_agent_learns_nothing_about_other_paths(env: GateEnv, unknown: str) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            assert (await served.agent.get(unknown)).status_code == 403
            assert (await served.anonymous.get(unknown)).status_code == 401
            assert (await served.approver.get(unknown)).status_code == 404

    run_async(main())


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer wrong", "Basic dGVzdDp0ZXN0", "bearer\tx", "Bearer " + "0" * 64],
)
def test_without_a_valid_token_only_health_and_the_handshake_work(env: GateEnv, authorization: str) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            headers = {"Authorization": authorization} if authorization else {}
            for route in routes(served.gate):
                answer = await served.anonymous.request(route.method, path(route), json={}, headers=headers)
                if route.access in (RouteAccess.OPEN, RouteAccess.HANDSHAKE):
                    assert answer.status_code in (200, 400), route
                    continue
                assert answer.status_code == 401, route
                assert answer.json() == {"error": {"code": "unauthorized", "message": "missing or invalid token"}}

    run_async(main())


def test_two_tokens_at_once_count_as_none(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            both = [
                ("Authorization", f"Bearer {served.token}"),
                ("Authorization", served.approver.headers["Authorization"]),
            ]
            assert (await served.anonymous.get(WAITING, headers=both)).status_code == 401

    run_async(main())


def test_approvers_can_read_actions_but_not_run_them(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            assert (await served.approver.get("/v1/actions/send-draft")).json()["name"] == "send-draft"
            assert error_code(await served.approver.post(SEND, json=DRAFT)) == "forbidden"
            id_ = (await served.agent.post(SEND, json=DRAFT)).json()["approval_id"]
            assert error_code(await served.approver.get(f"{WAITING}/{id_}/result")) == "forbidden"

    run_async(main())


def test_the_worked_example(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            asked = await served.agent.post(SEND, json=DRAFT)
            assert asked.status_code == 202
            id_ = asked.json()["approval_id"]
            assert asked.json()["status"] == "pending_approval"
            poll = (await served.agent.get(f"{WAITING}/{id_}/result")).json()
            assert poll == {"status": "pending_approval", "expires_at": asked.json()["expires_at"]}
            item = await served.previewed_request(id_)
            assert item["input_fields"] == [{"label": "Draft id", "value": "r-12345"}]
            assert [field["label"] for field in item["preview"]["fields"]][:2] == ["To", "Subject"]
            assert item["preview"]["fields"][0]["value"] == "team@example.com"
            assert [one["id"] for one in (await served.approver.get(WAITING)).json()["items"]] == [id_]
            decided = await served.approver.post(f"{WAITING}/{id_}/decide", json=env.decision(item))
            assert decided.json() == {"id": id_, "state": "approved"}
            assert (await served.result(id_))["status"] == "completed"
            assert len(env.service.sent) == 1
            again = await served.approver.post(f"{WAITING}/{id_}/decide", json=env.decision(item))
            assert (again.status_code, error_code_of_state(again)) == (409, ("INVALID_STATE", "executed"))

    run_async(main())


def error_code_of_state(response: httpx.Response) -> tuple[str, str]:
    return error_code(response), response.json()["state"]


def test_agents_receive_nothing_from_the_preview(env: GateEnv) -> None:
    """Over every way a request can end, with everything the agent can ask in between."""
    canaries = [word for word in sample_data.DRAFTS["r-12345"].body.split() if len(word) > 7] + ["team@example.com"]
    seen: list[bytes] = []

    async def ask(served: ServedGate, method: str, where: str, **options: object) -> httpx.Response:
        answer = await served.agent.request(method, where, **options)  # type: ignore[arg-type]  # passed on as given
        seen.append(answer.content + b"\n".join(b": ".join(pair) for pair in answer.headers.raw))
        return answer

    async def look_around(served: ServedGate, id_: str) -> None:
        for route in routes(served.gate):
            where = path(route).replace("act-1", id_)
            if route.method == "GET" and not where.startswith("/v1/actions"):
                await ask(served, "GET", where)
        for where in (f"{WAITING}/{id_}/refresh", f"{WAITING}/{id_}/decide"):
            await ask(served, "POST", where, json={})

    async def main() -> None:
        async with served_gate(env) as served:
            for verdict in (Verdict.DENY, Verdict.APPROVE):
                id_ = (await ask(served, "POST", SEND, json=DRAFT)).json()["approval_id"]
                item = await served.previewed_request(id_)
                await look_around(served, id_)
                if verdict is Verdict.APPROVE:
                    # What an op answers is the agent's to know, and here it holds the draft; so it must fail.
                    env.service.faults["send"] = ServiceFault.SERVER_ERROR
                await served.approver.post(f"{WAITING}/{id_}/decide", json=env.decision(item, verdict, reason="no"))
                await look_around(served, id_)
                await served.result(id_)
                await look_around(served, id_)

    run_async(main())
    everything = b"".join(seen).decode()
    assert all(word in everything for word in ("pending_approval", "denied", "Gmail API returned 500"))
    assert [word for word in canaries if word in everything] == []


def test_a_stolen_session_decides_nothing(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            id_ = (await served.agent.post(SEND, json=DRAFT)).json()["approval_id"]
            await served.previewed_request(id_)
            answer = await served.approver.post(f"{WAITING}/{id_}/decide", json={"approved": True})
            assert answer.status_code == 403
            assert (await served.agent.get(f"{WAITING}/{id_}/result")).json()["status"] == "pending_approval"
            assert env.service.sent == ()

    run_async(main())


def test_every_response_has_an_id_and_must_not_be_cached(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            kept = await served.anonymous.get("/v1/health", headers={"X-Request-ID": "my-id.1"})
            assert kept.headers["x-request-id"] == "my-id.1"
            assert kept.headers["cache-control"] == "no-store"
            assert kept.json()["instance"] == served.gate.instance
            made = await served.anonymous.get("/v1/health", headers={"X-Request-ID": "a b\x1b[2J"[:3]})
            assert made.headers["x-request-id"] != "a b"
            assert len(made.headers["x-request-id"]) == 16
            assert "server" not in made.headers

    run_async(main())
