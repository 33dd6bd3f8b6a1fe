"""Who may use which door, and the worked example through HTTP."""

import httpx
import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.demo import sample_data
from aileron_tui.demo.sample_service import ServiceFault
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.http_app import GateApp
from aileron_tui.gate.origin_check import OriginCheck
from aileron_tui.gate.route_table import Route, RouteAccess
from tests.gate.conftest import Bench, until
from tests.gate.house import DRAFT, SEND, WAITING, House, error_code, house

AGENTS = {RouteAccess.AGENT, RouteAccess.CATALOGUE}


def routes(gate: Gate) -> tuple[Route, ...]:
    """Every route there is, so that a new one cannot be forgotten here."""
    return GateApp(gate, OriginCheck("127.0.0.1", 1), "token").table.routes


def path(route: Route) -> str:
    return route.path.replace("{name}", "send-draft").replace("{id}", "act-1")


def test_the_agent_token_opens_no_approver_route(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench) as at:
            tried = 0
            for route in routes(at.gate):
                answer = await at.agent.request(route.method, path(route), json={})
                if route.access in AGENTS or route.access is RouteAccess.OPEN:
                    assert answer.status_code != 403, route
                    continue
                assert answer.status_code == 403, route
                assert error_code(answer) == "forbidden"
                tried += 1
            assert tried >= 13

    until(main())


def test_what_the_agent_may_use_is_exactly_what_is_promised(bench: Bench) -> None:
    async def main() -> None:
        async with bench.gate() as gate:
            assert {(route.method, route.path) for route in routes(gate) if route.access in AGENTS} == {
                ("GET", "/v1/actions"),
                ("GET", "/v1/actions/{name}"),
                ("POST", "/v1/actions/{name}/run"),
                ("GET", "/v1/action-approvals/{id}/result"),
            }
            assert [route.path for route in routes(gate) if route.access is RouteAccess.OPEN] == ["/v1/health"]

    until(main())


@pytest.mark.parametrize("unknown", ["/v1/nothing", "/v1/action-approvals/act-1/approve", "/", "/v1/actions/x/run/y"])
def test_an_agent_learns_nothing_about_other_paths(bench: Bench, unknown: str) -> None:
    async def main() -> None:
        async with house(bench) as at:
            assert (await at.agent.get(unknown)).status_code == 403
            assert (await at.stranger.get(unknown)).status_code == 401
            assert (await at.approver.get(unknown)).status_code == 404

    until(main())


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer wrong", "Basic dGVzdDp0ZXN0", "bearer\tx", "Bearer " + "0" * 64],
)
def test_without_a_valid_token_only_health_and_the_handshake_answer(bench: Bench, authorization: str) -> None:
    async def main() -> None:
        async with house(bench) as at:
            headers = {"Authorization": authorization} if authorization else {}
            for route in routes(at.gate):
                answer = await at.stranger.request(route.method, path(route), json={}, headers=headers)
                if route.access in (RouteAccess.OPEN, RouteAccess.HANDSHAKE):
                    assert answer.status_code in (200, 400), route
                    continue
                assert answer.status_code == 401, route
                assert answer.json() == {"error": {"code": "unauthorized", "message": "missing or invalid token"}}

    until(main())


def test_two_tokens_at_once_are_none(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench) as at:
            both = [("Authorization", f"Bearer {at.token}"), ("Authorization", at.approver.headers["Authorization"])]
            assert (await at.stranger.get(WAITING, headers=both)).status_code == 401

    until(main())


def test_an_approver_reads_actions_but_does_not_act_for_an_agent(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench) as at:
            assert (await at.approver.get("/v1/actions/send-draft")).json()["name"] == "send-draft"
            assert error_code(await at.approver.post(SEND, json=DRAFT)) == "forbidden"
            id_ = (await at.agent.post(SEND, json=DRAFT)).json()["approval_id"]
            assert error_code(await at.approver.get(f"{WAITING}/{id_}/result")) == "forbidden"

    until(main())


