"""Errors that occur when talking to a gate or a daemon.

RuntimeFault
├── NoGate          none was found, or nothing answers at its address
├── NoReply         the connection was lost before the reply; it is not known whether the gate acted
├── InvalidReply    a reply that no gate would send: not JSON, the wrong shape, or a digest that does not match
├── UntrustedGate   not the gate that is known at this address
└── Rejected        the gate refused; see `status`, `code` and `body`
    ├── NotAllowed      401, 403: token, session, key or signature
    ├── NotFound        404
    ├── NotWaiting      409: the request is no longer waiting; `state` is its state
    ├── PromptChanged   409: the prompt has changed since it was shown
    ├── ApprovalsOff    503: approvals are switched off on this daemon
    ├── VaultLocked     423: the daemon's vault is locked
    └── LimitExceeded   413, 429: too large or too many; `retry_after` is in seconds
"""

from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject

_LONGEST_MESSAGE: Final = 500


class RuntimeFault(AileronError):
    """The base class of all errors in this package."""


class NoGate(RuntimeFault):
    """No gate or daemon was found, or nothing answers at its address."""


class NoReply(RuntimeFault):
    """The connection was lost before the reply arrived."""


class InvalidReply(RuntimeFault):
    """A reply that no gate or daemon would send."""


class UntrustedGate(RuntimeFault):
    """The gate at an address is not known to be the right one, so nothing is signed for it."""


class Rejected(RuntimeFault):
    """The gate or daemon refused."""

    def __init__(self, status: int, body: JsonObject, retry_after: str = "", peer: str = "gate") -> None:
        error = body.get("error")
        fields = error if isinstance(error, dict) else {}
        message = str(fields.get("message") or f"HTTP {status}")
        rest = f"… ({len(message):,} characters)" if len(message) > _LONGEST_MESSAGE else ""
        super().__init__(f"the {peer} refused: {message[:_LONGEST_MESSAGE]}{rest}")
        self.status = status
        self.code = str(fields.get("code", ""))
        self.body = body
        self.retry_after = int(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0


class NotAllowed(Rejected):
    """401 or 403: the token, session, key or signature is missing or not accepted."""


class NotFound(Rejected):
    """404: there is no such action, request or event."""


class NotWaiting(Rejected):
    """409: the request is no longer waiting."""

    @property
    def state(self) -> str:
        """The state of the request."""
        return str(self.body.get("state", ""))


class PromptChanged(Rejected):
    """409: the prompt has changed since it was shown."""

    @property
    def item(self) -> Json:
        """The request as it is now, not yet checked."""
        return self.body.get("item")


class VaultLocked(Rejected):
    """423: the daemon's vault is locked."""


class ApprovalsOff(Rejected):
    """503: approvals are switched off on this daemon."""

    def __init__(self, status: int, body: JsonObject, retry_after: str = "", peer: str = "daemon") -> None:
        super().__init__(status, body, retry_after, peer)
        self.title = f"approvals are switched off on this {peer}"
        self.detail = "it does not ask for approval, and its requests cannot be answered"
        self.hint = f"Switch approvals on in the {peer}'s configuration and restart it."


class LimitExceeded(Rejected):
    """413 or 429: a request that is too large, or too many requests."""


_BY_STATUS = {401: NotAllowed, 403: NotAllowed, 404: NotFound, 413: LimitExceeded, 423: VaultLocked, 429: LimitExceeded}
_BY_CODE = {"INVALID_STATE": NotWaiting, "PROMPT_CHANGED": PromptChanged, "action_approvals_disabled": ApprovalsOff}


def rejected(status: int, body: JsonObject, retry_after: str = "", peer: str = "gate") -> Rejected:
    """Returns the error for an HTTP status and the code in its body."""
    error = body.get("error")
    code = str(error.get("code")) if isinstance(error, dict) else ""
    type_: type[Rejected] = _BY_CODE.get(code) or _BY_STATUS.get(status) or Rejected
    return type_(status, body, retry_after, peer)
