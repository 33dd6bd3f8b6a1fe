"""Which tokens are accepted, and what a refusal looks like."""

import httpx
import pytest

from tests.conformance.wire import LIST, NOBODY, WATCH, Wire, body_of, refused


@pytest.fixture
def protected(wire: Wire) -> Wire:
    if not wire.token:
        pytest.skip("this daemon asks for no token")
    return wire


@pytest.mark.parametrize("path", [LIST, WATCH, f"{LIST}/{NOBODY}/result", "/v1/audit", "/v1/status", "/v1/sessions"])
@pytest.mark.parametrize("authorization", ["", "Bearer " + "0" * 64])
def test_nothing_is_told_without_the_token(protected: Wire, path: str, authorization: str) -> None:
    refused(protected.http.get(path, headers={"Authorization": authorization}), 401, "unauthorized")


def test_nothing_is_decided_without_the_token(protected: Wire) -> None:
    headers = {"Authorization": "Bearer " + "0" * 64}
    for id_ in (NOBODY, *(item["id"] for item in protected.waiting()[:1])):
        answer = protected.http.post(f"{LIST}/{id_}/decide", json={"approved": False}, headers=headers)
        refused(answer, 401, "unauthorized")
        assert id_ == NOBODY or protected.result(id_)["status"] == "pending_approval"


def test_the_token_of_a_session_neither_sees_nor_decides(protected: Wire) -> None:
    if not protected.may_approve:
        pytest.skip("opens a session of its own: needs --may-approve")
    made = protected.http.post("/v1/sessions", json={"agent": "conformance", "working_dir": "/"})
    if not made.is_success or "caveat_token" not in made.json():
        pytest.skip(f"this daemon gave no token for a session: {made.status_code}")
    assert made.status_code == 200
    headers = {"Authorization": f"Bearer {made.json()['caveat_token']}"}
    refused(protected.http.get(LIST, headers=headers), 403, "forbidden")
    refused(protected.http.get(WATCH, headers=headers), 403, "forbidden")
    answer = protected.http.post(f"{LIST}/{NOBODY}/decide", json={"approved": False}, headers=headers)
    refused(answer, 403, "forbidden")
    refused(protected.http.get(f"{LIST}/{NOBODY}/result", headers=headers), 404, "not_found")


def test_health_is_open(wire: Wire) -> None:
    told = body_of(httpx.get(f"{wire.http.base_url}/v1/health", trust_env=False))
    assert told["status"] == "ok"
    assert told["service"] == "aileron"
    assert isinstance(told["version"], str)


def test_a_path_that_does_not_exist_is_not_mistaken_for_an_answer(wire: Wire) -> None:
    answer = wire.http.get("/v1/no-such-path-in-any-version")
    is_json = answer.headers.get("content-type", "").startswith("application/json")
    assert not (answer.is_success and is_json), answer.text


def test_the_request_id_comes_back(wire: Wire) -> None:
    assert wire.http.get(LIST, headers={"X-Request-ID": "conformance-1"}).headers["x-request-id"] == "conformance-1"
    assert wire.http.get(LIST).headers["x-request-id"]
