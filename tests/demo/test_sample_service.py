"""The sample service as a client sees it."""

import base64
import http.client
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from aileron_tui.demo import sample_data
from aileron_tui.demo.errors import DemoError
from aileron_tui.demo.sample_service import ANY_ID, MAIL_CREDENTIAL, SampleService, ServiceFault, main
from aileron_tui.demo.service_routes import MAX_BODY_SIZE


def raw(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


def text_of(message: dict[str, Any]) -> str:
    part = message["payload"].get("parts", [message["payload"]])[0]
    return base64.urlsafe_b64decode(part["body"]["data"]).decode()


def headers_of(message: dict[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry["value"] for entry in message["payload"]["headers"]}


def test_the_worked_example_is_there(mail: httpx.Client) -> None:
    draft = mail.get("/drafts/r-12345").json()
    assert draft["id"] == "r-12345"
    assert headers_of(draft["message"])["To"] == "team@example.com"
    assert headers_of(draft["message"])["Subject"] == "Weekly recap"
    text = text_of(draft["message"])
    assert text.startswith("Here's the recap from this week's standup…\n")
    assert draft["message"]["snippet"] == " ".join(text.split())[:200]


def test_metadata_has_headers_and_snippet_but_no_text(mail: httpx.Client) -> None:
    message = mail.get("/drafts/r-12345", params={"format": "metadata"}).json()["message"]
    assert headers_of(message)["Subject"] == "Weekly recap"
    assert "data" not in message["payload"]["body"]
    assert "payload" not in mail.get("/drafts/r-12345", params={"format": "minimal"}).json()["message"]
    assert mail.get("/drafts/r-12345", params={"format": "odd"}).status_code == 400


def test_a_message_id_is_not_a_draft_id(mail: httpx.Client) -> None:
    assert mail.get(f"/messages/{sample_data.NOT_A_DRAFT}").status_code == 200
    answer = mail.get(f"/drafts/{sample_data.NOT_A_DRAFT}")
    assert answer.status_code == 404
    assert answer.json()["error"]["status"] == "NOT_FOUND"


def test_the_hostile_draft_arrives_unchanged(mail: httpx.Client) -> None:
    message = mail.get(f"/drafts/{sample_data.HOSTILE}").json()["message"]
    assert headers_of(message)["To"] == "te\u0430m@ex\u0430mple.com"
    assert "\x1b[2J" in headers_of(message)["Subject"]
    assert "\n" * 412 in text_of(message)


def test_drafts_are_listed_newest_first_up_to_the_limit(mail: httpx.Client) -> None:
    created = mail.post("/drafts", json={"message": {"raw": raw("To: a@example.com\r\n\r\nhi")}}).json()["id"]
    listed = mail.get("/drafts", params={"maxResults": 2}).json()
    assert [entry["id"] for entry in listed["drafts"]] == [created, sample_data.HOSTILE]
    assert listed["resultSizeEstimate"] == len(sample_data.DRAFTS) + 1
    for bad in ("0", "-1", "many", "9" * 30):
        assert mail.get("/drafts", params={"maxResults": bad}).status_code == 400


def test_a_draft_is_sent_once_and_then_gone(service: SampleService, mail: httpx.Client) -> None:
    message = mail.post("/drafts/send", json={"id": "r-12345"}).json()
    assert message["labelIds"] == ["SENT"]
    assert mail.post("/drafts/send", json={"id": "r-12345"}).status_code == 404
    assert mail.get("/drafts/r-12345").status_code == 404
    assert [sent.header("subject") for sent in service.sent] == ["Weekly recap"]
    assert mail.get(f"/messages/{message['id']}").json()["labelIds"] == ["SENT"]


def test_only_one_of_two_concurrent_sends_succeeds(service: SampleService, mail: httpx.Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: mail.post("/drafts/send", json={"id": "r-12345"}).status_code, range(16)))
    assert sorted(statuses) == [200] + [404] * 15
    assert len(service.sent) == 1


def test_a_draft_can_be_written_changed_and_deleted(service: SampleService, mail: httpx.Client) -> None:
    text = "To: zoë@example.com\r\nSubject: Grüße\r\nMIME-Version: 1.0\r\n\r\neins\nzwei"
    draft = mail.post("/drafts", json={"message": {"raw": raw(text)}}).json()
    stored = service.mailbox.drafts[draft["id"]]
    assert (stored.header("To"), stored.header("Subject"), stored.text) == ("zoë@example.com", "Grüße", "eins\nzwei")
    assert stored.header("MIME-Version") == ""
    place = f"/drafts/{draft['id']}"
    assert mail.put(place, json={"message": {"raw": raw("To: b@example.com\r\n\r\ndrei")}}).status_code == 200
    assert service.mailbox.drafts[draft["id"]].text == "drei"
    assert service.mailbox.drafts[draft["id"]].thread == stored.thread
    assert mail.delete(place).status_code == 204
    assert mail.delete(place).status_code == 404
    assert mail.put(place, json={"message": {"raw": raw("To: b@example.com\r\n\r\n")}}).status_code == 404


def test_a_mail_is_sent_without_a_draft(service: SampleService, mail: httpx.Client) -> None:
    text = "To: a@example.com\r\nCc: b@example.com\r\nSubject: Hi\r\n\r\nhello"
    assert mail.post("/messages/send", json={"raw": raw(text)}).status_code == 200
    assert [(sent.header("Cc"), sent.text) for sent in service.sent] == [("b@example.com", "hello")]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"message":1}',
        b'{"message":{}}',
        b'{"message":{"raw":""}}',
        b'{"message":{"raw":"%%%"}}',
        b'{"message":{"raw":"a"}}',
        b'{"message":{"raw":"/w=="}}',
        b'{"message":{"raw":"dGV4dA=="}}',
        b'{"message":{"raw":"U3ViamVjdDogeA0KDQo="}}',
    ],
)
def test_a_body_that_is_not_a_mail_is_refused(service: SampleService, mail: httpx.Client, body: bytes) -> None:
    answer = mail.post("/drafts", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]
    assert len(service.mailbox.drafts) == len(sample_data.DRAFTS)