def test_the_worked_example(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench) as at:
            asked = await at.agent.post(SEND, json=DRAFT)
            assert asked.status_code == 202
            id_ = asked.json()["approval_id"]
            assert asked.json()["status"] == "pending_approval"
            assert (await at.agent.get(f"{WAITING}/{id_}/result")).json() == {"status": "pending_approval"}
            item = await at.item(id_)
            assert item["input_fields"] == [{"label": "Draft id", "value": "r-12345"}]
            assert [field["label"] for field in item["preview"]["fields"]] == ["To", "Subject", "Body"]
            assert item["preview"]["fields"][0]["value"] == "team@example.com"
            assert [one["id"] for one in (await at.approver.get(WAITING)).json()["items"]] == [id_]
            decided = await at.approver.post(f"{WAITING}/{id_}/decide", json=bench.answer(item))
            assert decided.json() == {"id": id_, "state": "approved"}
            assert (await at.ending(id_))["status"] == "completed"
            assert len(bench.service.sent) == 1
            again = await at.approver.post(f"{WAITING}/{id_}/decide", json=bench.answer(item))
            assert (again.status_code, error_code_of_state(again)) == (409, ("INVALID_STATE", "executed"))

    until(main())


def error_code_of_state(response: httpx.Response) -> tuple[str, str]:
    return error_code(response), response.json()["state"]


def test_no_byte_for_the_agent_holds_a_word_of_the_preview(bench: Bench) -> None:
    """Over every way a request can end, with everything the agent can ask in between."""
    canaries = [word for word in sample_data.DRAFTS["r-12345"].body.split() if len(word) > 7] + ["team@example.com"]
    seen: list[bytes] = []

    async def ask(at: House, method: str, where: str, **options: object) -> httpx.Response:
        answer = await at.agent.request(method, where, **options)  # type: ignore[arg-type]  # passed on as given
        seen.append(answer.content + b"\n".join(b": ".join(pair) for pair in answer.headers.raw))
        return answer

    async def look_around(at: House, id_: str) -> None:
        for route in routes(at.gate):
            where = path(route).replace("act-1", id_)
            if route.method == "GET" and not where.startswith("/v1/actions"):
                await ask(at, "GET", where)
        for where in (f"{WAITING}/{id_}/refresh", f"{WAITING}/{id_}/decide"):
            await ask(at, "POST", where, json={})

    async def main() -> None:
        async with house(bench) as at:
            for verdict in (Verdict.DENY, Verdict.APPROVE):
                id_ = (await ask(at, "POST", SEND, json=DRAFT)).json()["approval_id"]
                item = await at.item(id_)
                await look_around(at, id_)
                if verdict is Verdict.APPROVE:
                    # What an op answers is the agent's to know, and here it holds the draft; so it must fail.
                    bench.service.faults["r-12345"] = ServiceFault.SERVER_ERROR
                await at.approver.post(f"{WAITING}/{id_}/decide", json=bench.answer(item, verdict, reason="no"))
                await look_around(at, id_)
                await at.ending(id_)
                await look_around(at, id_)

    until(main())
    everything = b"".join(seen).decode()
    assert all(word in everything for word in ("pending_approval", "denied", "Gmail API returned 500"))
    assert [word for word in canaries if word in everything] == []


def test_a_stolen_session_decides_nothing(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench) as at:
            id_ = (await at.agent.post(SEND, json=DRAFT)).json()["approval_id"]
            await at.item(id_)
            answer = await at.approver.post(f"{WAITING}/{id_}/decide", json={"approved": True})
            assert answer.status_code == 403
            assert (await at.agent.get(f"{WAITING}/{id_}/result")).json() == {"status": "pending_approval"}
            assert bench.service.sent == ()

    until(main())


def test_every_answer_has_an_id_and_forbids_storing(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench) as at:
            kept = await at.stranger.get("/v1/health", headers={"X-Request-ID": "my-id.1"})
            assert kept.headers["x-request-id"] == "my-id.1"
            assert kept.headers["cache-control"] == "no-store"
            assert kept.json()["instance"] == at.gate.instance
            made = await at.stranger.get("/v1/health", headers={"X-Request-ID": "a b\x1b[2J"[:3]})
            assert made.headers["x-request-id"] != "a b"
            assert len(made.headers["x-request-id"]) == 16
            assert "server" not in made.headers

    until(main())
