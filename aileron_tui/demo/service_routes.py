"""The routes of the sample service: they turn a request into a response, without any sockets."""

import json
from collections.abc import Callable
from dataclasses import field
from urllib.parse import parse_qsl, unquote, urlsplit

from aileron_tui.core.jsontext import JsonError, JsonLimits, JsonObject, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.demo.drive import Drive, UnsupportedQuery
from aileron_tui.demo.mailbox import Mailbox, UnreadableMail

MAX_BODY_SIZE = 1024 * 1024
_MAX_PAGE_SIZE = 100
_STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    500: "INTERNAL",
}


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """One parsed request. Path segments are split before they are unescaped, so an id may contain a slash."""

    method: str
    segments: tuple[str, ...]
    query: dict[str, str]
    body: bytes = b""

    @classmethod
    def parse(cls, method: str, target: str, body: bytes) -> "ServiceRequest":
        """Parses a target such as `/gmail/v1/users/me/drafts/r-1?format=full`."""
        parts = urlsplit(target)
        segments = tuple(unquote(segment) for segment in parts.path.strip("/").split("/"))
        return cls(method, segments, dict(parse_qsl(parts.query)), body)


@dataclass(frozen=True, slots=True)
class ServiceResponse:
    """One response."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


class ServiceError(Exception):
    """An error response: a status and a message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def json_response(value: JsonObject | None) -> ServiceResponse:
    """Returns a JSON response, or raises a 404 if there is no value."""
    if value is None:
        raise ServiceError(404, "Requested entity was not found.")
    return ServiceResponse(200, json.dumps(value, ensure_ascii=False).encode())


def error_response(error: ServiceError) -> ServiceResponse:
    """Formats an error the way both APIs do."""
    status = _STATUS_NAMES.get(error.status, "UNKNOWN")
    return ServiceResponse(
        error.status,
        json.dumps({"error": {"code": error.status, "message": error.message, "status": status}}).encode(),
    )


class ServiceRoutes:
    """The two APIs over one mailbox and one drive."""

    def __init__(self, mailbox: Mailbox, drive: Drive) -> None:
        self._mailbox = mailbox
        self._drive = drive

    def respond(self, request: ServiceRequest) -> ServiceResponse:
        """Responds to one request whose credential was already checked."""
        try:
            match request.segments:
                case ("gmail", "v1", "users", "me", *rest):
                    return self._mail(request, tuple(rest))
                case ("drive", "v3", "files", *rest):
                    return self._files(request, tuple(rest))
            raise ServiceError(404, "Not found.")
        except ServiceError as error:
            return error_response(error)
        except (JsonError, UnreadableMail, UnsupportedQuery) as error:
            return error_response(ServiceError(400, str(error)))

    def _mail(self, request: ServiceRequest, rest: tuple[str, ...]) -> ServiceResponse:
        format_ = request.query.get("format", "full")
        if format_ not in {"minimal", "metadata", "full"}:
            raise ServiceError(400, "Invalid value: format")
        mailbox = self._mailbox
        match request.method, rest:
            case "GET", ("drafts",):
                return json_response(mailbox.list_drafts(_limit(request, "maxResults")))
            case "POST", ("drafts",):
                return json_response(mailbox.create_draft(_raw(_object_field(_json_body(request), "message"))))
            case "POST", ("drafts", "send"):
                return json_response(mailbox.send_draft(_text_field(_json_body(request), "id")))
            case "GET", ("drafts", id_):
                return json_response(mailbox.get_draft(id_, format_))
            case "PUT", ("drafts", id_):
                return json_response(mailbox.update_draft(id_, _raw(_object_field(_json_body(request), "message"))))
            case "DELETE", ("drafts", id_):
                return _delete_response(mailbox.delete_draft, id_)
            case "POST", ("messages", "send"):
                return json_response(mailbox.send(_raw(_json_body(request))))
            case "GET", ("messages", id_):
                return json_response(mailbox.get_message(id_, format_))
        raise ServiceError(404, "Not found.")

    def _files(self, request: ServiceRequest, rest: tuple[str, ...]) -> ServiceResponse:
        query = request.query
        fields = query.get("fields", "")
        match request.method, rest:
            case "GET", ():
                return json_response(self._drive.list_files(query.get("q", ""), _limit(request, "pageSize"), fields))
            case "GET", (id_,):
                return json_response(self._drive.get_file(id_, fields))
            case "PATCH", (id_,):
                body = _json_body(request)
                return json_response(
                    self._drive.update_file(
                        id_,
                        name=_text_field(body, "name") if "name" in body else None,
                        add=_ids(query.get("addParents", "")),
                        remove=_ids(query.get("removeParents", "")),
                        fields=fields,
                    )
                )
            case "DELETE", (id_,):
                return _delete_response(self._drive.delete_file, id_)
        raise ServiceError(404, "Not found.")


def _delete_response(delete: Callable[[str], bool], id_: str) -> ServiceResponse:
    return ServiceResponse(204) if delete(id_) else json_response(None)


def _json_body(request: ServiceRequest) -> JsonObject:
    return read_object(request.body, JsonLimits(size=MAX_BODY_SIZE))


def _object_field(body: JsonObject, name: str) -> JsonObject:
    value = body.get(name)
    if not isinstance(value, dict):
        raise ServiceError(400, f"Missing object: {name}")
    return value


def _text_field(body: JsonObject, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise ServiceError(400, f"Missing text: {name}")
    return value


def _raw(message: JsonObject) -> str:
    return _text_field(message, "raw")


def _limit(request: ServiceRequest, name: str) -> int:
    text = request.query.get(name, str(_MAX_PAGE_SIZE))
    if not (text.isascii() and text.isdigit() and 0 < len(text) <= 9 and int(text) > 0):
        raise ServiceError(400, f"Invalid value: {name}")
    return min(int(text), _MAX_PAGE_SIZE)


def _ids(text: str) -> list[str]:
    return [id_ for id_ in text.split(",") if id_]