def test_a_file_is_described_by_the_fields_asked_for(files: httpx.Client) -> None:
    assert files.get("/files/f-1001").json().keys() == {"id", "name", "mimeType"}
    asked = files.get("/files/f-1001", params={"fields": "name,parents, owners,permissions,size,nonsense"}).json()
    assert asked["name"] == "Quarterly report.pdf"
    assert asked["parents"] == ["d-inbox"]
    assert asked["owners"][0]["emailAddress"] == sample_data.ADDRESS
    assert {"emailAddress": "noor@example.com", "role": "writer"} in asked["permissions"]
    assert asked["size"] == "482133"
    assert "nonsense" not in asked
    assert "description" not in files.get("/files/f-1002", params={"fields": "*"}).json()


def test_files_are_listed_by_folder(files: httpx.Client) -> None:
    inbox = files.get("/files", params={"q": "'d-inbox' in parents and trashed = false"}).json()["files"]
    assert [file["id"] for file in inbox] == ["f-1001", "f-1002", "f-6660"]
    first = files.get("/files", params={"pageSize": "1", "fields": "files(id)"}).json()
    assert first["files"] == [{"id": "d-inbox"}]
    assert first["incompleteSearch"]
    assert files.get("/files", params={"q": r"'it\'s' in parents"}).json()["files"] == []
    assert files.get("/files", params={"q": "name = 'x'"}).status_code == 400


def test_a_file_is_moved_renamed_and_deleted(service: SampleService, files: httpx.Client) -> None:
    move = {"addParents": "d-archive", "removeParents": "d-inbox", "fields": "id,parents"}
    assert files.patch("/files/f-1001", params=move, json={}).json() == {"id": "f-1001", "parents": ["d-archive"]}
    assert files.patch("/files/f-1001", json={"name": "Q1.pdf"}).json()["name"] == "Q1.pdf"
    assert service.drive.files["f-1001"].sample.name == "Q1.pdf"
    assert files.patch("/files/f-1001", params={"addParents": "f-1002"}, json={}).status_code == 400
    assert files.patch("/files/f-1001", json={"name": 7}).status_code == 400
    assert service.drive.files["f-1001"].sample.parents == ("d-archive",)
    assert files.delete("/files/f-1001").status_code == 204
    assert files.delete("/files/f-1001").status_code == 404
    assert files.patch("/files/f-1001", json={}).status_code == 404
    assert service.drive.deleted == ("f-1001",)


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Bearer wrong"}, {"Authorization": MAIL_CREDENTIAL}, {"X-Api-Key": MAIL_CREDENTIAL}],
)
@pytest.mark.parametrize("target", ["/gmail/v1/users/me/drafts/r-12345", "/drive/v3/files/f-1001"])
def test_a_credential_is_required(service: SampleService, headers: dict[str, str], target: str) -> None:
    answer = httpx.get(service.url + target, headers=headers, trust_env=False)
    assert answer.status_code == 401
    assert "Weekly" not in answer.text
    assert [(call.target, call.authorised) for call in service.calls] == [(target, False)]


def test_an_escaped_slash_stays_part_of_the_id(mail: httpx.Client) -> None:
    assert mail.get("/drafts/..%2Fdrafts%2Fr-12345").status_code == 404
    assert mail.get("/nowhere").status_code == 404
    assert mail.patch("/drafts/r-12345", json={}).status_code == 404


