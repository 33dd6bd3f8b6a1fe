"""The daemon's verbs: what is asked, and what is made of every answer."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from aileron_tui.core.errors import AileronError
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.daemon.daemon_client import LOCKED, UNKNOWN, DaemonClient, WrongPassphrase
from aileron_tui.runtime.daemon.daemon_discovery import Daemon
from aileron_tui.runtime.daemon.listed_client import DaemonResult
from aileron_tui.runtime.errors import (
    InvalidReply,
    NoGate,
    NoReply,
    NotAllowed,
    NotFound,
    Rejected,
    RuntimeFault,
    VaultLocked,
)
from aileron_tui.runtime.http_connection import HttpConnection
from aileron_tui.runtime.vault import VaultState

URL = "http://127.0.0.1:54321"
TOKEN = "token-9f8e7d"
Answer = Callable[[httpx.Request], httpx.Response]


class Line:
    """A daemon that is only a function; remembers what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[httpx.Request] = []
        self._answer = answer

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        return self._answer(request)

    def client(self) -> DaemonClient:
        return DaemonClient(Daemon(URL, TOKEN), transport=httpx.MockTransport(self))


def always(status: int, body: Any = None, **more: Any) -> Line:
    return Line(lambda _: httpx.Response(status, json=body, **more))


def fails(error: Exception) -> Line:
    def answer(_: httpx.Request) -> httpx.Response:
        raise error

    return Line(answer)


@pytest.mark.parametrize(
    ("said", "result"),
    [
        ({"status": "pending_approval"}, DaemonResult(RequestState.PENDING)),
        ({"status": "running"}, DaemonResult(RequestState.RUNNING)),
        ({"status": "awaiting_vault"}, DaemonResult(RequestState.RUNNING, note=f"approved; {LOCKED}")),
        ({"status": "completed", "audit_id": "audit-1", "result": "{}"}, DaemonResult(RequestState.EXECUTED)),
        ({"status": "denied"}, DaemonResult(RequestState.DENIED)),
        ({"status": "denied", "reason": "no"}, DaemonResult(RequestState.DENIED, "no")),
        ({"status": "denied", "reason": 7}, DaemonResult(RequestState.DENIED)),
        ({"status": "failed", "reason": "it broke"}, DaemonResult(RequestState.FAILED, "it broke", error="it broke")),
        (
            {"status": "failed", "failure": {"error": {"class": "network_error", "message": "no route"}}},
            DaemonResult(RequestState.FAILED, error="network_error: no route"),
        ),
        (
            {"status": "failed", "failure": {"error": {"message": "odd"}}},
            DaemonResult(RequestState.FAILED, error="odd"),
        ),
        ({"status": "failed", "failure": [], "reason": "r"}, DaemonResult(RequestState.FAILED, "r", error="r")),
        ({"status": "failed"}, DaemonResult(RequestState.FAILED)),
        (
            {"status": "on_hold", "reason": "r"},
            DaemonResult(RequestState.RUNNING, "r", note="the daemon says: on_hold"),
        ),
        ({"status": None}, DaemonResult(RequestState.RUNNING, note="the daemon says: null")),
        ({}, DaemonResult(RequestState.RUNNING, note="the daemon says: null")),
    ],
    ids=str,
)
def test_what_became_of_a_request(said: dict[str, Any], result: DaemonResult) -> None:
    assert always(200, said).client().result("act-1") == result


def test_a_failure_to_say_is_not_something_that_was_said() -> None:
    line = always(412, {"error": {"class": "binding_required", "message": "the vault is locked"}})
    with pytest.raises(Rejected, match="the vault is locked"):
        line.client().result("act-1")


def test_a_request_nobody_knows() -> None:
    client = always(404, {"error": {"code": "not_found", "message": "unknown"}}).client()
    with pytest.raises(NotFound):
        client.result("act-1")
    assert client.outcome("act-1") == DaemonResult(RequestState.WITHDRAWN, note=UNKNOWN)


def test_where_a_request_stands_is_looked_up_in_the_list_first() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/action-approvals":
            return httpx.Response(200, json={"items": [7, {"id": "act-1"}]})
        return httpx.Response(200, json={"status": "denied"})

    line = Line(answer)
    assert line.client().current_state("act-1") == DaemonResult(RequestState.PENDING)
    assert [request.url.path for request in line.asked] == ["/v1/action-approvals"]
    assert line.client().current_state("act-2") == DaemonResult(RequestState.DENIED)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
@pytest.mark.parametrize("content", [b"", b"{}", b"<html>", b"{", b"\xff" * 100], ids=repr)
def test_any_success_of_an_answer_is_success(status: int, content: bytes) -> None:
    Line(lambda _: httpx.Response(status, content=content)).client().decide("act-1", {"approved": True})


