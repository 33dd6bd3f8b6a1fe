"""Messages of the webhook, as Standard Webhooks 1.0 describes them (https://www.standardwebhooks.com).

A message says what waits and where to answer. There is nothing in it to answer with: no token, no code, no link that
decides.
"""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Sequence
from typing import Final

from aileron_tui.core.alerts import Alert
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import Visible, clip

ONE: Final = "request.waiting"
MANY: Final = "requests.waiting"
TEST: Final = "test"

_PREFIX: Final = "whsec_"
_SHORTEST_KEY, _LONGEST_KEY = 24, 64
_MOST_KEYS: Final = 4
_WIDEST_NAME: Final = 80
_WIDEST_SUMMARY: Final = 200


class BadWebhookSecret(AileronError):
    """Secrets that cannot sign messages. The error never repeats any of them."""


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """One message. All attempts to deliver it have the same id, so that a receiver can tell repetitions."""

    id: str
    body: bytes

    def headers(self, keys: Sequence[bytes], seconds: int) -> dict[str, str]:
        """The headers of an attempt at this time, with one signature for each key."""
        signed = f"{self.id}.{seconds}.".encode("ascii") + self.body
        signatures = (base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode("ascii") for key in keys)
        return {
            "Content-Type": "application/json",
            "webhook-id": self.id,
            "webhook-timestamp": str(seconds),
            "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
        }


def one_waits(alert: Alert, now: str, *, content: bool) -> WebhookMessage:
    """A message about one request. Only with `content` does it have the summary, which may come from a preview."""
    data: JsonObject = {
        "id": alert.id,
        "action": _cut(alert.action, _WIDEST_NAME),
        "agent": _cut(alert.agent, _WIDEST_NAME),
        "risk": str(alert.risk),
        "expires_at": alert.expires_at,
        "waiting": alert.waiting,
        "url": _page(alert.url),
    }
    if content:
        data["summary"] = _cut(alert.summary, _WIDEST_SUMMARY)
    return _message(ONE, now, data)


def many_wait(waiting: int, url: str, now: str) -> WebhookMessage:
    """A message about requests that arrived too fast to tell about each."""
    return _message(MANY, now, {"waiting": waiting, "url": _page(url)})


def trial_message(now: str) -> WebhookMessage:
    """A message that says nothing, to try the address and the secret."""
    return _message(TEST, now, {})


def read_keys(text: str) -> tuple[bytes, ...]:
    """The keys in one or several secrets with blanks in between; raises BadWebhookSecret."""
    words = text.split()
    if not words:
        raise BadWebhookSecret("the webhook's secret is empty", hint="Put a secret there that begins with whsec_.")
    if len(words) > _MOST_KEYS:
        raise BadWebhookSecret("too many secrets for the webhook", f"{len(words)}, but at most {_MOST_KEYS} are used")
    return tuple(_key(word) for word in words)


def _key(word: str) -> bytes:
    hint = "Take the secret from the receiver, or create one: whsec_ and 32 random bytes in base64."
    if not word.startswith(_PREFIX):
        raise BadWebhookSecret("not a valid secret for the webhook", f"it does not begin with {_PREFIX}", hint)
    encoded = word.removeprefix(_PREFIX)
    try:
        key = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise BadWebhookSecret("not a valid secret for the webhook", "it is not base64", hint) from None
    if not _SHORTEST_KEY <= len(key) <= _LONGEST_KEY:
        detail = f"it has {len(key)} bytes, but must have {_SHORTEST_KEY} to {_LONGEST_KEY}"
        raise BadWebhookSecret("not a valid secret for the webhook", detail, hint)
    return key


def _message(type_: str, now: str, data: JsonObject) -> WebhookMessage:
    body = json.dumps({"type": type_, "timestamp": now, "data": data}, separators=(",", ":")).encode("ascii")
    return WebhookMessage(f"msg_{secrets.token_hex(16)}", body)


def _cut(text: Visible, width: int) -> str:
    return clip(text, width)


def _page(url: str) -> str:
    """The address of the page alone: a code to open it would be in the fragment or the query."""
    return url.partition("#")[0].partition("?")[0]
