"""What others sign, send or release: assertions of security keys, envelopes, answers of providers, archives."""

import gzip
import hashlib
import io
import json
import tarfile
from contextlib import suppress
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aileron_tui.accounts.device_sign_in import _read_code
from aileron_tui.accounts.oauth_tokens import read_tokens
from aileron_tui.accounts.provider_http import ProviderReply, SignInError
from aileron_tui.accounts.sign_in_answer import SignInAttempt
from aileron_tui.core.connector import OAuth2
from aileron_tui.core.decision import challenge
from aileron_tui.packages.archive import ArchivedAction, read_archive
from aileron_tui.sandbox.connector_package import PackageError
from aileron_tui.sandbox.credential_injection import SecretMasks
from aileron_tui.sandbox.network_grant import Url
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.assertion import CONSOLE_ORIGIN, Assertion, check_assertion, is_page_origin
from aileron_tui.signing.envelope import opened, read_envelope
from aileron_tui.signing.errors import EnvelopeRefused
from aileron_tui.signing.security_key import EDDSA, SecurityKey
from tests.fuzz.target import Target
from tests.ledger.test_old_formats import FIXTURES
from tests.packages.made_packages import archive as packed
from tests.signing.security_keys import PRESENT, VERIFIED, SoftwareKey, spki_of

_PRIVATE: Final = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
_KEY: Final = SecurityKey(b"credential", EDDSA, spki_of(_PRIVATE))
_SIGNED: Final = b"what was to be signed"
_HEAD: Final = 37
"""Bytes of authenticator data without extensions."""

_SENT: Final = "rt-7d1f5b8e0c"
_STATE: Final = "s" * 43
_OAUTH2: Final = OAuth2("https://accounts.example/auth", "https://accounts.example/token", "client", ("mail", "read"))
_URL: Final = Url("https", "accounts.example", 443, "/token")
_ATTEMPT: Final = SignInAttempt(_OAUTH2, "http://127.0.0.1:5000/callback", _STATE, "v" * 64, "")
_REDIRECT: Final = "http://127.0.0.1:5000/callback?"
_BLOCK: Final = 512


def assertion(data: bytes) -> None:
    """An assertion counts only with the right challenge, a known origin, and somebody who touched the key.

    The first byte says whether the key really signs the rest, or whether the end of the rest is the signature.
    """
    really, said, rest = data[:1] != b"\0", data[1 : 1 + _HEAD], data[1 + _HEAD :]
    client, signature = (rest, b"") if really else (rest[:-64], rest[-64:])
    if really:
        signature = _PRIVATE.sign(said + hashlib.sha256(client).digest())
    try:
        checked = check_assertion(_KEY, Assertion(said, client), signature, _SIGNED)
    except EnvelopeRefused:
        return
    assert really
    assert said[32] & PRESENT
    assert said[32] & VERIFIED
    assert said[:32] == hashlib.sha256(b"localhost").digest()
    assert checked.origin == CONSOLE_ORIGIN or is_page_origin(checked.origin)
    fields = json.loads(client)
    assert fields["origin"] == checked.origin
    assert challenge(_SIGNED, checked.nonce)[:32] == checked.nonce


def envelope(data: bytes) -> None:
    """An envelope is read or refused, and nobody's key opens it."""
    try:
        found = read_envelope(data)
    except EnvelopeRefused:
        return
    try:
        opened(found, Approvers())
    except EnvelopeRefused:
        return
    raise AssertionError("an envelope was opened without a key")


def oauth_answer(data: bytes) -> None:
    """An answer of a provider gives a usable token or a clear error, which has nothing secret in it."""
    status = 200 if not data or data[0] % 2 else 400
    reply = ProviderReply(_URL, status, "application/json", data[1:])
    masks = SecretMasks()
    masks.add(_SENT)
    shown = ""
    try:
        found = read_tokens(reply, _OAUTH2, _OAUTH2.scopes, masks)
    except SignInError as error:
        shown = f"{error} {error.hint}"
    else:
        token, scopes = found["access_token"], found["scopes"]
        assert isinstance(token, str)
        assert token.isascii()
        assert token.isprintable()
        assert isinstance(scopes, list)
        assert set(map(str, scopes)) <= set(_OAUTH2.scopes)
    assert _SENT not in shown
    with suppress(SignInError):
        code = _read_code(reply.table(), reply)
        assert 0 < code.interval <= 60
        assert 0 < code.seconds <= 3600


