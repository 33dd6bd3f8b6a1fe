"""Accounts at run time: which one is used, tokens that are renewed, and everything that can go wrong with them."""

import json
import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from aileron_tui.accounts.account_secrets import AccountSecrets, ConfiguredAccounts
from aileron_tui.accounts.binding_state import StateName, binding_state
from aileron_tui.accounts.errors import StoreFault
from aileron_tui.accounts.secret_document import SecretDocument
from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.core.binding_change import Binding, new_binding_id
from aileron_tui.core.connector import Connector, Credential, OAuth2
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.package_grant import connector_grant
from aileron_tui.sandbox.connector_call import CallLimits
from aileron_tui.sandbox.credentials import Credentials, Secret
from aileron_tui.sandbox.execution import Execution
from aileron_tui.sandbox.failure import CallRefused, FailureKind
from aileron_tui.sandbox.loaded_connectors import SandboxSettings
from aileron_tui.sandbox.sandbox import Sandbox
from aileron_tui.signing.bindings import Bindings, KnownBinding
from aileron_tui.signing.key_store import for_this_run
from tests.accounts.oauth_server import SCOPES, OAuthServer, oauth_server
from tests.sandbox import guests, packages

NAME = packages.NAME


def known(*bindings: Binding) -> Bindings:
    """Bindings as a ledger lists them."""
    made = Bindings()
    for seq, binding in enumerate(bindings, start=1):
        made[binding.connector, binding.account] = KnownBinding(binding, seq, "", "laptop", "")
    return made


@dataclass
class Bench:
    """A data folder with an open vault, and a provider."""

    data: Path
    server: OAuthServer
    stores: SecretStores
    secrets: AccountSecrets
    connector: Connector

    def bind(self, account: str = "default", **changes: object) -> Binding:
        """Binds an account whose tokens the provider has just given out."""
        binding = Binding(
            new_binding_id(),
            NAME,
            "oauth2",
            account,
            SCOPES,
            (self.server.oauth2().authorize_url, self.server.oauth2().token_url),
            "test-client",
            hosts=(self.server.base.removeprefix("http://"),),
        )
        tokens = self.server.tokens(list(SCOPES))
        document: JsonObject = {
            "kind": "oauth2",
            "access_token": tokens["access_token"],
            "refresh_token": tokens["refresh_token"],
            "expires_at": int(time.time()) + 3600,
            "token_type": "Bearer",
            "client_id": "test-client",
            "token_url": self.server.oauth2().token_url,
            "scopes": list(SCOPES),
            **changes,  # type: ignore[dict-item]
        }
        self.stores.vault.write(binding.id, SecretDocument(document))
        return binding

    def stored(self, binding: Binding) -> JsonObject:
        """The secret that is stored now."""
        document = self.stores.read(binding)
        assert document
        return document.reveal()

    def token(self, account: str = "default", seconds: float = 20) -> str:
        """The token that a call would send."""
        return self.secrets.find(self.connector, account, seconds).secret.reveal()

    def refusal(self, account: str = "default", seconds: float = 20) -> tuple[str, str]:
        """The class and the reason of a refusal."""
        with pytest.raises(CallRefused) as caught:
            self.token(account, seconds)
        failure = caught.value.failure
        for secret in self.server.issued:
            assert secret not in f"{failure} {failure.message} {failure.reason} {failure.details}"
        return failure.kind, failure.reason

    def run(self, method: str = "GET", secrets: AccountSecrets | None = None) -> Execution:
        """Runs a connector that calls the provider's API with its account."""
        host = self.server.base.removeprefix("http://")
        wasm = guests.http_guest({"method": method, "url": f"{self.server.base}/api", "credential": "oauth2"})
        package = packages.package(wasm, (host,), self.server.manifest_block())
        settings = SandboxSettings(
            self.data / "cache",
            Credentials(accounts=secrets or self.secrets),
            limits=CallLimits(execute_seconds=20),
        )
        with Sandbox({NAME: package}, settings) as box:
            return box.execute(box.resolve(packages.action(package), {"draft_id": "r-1"}))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    data = tmp_path / "data"
    with oauth_server() as server, for_this_run("laptop") as key:
        stores = SecretStores(data)
        stores.vault.create_or_open([key])
        connector = Connector(NAME, "1.0.0", credential=Credential("oauth2", oauth2=server.oauth2()))
        yield Bench(data, server, stores, AccountSecrets(data, stores), connector)


def needs(bench: Bench, configured: ConfiguredAccounts | None = None, *bindings: Binding) -> tuple[str, str]:
    secrets = AccountSecrets(bench.data, bench.stores, configured)
    secrets.note(known(*bindings))
    chosen = secrets.choose("send", bench.connector)
    return chosen.account, chosen.needs


