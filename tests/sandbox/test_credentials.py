"""Credentials: where they come from, how they go on the wire, and what is refused."""

import copy
import json
import pickle
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from keyring.backends.fail import Keyring as NoKeyring
from keyring.errors import KeyringLocked

from aileron_tui.core.connector import Connector
from aileron_tui.sandbox.credentials import (
    ConfiguredCredential,
    Credentials,
    FromCommand,
    FromEnvironment,
    FromKeyring,
    Secret,
    SecretSource,
)
from aileron_tui.sandbox.failure import CallRefused, FailureKind
from aileron_tui.sandbox.network import UpstreamClient
from tests.sandbox import guests, packages
from tests.sandbox.conftest import Runner
from tests.sandbox.upstream import Upstream

TOKEN = "token-0123456789"


CONNECTOR = Connector(packages.NAME, "1.0.0")


def found(credentials: Credentials, seconds: float) -> str:
    return credentials.find(CONNECTOR, "oauth2", "", seconds).secret.reveal()


def find(source: SecretSource, seconds: float = 5) -> str:
    return found(Credentials({packages.NAME: ConfiguredCredential(source)}), seconds)


def refusal(source: SecretSource, seconds: float = 5) -> tuple[str, str]:
    with pytest.raises(CallRefused) as refused:
        find(source, seconds)
    return refused.value.failure.kind, refused.value.failure.reason


def python(code: str) -> FromCommand:
    return FromCommand((sys.executable, "-c", code))


def test_a_secret_is_never_shown() -> None:
    secret = Secret(TOKEN)
    assert TOKEN not in f"{secret} {secret!r} {[secret]}"
    assert TOKEN not in repr(ConfiguredCredential(FromEnvironment("X")))
    for copied in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError):
            copied(secret)


def test_an_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_TOKEN", f"  {TOKEN}\n")
    assert find(FromEnvironment("TEST_TOKEN")) == TOKEN
    monkeypatch.setenv("TEST_TOKEN", " ")
    expected = f"no credential is set up for {packages.NAME} (the environment variable TEST_TOKEN is not set)"
    assert refusal(FromEnvironment("TEST_TOKEN")) == (FailureKind.BINDING_REQUIRED, expected)


@pytest.mark.parametrize("text", ["abc\r\ndef", "abc\x01def", "abc\x7fdef", "abcé", "abc\tdef", "{\r\nEvil: yes"])
def test_a_secret_that_could_break_out_of_its_header(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TEST_TOKEN", text)
    kind, reason = refusal(FromEnvironment("TEST_TOKEN"))
    assert kind == FailureKind.BINDING_FAILED
    assert text not in reason


def test_a_commands_output() -> None:
    assert find(python(f"print('{TOKEN}')")) == TOKEN


def test_a_command_is_run_without_a_shell() -> None:
    assert find(FromCommand(("echo", "$HOME;", "echo", "x"))) == "$HOME; echo x"


def test_a_command_that_fails_says_so_without_what_it_printed() -> None:
    failing = python(f"import sys; print('{TOKEN}'); print('{TOKEN}', file=sys.stderr); sys.exit(3)")
    kind, reason = refusal(failing)
    assert kind == FailureKind.BINDING_FAILED
    assert reason == f"cannot get the credential of {packages.NAME}: its command {sys.executable} exited with code 3"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (FromCommand(("/no/such/program",)), "cannot be run (No such file or directory)"),
        (FromCommand(()), "is empty"),
        (python("pass"), "returned nothing"),
        (python("print('x' * 100_000)"), "printed too much"),
    ],
)
def test_commands_that_fail(source: SecretSource, words: str) -> None:
    kind, reason = refusal(source)
    assert kind == FailureKind.BINDING_FAILED
    assert words in reason


def test_a_slow_command_ends_with_the_call() -> None:
    began = time.monotonic()
    assert refusal(python("import time; time.sleep(60)"), 0.3) == (FailureKind.BINDING_FAILED, "timeout")
    assert time.monotonic() - began < 5


def test_a_command_is_not_run_for_every_call_of_a_burst() -> None:
    credentials = Credentials(
        {packages.NAME: ConfiguredCredential(python("import os; print('pid-%09d' % os.getpid())"))}
    )
    assert len({found(credentials, 5) for _ in range(3)}) == 1


class _Keys:
    """As much of a keyring backend as is used."""

    def get_password(self, service: str, username: str) -> str | None:
        if service == "locked":
            raise KeyringLocked("the token is hunter2")
        return TOKEN if (service, username) == ("mail", "me") else None


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Callable[[object], None]:
    return lambda chosen: monkeypatch.setattr("keyring.core._keyring_backend", chosen)


def test_the_keyring(backend: Callable[[object], None]) -> None:
    backend(_Keys())
    assert find(FromKeyring("mail", "me")) == TOKEN
    assert refusal(FromKeyring("mail", "you")) == (
        FailureKind.BINDING_REQUIRED,
        f"no credential is set up for {packages.NAME} (the keyring has no entry mail/you)",
    )
    kind, reason = refusal(FromKeyring("locked", "me"))
    assert kind == FailureKind.BINDING_FAILED
    assert "hunter2" not in reason


