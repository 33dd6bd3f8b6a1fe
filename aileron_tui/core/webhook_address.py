"""The address of a webhook: https, or http to this machine, so that nobody on the way reads who asks for what."""

import re
from typing import Final

from aileron_tui.core.address import Address, BadAddress, read_address
from aileron_tui.core.values import dataclass

_URL: Final = re.compile(r"(https?://[^/?#\s@]+)(/[!-~]*)?", re.ASCII | re.IGNORECASE)
_LONGEST: Final = 2000


class BadWebhookAddress(ValueError):
    """Text that is not a valid address; the message says why without repeating the text, which may be secret."""


@dataclass(frozen=True, slots=True)
class WebhookAddress:
    """Where messages are sent. `target` is the path with its query, which is often a secret: only `server` is shown."""

    address: Address
    target: str

    @property
    def server(self) -> str:
        """Scheme, host and port."""
        return self.address.url

    @property
    def url(self) -> str:
        """The whole address."""
        return self.address.url + self.target


def read_webhook_address(text: str) -> WebhookAddress:
    """Parses an address; raises BadWebhookAddress."""
    if len(text) > _LONGEST:
        raise BadWebhookAddress(f"it has more than {_LONGEST} characters")
    parts = _URL.fullmatch(text.strip())
    if parts is None:
        raise BadWebhookAddress(_problem(text.strip()))
    target = parts[2] or "/"
    if "#" in target:
        raise BadWebhookAddress("it has a fragment, which is never sent")
    try:
        address = read_address(parts[1])
    except BadAddress as error:
        raise BadWebhookAddress(str(error)) from None
    if not address.is_confidential:
        raise BadWebhookAddress("messages would be sent unencrypted over the network; use https")
    return WebhookAddress(address, target)


def _problem(text: str) -> str:
    if not text.lower().startswith(("http://", "https://")):
        return "it does not start with https:// or http://"
    if "@" in text.partition("://")[2].partition("/")[0]:
        return "it contains a user name or a password"
    return "it contains a blank or a character that is not ASCII, or has no path before its query"
