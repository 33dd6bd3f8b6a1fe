"""Which request of the sample service does what. No sockets here: a request comes in, an answer goes out."""

import json
from collections.abc import Callable
from dataclasses import field
from urllib.parse import parse_qsl, unquote, urlsplit

from aileron_tui.core.jsontext import JsonError, JsonLimits, JsonObject, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.demo.drive import Drive, Unanswerable
from aileron_tui.demo.mailbox import Mailbox, UnreadableMail

LARGEST_BODY = 1024 * 1024
_LARGEST_PAGE = 100
_STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    500: "INTERNAL",
}


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """One request, taken apart. Segments are split before they are unescaped, so an id may hold a slash."""

    method: str
    segments: tuple[str, ...]
    query: dict[str, str]
    body: bytes = b""

    @classmethod
    def of(cls, method: str, target: str, body: bytes) -> "ServiceRequest":
        """The request for a target such as `/gmail/v1/users/me/drafts/r-1?format=full`."""
        parts = urlsplit(target)
        segments = tuple(unquote(segment) for segment in parts.path.strip("/").split("/"))
        return cls(method, segments, dict(parse_qsl(parts.query)), body)


@dataclass(frozen=True, slots=True)
class ServiceResponse:
    """What goes back."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


class ServiceRefusal(Exception):
    """The request cannot be served: status and a sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def found(value: JsonObject | None) -> ServiceResponse:
    """The answer for something that may not be there."""
    if value is None:
        raise ServiceRefusal(404, "Requested entity was not found.")
    return ServiceResponse(200, json.dumps(value, ensure_ascii=False).encode())


def refusal(error: ServiceRefusal) -> ServiceResponse:
    """An error in the shape both APIs share."""
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

    def answer(self, request: ServiceRequest) -> ServiceResponse:
        """Serve one request that has already shown its credential."""
        try:
            match request.segments:
                case ("gmail", "v1", "users", "me", *rest):
                    return self._mail(request, tuple(rest))
                case ("drive", "v3", "files", *rest):
                    return self._files(request, tuple(rest))
            raise ServiceRefusal(404, "Not found.")
        except ServiceRefusal as error:
            return refusal(error)
        except (JsonError, UnreadableMail, Unanswerable) as error:
            return refusal(ServiceRefusal(400, str(error)))

    def _mail(self, request: ServiceRequest, rest: tuple[str, ...]) -> ServiceResponse:
        form = request.query.get("format", "full")
        if form not in {"minimal", "metadata", "full"}:
            raise ServiceRefusal(400, "Invalid value: format")
        mailbox = self._mailbox
        match request.method, rest:
            case "GET", ("drafts",):
                return found(mailbox.list_drafts(_limit(request, "maxResults")))
            case "POST", ("drafts",):
                return found(mailbox.create_draft(_raw(_member(_object(request), "message"))))
            case "POST", ("drafts", "send"):
                return found(mailbox.send_draft(_text(_object(request), "id")))
            case "GET", ("drafts", id_):
                return found(mailbox.get_draft(id_, form))
            case "PUT", ("drafts", id_):
                return found(mailbox.update_draft(id_, _raw(_member(_object(request), "message"))))
            case "DELETE", ("drafts", id_):
                return _gone(mailbox.delete_draft, id_)
            case "POST", ("messages", "send"):
                return found(mailbox.send(_raw(_object(request))))
            case "GET", ("messages", id_):
                return found(mailbox.get_message(id_, form))
        raise ServiceRefusal(404, "Not found.")

    def _files(self, request: ServiceRequest, rest: tuple[str, ...]) -> ServiceResponse:
        query = request.query
        fields = query.get("fields", "")
        match request.method, rest:
            case "GET", ():
                return found(self._drive.list_files(query.get("q", ""), _limit(request, "pageSize"), fields))
            case "GET", (id_,):
                return found(self._drive.get_file(id_, fields))
            case "PATCH", (id_,):
                body = _object(request)
                return found(
                    self._drive.change_file(
                        id_,
                        name=_text(body, "name") if "name" in body else None,
                        add=_ids(query.get("addParents", "")),
                        remove=_ids(query.get("removeParents", "")),
                        fields=fields,
                    )
                )
            case "DELETE", (id_,):
                return _gone(self._drive.delete_file, id_)
        raise ServiceRefusal(404, "Not found.")


def _gone(delete: Callable[[str], bool], id_: str) -> ServiceResponse:
    return ServiceResponse(204) if delete(id_) else found(None)


def _object(request: ServiceRequest) -> JsonObject:
    return read_object(request.body, JsonLimits(size=LARGEST_BODY))


def _member(body: JsonObject, name: str) -> JsonObject:
    value = body.get(name)
    if not isinstance(value, dict):
        raise ServiceRefusal(400, f"Missing object: {name}")
    return value


def _text(body: JsonObject, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise ServiceRefusal(400, f"Missing text: {name}")
    return value


def _raw(message: JsonObject) -> str:
    return _text(message, "raw")


def _limit(request: ServiceRequest, name: str) -> int:
    text = request.query.get(name, str(_LARGEST_PAGE))
    if not (text.isascii() and text.isdigit() and 0 < len(text) <= 9 and int(text) > 0):
        raise ServiceRefusal(400, f"Invalid value: {name}")
    return min(int(text), _LARGEST_PAGE)


def _ids(text: str) -> list[str]:
    return [id_ for id_ in text.split(",") if id_]