def test_the_only_account_is_used_and_several_are_never_guessed(bench: Bench) -> None:
    one, two = bench.bind("work"), bench.bind("home")
    assert needs(bench) == ("", f"{NAME} needs an account: run `aileron-tui bind {NAME}`")
    assert needs(bench, None, one) == ("work", "")
    account, why = needs(bench, None, one, two)
    assert account == ""
    assert "has several accounts (home, work): set account = …" in why
    assert f'[connectors."{NAME}"] or [actions."send"]' in why


def test_the_configuration_chooses_and_an_action_comes_before_its_connector(bench: Bench) -> None:
    one, two = bench.bind("work"), bench.bind("home")
    assert needs(bench, ConfiguredAccounts({NAME: "home"}, {}), one, two) == ("home", "")
    assert needs(bench, ConfiguredAccounts({NAME: "home"}, {"send": "work"}), one, two) == ("work", "")
    assert needs(bench, ConfiguredAccounts({}, {"other": "work"}), one, two)[0] == ""
    account, why = needs(bench, ConfiguredAccounts({NAME: "third"}, {}), one)
    assert account == ""
    assert why == f"{NAME} needs the account third: run `aileron-tui bind {NAME} --account third`"


def test_a_binding_that_was_made_for_less_must_be_made_again(bench: Bench) -> None:
    binding = replace(bench.bind(), scopes=SCOPES[:1])
    account, why = needs(bench, None, binding)
    assert account == "default"
    assert f"sign in to default of {NAME} again (the connector now asks for more: mail.send)" in why
    bench.secrets.note(known(binding))
    kind, reason = bench.refusal()
    assert kind == FailureKind.BINDING_REQUIRED
    assert f"run `aileron-tui bind {NAME} --account default`" in reason


def test_a_secret_goes_only_to_the_hosts_that_were_agreed_to(bench: Bench) -> None:
    """A folder of manifests can change without any consent, so the binding names the hosts."""
    binding = bench.bind()
    bench.secrets.note(known(replace(binding, hosts=("mail.example.com:443",))))
    done = bench.run()
    assert done.failure
    assert done.failure.kind == FailureKind.BINDING_REQUIRED
    assert f"would now be sent to {binding.hosts[0]} too" in done.failure.reason
    assert "/api" not in bench.server.asked


def test_what_is_not_bound_or_was_ended_is_refused(bench: Bench) -> None:
    binding = bench.bind()
    assert bench.refusal()[0] == FailureKind.BINDING_REQUIRED
    bench.secrets.note(known(binding))
    before = bench.secrets.revision
    assert bench.token() in bench.server.access
    bench.secrets.note(known(binding))
    assert bench.secrets.revision == before
    bench.secrets.note(known())
    assert bench.secrets.revision > before
    assert "is not bound" in bench.refusal()[1]


def test_a_connector_runs_with_its_account_and_never_sees_the_token(bench: Bench) -> None:
    bench.secrets.note(known(bench.bind()))
    done = bench.run()
    assert done.failure is None
    assert "[credential]" in done.text
    assert "CANARY" not in done.text


def test_a_token_is_renewed_before_it_expires_and_stored(bench: Bench) -> None:
    binding = bench.bind(expires_at=int(time.time()) + 30)
    bench.secrets.note(known(binding))
    before = bench.stored(binding)
    assert bench.token() in bench.server.access
    assert bench.server.refreshes == 1
    after = bench.stored(binding)
    assert after["refresh_token"] != before["refresh_token"]
    assert after["refresh_token"] in bench.server.refresh
    assert bench.token() == after["access_token"]
    assert bench.server.refreshes == 1


def test_a_token_that_is_valid_for_longer_is_left_alone(bench: Bench) -> None:
    bench.secrets.note(known(bench.bind(expires_at=int(time.time()) + 90), bench.bind("b")))
    assert bench.token()
    assert bench.token("b")
    assert bench.server.refreshes == 0


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_401_renews_once_and_repeats_the_request_once(bench: Bench, method: str) -> None:
    bench.secrets.note(known(bench.bind()))
    bench.server.expire_access()
    done = bench.run(method)
    assert done.failure is None
    assert bench.server.asked.count("/api") == 2
    assert bench.server.refreshes == 1


def test_a_service_that_always_answers_401_is_asked_twice(bench: Bench) -> None:
    bench.secrets.note(known(bench.bind()))
    bench.server.lifetime = 0
    bench.server.answer = {"expires_in": 3600}
    bench.server.expire_access()
    done = bench.run()
    assert done.failure
    assert "401" in done.failure.message
    assert not done.failure.outcome_unknown
    assert bench.server.asked.count("/api") == 2
    assert bench.server.refreshes == 1


