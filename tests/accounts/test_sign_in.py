"""Signing in: the browser, pasting, a code on another device, and everything that a provider can do wrong."""

import os
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from aileron_tui.accounts import device_sign_in, loopback_listener, oauth_tokens, provider_http
from aileron_tui.accounts.oauth_tokens import TokenDocument, renewed
from aileron_tui.accounts.provider_http import SignInAgain, SignInCancelled, SignInError, fetch
from aileron_tui.accounts.sign_in import How, sign_in
from aileron_tui.accounts.sign_in_answer import NotThisSignIn, new_attempt
from aileron_tui.files.extras import install_command
from tests.accounts.oauth_server import SCOPES, OAuthServer, final_address, oauth_server
from tests.packages.https_server import make_authority

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Person:
    """What the person at the terminal sees and types."""

    def __init__(self) -> None:
        self.addresses: list[str] = []
        self.code = ""
        self.said: list[str] = []
        self.lines: list[Callable[[str], str]] = []
        self.gave_up = False

    def show_address(self, address: str, code: str = "") -> None:
        self.addresses.append(address)
        self.code = code

    def report(self, words: str) -> None:
        self.said.append(words)

    def ask_line(self, words: str) -> str:
        return self.lines.pop(0)(self.addresses[-1]) if self.lines else ""

    def cancelled(self) -> bool:
        return self.gave_up


@pytest.fixture
def server() -> Iterator[OAuthServer]:
    with oauth_server() as running:
        yield running


@pytest.fixture
def person() -> Person:
    return Person()


def browse(address: str) -> None:
    """A browser: it opens the address and follows the provider back to this machine."""
    _DIRECT.open(address, timeout=20).read()


def get(url: str, **headers: str) -> tuple[int, str]:
    """One request of something else on this machine."""
    try:
        with _DIRECT.open(urllib.request.Request(url, headers=headers), timeout=20) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def signed_in(server: OAuthServer, person: Person, how: How = "browser", **changes: Any) -> TokenDocument:
    return sign_in(server.oauth2(**changes), SCOPES, how, person, open_browser=browse, seconds=30)


def no_secrets(server: OAuthServer, *texts: object) -> None:
    """Nothing that the provider gave out is in these texts."""
    for text in texts:
        assert not [secret for secret in server.issued if secret in str(text)]


def test_the_browser_comes_back_and_the_tokens_are_returned(server: OAuthServer, person: Person) -> None:
    document = signed_in(server, person)
    assert document["access_token"] in server.access
    assert document["refresh_token"] in server.refresh
    expires_at = document.pop("expires_at")
    assert isinstance(expires_at, int)
    assert 3500 < expires_at - time.time() <= 3600
    del document["access_token"], document["refresh_token"]
    assert document == {
        "kind": "oauth2",
        "token_type": "Bearer",
        "client_id": "test-client",
        "token_url": f"{server.base}/token",
        "scopes": list(SCOPES),
    }
    no_secrets(server, person.said, person.addresses)


def test_the_address_has_a_challenge_and_never_the_verifier(server: OAuthServer, person: Person) -> None:
    signed_in(server, person)
    asked = parse_qs(urlsplit(person.addresses[0]).query)
    assert asked["code_challenge_method"] == ["S256"]
    verifier = server.forms[0]["code_verifier"]
    assert len(verifier) >= 43
    assert verifier not in person.addresses[0]
    assert asked["scope"] == [" ".join(SCOPES)]