def sign_in_answer(data: bytes) -> None:
    """A code counts only with the state of this sign-in, or pasted alone."""
    text = data.decode("utf-8", "surrogateescape")
    for query in (text, f"state={_STATE}&{text}"):
        with suppress(SignInError):
            assert _ATTEMPT.code(query).isascii()
            assert _STATE in query or "%" in query
        for pasted in (query, _REDIRECT + query):
            with suppress(SignInError):
                assert _ATTEMPT.pasted_code(pasted).isascii()


def archive(data: bytes) -> None:
    """A release archive is refused, or another reader of archives finds the same files in it.

    The first byte says how much of it is damaged: all, the tar, or the tar but not the checksums of its headers.
    """
    how, rest = data[:1], data[1:]
    if how != b"\0":
        tar = _with_checksums(rest) if how == b"\1" else rest
        rest = gzip.compress(tar, 1, mtime=0)
    try:
        found = read_archive(rest, "aileron.tar.gz")
    except PackageError:
        return
    if isinstance(found, ArchivedAction):
        ours = {"action.md": found.data, "signature.sig": found.signature}
    else:
        ours = {"manifest.toml": found.manifest, "signature.sig": found.signature, "connector": found.wasm}
    theirs = {}
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(rest))) as opened_tar:
        for member in opened_tar:
            file = opened_tar.extractfile(member)
            if file:
                name = member.name.removeprefix("./")
                theirs["connector" if name.startswith("connector.") else name] = file.read()
    assert theirs == {name: content for name, content in ours.items() if content is not None}


def _with_checksums(tar: bytes) -> bytes:
    """A tar in which the checksum of each header is right, so that what is behind it is read."""
    made, at = bytearray(tar), 0
    while at + _BLOCK <= len(made):
        header = made[at : at + _BLOCK]
        if any(header):
            total = sum(header) - sum(header[148:156]) + 8 * ord(" ")
            made[at + 148 : at + 156] = b"%06o\0 " % total
        size = bytes(header[124:136]).strip(b" \0")
        body = int(size, 8) if size and not size.strip(b"01234567") else 0
        at += _BLOCK + -(-body // _BLOCK) * _BLOCK
    return bytes(made)


def _assertions() -> list[bytes]:
    key = SoftwareKey(EDDSA)
    made = []
    for fields in ({}, {"origin": "http://localhost:8765"}, {"crossOrigin": True}, {"flags": 0}):
        found, signature = key.assertion(challenge(_SIGNED, b"n" * 32), **fields)
        whole = found.authenticator_data + found.client_data
        made += [b"\1" + whole, b"\0" + whole + signature]
    return made


def _archives() -> list[bytes]:
    connector = {"connector.wasm": b"\0asm\x01\0\0\0", "manifest.toml": b"[connector]\n", "signature.sig": b"s" * 64}
    made = [packed(connector), packed({"action.md": b"+++\n+++\n"})]
    tars = [gzip.decompress(data)[:8192] for data in made]
    return [*(b"\0" + data for data in made), *(b"\1" + tar for tar in tars), *(b"\2" + tar for tar in tars)]


def _envelopes() -> list[bytes]:
    return (FIXTURES / "v5" / "gate.envelopes.jsonl").read_bytes().splitlines()


_TOKENS: Final = (
    b'\1{"access_token": "at-1", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "r", "scope": "read"}',
    b'\0{"error": "invalid_grant", "error_description": "the token rt-7d1f5b8e0c is expired"}',
    b'\1{"device_code": "d", "user_code": "ABCD-EFGH", "verification_uri": "https://a.example/d", "interval": 5}',
)
_ANSWERS: Final = (
    b"code=4%2F0abc&state=" + _STATE.encode() + b"&iss=https%3A%2F%2Faccounts.example",
    b"error=access_denied&error_description=no%20thanks",
    b"code=%ff&iss=http://[::1]:99999/",
)

TARGETS: Final = {
    "assertion": Target(assertion, _assertions),
    "envelope": Target(envelope, _envelopes),
    "oauth-answer": Target(oauth_answer, lambda: _TOKENS),
    "sign-in-answer": Target(sign_in_answer, lambda: _ANSWERS),
    "archive": Target(archive, _archives),
}