def test_a_revoked_account_asks_for_a_new_sign_in_and_is_not_tried_again(bench: Bench) -> None:
    binding = bench.bind()
    bench.secrets.note(known(binding))
    revision = bench.secrets.revision
    bench.server.revoke_all()
    done = bench.run()
    assert done.failure
    assert done.failure.kind == FailureKind.BINDING_REQUIRED
    assert "sign in again" in done.failure.reason
    assert f"run `aileron-tui bind {NAME} --account default`" in done.failure.reason
    assert "invalid_grant" in done.failure.reason
    assert "CANARY" not in f"{done.failure} {done.log} {done.stderr}"
    assert bench.secrets.revision > revision
    assert "sign in to default" in bench.secrets.choose("send", bench.connector).needs
    assert "sign in again" in bench.refusal()[1]
    assert bench.server.refreshes == 1
    again = AccountSecrets(bench.data, bench.stores)
    again.note(known(binding))
    with pytest.raises(CallRefused, match="sign in again"):
        again.find(bench.connector, "default", 20)
    assert bench.server.refreshes == 1
    state = binding_state(binding, connector_grant(bench.connector, "", ""), bench.stores.read)
    assert state.name is StateName.SIGN_IN_AGAIN
    assert "invalid_grant" in state.why
    bench.secrets.note(known(bench.bind()))
    assert bench.token() in bench.server.access