def test_two_sign_ins_at_once_have_ports_and_states_of_their_own(server: OAuthServer) -> None:
    people, documents = [Person(), Person()], []
    both = threading.Barrier(2)

    def open_together(address: str) -> None:
        both.wait(20)
        browse(address)

    def run(person: Person) -> None:
        documents.append(sign_in(server.oauth2(), SCOPES, "browser", person, open_browser=open_together, seconds=30))

    threads = [threading.Thread(target=run, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len({str(document["access_token"]) for document in documents}) == 2
    first, second = (parse_qs(urlsplit(person.addresses[0]).query) for person in people)
    assert first["state"] != second["state"]
    assert first["redirect_uri"] != second["redirect_uri"]


def test_only_the_right_request_counts_and_others_change_nothing(server: OAuthServer, person: Person) -> None:
    seen: list[tuple[int, str]] = []

    def visit(address: str) -> None:
        query = parse_qs(urlsplit(address).query)
        back, state = query["redirect_uri"][0], query["state"][0]
        root = back.removesuffix("/callback")
        seen.append(get(f"{root}/"))
        seen.append(get(f"{root}/favicon.ico"))
        seen.append(get(f"{back}/?code=stolen&state={state}"))
        seen.append(get(f"{back}?code=stolen&state={state}", Host="evil.example"))
        seen.append(get(f"{back}?code=stolen&state={state}", Host="localhost"))
        seen.append(get(f"{back}?code=stolen&state=wrong"))
        seen.append(get(f"{back}?code=stolen"))
        seen.append(get(f"{back}?code=stolen&code=again&state={state}"))
        seen.append(get(f"{back}?error=access_denied"))
        browse(address)

    document = sign_in(server.oauth2(), SCOPES, "browser", person, open_browser=visit, seconds=30)
    assert document["access_token"] in server.access
    assert [status for status, _ in seen] == [404] * 5 + [400] * 4
    assert {form["code"] for form in server.forms} <= set(server.issued)
    ignored = "an answer that does not belong to this sign-in was ignored: its state is not the one that was sent"
    assert person.said.count(ignored) == 1


def test_the_page_can_be_closed_and_an_answer_counts_once(server: OAuthServer, person: Person) -> None:
    pages: list[tuple[int, str]] = []
    answered = threading.Event()

    def visit(address: str) -> None:
        back = final_address(address)
        pages.append(get(back))
        answered.set()

    signed_in_document = sign_in(server.oauth2(), SCOPES, "browser", person, open_browser=visit, seconds=30)
    assert answered.wait(20)
    assert signed_in_document
    status, page = pages[0]
    assert status == 200
    assert "You can close this window." in page
    assert "CANARY" not in page
    with pytest.raises(OSError, match=r"refused|reset|closed"):
        get(parse_qs(urlsplit(person.addresses[0]).query)["redirect_uri"][0])


def test_a_post_or_a_flood_of_idle_connections_does_not_stop_the_answer(
    server: OAuthServer, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loopback_listener, "_CONNECTION_SECONDS", 0.3)
    idle: list[socket.socket] = []

    def visit(address: str) -> None:
        port = urlsplit(parse_qs(urlsplit(address).query)["redirect_uri"][0]).port
        for _ in range(20):
            one = socket.create_connection(("127.0.0.1", port or 0))
            one.sendall(b"GET /callback")
            idle.append(one)
        idle[0].settimeout(20)
        assert idle[0].recv(10) == b""
        large = socket.create_connection(("127.0.0.1", port or 0))
        large.settimeout(20)
        large.sendall(b"POST /callback?code=x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert large.recv(100).startswith(b"HTTP/1.1 404")
        idle.append(large)
        browse(address)

    document = sign_in(server.oauth2(), SCOPES, "browser", person, open_browser=visit, seconds=60)
    assert document["access_token"] in server.access
    for one in idle:
        one.close()


def test_an_error_of_the_provider_is_shown_visibly(server: OAuthServer, person: Person) -> None:
    server.authorize_error = "access_denied"
    with pytest.raises(SignInError, match="was told not to allow this") as caught:
        signed_in(server, person)
    assert "access_denied: said ⟨ESC⟩" in caught.value.detail
    assert "\x1b" not in str(caught.value)
    assert not server.forms


def test_the_issuer_must_be_the_one_that_was_asked(server: OAuthServer, person: Person) -> None:
    server.authorize_extra = {"iss": server.base}
    assert signed_in(server, person)
    for foreign in ("https://evil.example", "nonsense"):
        server.authorize_extra = {"iss": foreign}
        with pytest.raises(SignInError, match="comes from another provider"):
            signed_in(server, person)


def test_a_browser_that_never_comes_back_is_given_up(server: OAuthServer, person: Person) -> None:
    with pytest.raises(SignInCancelled, match="nobody signed in: the browser did not come back"):
        sign_in(server.oauth2(), SCOPES, "browser", person, open_browser=lambda _: None, seconds=0.05)


def test_giving_up_and_ctrl_c_end_the_wait(server: OAuthServer, person: Person) -> None:
    person.gave_up = True
    with pytest.raises(SignInCancelled, match="was cancelled"):
        sign_in(server.oauth2(), SCOPES, "browser", person, open_browser=lambda _: None, seconds=30)

    class Interrupted(Person):
        def cancelled(self) -> bool:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sign_in(server.oauth2(), SCOPES, "browser", Interrupted(), open_browser=lambda _: None, seconds=30)


def test_a_browser_that_hangs_does_not_keep_us_from_listening(server: OAuthServer, person: Person) -> None:
    done = threading.Event()

    def hang(address: str) -> None:
        threading.Thread(target=browse, args=(address,)).start()
        done.wait(60)

    document = sign_in(server.oauth2(), SCOPES, "browser", person, open_browser=hang, seconds=30)
    done.set()
    assert document["access_token"] in server.access


def test_pasting_the_final_address_or_the_code(server: OAuthServer, person: Person) -> None:
    person.lines = [final_address]
    assert signed_in(server, person, "paste")["access_token"] in server.access
    person.lines = [lambda address: parse_qs(urlsplit(final_address(address)).query)["code"][0]]
    assert signed_in(server, person, "paste")["access_token"] in server.access
    no_secrets(server, person.said)


def test_pasting_something_else_is_said_and_can_be_repeated(server: OAuthServer, person: Person) -> None:
    person.lines = [
        lambda _: "https://evil.example/callback?code=x",
        lambda address: final_address(address).replace("state=", "state=x"),
        final_address,
    ]
    assert signed_in(server, person, "paste")
    assert any("not the address that this sign-in ends at" in words for words in person.said)
    assert any("its state is not the one that was sent" in words for words in person.said)
    person.lines = [lambda _: "two words"] * 3
    with pytest.raises(SignInCancelled, match="nothing that was pasted"):
        signed_in(server, person, "paste")
    with pytest.raises(SignInCancelled, match="was cancelled"):
        signed_in(server, person, "paste")


def test_a_code_of_another_sign_in_is_refused_by_its_challenge(server: OAuthServer, person: Person) -> None:
    other = new_attempt(server.oauth2(), SCOPES, 1)
    stolen = parse_qs(urlsplit(final_address(other.address)).query)["code"][0]
    person.lines = [lambda _: stolen]
    with pytest.raises(SignInAgain, match="invalid_grant") as caught:
        signed_in(server, person, "paste")
    no_secrets(server, caught.value, caught.value.detail, repr(other))


NOT_TEXT = "http://127.0.0.1:1/callback?code=x&state=\udcff"


@pytest.mark.parametrize("text", ["", " ", "a b", "code=x&state=y", "x" * 9000, "ünicode", NOT_TEXT])
def test_what_is_neither_an_address_nor_a_code(server: OAuthServer, text: str) -> None:
    with pytest.raises(NotThisSignIn):
        new_attempt(server.oauth2(), SCOPES, 1).pasted_code(text)


def test_a_code_on_another_device(server: OAuthServer, person: Person) -> None:
    server.device_errors = ["authorization_pending", "authorization_pending"]
    document = signed_in(server, person, "device")
    assert document["access_token"] in server.access
    assert person.code == "WDJB-MJHT"
    assert person.addresses == [f"{server.base}/type-it-here"]
    assert len(server.forms) == 3


def test_a_provider_slows_down_a_device_and_it_obeys(
    server: OAuthServer, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []
    monkeypatch.setattr(device_sign_in, "_rest", lambda seconds, _: rests.append(seconds))
    server.device_errors = ["slow_down", "authorization_pending"]
    signed_in(server, person, "device")
    assert [round(rest) for rest in rests] == [0, 5, 5]


def test_a_provider_cannot_make_a_device_wait_for_ever(
    server: OAuthServer, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []
    monkeypatch.setattr(device_sign_in, "_rest", lambda seconds, _: rests.append(seconds))
    server.interval = 10**399
    signed_in(server, person, "device")
    assert [round(rest) for rest in rests] == [60]


@pytest.mark.parametrize(
    ("error", "words"),
    [("access_denied", "was told not to allow this"), ("expired_token", "nobody typed the code in time")],
)
def test_a_device_code_that_is_refused(server: OAuthServer, person: Person, error: str, words: str) -> None:
    server.device_errors = [error]
    with pytest.raises(SignInError, match=words):
        signed_in(server, person, "device")


def test_a_device_sign_in_can_be_given_up_and_ends_by_itself(server: OAuthServer, person: Person) -> None:
    person.gave_up = True
    with pytest.raises(SignInCancelled, match="was cancelled"):
        signed_in(server, person, "device")
    server.device_errors = ["authorization_pending"] * 1000
    code = device_sign_in.DeviceCode("", "", next(iter(server.devices)), 0.01, 0.2)
    with pytest.raises(SignInCancelled, match="in time"):
        device_sign_in.wait_for_device(server.oauth2(), SCOPES, code, lambda: False)


def test_a_provider_without_device_codes_is_named(server: OAuthServer, person: Person) -> None:
    server.has_device = False
    with pytest.raises(SignInError, match="does not offer to sign in with a code") as caught:
        signed_in(server, person, "device")
    assert "--paste" in caught.value.hint


@pytest.mark.parametrize("endpoint", ["https://evil.example/device", "http://127.0.0.1:1/device", "x", "ftp://h/x"])
def test_a_device_address_somewhere_else_is_refused(server: OAuthServer, person: Person, endpoint: str) -> None:
    server.device_endpoint = endpoint
    with pytest.raises(SignInError, match="that can be trusted"):
        signed_in(server, person, "device")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("slow", "did not answer within"),
        ("drip", "did not answer within"),
        ("html", "with a web page"),
        ("text", "without a JSON object"),
        ("down", "answered 503"),
        ("hangs up", "cannot reach 127.0.0.1"),
        ("redirect", "redirects are not followed"),
        ("huge", "larger than 256 KiB"),
    ],
)
def test_a_token_endpoint_that_does_not_work(
    server: OAuthServer, person: Person, monkeypatch: pytest.MonkeyPatch, fault: str, words: str
) -> None:
    if "within" in words:
        monkeypatch.setattr(oauth_tokens, "SECONDS", 0.3)
        monkeypatch.setattr(
            oauth_tokens, "fetch", lambda address, form, _: fetch(address, form, 0.3)
        )  # the default was bound when the function was made
    server.fault = fault
    with pytest.raises(SignInError) as caught:
        signed_in(server, person)
    said = f"{caught.value} {caught.value.hint}"
    assert words in said
    no_secrets(server, said, repr(caught.value))
    assert "/elsewhere" not in server.asked


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"token_type": "mac"}, 'a token of the type "mac"'),
        ({"token_type": None}, "a token without a type"),
        ({"access_token": None}, "no access_token"),
        ({"access_token": ""}, "no access_token"),
        ({"access_token": "a b"}, "access_token is not a token"),
        ({"access_token": "a\r\nX: y"}, "access_token is not a token"),
        ({"access_token": "ü"}, "access_token is not a token"),
        ({"access_token": ["x"]}, "access_token is not a token"),
        ({"access_token": "x" * 20000}, "access_token is not a token"),
        ({"refresh_token": 5}, "refresh_token is not a token"),
        ({"expires_in": -1}, "not a number of seconds"),
        ({"expires_in": True}, "not a number of seconds"),
        ({"expires_in": "soon"}, "not a number of seconds"),
        ({"scope": ["a"]}, "scope is not text"),
        ({"scope": "mail.read mail.send admin"}, "granted more than was asked for"),
        ({"error": "server_error", "error_description": "later"}, "server_error: later"),
        ({"error": {"a": 1}}, "an error that it does not name"),
    ],
)
def test_an_answer_with_something_wrong_is_refused(
    server: OAuthServer, person: Person, answer: dict[str, Any], words: str
) -> None:
    server.answer = answer
    with pytest.raises(SignInError) as caught:
        signed_in(server, person)
    assert words in str(caught.value)
    no_secrets(server, caught.value, caught.value.hint)