def test_what_comes_with_a_success_need_not_come() -> None:
    def broken() -> Iterator[bytes]:
        yield b"{"
        raise httpx.ReadError("cut")

    Line(lambda _: httpx.Response(200, content=broken())).client().decide("act-1", {"approved": False})


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (always(302, headers={"Location": "/"}), Rejected),
        (always(400, {"error": {"code": "invalid_request", "message": "no"}}), Rejected),
        (always(401, {}), NotAllowed),
        (always(403, {}), NotAllowed),
        (always(404, {}), NotFound),
        (always(412, {"error": {"class": "binding_required", "message": "no"}}), Rejected),
        (always(423, {}), VaultLocked),
        (always(500, []), InvalidReply),
        (Line(lambda _: httpx.Response(502, html="<html>")), Rejected),
        (
            Line(lambda _: httpx.Response(500, content=b"not packed", headers={"Content-Encoding": "gzip"})),
            InvalidReply,
        ),
        (fails(httpx.ConnectError("refused")), NoGate),
        (fails(httpx.ConnectTimeout("slow")), NoGate),
        (fails(httpx.ReadTimeout("slow")), NoReply),
        (fails(httpx.WriteError("broken")), NoReply),
        (fails(httpx.RemoteProtocolError("odd")), NoReply),
        (fails(httpx.PoolTimeout("busy")), NoReply),
    ],
)
def test_everything_else_is_none(line: Line, fault: type[RuntimeFault]) -> None:
    with pytest.raises(fault):
        line.client().decide("act-1", {"approved": True})
    assert len(line.asked) == 1  # and nothing is sent again


@pytest.mark.parametrize(
    ("id_", "path"),
    [
        ("act-1", b"/v1/action-approvals/act-1/result"),
        ("../x", b"/v1/action-approvals/..%2Fx/result"),
        ("a/b?c#d%2e", b"/v1/action-approvals/a%2Fb%3Fc%23d%252e/result"),
        ("a\r\nb", b"/v1/action-approvals/a%0D%0Ab/result"),
        ("ü", b"/v1/action-approvals/%C3%BC/result"),
    ],
)
def test_an_id_is_one_part_of_a_path(id_: str, path: bytes) -> None:
    line = always(200, {"status": "running"})
    line.client().result(id_)
    assert line.asked[0].url.raw_path == path


@pytest.mark.parametrize("id_", ["", ".", "..", "x" * 5000])
def test_an_id_that_cannot_be_one_is_asked_for_nowhere(id_: str) -> None:
    line = always(200, {"status": "running"})
    with pytest.raises(InvalidReply):
        line.client().result(id_)
    with pytest.raises(InvalidReply):
        line.client().decide(id_, {"approved": True})
    assert not line.asked


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a b", "é", "x" * 201, "-x", "a\n", "%2e%2e"])
def test_a_name_that_cannot_be_one_is_asked_for_nowhere(name: str) -> None:
    line = always(200, {})
    assert line.client().action(name) is None
    assert line.client().session(name) is None
    assert not line.asked


@pytest.mark.parametrize("body", [{}, {"items": 7}, {"items": {}}, {"items": None}], ids=str)
def test_a_list_that_is_none(body: Any) -> None:
    with pytest.raises(InvalidReply):
        always(200, body).client().waiting()


@pytest.mark.parametrize(
    ("said", "vault"),
    [
        ({"locked": True, "state": "locked"}, VaultState.LOCKED),
        ({"locked": True}, VaultState.LOCKED),
        ({"locked": True, "state": "missing"}, VaultState.MISSING),
        ({"locked": False, "state": "unlocked"}, VaultState.UNLOCKED),
        ({"locked": False, "state": "missing"}, VaultState.MISSING),
        ({"state": "molten"}, VaultState.NONE),
        ({"state": 7}, VaultState.NONE),
        ({}, VaultState.NONE),
    ],
    ids=str,
)
def test_the_vault(said: dict[str, Any], vault: VaultState) -> None:
    assert always(200, said).client().vault() is vault


@pytest.mark.parametrize("line", [always(404, {}), Line(lambda _: httpx.Response(200, html="<html>"))])
def test_a_daemon_that_knows_of_no_vault(line: Line) -> None:
    assert line.client().vault() is VaultState.NONE


def test_the_passphrase_goes_to_one_place() -> None:
    line = always(200, {})
    line.client().unlock(bytearray("öpen sesame".encode()))
    [asked] = line.asked
    assert (asked.method, asked.url.path) == ("POST", "/v1/vault/unlock")
    assert json.loads(asked.content) == {"passphrase": "öpen sesame"}


def test_the_passphrase_does_not_cross_a_network_in_the_clear() -> None:
    line = always(200, {})
    client = DaemonClient(Daemon("http://192.0.2.7:54321"), transport=httpx.MockTransport(line))
    with pytest.raises(AileronError, match="unencrypted"):
        client.unlock(bytearray(b"correct horse"))
    assert not line.asked


