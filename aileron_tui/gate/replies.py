"""Replies to API calls: a status and a body in Aileron's format."""

import json
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass

_WRITER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP status and its JSON body; `retry_after` is when to try again, in seconds."""

    status: int
    body: JsonObject
    retry_after: int = 0


def compact_json(body: Json) -> bytes:
    """Encodes JSON compactly, on one line."""
    return _WRITER.encode(body).encode()


def error(status: int, code: str, message: str, **more: Json) -> Reply:
    """An error reply. `details` go inside the error, all other fields next to it."""
    body: JsonObject = {"code": code, "message": message}
    if (details := more.pop("details", None)) is not None:
        body["details"] = details
    return Reply(status, {"error": body, **more})


def invalid_inputs(errors: list[tuple[str, str]]) -> Reply:
    """The reply to a call with invalid inputs; names each of them."""
    details: list[Json] = [{"input": name, "message": message} for name, message in errors]
    return error(422, "invalid_inputs", "; ".join(message for _, message in errors), details=details)


def unknown_request(id_: str) -> Reply:
    """The reply for a request that does not exist."""
    return error(404, "not_found", f"no request with id {id_}")


def no_result(id_: str, state: str) -> Reply:
    """The reply for a request of the agent whose result is not stored any more."""
    return error(404, "not_found", f"{id_} is {state}, and no result is stored for it")


def not_waiting(state: str) -> Reply:
    """The reply to a change of a request that does not wait any more."""
    return error(409, "INVALID_STATE", f"the request is {state}", state=state)


def not_recorded(failure: AileronError) -> Reply:
    """The reply when the ledger cannot be written and therefore nothing was done."""
    return error(503, "not_recorded", f"nothing was done, because it could not be recorded: {failure}")


def result_unavailable(failure: AileronError) -> Reply:
    """The reply when nobody can say at the moment how a request ended; it must not read as if nothing happened."""
    return error(503, "unavailable", f"the result cannot be read at the moment; try again: {failure}")
