"""The webhook against a real HTTP server: signed, bounded, patient, and without anything to answer with."""

import asyncio
import base64
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aileron_tui.alerts.channels import webhook_channel
from aileron_tui.alerts.webhook import MOST_KEPT, WebhookChannel, WebhookPace, WebhookSettings
from aileron_tui.alerts.webhook_delivery import Result, WebhookDelivery, retry_after
from aileron_tui.alerts.webhook_message import BadWebhookSecret, WebhookMessage, read_keys
from aileron_tui.core.webhook_address import read_webhook_address
from aileron_tui.files.config import WebhookConfig, WebhookSecret
from tests.alerts.receiver import OTHER, SECRET, Receiver, running_receiver, until
from tests.alerts.samples import sample_alert

QUICK = WebhookPace(pauses=(0.01, 0.02, 0.03), group_seconds=60)
DOCUMENT = Path(__file__).parents[2] / "docs" / "surfaces.md"


@asynccontextmanager
async def opened(
    url: str, *, secret: str = SECRET, content: bool = False, pace: WebhookPace = QUICK
) -> AsyncIterator[WebhookChannel]:
    channel = WebhookChannel(WebhookSettings(read_webhook_address(url), lambda: secret, content), pace)
    try:
        yield channel
    finally:
        await channel.close()


async def told(receiver: Receiver, number: int) -> None:
    await asyncio.to_thread(receiver.wait_for, number)


