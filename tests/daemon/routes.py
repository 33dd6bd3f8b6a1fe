"""The daemon's API: paths, codes and bodies."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import secrets
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from tests.daemon.bodies import Malformed, read_struct
from tests.daemon.exchange import Channel, HangUp, Request, Response
from tests.daemon.garbage import spoil
from tests.daemon.gotext import Object, encode, from_go_time
from tests.daemon.queue import Queue, Unknown
from tests.daemon.samples import REQUESTS

VERSION: Final = "0.9.0-fake"
COOKIE: Final = "aileron_daemon_token"
HIDDEN_INPUT_KEYS: Final = ("label", "multiline")

OPEN: Final = frozenset({"/v1/health", "/v1/auth/handshake", "/v1/messages", "/v1/chat/completions"})
CAVEATS: Final = {"actions": "actions:list", "action": "actions:list", "run": "actions:run", "result": "approvals:poll"}

HTML: Final = b'<!doctype html><html><head><title>Aileron</title></head><body><div id="app"></div></body></html>'
NOT_FOUND: Final = Response(404, b"404 page not found\n", "text/plain; charset=utf-8")
NOT_ALLOWED: Final = Response(405, b"Method Not Allowed\n", "text/plain; charset=utf-8")

STREAM: Final = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-cache",
    "Connection": "keep-alive",
    "X-Accel-Buffering": "no",
    "Transfer-Encoding": "chunked",
}
CORS: Final = {
    "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, X-Request-ID",
}

Handler = Callable[[Request, list[str]], Response | Awaitable[Response]]

ROUTES: Final[list[tuple[str, str, str]]] = [
    ("GET", "v1/action-approvals", "list"),
    ("GET", "v1/action-approvals/watch", "watch"),
    ("POST", "v1/action-approvals/*/decide", "decide"),
    ("GET", "v1/action-approvals/*/result", "result"),
    ("GET", "v1/actions", "actions"),
    ("GET", "v1/actions/*", "action"),
    ("POST", "v1/actions/*/run", "run"),
    ("GET", "v1/audit", "audit"),
    ("GET", "v1/audit/*", "audit_event"),
    ("GET", "v1/sessions", "sessions"),
    ("POST", "v1/sessions", "new_session"),
    ("GET", "v1/sessions/*", "session"),
    ("POST", "v1/sessions/*/approvals/shell", "shell"),
    ("POST", "v1/sessions/*/comms/*", "comms"),
    ("GET", "v1/health", "health"),
    ("GET", "v1/status", "status"),
    ("GET", "v1/vault/status", "vault_status"),
    ("POST", "v1/vault/unlock", "vault_unlock"),
    ("GET", "v1/bindings", "bindings"),
    ("GET", "v1/auth/handshake", "handshake"),
]


def as_json(value: Object, status: int = 200, **headers: str) -> Response:
    return Response(status, encode(value), headers=headers)


def refusal(status: int, code: str, message: str) -> Response:
    return as_json({"error": {"code": code, "message": message}}, status)


def match(request: Request) -> tuple[str, list[str]]:
    """The name of a route and the variable parts of its path."""
    for method, pattern, name in ROUTES:
        wanted = pattern.split("/")
        if len(wanted) == len(request.parts) and method == request.method:
            pairs = list(zip(wanted, request.parts, strict=True))
            if all(want in ("*", part) for want, part in pairs) and all(request.parts):
                return name, [part for want, part in pairs if want == "*"]
    return "unknown", []


class Api:
    """Answers what clients ask."""

    def __init__(self, queue: Queue, token: str) -> None:
        self._queue = queue
        self._switches = queue.switches
        self._token = token
        self._secret = secrets.token_bytes(32)
        self.asked: list[Object] = []
        self.gateway_url = ""

    async def __call__(self, request: Request, channel: Channel) -> Response | None:
        """One answer, with the faults that are switched on."""
        name, values = match(request)
        self.asked.append({"method": request.method, "target": request.target, "route": name})
        if request.method == "OPTIONS":
            return Response(204, headers=CORS)
        if (refused := self._barred(request, name, values)) is not None:
            return refused
        await asyncio.sleep(self._switches.of_route("delay", name) or 0)
        if self._switches.take("hang_up", name):
            raise HangUp
        if (instead := self._instead(name)) is not None:
            return instead
        if name == "watch":
            return await self._watch(channel)
        if name == "unknown":
            return self._unknown(request)
        handler: Handler = getattr(self, f"_{name}")
        found = handler(request, values)
        response = found if isinstance(found, Response) else await found
        await asyncio.sleep(self._switches.of_route("reply_delay", name) or 0)
        if self._switches.take("lose_reply", name):
            raise HangUp
        if (how := self._switches.of_route("garbage", name)) and response.status < 300:
            body = spoil(how, response.body, self._switches.huge_bytes)
            return replace(response, status=200, body=body, cut=how == "cut")
        return response

    # Who may ask

    def caveat(self, session: str, capabilities: list[str]) -> str:
        """A token for the agent of a session."""
        claims = {"iss": "aileron-daemon", "typ": "aileron-caveat", "caps": capabilities, "session": session}
        text = ".".join(_url64(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims))
        return f"{text}.{_url64(hmac.digest(self._secret, text.encode(), hashlib.sha256))}"

    def _barred(self, request: Request, name: str, values: list[str]) -> Response | None:
        if not self._token or request.path in OPEN or request.parts[0] != "v1":
            return None
        given = request.headers.get("authorization", "")
        if given.startswith("Bearer "):
            shown = given.removeprefix("Bearer ")
        else:
            cookies = dict(one.strip().partition("=")[::2] for one in request.headers.get("cookie", "").split(";"))
            shown = cookies.get(COOKIE, "")
        if hmac.compare_digest(shown.encode(), self._token.encode()):
            return None
        claims = self._claims(shown)
        if claims is None:
            return refusal(401, "unauthorized", "missing or invalid daemon token")
        own = name == "comms" and values[0] == claims["session"] and "comms" in claims["caps"]
        if own or CAVEATS.get(name) in claims["caps"]:
            return None
        return refusal(403, "forbidden", "this token does not allow that")

    def _claims(self, token: str) -> Object | None:
        text, _, signature = token.rpartition(".")
        wanted = _url64(hmac.digest(self._secret, text.encode(), hashlib.sha256))
        if not text or not hmac.compare_digest(signature.encode(), wanted.encode()):
            return None
        part = text.split(".")[1]
        claims: Object = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        return claims

    def _handshake(self, request: Request, values: list[str]) -> Response:
        if not self._token:
            return Response(204)
        cookie = f"{COOKIE}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        return Response(200, headers={"Set-Cookie": cookie})

    # The queue

    def _list(self, request: Request, values: list[str]) -> Response:
        return as_json({"items": [] if self._switches.approvals_disabled else self._queue.items()})

    async def _watch(self, channel: Channel) -> Response | None:
        if self._switches.approvals_disabled:
            return _disabled()
        channel.head(200, STREAM)
        await self._queue.streams.serve(self._queue.items, channel)
        return None

    def _decide(self, request: Request, values: list[str]) -> Response:
        response, applied = self._decided(request.body, values[0])
        self._queue.witness.decision(values[0], request.body, applied=applied, status=response.status)
        return response

    def _decided(self, body: bytes, id_: str) -> tuple[Response, bool]:
        if self._switches.approvals_disabled:
            return _disabled(), False
        try:
            said = read_struct(body, {"approved": bool, "reason": str, "edited_payload": dict})
        except Malformed as error:
            return refusal(400, "invalid_request", f"invalid request body: {error}"), False
        if self._switches.take("decide_error"):
            return refusal(500, "decide_error", "the decision could not be kept"), False
        try:
            self._queue.decide(id_, approved=said["approved"], reason=said["reason"], payload=said["edited_payload"])
        except Unknown:
            return _unknown_approval(id_), False
        return Response(self._switches.decide_code), True

    def _result(self, request: Request, values: list[str]) -> Response:
        if self._switches.approvals_disabled:
            return _disabled()
        try:
            told = self._queue.entry(values[0]).told_result()
        except Unknown:
            return _unknown_approval(values[0])
        return as_json(told | ({"status": self._switches.result_status} if self._switches.result_status else {}))

    # Actions

    def _actions(self, request: Request, values: list[str]) -> Response:
        return as_json({"items": [_told_action(one) for one in self._queue.actions]})

    def _action(self, request: Request, values: list[str]) -> Response:
        found = self._queue.action(values[0])
        return as_json(_told_action(found)) if found else _unknown_action(values[0])

    def _run(self, request: Request, values: list[str]) -> Response:
        if self._switches.vault == "locked":
            details = {"required": "vault.passphrase"}
            return failure(412, "binding_required", "the vault is locked", "runtime", details)
        action = self._queue.action(values[0])
        if action is None:
            return _unknown_action(values[0])
        if not action.get("enabled", True):
            return refusal(409, "action_disabled", f"action {_q(values[0])} is disabled")
        try:
            args = read_struct(request.body, {"args": dict})["args"] or {}
        except Malformed as error:
            return refusal(400, "invalid_body", str(error))
        approval = action.get("approval", {})
        if not approval.get("required"):
            return as_json({"audit_id": str(uuid.uuid4()), "result": "[]"})
        preview = _preview(approval)
        entry = self._queue.register(
            "action",
            action_name=action["name"],
            connector_fqn=action["execute"][0]["connector"],
            args=args,
            session_id=request.headers.get("x-aileron-session-id", ""),
            preview=preview,
        )
        return _accepted(entry.id)

    def _comms(self, request: Request, values: list[str]) -> Response:
        kind = {"send": "comms_send", "draft": "comms_draft", "http": "http_request"}.get(values[1])
        if kind is None:
            return self._unknown(request)
        if kind == "comms_send" and not self._switches.listener:
            return refusal(400, "no_listener", "no listener is configured for this session")
        try:
            args = self._comms_args(kind, request.body)
        except Malformed as error:
            return refusal(400, "invalid_request", str(error))
        return _accepted(self._queue.register(kind, args=args, session_id=values[0]).id)

    def _comms_args(self, kind: str, body: bytes) -> Object:
        """What the agent sent, and what the daemon adds to it; other keys and the headers are not listed."""
        if kind == "comms_send":
            return read_struct(body, {"service": str, "channel": str, "body": str})
        if kind == "comms_draft":
            said = read_struct(body, {"reply_to": str, "body": str})
            answered: Object = REQUESTS["comms_draft"]["args"]
            return answered | {"reply_to": said["reply_to"], "draft_body": said["body"]}
        said = read_struct(body, {"method": str, "url": str, "body": str, "headers": dict})
        self._queue.witness.headers(said.pop("headers") or {})
        return said | {"secret_name": self._switches.credential}

    async def _shell(self, request: Request, values: list[str]) -> Response:
        try:
            said = read_struct(request.body, {"command": str, "reason": str, "cwd": str})
        except Malformed as error:
            return refusal(400, "invalid_request", str(error))
        if not said["cwd"]:
            del said["cwd"]
        return as_json({"decision": await self._queue.shell(values[0], said)})

    # The record

    def _audit(self, request: Request, values: list[str]) -> Response:
        query = request.query
        try:
            limit = int(query.get("limit") or 100)
            since = from_go_time(query["since"]) if query.get("since") else 0
        except ValueError as error:
            return refusal(400, "invalid_request", str(error))
        wanted = {name: query.get(name, "") for name in ("audit_id", "connector_fqn", "class")}
        return as_json({"events": self._queue.audit.find(max(limit, 1), since, **wanted)})

    def _audit_event(self, request: Request, values: list[str]) -> Response:
        found = self._queue.audit.find(1, audit_id=values[0])
        return as_json(found[0]) if found else refusal(404, "not_found", f"audit event {_q(values[0])} not found")

    def _sessions(self, request: Request, values: list[str]) -> Response:
        if self._switches.sessions_disabled:
            return refusal(503, "sessions_disabled", "sessions are not configured")
        query = request.query
        items = self._queue.sessions
        if query.get("active_only") == "true":
            items = [one for one in items if "ended_at" not in one]
        if agent := query.get("agent"):
            items = [one for one in items if one["agent"] == agent]
        if since := query.get("since"):
            items = [one for one in items if from_go_time(one["started_at"]) >= from_go_time(since)]
        return as_json({"items": items[: int(query.get("limit") or len(items))]})

    def _session(self, request: Request, values: list[str]) -> Response:
        if self._switches.sessions_disabled:
            return refusal(503, "sessions_disabled", "sessions are not configured")
        found = next((one for one in self._queue.sessions if one["id"] == values[0]), None)
        return as_json(found) if found else refusal(404, "session_not_found", f"session {_q(values[0])} not found")

    def _new_session(self, request: Request, values: list[str]) -> Response:
        try:
            said = read_struct(request.body, {"agent": str, "working_dir": str})
        except Malformed as error:
            return refusal(400, "invalid_request", str(error))
        session = {"id": f"01J{secrets.token_hex(12).upper()[:23]}", "started_at": self._queue.now(), **said}
        self._queue.sessions.append(session)
        self._queue.remember()
        capabilities = ["actions:list", "actions:run", "approvals:poll", "comms"]
        return as_json(session | {"caveat_token": self.caveat(str(session["id"]), capabilities)})

    # The daemon itself

    def _health(self, request: Request, values: list[str]) -> Response:
        now = self._queue.now()
        return as_json({"status": "ok", "service": "aileron", "version": VERSION, "timestamp": now})

    def _status(self, request: Request, values: list[str]) -> Response:
        told: Object = {
            "version": VERSION,
            "vault_state": self._switches.vault,
            "action_count": len(self._queue.actions),
            "connector_count": 1,
            "binding_count": len(self._queue.bindings),
            "gateway_url": self.gateway_url,
        }
        return as_json(told)

    def _vault_status(self, request: Request, values: list[str]) -> Response:
        state = "unlocked" if self._switches.vault == "dev" else self._switches.vault
        return as_json({"locked": state in ("locked", "missing"), "state": state})

    def _vault_unlock(self, request: Request, values: list[str]) -> Response:
        self._queue.unlocks += 1
        try:
            passphrase = read_struct(request.body, {"passphrase": str})["passphrase"]
        except Malformed as error:
            return refusal(400, "invalid_request", str(error))
        if not passphrase:
            return refusal(400, "missing_passphrase", "passphrase is required")
        if self._switches.vault == "dev":
            return refusal(503, "no_local_vault", "this daemon has no local vault")
        if self._switches.vault == "missing":
            return refusal(404, "no_local_vault_file", "there is no vault file")
        if self._switches.vault != "locked":
            return as_json({"locked": False, "state": "unlocked"}, 409)
        if not hmac.compare_digest(passphrase.encode(), self._switches.passphrase.encode()):
            return refusal(401, "wrong_passphrase", "wrong passphrase")
        self._switches.vault = "unlocked"
        self._queue.unlocked()
        return as_json({"locked": False, "state": "unlocked"})

    def _bindings(self, request: Request, values: list[str]) -> Response:
        return as_json({"items": self._queue.bindings})

    def _unknown(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return NOT_ALLOWED if self._switches.webapp else NOT_FOUND
        return Response(200, HTML, "text/html; charset=utf-8") if self._switches.webapp else NOT_FOUND

    def _instead(self, name: str) -> Response | None:
        """The answer a test has laid for a route."""
        answer = self._switches.of_route("answers", name)
        if answer is None:
            return None
        left = answer.get("times", -1)
        if not left:
            return None
        if left > 0:
            answer["times"] = left - 1
        body = answer.get("body", "")
        content = body.encode() if isinstance(body, str) else encode(body)
        return Response(answer["status"], content, answer.get("type", "application/json"), answer.get("headers", {}))


def failure(status: int, kind: str, message: str, boundary: str, details: Object | None = None) -> Response:
    """A failure envelope."""
    error: Object = {"class": kind, "message": message, "retriable": False, "boundary": boundary}
    return as_json({"error": error | ({"details": details} if details else {})}, status)


def _accepted(id_: str) -> Response:
    told = {
        "status": "pending_approval",
        "approval_id": id_,
        "review_url": f"http://localhost:3000/approvals?focus={id_}",
        "message": f"This needs approval. Ask the user to visit the link or to run `aileron open approval {id_}`.",
    }
    return as_json(told, 202)


def _disabled() -> Response:
    return refusal(503, "action_approvals_disabled", "action approvals are not configured")


def _unknown_approval(id_: str) -> Response:
    return refusal(404, "not_found", f"approval {_q(id_)} is unknown or already resolved")


def _unknown_action(name: str) -> Response:
    return refusal(404, "not_found", f"action {_q(name)} not found")


def _told_action(action: Object) -> Object:
    inputs = [{k: v for k, v in one.items() if k not in HIDDEN_INPUT_KEYS} for one in action.get("inputs", [])]
    return {key: value for key, value in (action | {"inputs": inputs}).items() if key != "inputs" or value}


def _preview(approval: Object) -> Object | None:
    """What the connector would show: the paths of the manifest stand for the values found there."""
    declared = approval.get("preview")
    if declared is None:
        return None
    long = declared.get("multiline", [])
    rows = declared["render"].items()
    return {"fields": [{"label": k, "value": v} | ({"multiline": True} if k in long else {}) for k, v in rows]}


def _q(text: str) -> str:
    return json.dumps(text)


def _url64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