def test_faults_behave_as_their_names_say(service: SampleService, mail: httpx.Client) -> None:
    service.huge_bytes = 200_000
    assert mail.get("/drafts/r-404").status_code == 404
    assert mail.get("/drafts/r-500").status_code == 500
    garbage = mail.get("/drafts/r-garbage")
    assert garbage.status_code == 200
    with pytest.raises(ValueError, match=r"."):
        garbage.json()
    huge = mail.get("/drafts/r-huge")
    assert len(huge.content) == 200_000
    assert huge.json().keys() == {"id"}
    redirect = mail.get("/drafts/r-redirect")
    assert (redirect.status_code, redirect.headers["Location"]) == (302, service.redirect_to)


def test_a_slow_response_is_correct_but_late(service: SampleService, mail: httpx.Client) -> None:
    service.slow_seconds = 0.3
    service.faults["r-12345"] = ServiceFault.SLOW
    before = time.monotonic()
    assert mail.get("/drafts/r-12345").json()["id"] == "r-12345"
    assert time.monotonic() - before >= 0.3


def test_a_fault_on_a_draft_also_affects_sending_it(service: SampleService, mail: httpx.Client) -> None:
    service.faults["r-12345"] = ServiceFault.SERVER_ERROR
    assert mail.post("/drafts/send", json={"id": "r-12345"}).status_code == 500
    assert service.sent == ()
    service.faults["r-12345"] = ServiceFault.HANG_UP
    with pytest.raises(httpx.RemoteProtocolError):
        mail.post("/drafts/send", json={"id": "r-12345"})
    assert len(service.sent) == 1


def test_a_fault_can_affect_everything(service: SampleService, mail: httpx.Client, files: httpx.Client) -> None:
    service.faults[ANY_ID] = ServiceFault.SERVER_ERROR
    assert mail.get("/drafts").status_code == 500
    assert files.get("/files/f-1001").status_code == 500


def test_latency_is_shared_by_calls_at_the_same_time(service: SampleService, mail: httpx.Client) -> None:
    service.latency_seconds = 0.3
    before = time.monotonic()
    with ThreadPoolExecutor(10) as pool:
        statuses = set(pool.map(lambda _: mail.get("/drafts").status_code, range(10)))
    assert statuses == {200}
    assert time.monotonic() - before < 1.5


def test_a_body_without_a_valid_length_is_refused(service: SampleService) -> None:
    for headers, status in (
        ({"Content-Length": str(MAX_BODY_SIZE + 1)}, 413),
        ({"Content-Length": "9" * 40}, 413),
        ({"Content-Length": "-1"}, 400),
        ({"Content-Length": "many"}, 400),
        ({"Transfer-Encoding": "chunked"}, 411),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=10)
        connection.putrequest("POST", "/gmail/v1/users/me/drafts")
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("Connection")) == (status, "close")
        connection.close()


def test_malformed_requests_do_not_disturb_it(
    service: SampleService, mail: httpx.Client, capfd: pytest.CaptureFixture[str]
) -> None:
    for noise in (b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"", b"GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(noise)
    assert mail.get("/drafts").status_code == 200
    service.stop()
    assert capfd.readouterr().err == ""


def test_stopping_closes_slow_and_idle_connections(service: SampleService, mail: httpx.Client) -> None:
    service.slow_seconds = 60
    mail.get("/drafts")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(mail.get, "/drafts/r-slow", timeout=30)
        while len(service.calls) < 2:
            time.sleep(0.01)
        before = time.monotonic()
        service.stop()
        assert time.monotonic() - before < 5
        assert waiting.exception(timeout=5) is None or isinstance(waiting.exception(), httpx.TransportError)
    with pytest.raises(httpx.ConnectError):
        mail.get("/drafts")


def test_starting_and_stopping(service: SampleService) -> None:
    with pytest.raises(DemoError, match="already running"):
        service.start()
    port = service.port
    with pytest.raises(DemoError, match=f"cannot start the sample service on 127.0.0.1:{port}"):
        SampleService(port).start()
    service.stop()
    service.stop()
    with pytest.raises(DemoError, match="not running"):
        _ = service.url
    service.start()
    assert httpx.get(service.url, trust_env=False).status_code == 404


def test_it_runs_alone_until_interrupted() -> None:
    command = [sys.executable, "-m", "aileron_tui.demo.sample_service", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[2]
        headers = {"Authorization": f"Bearer {MAIL_CREDENTIAL}"}
        assert httpx.get(f"{url}/gmail/v1/users/me/drafts", headers=headers, trust_env=False).status_code == 200
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")


@pytest.mark.parametrize("port", ["taken", "99999"])
def test_a_port_that_cannot_be_used_is_reported(
    service: SampleService, port: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--port", str(service.port) if port == "taken" else port]) == 1
    assert capsys.readouterr().err.startswith("error: cannot start the sample service on 127.0.0.1:")