@pytest.mark.parametrize(
    ("status", "code", "fault"),
    [
        (401, "wrong_passphrase", WrongPassphrase),
        (401, "unauthorized", NotAllowed),
        (404, "no_local_vault_file", WrongPassphrase),
        (503, "no_local_vault", WrongPassphrase),
        (400, "missing_passphrase", WrongPassphrase),
        (400, "invalid_request", Rejected),
        (500, "", Rejected),
    ],
)
def test_a_vault_that_does_not_open(status: int, code: str, fault: type[AileronError]) -> None:
    line = always(status, {"error": {"code": code, "message": "no"}})
    with pytest.raises(fault) as failed:
        line.client().unlock(bytearray(b"correct horse"))
    assert "correct horse" not in repr(failed.value)
    assert len(line.asked) == 1


def test_a_passphrase_that_is_not_text_is_refused_without_repeating_it() -> None:
    line = always(200, {})
    with pytest.raises(AileronError) as failed:
        line.client().unlock(bytearray(b"correct \xff horse"))
    assert "correct" not in str(failed.value)
    assert not line.asked


def test_every_question_carries_the_token_and_no_other_header_of_ours_tells_it() -> None:
    line = always(200, {"items": [], "events": [], "status": "running", "state": ""})
    client = line.client()
    client.waiting()
    client.audit()
    client.result("act-1")
    client.session("s-1")
    client.vault()
    client.decide("act-1", {"approved": False})
    assert len(line.asked) == 7  # of an empty list it is asked whether there is a queue at all
    for request in line.asked:
        assert request.headers["authorization"] == f"Bearer {TOKEN}"
        assert TOKEN not in str(request.url)
        assert TOKEN not in request.content.decode()
        assert request.headers["accept-encoding"] == "identity"


def test_what_is_told_and_fails_is_not_done() -> None:
    """Where the failure of an action is an answer to a question, it is none to what was said."""
    line = always(412, {"error": {"class": "binding_required", "message": "the vault is locked"}})
    wire = HttpConnection(URL, transport=httpx.MockTransport(line))
    assert "error" in wire.ask("POST", "/v1/actions/x/run", {})
    with pytest.raises(Rejected, match="the vault is locked"):
        wire.send("POST", "/v1/action-approvals/act-1/decide", {}, headers={})


def test_an_answer_in_drops_comes_to_an_end() -> None:
    def drops() -> Iterator[bytes]:
        while True:
            time.sleep(0.01)
            yield b" "

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=drops(), headers={"Content-Type": "application/json"})

    wire = HttpConnection(URL, peer="daemon", transport=httpx.MockTransport(answer))
    with pytest.raises(NoReply, match="in time"):
        wire.ask("GET", "/v1/health", seconds=0.02)


SECRET = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
SPELLED = "".join(f"%{ord(letter):02x}" for letter in SECRET)


TWO_LINES = f"{SECRET[:16]}\n{SECRET[16:]}"


@pytest.mark.parametrize("spelling", [SECRET, SECRET.upper(), SPELLED, "\u200b".join(SECRET), TWO_LINES])
def test_a_token_in_any_words_of_the_daemon_is_not_told_on(spelling: str) -> None:
    refusal = {"error": {"code": spelling, "message": f"bad <{spelling}>", "details": [{"x": spelling}]}}
    failure = {"error": {"class": "network_error", "message": f"401 with {spelling}"}}
    said: dict[str, httpx.Response] = {
        "/v1/action-approvals": httpx.Response(401, json=refusal),
        "/v1/audit": httpx.Response(200, text="x", headers=[(b"Content-Type", f"text/{spelling}".encode())]),
        "/v1/action-approvals/a/result": httpx.Response(200, json={"status": "failed", "failure": failure}),
        "/v1/action-approvals/b/result": httpx.Response(200, json={"status": "denied", "reason": spelling}),
        "/v1/action-approvals/c/result": httpx.Response(200, json={"status": spelling}),
    }
    if "\n" in spelling:
        del said["/v1/audit"]
    transport = httpx.MockTransport(lambda request: said[request.url.path])
    client = DaemonClient(Daemon("http://127.0.0.1:1", SECRET), transport=transport)
    words: list[str] = []
    with pytest.raises(NotAllowed) as error:
        client.waiting()
    words += [str(error.value), error.value.code, str(error.value.body)]
    if "/v1/audit" in said:
        with pytest.raises(InvalidReply) as odd:
            client.audit()
        words.append(str(odd.value))
    results = [client.result(id_) for id_ in "abc"]
    words += [results[0].error, results[1].reason, results[2].note]
    assert [text for text in words if "⟨token⟩" not in text] == []
    assert [text for text in words if spelling in text or SECRET in text] == []


def test_nothing_is_sent_after_close() -> None:
    """A thread that was woken by the closing must not go on over another connection of the pool."""
    sent: list[str] = []

    def line(request: httpx.Request) -> httpx.Response:
        sent.append(request.url.path)
        return httpx.Response(200, json={"items": []})

    wire = HttpConnection(URL, transport=httpx.MockTransport(line))
    wire.ask("GET", "/before")
    wire._closed = True  # `close` sets this before it ends the first socket
    with pytest.raises(NoReply, match="closed"):
        wire.ask("GET", "/after")
    wire.close()
    assert sent == ["/before"]