@pytest.mark.parametrize(
    "answer",
    [
        {"error": "server_error", "error_description": "not at-CANARY-1 and not rt-CANARY-2"},
        {"token_type": "at-CANARY-1"},
        {"scope": "mail.read rt-CANARY-2"},
    ],
)
def test_a_provider_that_repeats_new_tokens_elsewhere_shows_none(
    server: OAuthServer, person: Person, answer: dict[str, Any]
) -> None:
    server.answer = {"access_token": "at-CANARY-1", "refresh_token": "rt-CANARY-2", **answer}
    with pytest.raises(SignInError) as caught:
        signed_in(server, person)
    assert "[credential]" in str(caught.value)
    assert "CANARY" not in f"{caught.value} {caught.value.hint} {person.said}"


@pytest.mark.parametrize("separator", [" ", ","])
def test_fewer_scopes_are_said_and_kept(server: OAuthServer, person: Person, separator: str) -> None:
    server.answer = {"scope": "mail.read"}
    assert signed_in(server, person)["scopes"] == ["mail.read"]
    assert "The provider did not grant: mail.send" in person.said
    server.answer = {"scope": separator.join(SCOPES)}
    assert signed_in(server, person)["scopes"] == list(SCOPES)


def test_what_an_answer_may_leave_out(server: OAuthServer, person: Person) -> None:
    server.answer = {"scope": None, "refresh_token": None, "expires_in": "120"}
    document = signed_in(server, person)
    assert document["scopes"] == list(SCOPES)
    assert document["refresh_token"] == ""
    assert "sign in again when it expires" in person.said[-1]
    server.answer, server.lifetime = {}, None
    assert signed_in(server, person)["expires_at"] is None


