"""The answer of a provider to a sign-in: the address that it sends the browser to, and what is accepted of it."""

import re
import secrets
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from aileron_tui.accounts.oauth_tokens import check_installed, provider_error
from aileron_tui.accounts.provider_http import SignInError, is_loopback, provider_url
from aileron_tui.core.connector import OAuth2
from aileron_tui.core.values import dataclass
from aileron_tui.sandbox.credential_injection import SecretMasks
from aileron_tui.sandbox.failure import CallRefused
from aileron_tui.sandbox.network_grant import read_url

CALLBACK_PATH: Final = "/callback"
LONGEST_ANSWER: Final = 8 * 1024

_MOST_FIELDS: Final = 50
_CODE: Final = re.compile(r"[!-~]{1,4096}")
_VERIFIER_LENGTH: Final = 64


class NotThisSignIn(SignInError):
    """An answer that was not made for this sign-in; the real one can still come."""


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """One sign-in with a state and a verifier of its own (PKCE). They appear in no text."""

    oauth2: OAuth2
    redirect_uri: str
    state: str
    verifier: str
    address: str

    def __repr__(self) -> str:
        return f"SignInAttempt({self.oauth2.client_id!r})"

    def code(self, query: str) -> str:
        """The code in the query of an answer. Raises NotThisSignIn if it is not ours, else SignInError."""
        fields = _fields(query)
        if not secrets.compare_digest(fields.get("state", "").encode(), self.state.encode()):
            why = "its state is not the one that was sent"
            raise NotThisSignIn("an answer that does not belong to this sign-in was ignored", why)
        self._check_issuer(fields.get("iss"))
        if "error" in fields:
            raise provider_error(dict(fields), SecretMasks())
        code = fields.get("code", "")
        if not _CODE.fullmatch(code):
            raise SignInError("the provider's answer has no code", hint="Sign in again.")
        return code

    def pasted_code(self, text: str) -> str:
        """The code in what a person pasted: the address that the browser ended at, or the code alone.

        A code alone has no state. It is still bound to this sign-in, by the verifier that only we have.
        """
        text = text.strip()
        if len(text) > LONGEST_ANSWER:
            raise NotThisSignIn("that is too long for an address or a code")
        if "://" not in text:
            if not _CODE.fullmatch(text) or "code=" in text or "&" in text:
                raise NotThisSignIn("that is neither an address nor a code")
            return text
        address, _, query = text.partition("?")
        if address != self.redirect_uri:
            raise NotThisSignIn("that is not the address that this sign-in ends at", f"it begins {self.redirect_uri}?")
        return self.code(query)

    def _check_issuer(self, issuer: str | None) -> None:
        """A provider that names itself must be the one that was asked, or its code could be for another one."""
        if issuer is None:
            return
        try:
            named = read_url(issuer)
        except CallRefused:
            named = None
        asked = provider_url(self.oauth2.authorize_url)
        if named is None or named.origin != asked.origin:
            why = f"it does not come from {asked.host_port}"
            raise SignInError("the answer comes from another provider", why, "Do not sign in there.")


def new_attempt(oauth2: OAuth2, scopes: tuple[str, ...], port: int) -> SignInAttempt:
    """Begins a sign-in that ends at a port of this machine; raises SignInError if it cannot begin."""
    check_installed()
    from oauthlib.oauth2 import WebApplicationClient  # noqa: PLC0415  # only who signs in needs it

    authorize = provider_url(oauth2.authorize_url)
    redirect_uri = f"http://127.0.0.1:{port}{CALLBACK_PATH}"
    client = WebApplicationClient(oauth2.client_id)
    state, verifier = secrets.token_urlsafe(32), client.create_code_verifier(_VERIFIER_LENGTH)
    # The library refuses http, even on this machine, unless a variable allows it everywhere.
    local = authorize.scheme == "http" and is_loopback(authorize)
    address: str = client.prepare_request_uri(
        f"https{str(authorize)[4:]}" if local else str(authorize),
        redirect_uri=redirect_uri,
        scope=list(scopes),
        state=state,
        code_challenge=client.create_code_challenge(verifier, "S256"),
        code_challenge_method="S256",
    )
    return SignInAttempt(
        oauth2, redirect_uri, state, verifier, f"http{address.removeprefix('https')}" if local else address
    )


def _fields(query: str) -> dict[str, str]:
    """The fields of a query, each of them once. Anything else is not an answer of a provider."""
    try:
        query.encode()  # a terminal can pass on bytes that are not text
        pairs = parse_qsl(
            urlsplit(f"?{query}").query, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        pairs = []
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise NotThisSignIn("an answer that names something twice was ignored")
    return fields