def test_the_signature_is_that_of_the_specification() -> None:
    # The example that the libraries of Standard Webhooks test themselves with.
    message = WebhookMessage("msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}')
    headers = message.headers(read_keys("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), 1614265330)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


async def test_a_request_is_told_signed_and_without_content() -> None:
    with running_receiver() as receiver:
        async with opened(receiver.url) as channel:
            assert await channel.unavailable() == ""
            await channel.alert(sample_alert(url="http://localhost:8722/page?t=1#code=one-time"))
            await told(receiver, 1)
    (message,) = receiver.messages
    assert message.signed_with(SECRET)
    assert not message.signed_with(OTHER)
    assert abs(int(message.headers["webhook-timestamp"]) - time.time()) < 10
    assert message.type == "request.waiting"
    assert message.data.keys() == {"id", "action", "agent", "risk", "expires_at", "waiting", "url"}
    assert message.data["url"] == "http://localhost:8722/page"
    assert b"Lunch" not in message.body
    assert b"one-time" not in message.body
    assert message.path == "/hook?key=path-secret"


async def test_the_summary_is_sent_if_it_is_asked_for_and_cut() -> None:
    with running_receiver() as receiver:
        async with opened(receiver.url, content=True) as channel:
            await channel.alert(sample_alert(summary="long " * 1000))
            await told(receiver, 1)
    assert 100 < len(receiver.messages[0].data["summary"]) <= 200


async def test_every_secret_signs_while_one_is_replaced() -> None:
    with running_receiver() as receiver:
        async with opened(receiver.url, secret=f"{SECRET} {OTHER}") as channel:
            await channel.alert(sample_alert())
            await told(receiver, 1)
    assert receiver.messages[0].signed_with(SECRET)
    assert receiver.messages[0].signed_with(OTHER)


async def test_a_message_is_sent_again_with_the_same_id_and_a_new_time() -> None:
    with running_receiver((503, {}), (429, {"Retry-After": "1"}), (204, {})) as receiver:
        async with opened(receiver.url) as channel:
            await channel.alert(sample_alert())
            await told(receiver, 3)
            await asyncio.sleep(0.1)
            assert await channel.unavailable() == ""
    assert len({message.headers["webhook-id"] for message in receiver.messages}) == 1
    assert all(message.signed_with(SECRET) for message in receiver.messages)
    first, second, third = receiver.messages
    assert second.at - first.at < 0.8
    assert third.at - second.at >= 1


async def test_attempts_end_and_the_channel_says_why_without_the_path() -> None:
    with running_receiver((500, {})) as receiver:
        async with opened(receiver.url) as channel:
            await channel.alert(sample_alert())
            await told(receiver, len(QUICK.pauses) + 1)
            await asyncio.sleep(0.15)
            why = await channel.unavailable()
    assert len(receiver.messages) == len(QUICK.pauses) + 1
    assert why == f"http://127.0.0.1:{receiver.port} answered 500"


@pytest.mark.parametrize("status", [301, 307, 400, 401, 404])
async def test_what_cannot_get_better_is_not_sent_again(status: int) -> None:
    with running_receiver() as elsewhere, running_receiver((status, {"Location": elsewhere.url})) as receiver:
        async with opened(receiver.url) as channel:
            await channel.alert(sample_alert())
            await told(receiver, 1)
            await asyncio.sleep(0.1)
            assert str(receiver.port) in await channel.unavailable()
    assert len(receiver.messages) == 1
    assert elsewhere.messages == []


async def test_nothing_more_is_sent_to_a_receiver_that_is_gone() -> None:
    with running_receiver((410, {})) as receiver:
        async with opened(receiver.url) as channel:
            await channel.alert(sample_alert())
            await told(receiver, 1)
            await asyncio.sleep(0.05)
            await channel.alert(sample_alert("act-2"))
            await asyncio.sleep(0.1)
            assert "no longer wants messages" in await channel.unavailable()
    assert len(receiver.messages) == 1


@pytest.mark.parametrize("case", ["answered", "expires", "asks for too long"])
async def test_a_message_that_nobody_needs_any_more_is_not_sent_again(case: str) -> None:
    headers = {"Retry-After": "9999"} if case == "asks for too long" else {}
    with running_receiver((503, headers), (204, {})) as receiver:
        async with opened(receiver.url, pace=WebhookPace(pauses=(0.4,))) as channel:
            await channel.alert(sample_alert(seconds=0.3 if case == "expires" else 300))
            await told(receiver, 1)
            if case == "answered":
                await channel.clear("act-1")
            await asyncio.sleep(0.7)
    assert len(receiver.messages) == 1


async def test_a_flood_becomes_few_messages_and_takes_little_memory() -> None:
    with running_receiver() as receiver:
        async with opened(receiver.url) as channel:
            started = time.monotonic()
            for number in range(10_000):
                await channel.alert(sample_alert(f"act-{number}", waiting=number + 1))
                assert len(channel._waiting) <= MOST_KEPT
            assert time.monotonic() - started < 10
            await asyncio.to_thread(until, lambda: any(one.type == "requests.waiting" for one in receiver.messages))
            await asyncio.sleep(0.3)
            threads = [thread for thread in threading.enumerate() if thread.name == "webhook"]
            assert len(threads) == 1
    singles = [message for message in receiver.messages if message.type == "request.waiting"]
    groups = [message for message in receiver.messages if message.type == "requests.waiting"]
    assert len(singles) <= QUICK.singles
    assert len(groups) == 1
    assert groups[0].data.keys() == {"waiting", "url"}
    assert groups[0].signed_with(SECRET)


async def test_a_receiver_that_accepts_and_says_nothing_holds_up_nobody() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with opened(f"http://127.0.0.1:{silent.getsockname()[1]}/") as channel:
            started = time.monotonic()
            await channel.alert(sample_alert())
            assert await channel.unavailable() == ""
            await asyncio.sleep(0.1)
            await channel.clear("act-1")
        assert time.monotonic() - started < 3


def test_an_attempt_ends_although_the_receiver_drips() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                try:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Endless: ")
                    while True:
                        connection.sendall(b"a")
                        time.sleep(0.05)
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        address = read_webhook_address(f"http://127.0.0.1:{server.getsockname()[1]}/")
        delivery = WebhookDelivery(address, whole_seconds=0.3)
        started = time.monotonic()
        assert delivery.attempt(b"{}", {}).result is Result.RETRY
        assert time.monotonic() - started < 3
        delivery.close()
        thread.join()


async def test_nobody_listening_is_said_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    async with opened(f"http://127.0.0.1:{port}/hook/path-secret", pace=WebhookPace(pauses=())) as channel:
        await channel.alert(sample_alert())
        await asyncio.to_thread(until, lambda: channel._failure)
        assert await channel.unavailable() == f"cannot connect to http://127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 0),
        ("7", 7),
        ("-1", 0),
        ("soon", 0),
        ("Wed, 20 May 2026 10:00:30 GMT", 30),
        ("Wed, 20 May 2020 10:00 GMT", 0),
        ("Wed, 20 May 99999999999999999999 10:00:30 GMT", 0),
        ("Wed, 20 May 2026 10:00:30 +99999999999999", 0),
    ],
)
def test_retry_after_is_a_number_or_a_date(header: str, seconds: float) -> None:
    assert retry_after(header, datetime(2026, 5, 20, 10, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "plain",
        "whsec_!!!!",
        "whsec_" + base64.b64encode(b"short").decode(),
        "whsec_" + base64.b64encode(bytes(65)).decode(),
        f"{SECRET} nonsense",
        " ".join([SECRET] * 5),
    ],
)
async def test_a_bad_secret_is_refused_and_never_repeated(text: str) -> None:
    with pytest.raises(BadWebhookSecret) as caught:
        read_keys(text)
    said = f"{caught.value} {caught.value.hint}"
    assert all(word not in said for word in text.split() if word != "plain")
    with running_receiver() as receiver:
        async with opened(receiver.url, secret=text) as channel:
            assert await channel.unavailable() == str(caught.value)
            await channel.alert(sample_alert())
            await asyncio.sleep(0.05)
    assert receiver.messages == []


@pytest.mark.parametrize("place", ["env", "command", "file"])
async def test_the_secret_is_read_where_the_configuration_says(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    file.chmod(0o600)
    source = {
        "env": WebhookSecret(env="HOOK_SECRET"),
        "command": WebhookSecret(command=("cat", str(file))),
        "file": WebhookSecret(file=file),
    }[place]
    with running_receiver() as receiver:
        channel = webhook_channel(WebhookConfig(receiver.url, secret=source))
        assert channel is not None
        assert await channel.test() == ""
        await channel.close()
    assert receiver.messages[0].type == "test"
    assert receiver.messages[0].data == {}
    assert receiver.messages[0].signed_with(SECRET)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (WebhookSecret(env="NOT_SET_ANYWHERE"), "NOT_SET_ANYWHERE is empty or not set"),
        (WebhookSecret(command=("false",)), "exited with code 1"),
        (WebhookSecret(file=Path("/nonexistent/secret")), "cannot read"),
        (None, "[webhook.secret] is missing"),
    ],
)
async def test_a_secret_that_cannot_be_read_is_said(source: WebhookSecret | None, words: str) -> None:
    channel = webhook_channel(WebhookConfig("https://hooks.example.com/x", secret=source))
    assert channel is not None
    assert words in await channel.unavailable()
    assert words in await channel.test()
    await channel.close()


async def test_a_secret_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(SECRET)
    file.chmod(0o644)
    channel = webhook_channel(WebhookConfig("https://hooks.example.com/x", secret=WebhookSecret(file=file)))
    assert channel is not None
    assert "open to others" in await channel.unavailable()
    await channel.close()


async def test_the_receiver_of_the_documents_verifies_messages(tmp_path: Path) -> None:
    found = re.search(r"^```python receiver\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    assert found
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    environment = {**os.environ, "PORT": str(port), "AILERON_WEBHOOK_SECRET": SECRET}
    program = [sys.executable, "-c", found[1]]
    with subprocess.Popen(
        program, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            await asyncio.to_thread(until, lambda: is_open(port), 20)
            async with opened(f"http://127.0.0.1:{port}/") as channel:
                await channel.alert(sample_alert())
                assert process.stdout
                assert await asyncio.to_thread(process.stdout.readline) == "request.waiting send-draft\n"
            async with opened(f"http://127.0.0.1:{port}/", secret=OTHER) as forged:
                assert await forged.test() == f"http://127.0.0.1:{port} answered 401"
        finally:
            process.terminate()


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