def test_a_provider_that_wants_a_secret_of_the_client_gets_it(server: OAuthServer, person: Person) -> None:
    server.client_secret = "not-really-secret"
    document = signed_in(server, person)
    assert renewed(server.oauth2(), document)["access_token"] in server.access
    with pytest.raises(SignInError, match="invalid_client"):
        signed_in(server, person, client_secret="wrong-secret")
    assert "not-really-secret" not in repr(server.oauth2())


def test_renewing_rotates_and_keeps_what_was_not_rotated(server: OAuthServer, person: Person) -> None:
    first = signed_in(server, person)
    second = renewed(server.oauth2(), first)
    assert second["access_token"] != first["access_token"]
    assert second["refresh_token"] in server.refresh
    server.rotates = False
    assert renewed(server.oauth2(), second)["refresh_token"] == second["refresh_token"]


def test_a_revoked_sign_in_must_be_made_again(server: OAuthServer, person: Person) -> None:
    document = signed_in(server, person)
    server.revoke_all()
    with pytest.raises(SignInAgain, match=r"no longer accepts.*invalid_grant.*\[credential\]") as caught:
        renewed(server.oauth2(), document)
    no_secrets(server, caught.value)
    with pytest.raises(SignInAgain, match="has expired"):
        renewed(server.oauth2(), {**document, "refresh_token": ""})


