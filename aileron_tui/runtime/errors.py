"""What can go wrong between us and a gate or a daemon.

RuntimeFault
├── NoGate          none was found, or nobody answers where one should be
├── Unanswered      the connection broke before the answer; whether the gate acted is not known
├── Untrustworthy   an answer that a gate would not give: not JSON, another shape, a digest that does not hold
└── Rejected        the gate said no; `status`, `code` and the whole `body` say how
    ├── NotAllowed      401, 403: token, session, key or signature
    ├── NotFound        404
    ├── NotWaiting      409: somebody answered already; `state` says what became of it
    ├── PromptChanged   409: what is shown changed; `item` is the new one
    ├── ApprovalsOff    503: this daemon asks nobody
    ├── VaultLocked     423: the credentials it needs are locked away
    └── TooMuch         413, 429: more than the gate takes; `retry_after` in seconds
"""

from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject

_LONGEST_MESSAGE: Final = 500


class RuntimeFault(AileronError):
    """Any failure of this layer."""


class NoGate(RuntimeFault):
    """None was found, or nobody answers where one should be."""


class Unanswered(RuntimeFault):
    """The connection broke before the answer came."""


class Untrustworthy(RuntimeFault):
    """An answer that a gate would not give."""


class Rejected(RuntimeFault):
    """The gate said no."""

    def __init__(self, status: int, body: JsonObject, retry_after: str = "", called: str = "gate") -> None:
        error = body.get("error")
        fields = error if isinstance(error, dict) else {}
        message = str(fields.get("message") or f"HTTP {status}")
        more = f"… ({len(message):,} characters)" if len(message) > _LONGEST_MESSAGE else ""
        super().__init__(f"the {called} refused: {message[:_LONGEST_MESSAGE]}{more}")
        self.status = status
        self.code = str(fields.get("code", ""))
        self.body = body
        self.retry_after = int(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0


class NotAllowed(Rejected):
    """401 or 403."""


class NotFound(Rejected):
    """404."""


class NotWaiting(Rejected):
    """409: the request is not waiting any more."""

    @property
    def state(self) -> str:
        """What became of it."""
        return str(self.body.get("state", ""))


class PromptChanged(Rejected):
    """409: what is shown is not what was decided on."""

    @property
    def item(self) -> Json:
        """The request as it is now, not yet checked."""
        return self.body.get("item")


class VaultLocked(Rejected):
    """423: the daemon's vault must be unlocked first."""


class ApprovalsOff(Rejected):
    """503: the daemon's queue of approvals is switched off."""

    def __init__(self, status: int, body: JsonObject, retry_after: str = "", called: str = "daemon") -> None:
        super().__init__(status, body, retry_after, called)
        self.title = f"approvals are switched off on this {called}"
        self.detail = "it asks nobody, and what waited there cannot be answered"
        self.hint = "Switch them on in its configuration, and start it again."


class TooMuch(Rejected):
    """413 or 429."""


_BY_STATUS = {401: NotAllowed, 403: NotAllowed, 404: NotFound, 413: TooMuch, 423: VaultLocked, 429: TooMuch}
_BY_CODE = {"INVALID_STATE": NotWaiting, "PROMPT_CHANGED": PromptChanged, "action_approvals_disabled": ApprovalsOff}


def rejected(status: int, body: JsonObject, retry_after: str = "", called: str = "gate") -> Rejected:
    """The refusal of the kind that status and code name."""
    error = body.get("error")
    code = str(error.get("code")) if isinstance(error, dict) else ""
    kind: type[Rejected] = _BY_CODE.get(code) or _BY_STATUS.get(status) or Rejected
    return kind(status, body, retry_after, called)