def test_calls_at_once_renew_once(bench: Bench) -> None:
    bench.secrets.note(known(bench.bind(expires_at=int(time.time()) + 5)))
    bench.server.before_token = lambda: time.sleep(0.2)
    tokens: list[str] = []
    threads = [threading.Thread(target=lambda: tokens.append(bench.token())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(tokens) == 8
    assert len(set(tokens)) == 1
    assert bench.server.refreshes == 1


def test_two_programs_renew_once(bench: Bench) -> None:
    binding = bench.bind(expires_at=int(time.time()) + 5)
    other = AccountSecrets(bench.data, bench.stores)
    for secrets in (bench.secrets, other):
        secrets.note(known(binding))
    bench.server.before_token = lambda: time.sleep(0.2)
    found: list[str] = []
    threads = [
        threading.Thread(
            target=lambda secrets=secrets: found.append(secrets.find(bench.connector, "default", 20).secret.reveal())
        )
        for secrets in (bench.secrets, other)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(found) == 2
    assert len(set(found)) == 1
    assert bench.server.refreshes == 1


def test_a_slow_renewal_fails_its_call_but_the_new_token_is_not_lost(bench: Bench) -> None:
    binding = bench.bind(expires_at=int(time.time()) - 5)
    bench.secrets.note(known(binding))
    go = threading.Event()

    def hold() -> None:
        go.wait(30)

    bench.server.before_token = hold
    assert bench.refusal(seconds=0.2) == (FailureKind.BINDING_FAILED, "timeout")
    go.set()
    assert bench.token() in bench.server.access
    assert bench.server.refreshes == 1
    assert bench.stored(binding)["refresh_token"] in bench.server.refresh


def test_a_provider_that_is_down_matters_only_once_the_token_has_expired(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.secrets.note(
        known(bench.bind("soon", expires_at=int(time.time()) + 30), bench.bind("late", expires_at=int(time.time()) - 1))
    )
    bench.server.fault = "down"
    with caplog.at_level(logging.WARNING):
        assert bench.token("soon") in bench.server.access
    assert "cannot renew its token" in caplog.text
    kind, reason = bench.refusal("late")
    assert kind == FailureKind.BINDING_FAILED
    assert "answered 503" in reason
    assert not [secret for secret in bench.server.issued if secret in caplog.text]
    bench.server.fault = ""
    assert bench.token("late") in bench.server.access


def test_a_new_token_that_cannot_be_stored_is_kept_in_memory_and_said(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    binding = bench.bind(expires_at=int(time.time()) + 5)
    bench.secrets.note(known(binding))

    def full(*_: object, **__: object) -> None:
        raise StoreFault("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(bench.stores.vault, "write", full)
        token = bench.token()
    assert token in bench.server.access
    assert "the new token of default of" in caplog.text
    assert "no space left" in caplog.text
    assert bench.token() == token
    assert bench.server.refreshes == 1
    bench.server.expire_access()
    assert bench.secrets.renew(bench.connector, "default", Secret(token), 20)
    assert bench.stored(binding)["access_token"] == bench.token()


def test_a_new_token_is_stored_as_soon_as_there_is_space_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gate that stops before the next renewal must not take the only token for renewing with it."""
    binding = bench.bind(expires_at=int(time.time()) + 5)
    bench.secrets.note(known(binding))

    def full(*_: object, **__: object) -> None:
        raise StoreFault("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(bench.stores.vault, "write", full)
        token = bench.token()
        assert bench.token() == token
    assert bench.stored(binding)["access_token"] != token
    assert bench.token() == token
    assert bench.stored(binding)["access_token"] == token
    assert bench.stored(binding)["refresh_token"] in bench.server.refresh


def test_a_renewal_that_cannot_begin_does_not_hold_up_the_next(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.secrets.note(known(bench.bind(expires_at=int(time.time()) - 1)))

    def fails(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fails)
        kind, reason = bench.refusal()
    assert kind == FailureKind.BINDING_FAILED
    assert "cannot renew its token now" in reason
    assert bench.token(seconds=20) in bench.server.access


def test_locked_accounts_say_how_to_unlock_them(bench: Bench) -> None:
    binding = bench.bind()
    locked = AccountSecrets(bench.data, SecretStores(bench.data))
    locked.note(known(binding))
    done = bench.run(secrets=locked)
    assert done.failure
    assert done.failure.kind == FailureKind.BINDING_REQUIRED
    assert done.failure.reason == ("the accounts are locked: open the console, or run `aileron-tui bindings --unlock`")
    assert done.failure.details["required"] == "vault.passphrase"
    assert "/api" not in bench.server.asked


def test_a_secret_that_is_gone_or_of_another_kind_is_refused(bench: Bench) -> None:
    gone, other = bench.bind("gone"), bench.bind("other")
    bench.stores.vault.remove(gone.id)
    bench.stores.vault.write(other.id, SecretDocument({"kind": "api_key", "key": "x" * 20}))
    bench.secrets.note(known(gone, other))
    for account in ("gone", "other"):
        assert "no longer stored on this machine" in bench.refusal(account)[1]


def test_keys_of_services_and_of_aws(bench: Bench, tmp_path: Path) -> None:
    stores = SecretStores(tmp_path / "data")
    stores.vault = bench.stores.vault
    secrets = AccountSecrets(tmp_path / "data", stores)
    plain = Connector(NAME, "1.0.0", credential=Credential("api_key"))
    aws = Connector("github://example/aws", "1.0.0", credential=Credential("aws_sigv4", service="athena"))
    bindings = []
    for connector, document in (
        (plain, {"kind": "api_key", "key": "key-CANARY-1"}),
        (
            aws,
            {
                "kind": "aws_sigv4",
                "access_key_id": "AKID",
                "secret_access_key": "aws-CANARY-1",
                "session_token": "aws-CANARY-2",
            },
        ),
    ):
        grant = connector_grant(connector, "", "").credential
        assert grant
        binding = Binding(new_binding_id(), connector.name, grant.kind, "default", region="eu-west-1")
        stores.vault.write(binding.id, SecretDocument(dict(document)))
        bindings.append(binding)
    secrets.note(known(*bindings))
    assert secrets.find(plain, "default", 5).secret.reveal() == "key-CANARY-1"
    assert not secrets.renew(plain, "default", Secret("key-CANARY-1"), 5)
    found = secrets.find(aws, "default", 5)
    assert json.loads(found.secret.reveal())["AccessKeyId"] == "AKID"
    assert found.region == "eu-west-1"
    assert {secret.reveal() for secret in found.hidden} == {"aws-CANARY-1", "aws-CANARY-2"}
    assert "CANARY" not in repr(found)


def test_a_credential_of_the_configuration_comes_first(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from aileron_tui.sandbox.credentials import ConfiguredCredential, FromEnvironment  # noqa: PLC0415

    monkeypatch.setenv("MAIL_TOKEN", "configured-token")
    bench.secrets.note(known(bench.bind()))
    both = Credentials({NAME: ConfiguredCredential(FromEnvironment("MAIL_TOKEN"))}, bench.secrets)
    assert both.choose("send", bench.connector).account == ""
    assert both.find(bench.connector, "oauth2", "", 5).secret.reveal() == "configured-token"
    assert not both.renew(bench.connector, "default", Secret("configured-token"), 5)
    no_credential = Connector(NAME, "1.0.0")
    assert Credentials(accounts=bench.secrets).choose("send", no_credential).needs == ""


def test_the_block_of_the_manifest_is_what_is_used(bench: Bench) -> None:
    """A manifest that signs in elsewhere does not get the tokens of the old address."""
    bench.secrets.note(known(bench.bind(expires_at=int(time.time()) + 5)))
    moved = OAuth2("https://evil.example/a", "https://evil.example/t", "test-client", SCOPES)
    elsewhere = Connector(NAME, "1.0.0", credential=Credential("oauth2", oauth2=moved))
    with pytest.raises(CallRefused, match="signs in at another address"):
        bench.secrets.find(elsewhere, "default", 5)
    assert not bench.server.forms