def test_renewing_never_brings_more_scopes(server: OAuthServer, person: Person) -> None:
    document = signed_in(server, person)
    server.answer = {"scope": "mail.read mail.send admin"}
    with pytest.raises(SignInError, match="admin was not asked for"):
        renewed(server.oauth2(), document)


def test_tls_is_verified(tmp_path: Path, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = make_authority(tmp_path)
    with oauth_server(authority.context()) as server:
        document: TokenDocument = {"refresh_token": "x" * 20, "scopes": list(SCOPES)}
        with pytest.raises(SignInError, match="certificate is not valid"):
            renewed(server.oauth2(), document)
        assert not server.forms
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.ca_file))
        with pytest.raises(SignInAgain):
            renewed(server.oauth2(), document)


def test_no_token_goes_through_a_proxy_unencrypted(server: OAuthServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with oauth_server() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.base)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        with pytest.raises(SignInAgain):
            renewed(server.oauth2(), {"refresh_token": "x" * 20})
        assert not proxy.asked


@pytest.mark.parametrize("address", ["http://provider.example/token", "ftp://x/", "https://user@host/token", "nothing"])
def test_addresses_that_tokens_are_not_sent_to(address: str) -> None:
    with pytest.raises(SignInError, match="address is not"):
        fetch(address, "secret=1")


def test_a_port_that_nobody_listens_on(server: OAuthServer) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        oauth2 = server.oauth2(token_url=f"http://127.0.0.1:{free.getsockname()[1]}/token")
        with pytest.raises(SignInError, match=r"cannot reach 127\.0\.0\.1"):
            renewed(oauth2, {"refresh_token": "x" * 20})


def test_a_missing_extra_is_named(server: OAuthServer, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "oauthlib", None)
    with pytest.raises(SignInError, match="needs the accounts extra") as caught:
        signed_in(server, person)
    assert install_command("accounts") in caught.value.hint


def test_the_environment_never_allows_plain_http_elsewhere(server: OAuthServer, person: Person) -> None:
    assert "OAUTHLIB_INSECURE_TRANSPORT" not in os.environ
    with pytest.raises(SignInError, match="not https"):
        signed_in(server, person, authorize_url="http://provider.example/authorize")
    assert provider_http.SECONDS == 20
