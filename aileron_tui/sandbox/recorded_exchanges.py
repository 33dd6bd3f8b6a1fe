"""HTTP exchanges of a preview in a file: recorded once with the network, replayed in tests without it.

A request is recorded as the connector made it, before a credential is added, so a recording contains none. Secrets that
a service echoes are masked. A replay needs neither network nor credentials.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.formats import RECORDING_VERSION, NewerFormat
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, canonical, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.sandbox.failure import Boundary, CallRefused, Failure, FailureKind
from aileron_tui.sandbox.network import UpstreamRequest, UpstreamResponse

LARGEST_RECORDING: Final = 32 * 1024 * 1024
_MOST_EXCHANGES: Final = 200
_KEPT_HEADERS: Final = ("location", "retry-after")
_CREDENTIAL_HEADERS: Final = ("auth", "cookie", "token", "secret", "api-key", "apikey", "password", "credential")
_LONGEST_SHOWN: Final = 120


class BadRecording(AileronError):
    """A recording that cannot be written or read."""


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """A request and its answer, as in the file."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    credential: str
    response: UpstreamResponse

    def fields(self) -> JsonObject:
        """The exchange as JSON."""
        return {
            "request": {
                "method": self.method,
                "url": self.url,
                "headers": [[name, value] for name, value in self.headers],
                "credential": self.credential,
                **_body_fields(self.body),
            },
            "response": {
                "status": self.response.status,
                "headers": dict(self.response.headers),
                **_body_fields(self.response.body),
            },
        }

    def difference(self, other: "RecordedExchange") -> str:
        """In which part the requests of two exchanges differ first, or "" if they are the same."""
        for name in ("method", "url", "headers", "credential", "body"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                return f"its {name} is {_short(theirs)}, not {_short(mine)}"
        return ""


class ExchangeRecorder:
    """Collects the exchanges of a preview."""

    def __init__(self) -> None:
        self.exchanges: list[RecordedExchange] = []

    def answer(self, request: UpstreamRequest, credential: str) -> UpstreamResponse | None:
        """Nothing is answered from a recording that is being made."""
        del request, credential
        if len(self.exchanges) >= _MOST_EXCHANGES:
            raise CallRefused(_failure(f"a recording can have {_MOST_EXCHANGES} requests at most"))
        return None

    def add(self, request: UpstreamRequest, credential: str, response: UpstreamResponse) -> None:
        """Adds an exchange whose secrets have been masked."""
        kept = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
        self.exchanges.append(_exchange(request, credential, UpstreamResponse(response.status, kept, response.body)))

    def document(self, action: str) -> bytes:
        """The recording of a preview of this action, as it is stored."""
        fields: JsonObject = {
            "recording": RECORDING_VERSION,
            "action": action,
            "exchanges": [each.fields() for each in self.exchanges],
        }
        data = canonical(fields) + b"\n"
        if len(data) > LARGEST_RECORDING:
            raise BadRecording("the recording is too large", f"at most {LARGEST_RECORDING:,} bytes are allowed")
        return data


class ExchangeReplay:
    """Answers the requests of a preview from a recording, in the same order."""

    def __init__(self, action: str, exchanges: tuple[RecordedExchange, ...]) -> None:
        self.action = action
        self._exchanges = exchanges
        self._next = 0

    @property
    def unused(self) -> str:
        """The first recorded request that was not sent, or "" if all were."""
        if self._next >= len(self._exchanges):
            return ""
        left = self._exchanges[self._next]
        return f"request {self._next + 1} of the recording was not sent: {left.method} {_short(left.url)}"

    def answer(self, request: UpstreamRequest, credential: str) -> UpstreamResponse | None:
        """The recorded answer; raises CallRefused if the next request of the recording is another one."""
        number = self._next + 1
        if self._next >= len(self._exchanges):
            what = f"{request.method} {_short(str(request.url))}"
            raise CallRefused(_failure(f"request {number} is not in the recording: {what}"))
        recorded = self._exchanges[self._next]
        if differs := recorded.difference(_exchange(request, credential, recorded.response)):
            raise CallRefused(_failure(f"request {number} differs from the recording: {differs}"))
        self._next += 1
        return recorded.response

    def add(self, request: UpstreamRequest, credential: str, response: UpstreamResponse) -> None:
        """Nothing is added to a recording that is replayed."""


def read_recording(data: bytes, name: str) -> ExchangeReplay:
    """Reads a recording; raises BadRecording."""
    try:
        document = read_object(data, JsonLimits(size=LARGEST_RECORDING))
        version, action, exchanges = (document.get(key) for key in ("recording", "action", "exchanges"))
        if type(version) is int and version > RECORDING_VERSION:
            raise NewerFormat(name, version, RECORDING_VERSION)
        if version != RECORDING_VERSION or not isinstance(action, str) or not isinstance(exchanges, list):
            raise JsonError("it is not a recording")
        if len(exchanges) > _MOST_EXCHANGES:
            raise JsonError(f"it has more than {_MOST_EXCHANGES} requests")
        return ExchangeReplay(action, tuple(map(_read_exchange, exchanges)))
    except JsonError as error:
        hint = error.hint or "Record it again with `aileron-tui preview --record`."
        raise BadRecording(f"cannot replay {name}", error.title, hint) from None


def _exchange(request: UpstreamRequest, credential: str, response: UpstreamResponse) -> RecordedExchange:
    headers = tuple((name, value) for name, value in request.headers if not _carries_credential(name))
    return RecordedExchange(request.method, str(request.url), headers, request.body, credential, response)


def _carries_credential(name: str) -> bool:
    return any(part in name.lower() for part in _CREDENTIAL_HEADERS)


def _read_exchange(value: Json) -> RecordedExchange:
    request = _table(_table(value).get("request"))
    response = _table(_table(value).get("response"))
    status, headers = response.get("status"), _table(response.get("headers"))
    if (
        type(status) is not int
        or not 100 <= status <= 999
        or not all(isinstance(item, str) for item in headers.values())
    ):
        raise JsonError("it has an invalid answer")
    return RecordedExchange(
        _text(request, "method"),
        _text(request, "url"),
        _headers(request.get("headers")),
        _body(request),
        _text(request, "credential"),
        UpstreamResponse(status, {name: str(item) for name, item in headers.items()}, _body(response)),
    )


def _headers(value: Json) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for pair in value if isinstance(value, list) else [None]:
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(item, str) for item in pair):
            raise JsonError("it has an invalid request")
        found.append((str(pair[0]), str(pair[1])))
    return tuple(found)


def _table(value: Json) -> JsonObject:
    if not isinstance(value, dict):
        raise JsonError("an exchange is not complete")
    return value


def _text(table: Mapping[str, Json], name: str) -> str:
    value = table.get(name)
    if not isinstance(value, str):
        raise JsonError(f'"{name}" of a request is missing')
    return value


def _body_fields(body: bytes) -> JsonObject:
    try:
        return {"body": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode("ascii")}


def _body(table: Mapping[str, Json]) -> bytes:
    text, encoded = table.get("body"), table.get("body_base64")
    if isinstance(text, str) and encoded is None:
        return text.encode("utf-8", "surrogatepass")
    if isinstance(encoded, str) and text is None:
        try:
            return base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            pass
    raise JsonError("a body is missing or invalid")


def _short(value: object) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    text = f"{text[:_LONGEST_SHOWN]}…" if len(text) > _LONGEST_SHOWN else text
    return text or "empty"


def _failure(why: str) -> Failure:
    return Failure(FailureKind.NETWORK_ERROR, why, why, Boundary.RUNTIME)