def test_a_system_without_a_keyring(backend: Callable[[object], None]) -> None:
    unusable: Callable[[], object] = NoKeyring
    backend(unusable())
    kind, reason = refusal(FromKeyring("mail", "me"))
    assert kind == FailureKind.BINDING_FAILED
    assert reason.endswith("cannot use the system keyring (NoKeyringError)")


def asking(service: Upstream, kind: str, **more: object) -> bytes:
    return guests.http_guest({"url": service.url("/draft"), "credential": kind, **more})


def test_a_bearer_token_replaces_the_guests_header(
    runner: Runner, service: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_TOKEN", TOKEN)
    wasm = asking(service, "oauth2", headers={"authorization": "Bearer mine"})
    assert not runner.preview(wasm, service.host_port, credential=packages.OAUTH2).result.unavailable
    assert [value for name, value in service.received[0].headers.items() if name.lower() == "authorization"] == [
        f"Bearer {TOKEN}"
    ]


def test_a_credential_is_only_added_on_request(
    runner: Runner, service: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_TOKEN", TOKEN)
    runner.preview(guests.http_guest({"url": service.url("/draft")}), service.host_port, credential=packages.OAUTH2)
    assert "Authorization" not in service.received[0].headers


def test_an_api_key_goes_where_the_manifest_says(
    runner: Runner, service: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_TOKEN", TOKEN)
    runner.preview(asking(service, "api_key"), service.host_port, credential=packages.API_KEY)
    assert service.received[0].headers["X-Api-Key"] == f"Key {TOKEN}"
    plain = '[capabilities.credential]\nkind = "api_key"\n'
    runner.preview(asking(service, "api_key"), service.host_port, credential=plain)
    assert service.received[1].headers["Authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize(
    "secret",
    [TOKEN, json.dumps({"AccessKeyId": "AKIDOTHER", "SecretAccessKey": TOKEN, "SessionToken": "session-0123"})],
)
def test_an_aws_signature(runner: Runner, service: Upstream, monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    monkeypatch.setenv("TEST_TOKEN", secret)
    runner.preview(asking(service, "aws_sigv4"), service.host_port, credential=packages.AWS)
    headers = service.received[0].headers
    key = "AKIDOTHER" if "{" in secret else "AKIDEXAMPLE"
    assert headers["Authorization"].startswith(f"AWS4-HMAC-SHA256 Credential={key}/")
    assert "/us-east-1/athena/aws4_request, SignedHeaders=host;" in headers["Authorization"]
    assert headers.get("X-Amz-Security-Token") == ("session-0123" if "{" in secret else None)
    assert TOKEN not in json.dumps(headers)


@pytest.mark.parametrize(
    ("declared", "asked", "words"),
    [
        ("", "oauth2", "connector did not declare [capabilities.credential]"),
        (packages.API_KEY, "oauth2", "requested credential kind does not match connector manifest"),
        (packages.OAUTH2, "kerberos", "requested credential kind does not match connector manifest"),
    ],
)
def test_a_kind_that_is_not_declared(runner: Runner, service: Upstream, declared: str, asked: str, words: str) -> None:
    outcome = runner.preview(asking(service, asked), service.host_port, credential=declared)
    assert outcome.failure is not None
    assert outcome.failure.kind == FailureKind.CAPABILITY_DENIED
    assert outcome.failure.message == f"http_request: {words}"
    assert not service.received


def test_a_connector_without_a_binding(runner: Runner, service: Upstream) -> None:
    runner.credentials = Credentials()
    outcome = runner.preview(asking(service, "oauth2"), service.host_port, credential=packages.OAUTH2)
    assert outcome.result.unavailable == f"no credential is set up for {packages.NAME}"
    assert outcome.failure is not None
    assert outcome.failure.kind == FailureKind.BINDING_REQUIRED
    assert not service.received


def test_a_credential_needs_tls_outside_this_machine(
    runner: Runner, service: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_TOKEN", TOKEN)
    host_port = f"mail.example:{service.port}"
    runner.client = UpstreamClient(lambda *_: ["127.0.0.1"], frozenset({host_port}))
    wasm = guests.http_guest({"url": f"http://{host_port}/draft", "credential": "oauth2"})
    reason = runner.preview(wasm, host_port, credential=packages.OAUTH2).result.unavailable
    assert reason == f"the connector may not use a credential: credentials are not sent to {host_port} without TLS"
    assert not service.received


def test_a_slow_credential_is_a_timeout(runner: Runner, service: Upstream) -> None:
    runner.limits = replace(runner.limits, preview_seconds=0.3)
    runner.credentials = Credentials({packages.NAME: ConfiguredCredential(python("import time; time.sleep(60)"))})
    outcome = runner.preview(asking(service, "oauth2"), service.host_port, credential=packages.OAUTH2)
    assert outcome.result.unavailable == "timeout"
