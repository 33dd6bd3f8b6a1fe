"""Signing in on another device: this machine shows a code, and asks the provider until somebody has typed it there.

A manifest does not name the address for it, so it is looked up where providers describe themselves. Only addresses at
the hosts that the manifest names for signing in are used.
"""

import re
import time
from collections.abc import Callable, Sequence
from typing import Final

from aileron_tui.accounts.oauth_tokens import (
    TokenDocument,
    check_installed,
    post_grant,
    provider_error,
    read_tokens,
)
from aileron_tui.accounts.provider_http import (
    SECONDS,
    ProviderReply,
    SignInCancelled,
    SignInError,
    fetch,
    is_loopback,
    provider_url,
)
from aileron_tui.core.connector import OAuth2
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.sandbox.credential_injection import SecretMasks
from aileron_tui.sandbox.failure import CallRefused
from aileron_tui.sandbox.network_grant import Url, bracketed, read_url

_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_DESCRIPTIONS: Final = ("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server")
_USER_CODE: Final = re.compile(r"[A-Za-z0-9 _.-]{1,40}")
_DEVICE_CODE: Final = re.compile(r"[!-~]{1,4096}")
_FIRST_INTERVAL: Final = 5.0
_LONGEST_INTERVAL: Final = 60.0
_LONGEST_WAIT: Final = 1800.0
_TICK: Final = 0.1


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """What a provider gave: the code to show, the one to ask with, and how often and how long to ask."""

    address: str
    user_code: str
    device_code: str
    interval: float
    seconds: float

    def __repr__(self) -> str:
        return "DeviceCode(hidden)"


def begin_device_sign_in(oauth2: OAuth2, scopes: Sequence[str]) -> DeviceCode:
    """Asks the provider for a code; raises SignInError if it does not offer that."""
    check_installed()
    from oauthlib.common import add_params_to_qs  # noqa: PLC0415  # only who signs in needs it

    endpoint = _device_endpoint(oauth2)
    form = add_params_to_qs("", [("client_id", oauth2.client_id), ("scope", " ".join(scopes))])
    reply = fetch(endpoint, form)
    table = reply.table()
    if table.get("error") is not None:
        raise provider_error(table, SecretMasks())
    if reply.status != 200:
        raise reply.unexpected(f"{reply.url.host_port} answered {reply.status}")
    return _read_code(table, reply)


def wait_for_device(
    oauth2: OAuth2, scopes: Sequence[str], code: DeviceCode, cancelled: Callable[[], bool]
) -> TokenDocument:
    """Asks until somebody has typed the code; raises SignInError if that does not happen."""
    interval, end = code.interval, time.monotonic() + code.seconds
    while True:
        _rest(min(interval, max(end - time.monotonic(), 0)), cancelled)
        if time.monotonic() >= end:
            raise SignInCancelled("nobody typed the code in time", hint="Try again.")
        reply, masks = post_grant(oauth2, _GRANT, SECONDS, device_code=code.device_code)
        error = reply.table().get("error")
        if error == "slow_down":
            interval = min(interval + 5, _LONGEST_INTERVAL)
        elif error == "expired_token":
            raise SignInCancelled("nobody typed the code in time", hint="Try again.")
        elif error != "authorization_pending":
            return read_tokens(reply, oauth2, scopes, masks)


def _rest(seconds: float, cancelled: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while True:
        if cancelled():
            raise SignInCancelled("the sign-in was cancelled")
        if (left := end - time.monotonic()) <= 0:
            return
        time.sleep(min(left, _TICK))


def _device_endpoint(oauth2: OAuth2) -> str:
    asked = provider_url(oauth2.authorize_url)
    origins = {asked.origin, provider_url(oauth2.token_url).origin}
    base = f"{asked.scheme}://{bracketed(asked.host)}:{asked.port}"
    for path in _DESCRIPTIONS:
        reply = fetch(f"{base}{path}")
        if reply.status != 200:
            continue
        try:
            named = reply.table().get("device_authorization_endpoint")
        except SignInError:
            continue  # a page for people
        if named is None:
            continue
        endpoint = _read(named)
        if endpoint is None or endpoint.origin not in origins:
            why = "the address that it names for this is not at a host of the connector's manifest"
            raise SignInError(f"{asked.host_port} offers no sign-in with a code that can be trusted", why)
        return str(endpoint)
    hint = "Sign in with the browser of this machine, or with --paste."
    raise SignInError(f"{asked.host_port} does not offer to sign in with a code", hint=hint)


def _read(named: object) -> Url | None:
    try:
        return read_url(named) if isinstance(named, str) else None
    except CallRefused:
        return None


def _read_code(table: JsonObject, reply: ProviderReply) -> DeviceCode:
    user_code, device_code = table.get("user_code"), table.get("device_code")
    where = _read(table.get("verification_uri", table.get("verification_url")))  # Google has its own name for it
    if where is None or (where.scheme != "https" and not is_loopback(where)):
        raise reply.unexpected("the address to open is missing or not https")
    if not isinstance(user_code, str) or not _USER_CODE.fullmatch(user_code):
        raise reply.unexpected("the code to type is missing or has odd characters")
    if not isinstance(device_code, str) or not _DEVICE_CODE.fullmatch(device_code):
        raise reply.unexpected("the code of this device is missing")
    interval = _number(table.get("interval"), _FIRST_INTERVAL, _LONGEST_INTERVAL)
    seconds = _number(table.get("expires_in"), _LONGEST_WAIT, _LONGEST_WAIT)
    return DeviceCode(str(where), user_code, device_code, interval, seconds)


def _number(value: object, default: float, largest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return default
    return float(min(value, largest))  # a larger integer may be too large for a float
