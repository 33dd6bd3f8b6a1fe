"""A connector that is set to a server on this machine: only its granted hosts, and never without a warning."""

import pytest

from aileron_tui.sandbox.loaded_connectors import SandboxSettings
from aileron_tui.sandbox.network_grant import read_url
from aileron_tui.sandbox.recorded_exchanges import ExchangeRecorder
from aileron_tui.sandbox.sandbox import Sandbox
from tests.sandbox import guests, packages
from tests.sandbox.conftest import ARGS, Runner
from tests.sandbox.upstream import Upstream

TOKEN = "token-0123456789"
HOST = "mail.example:443"


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_TOKEN", TOKEN)


def settings(runner: Runner, service: Upstream, host: str = HOST) -> SandboxSettings:
    servers = {packages.NAME: {host: read_url(service.url(""))}}
    return SandboxSettings(runner.cache, runner.credentials, limits=runner.limits, test_servers=servers)


def test_the_local_server_is_asked_and_every_call_warns(runner: Runner, service: Upstream) -> None:
    wasm = guests.http_guest({"url": "https://mail.example/draft?x=1", "credential": "oauth2"})
    package = packages.package(wasm, (HOST,), packages.OAUTH2)
    with Sandbox({packages.NAME: package}, settings(runner, service)) as box:
        call = box.resolve(packages.action(package), ARGS)
        outcome = box.preview(call)
    assert call.warnings == (
        f"test setup: {packages.NAME} asks http://{service.host_port} instead of {HOST}; any credential goes there too",
    )
    assert outcome is not None
    assert outcome.result.rows[0].value == "team@example.com"
    asked = service.received[0]
    assert (asked.path, asked.headers["Host"]) == ("/draft?x=1", "mail.example")
    assert asked.headers["Authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("url", ["https://other.example/draft", "https://mail.example:8443/draft"])
def test_nothing_but_the_granted_host_leads_there(runner: Runner, service: Upstream, url: str) -> None:
    package = packages.package(guests.http_guest({"url": url}), (HOST,))
    with Sandbox({packages.NAME: package}, settings(runner, service)) as box:
        outcome = box.preview(box.resolve(packages.action(package), ARGS))
    assert outcome is not None
    assert outcome.result.unavailable.startswith("the connector may not reach ")
    assert not service.received


def test_a_misspelled_host_stops_the_connector(runner: Runner, service: Upstream) -> None:
    """Otherwise it would go on reaching the real service while its author believes that it does not."""
    package = packages.package(guests.http_guest({"url": "https://mail.example/draft"}), (HOST,))
    with Sandbox({packages.NAME: package}, settings(runner, service, "mial.example:443")) as box:
        call = box.resolve(packages.action(package), ARGS)
        outcome, execution = box.preview(call), box.execute(call)
    reason = (
        f'[connectors."{packages.NAME}".upstream] names mial.example:443, which is not a host of this connector; '
        f'did you mean "{HOST}"?'
    )
    assert outcome is not None
    assert execution.failure is not None
    assert (outcome.result.unavailable, execution.failure.reason) == (reason, reason)
    assert not service.received


def test_the_address_of_the_local_server_is_not_granted(runner: Runner, service: Upstream) -> None:
    package = packages.package(guests.http_guest({"url": service.url("/draft")}), (HOST,))
    with Sandbox({packages.NAME: package}, settings(runner, service)) as box:
        outcome = box.preview(box.resolve(packages.action(package), ARGS))
    assert outcome is not None
    assert outcome.result.unavailable == f"the connector may not reach {service.host_port}"


def test_a_local_server_that_does_not_answer_is_named(runner: Runner, service: Upstream) -> None:
    package = packages.package(guests.http_guest({"url": "https://mail.example/hang/up"}), (HOST,))
    with Sandbox({packages.NAME: package}, settings(runner, service)) as box:
        outcome = box.preview(box.resolve(packages.action(package), ARGS))
    assert outcome is not None
    place = f"{HOST} (the test server {service.host_port})"
    assert outcome.result.unavailable == f"{place} did not send a complete response"


def test_other_connectors_are_not_affected(runner: Runner, service: Upstream) -> None:
    package = packages.package(guests.http_guest({"url": service.url("/draft")}), (service.host_port,))
    with Sandbox({packages.NAME: package}, SandboxSettings(runner.cache, limits=runner.limits)) as box:
        assert box.resolve(packages.action(package), ARGS).warnings == ()


def test_a_recording_masks_what_a_service_echoes(runner: Runner, service: Upstream) -> None:
    request = {"url": service.url("/echo"), "credential": "oauth2", "headers": {"X-Auth-Note": "a", "Accept": "b"}}
    package = packages.package(guests.http_guest(request), (service.host_port,), packages.OAUTH2)
    recorder = ExchangeRecorder()
    plain = SandboxSettings(runner.cache, runner.credentials, limits=runner.limits)
    with Sandbox({packages.NAME: package}, plain, recording=recorder) as box:
        box.preview(box.resolve(packages.action(package), ARGS))
    document = recorder.document("send-draft").decode()
    assert TOKEN not in document
    assert "[credential]" in document
    assert recorder.exchanges[0].headers == (("Accept", "b"),)
