"""The token endpoint of a provider: what is sent to it, and what of its answer is accepted.

An answer must have a bearer token and no more scopes than were asked for. Tokens appear in no error, not even if the
provider repeats them in one.
"""

import re
import time
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from aileron_tui.accounts.provider_http import SECONDS, ProviderReply, SignInAgain, SignInError, fetch
from aileron_tui.core.connector import OAuth2
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.visible_text import short
from aileron_tui.files.extras import install_command
from aileron_tui.sandbox.credential_injection import SecretMasks

TokenDocument: TypeAlias = JsonObject
"""What is stored for an OAuth account: kind, tokens, when they expire, client, token URL and scopes."""

_LONGEST_TOKEN: Final = 16 * 1024
_LONGEST_LIFETIME: Final = 10 * 366 * 86_400
_SHOWN: Final = 200
_BEARER: Final = frozenset({"bearer", "bot"})  # Slack calls the bearer token of an app "bot"
_ERROR_CODE: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_AGAIN: Final = "Sign in again."


def check_installed() -> None:
    """Refuses if the library for signing in is not installed."""
    try:
        import oauthlib  # noqa: F401, PLC0415  # only who signs in needs it
    except ImportError:
        hint = f"Install it with `{install_command('accounts')}`."
        raise SignInError("signing in needs the accounts extra", "oauthlib is not installed", hint) from None


def request_token(
    oauth2: OAuth2, scopes: Sequence[str], grant: str, seconds: float = SECONDS, **fields: str
) -> TokenDocument:
    """Exchanges a grant for tokens and returns what is to be stored; raises SignInError."""
    reply, masks = post_grant(oauth2, grant, seconds, **fields)
    return read_tokens(reply, oauth2, scopes, masks)


def renewed(oauth2: OAuth2, document: TokenDocument, seconds: float = SECONDS) -> TokenDocument:
    """Returns a document with new tokens; raises SignInAgain if the provider wants a person, else SignInError."""
    refresh_token = document.get("refresh_token")
    if not isinstance(refresh_token, str) or not refresh_token:
        why = "the provider gave no token that could renew it"
        raise SignInAgain("the sign-in has expired", why, _AGAIN)
    stored = document.get("scopes")
    scopes = tuple(str(scope) for scope in stored) if isinstance(stored, list) else oauth2.scopes
    reply, masks = post_grant(oauth2, "refresh_token", seconds, refresh_token=refresh_token)
    made = read_tokens(reply, oauth2, scopes, masks)
    return made if made["refresh_token"] else {**made, "refresh_token": refresh_token}


def post_grant(oauth2: OAuth2, grant: str, seconds: float, **fields: str) -> tuple[ProviderReply, SecretMasks]:
    """Sends a grant to the token endpoint. Returns its reply and the masks for what was sent."""
    check_installed()
    from oauthlib.oauth2.rfc6749.parameters import prepare_token_request  # noqa: PLC0415

    masks = SecretMasks()
    for secret in (oauth2.client_secret, *fields.values()):
        masks.add(secret)
    extra: dict[str, Any] = {"client_secret": oauth2.client_secret} if oauth2.client_secret else {}
    form = prepare_token_request(grant, client_id=oauth2.client_id, **extra, **fields)
    return fetch(oauth2.token_url, form, seconds), masks


def read_tokens(reply: ProviderReply, oauth2: OAuth2, scopes: Sequence[str], masks: SecretMasks) -> TokenDocument:
    """Reads an answer of the token endpoint; raises SignInError for all that is not a usable token."""
    table = reply.table()
    for name in ("access_token", "refresh_token"):
        if isinstance(token := table.get(name), str):
            masks.add(token)
    if table.get("error") is not None:
        raise provider_error(table, masks)
    if reply.status != 200:
        raise reply.unexpected(f"{reply.url.host_port} answered {reply.status}")
    kind = table.get("token_type")
    if not isinstance(kind, str) or kind.lower() not in _BEARER:
        named = f'of the type "{short(masks.mask_text(kind), 40)}"' if isinstance(kind, str) else "without a type"
        raise SignInError(f"{reply.url.host_port} sent a token {named}", "only bearer tokens can be used")
    access_token = _token(table, "access_token", reply)
    if not access_token:
        raise reply.unexpected("its answer has no access_token")
    return {
        "kind": "oauth2",
        "access_token": access_token,
        "refresh_token": _token(table, "refresh_token", reply),
        "expires_at": _expiry(table.get("expires_in"), reply),
        "token_type": "Bearer",
        "client_id": oauth2.client_id,
        "token_url": oauth2.token_url,
        "scopes": list(_granted(table.get("scope"), scopes, reply, masks)),
    }


def provider_error(table: JsonObject, masks: SecretMasks) -> SignInError:
    """What a provider reported as an error, with nothing secret in it."""
    code, description = table.get("error"), table.get("error_description")
    name = code if isinstance(code, str) and _ERROR_CODE.fullmatch(code) else "an error that it does not name"
    said = masks.mask_text(description).strip() if isinstance(description, str) else ""
    detail = name + (f": {short(said, _SHOWN)}" if said else "")
    if name == "invalid_grant":
        return SignInAgain("the provider no longer accepts this sign-in", detail, _AGAIN)
    if name == "access_denied":
        return SignInError("the provider was told not to allow this", detail, "Sign in again if that was a mistake.")
    hint = "Check the client in the connector's manifest." if name in _CLIENT_ERRORS else "Try again."
    return SignInError("the provider refused the sign-in", detail, hint)


_CLIENT_ERRORS: Final = frozenset({"invalid_client", "unauthorized_client", "invalid_scope", "unsupported_grant_type"})


def _token(table: JsonObject, key: str, reply: ProviderReply) -> str:
    value = table.get(key)
    if value is None or value == "":
        return ""
    if not isinstance(value, str) or len(value) > _LONGEST_TOKEN or not _is_plain(value):
        raise reply.unexpected(f"its {key} is not a token")
    return value


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


def _expiry(value: object, reply: ProviderReply) -> int | None:
    """When the token expires, or None if the provider does not say. Some write the number as text."""
    if value is None:
        return None
    seconds = int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 12 else value
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < float("inf"):
        raise reply.unexpected("its expires_in is not a number of seconds")
    return int(time.time() + min(seconds, _LONGEST_LIFETIME))


def _granted(value: object, asked: Sequence[str], reply: ProviderReply, masks: SecretMasks) -> tuple[str, ...]:
    """The scopes that were granted: those that were asked for unless the provider names fewer. More are refused."""
    if value is None or value == "":
        return tuple(asked)
    if not isinstance(value, str) or len(value) > _LONGEST_TOKEN:
        raise reply.unexpected("its scope is not text")
    # Some providers separate scopes by commas.
    names = value.split() if any("," in scope for scope in asked) else value.replace(",", " ").split()
    granted = tuple(dict.fromkeys(names))
    more = [scope for scope in granted if scope not in asked]
    if more:
        why = f"{short(masks.mask_text(', '.join(more)), _SHOWN)} was not asked for"
        hint = "Remove the access that this program was given before at the provider, and sign in again."
        raise SignInError(f"{reply.url.host_port} granted more than was asked for", why, hint)
    return granted
