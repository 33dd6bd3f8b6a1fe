"""An OAuth provider on the loopback interface: PKCE, rotation, revocation, device codes and an API, with faults."""

import base64
import hashlib
import json
import secrets
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from aileron_tui.core.connector import OAuth2

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
SCOPES = ("mail.read", "mail.send")


@dataclass
class _Grant:
    scopes: list[str]
    challenge: str
    redirect_uri: str


@dataclass
class OAuthServer:
    """The provider's state. `fault` names what the token endpoint does wrong; `answer` replaces a token's fields."""

    base: str
    fault: str = ""
    answer: dict[str, Any] = field(default_factory=dict)
    authorize_error: str = ""
    authorize_extra: dict[str, str] = field(default_factory=dict)
    has_device: bool = True
    device_endpoint: str = ""
    device_errors: list[str] = field(default_factory=list)
    interval: float = 0.01
    lifetime: int | None = 3600
    rotates: bool = True
    client_id: str = "test-client"
    client_secret: str = ""
    codes: dict[str, _Grant] = field(default_factory=dict)
    access: dict[str, float] = field(default_factory=dict)
    refresh: dict[str, list[str]] = field(default_factory=dict)
    devices: dict[str, list[str]] = field(default_factory=dict)
    approved: set[str] = field(default_factory=set)
    issued: list[str] = field(default_factory=list)
    """Every secret that this server has given out."""
    forms: list[dict[str, str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    before_token: Callable[[], None] = lambda: None
    lock: threading.RLock = field(default_factory=threading.RLock)

    def oauth2(self, **changes: Any) -> OAuth2:
        """The block of a manifest that names this provider."""
        values: dict[str, Any] = {
            "authorize_url": f"{self.base}/authorize",
            "token_url": f"{self.base}/token",
            "client_id": self.client_id,
            "scopes": SCOPES,
            "client_secret": self.client_secret,
        }
        return OAuth2(**(values | changes))

    def manifest_block(self) -> str:
        """The same in TOML, as a connector's manifest has it."""
        block = self.oauth2()
        return f"""
[capabilities.credential]
kind = "oauth2"
[capabilities.credential.oauth2]
authorize_url = "{block.authorize_url}"
token_url = "{block.token_url}"
client_id = "{block.client_id}"
scopes = {json.dumps(list(block.scopes))}
"""

    @property
    def refreshes(self) -> int:
        """How often a token was renewed, or was tried to."""
        return sum(form.get("grant_type") == "refresh_token" for form in self.forms)

    def secret(self, kind: str) -> str:
        """Makes a secret that tests can look for."""
        made = f"{kind}-CANARY-{secrets.token_hex(16)}"
        self.issued.append(made)
        return made

    def revoke_all(self) -> None:
        """Ends every token, as a person does at the provider."""
        with self.lock:
            self.access.clear()
            self.refresh.clear()

    def expire_access(self) -> None:
        """Ends access tokens only."""
        with self.lock:
            self.access.clear()

    def tokens(self, scopes: list[str]) -> dict[str, Any]:
        """A new pair of tokens."""
        access, refresh = self.secret("access"), self.secret("refresh")
        self.access[access] = time.time() + (self.lifetime if self.lifetime is not None else 3600)
        self.refresh[refresh] = scopes
        made: dict[str, Any] = {"access_token": access, "refresh_token": refresh, "token_type": "Bearer"}
        if self.lifetime is not None:
            made["expires_in"] = self.lifetime
        return {**made, "scope": " ".join(scopes)}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def log_message(self, *args: Any) -> None:
        """Prints nothing."""

    @property
    def oauth(self) -> OAuthServer:
        return self.server.oauth

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.oauth.asked.append(parts.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        match parts.path.removeprefix("/oauth2"):
            case "/authorize":
                self._authorize(query)
            case "/.well-known/openid-configuration" if self.oauth.has_device:
                endpoint = self.oauth.device_endpoint or f"{self.oauth.base}/device"
                self._json(200, {"issuer": self.oauth.base, "device_authorization_endpoint": endpoint})
            case "/api":
                self._api()
            case _:
                self._send(404, "text/html", b"<h1>not found</h1>")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        self.oauth.asked.append(self.path)
        if self.path == "/api":
            self._api()
            return
        form = {name: values[0] for name, values in parse_qs(body, keep_blank_values=True).items()}
        if self.path == "/device":
            self._device(form)
            return
        self.oauth.forms.append(form)
        self.oauth.before_token()
        if self.oauth.fault == "down":
            self._json(503, {"message": "try later"})
            return
        with self.oauth.lock:
            status, table = self._token(form)
        self._reply_token(status, table)

    def _authorize(self, query: dict[str, str]) -> None:
        back = {"state": query["state"], **self.oauth.authorize_extra}
        if self.oauth.authorize_error:
            back |= {"error": self.oauth.authorize_error, "error_description": "said \x1b[31mno"}
        else:
            assert query["response_type"] == "code"
            assert query["code_challenge_method"] == "S256"
            code = self.oauth.secret("code")
            self.oauth.codes[code] = _Grant(query["scope"].split(), query["code_challenge"], query["redirect_uri"])
            back["code"] = code
        self.send_response(302)
        self.send_header("Location", f"{query['redirect_uri']}?{urlencode(back)}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _device(self, form: dict[str, str]) -> None:
        code = self.oauth.secret("device")
        self.oauth.devices[code] = form["scope"].split()
        where = f"{self.oauth.base}/type-it-here"
        table = {"device_code": code, "user_code": "WDJB-MJHT", "verification_uri": where, "expires_in": 60}
        self._json(200, {**table, "interval": self.oauth.interval})

    def _token(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        if form.get("client_id") != self.oauth.client_id or form.get("client_secret", "") != self.oauth.client_secret:
            return 401, {"error": "invalid_client"}
        match form.get("grant_type"):
            case "authorization_code":
                grant = self.oauth.codes.pop(form["code"], None)
                digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
                challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
                if grant is None or grant.challenge != challenge or grant.redirect_uri != form.get("redirect_uri"):
                    return 400, {"error": "invalid_grant", "error_description": f"bad code {form['code']}"}
                return 200, self.oauth.tokens(grant.scopes)
            case "refresh_token":
                return self._refresh(form["refresh_token"])
            case grant_type if grant_type == DEVICE_GRANT:
                scopes = self.oauth.devices[form["device_code"]]
                if self.oauth.device_errors:
                    return 400, {"error": self.oauth.device_errors.pop(0)}
                del self.oauth.devices[form["device_code"]]
                return 200, self.oauth.tokens(scopes)
        return 400, {"error": "unsupported_grant_type"}

    def _refresh(self, token: str) -> tuple[int, dict[str, Any]]:
        scopes = self.oauth.refresh.get(token)
        if scopes is None:
            return 400, {"error": "invalid_grant", "error_description": f"unknown token {token}"}
        made = self.oauth.tokens(scopes)
        if self.oauth.rotates:
            del self.oauth.refresh[token]
        else:
            del self.oauth.refresh[made.pop("refresh_token")]
        return 200, made

    def _reply_token(self, status: int, table: dict[str, Any]) -> None:
        table = {name: value for name, value in (table | self.oauth.answer).items() if value is not None}
        match self.oauth.fault:
            case "slow":
                self.server.stopping.wait(30)
            case "drip":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
                while not self.server.stopping.wait(0.02):
                    self.wfile.write(b" ")
            case "html":
                self._send(200, "text/html", b"<html><title>Maintenance</title>")
            case "text":
                self._send(200, "application/json", b"it works! " + json.dumps(table).encode())
            case "hangs up":
                self.close_connection = True
            case "redirect":
                self.send_response(307)
                self.send_header("Location", f"{self.oauth.base}/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()
            case "huge":
                self._send(200, "application/json", b'{"access_token": "' + b"a" * 1_000_000 + b'"}')
            case _:
                self._json(status, table)

    def _api(self) -> None:
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.oauth.access.get(token, 0) > time.time():
            self._json(200, {"id": "7", "echo": token})
        else:
            self._send(401, "text/plain", b"unauthorized")

    def _json(self, status: int, table: dict[str, Any]) -> None:
        self._send(status, "application/json", json.dumps(table).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    oauth: OAuthServer
    stopping: threading.Event

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores clients that give up, which many tests are about."""


@contextmanager
def oauth_server(tls: ssl.SSLContext | None = None) -> Iterator[OAuthServer]:
    """Serves until the block ends."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.stopping = threading.Event()
    server.oauth = OAuthServer(f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}")
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server.oauth
    finally:
        server.stopping.set()
        with suppress(OSError):
            server.shutdown()
        thread.join()
        server.server_close()


def final_address(address: str) -> str:
    """Where the browser of a person ends who signs in at this address."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *args: Any) -> None:
            return None

    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), Stay)
    with pytest.raises(urllib.error.HTTPError) as caught:
        opener.open(address, timeout=20)
    with caught.value as reply:
        return str(reply.headers["Location"])
