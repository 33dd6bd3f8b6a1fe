"""A good decision is accepted; each way of spoiling it is refused by its own name."""

import base64
import json
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.dsse import Envelope as TheirEnvelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer._crypto_signer import CryptoSigner
from securesystemslib.signer._key import SSlibKey

from aileron_tui.core.decision import PAYLOAD_TYPE, PAYLOAD_TYPES, Statement, pae
from aileron_tui.core.jsontext import Json
from aileron_tui.core.times import timestamp
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import Envelope, read_envelope, sign, verify
from aileron_tui.signing.errors import EnvelopeRefused, RefusalReason
from aileron_tui.signing.key_store import UnlockedKey
from tests.signing.decisions import DIGEST, INSTANCE, NOW, REQUEST, approvers, key, statement


def check(data: bytes | Json, keys: Approvers, now: datetime = NOW, used: str = "") -> Statement:
    return verify(
        data,
        keys,
        now=now,
        instance=INSTANCE,
        request=REQUEST,
        digest=DIGEST,
        seen_nonce=lambda nonce: nonce == used,
    )


def refusal(data: bytes | Json, keys: Approvers, now: datetime = NOW, used: str = "") -> RefusalReason:
    with pytest.raises(EnvelopeRefused) as caught:
        check(data, keys, now, used)
    return caught.value.reason


def test_a_good_decision_returns_what_was_signed() -> None:
    laptop = key()
    signed = sign(statement(edits={"to": "a@example.com"}, reason="fine"), laptop)
    assert check(signed.encode(), approvers(laptop)) == statement(edits={"to": "a@example.com"}, reason="fine")
    assert check(signed.fields(), approvers(laptop)).reason == "fine"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"instance": "gate-2"}, RefusalReason.WRONG_INSTANCE),
        ({"request": "act-2"}, RefusalReason.WRONG_REQUEST),
        ({"digest": "sha256:" + "d2" * 32}, RefusalReason.DIGEST_DIFFERS),
        ({"expires": timestamp(NOW)}, RefusalReason.EXPIRED),
        ({"time": timestamp(NOW + timedelta(seconds=6))}, RefusalReason.NOT_YET_VALID),
        ({"expires": timestamp(NOW + timedelta(days=1))}, RefusalReason.MALFORMED),
        ({"expires": timestamp(NOW - timedelta(seconds=1))}, RefusalReason.MALFORMED),
        ({"time": "2026-02-30T10:15:30.000000Z"}, RefusalReason.MALFORMED),
        ({"nonce": "short"}, RefusalReason.MALFORMED),
        ({"head": "sha256:zz"}, RefusalReason.MALFORMED),
    ],
)
def test_a_signed_statement_that_does_not_fit_is_refused(changes: dict[str, object], reason: RefusalReason) -> None:
    laptop = key()
    assert refusal(sign(statement(**changes), laptop).encode(), approvers(laptop)) is reason


def test_a_little_clock_skew_is_forgiven() -> None:
    laptop = key()
    check(sign(statement(time=timestamp(NOW + timedelta(seconds=4))), laptop).encode(), approvers(laptop))


def test_a_nonce_serves_once() -> None:
    laptop = key()
    data = sign(statement(), laptop).encode()
    assert refusal(data, approvers(laptop), used=statement().nonce) is RefusalReason.REPLAYED


def test_time_passes() -> None:
    laptop = key()
    data = sign(statement(), laptop).encode()
    assert refusal(data, approvers(laptop), now=NOW + timedelta(seconds=60)) is RefusalReason.EXPIRED


def test_keys_must_be_enrolled_and_not_revoked() -> None:
    laptop, other = key(), key("other")
    data = sign(statement(), laptop).encode()
    assert refusal(data, approvers(other)) is RefusalReason.UNKNOWN_KEY
    assert refusal(data, approvers(laptop, revoked=timestamp(NOW))) is RefusalReason.REVOKED_KEY


def test_another_keys_signature_does_not_pass_under_a_good_name() -> None:
    laptop, other = key(), key("other")
    forged = sign(statement(), other)
    data = Envelope(forged.payload, forged.type, laptop.public.fingerprint, forged.signature).encode()
    assert refusal(data, approvers(laptop, other)) is RefusalReason.BAD_SIGNATURE


def test_a_signature_for_another_type_does_not_pass() -> None:
    laptop = key()
    payload = statement().payload()
    signature = laptop.sign(pae("text/plain", payload))
    assert refusal(
        Envelope(payload, "text/plain", laptop.public.fingerprint, signature).encode(), approvers(laptop)
    ) is (RefusalReason.WRONG_TYPE)
    relabelled = Envelope(payload, PAYLOAD_TYPE, laptop.public.fingerprint, signature)
    assert refusal(relabelled.encode(), approvers(laptop)) is RefusalReason.BAD_SIGNATURE


def test_a_decision_of_version_1_is_still_accepted() -> None:
    laptop = key()
    signed = sign(statement(version=1), laptop)
    assert signed.type == PAYLOAD_TYPES[1]
    assert check(signed.encode(), approvers(laptop)) == statement(version=1)


@pytest.mark.parametrize(("version", "type_"), [(1, PAYLOAD_TYPES[2]), (2, PAYLOAD_TYPES[1])])
def test_a_payload_under_the_type_of_another_version_is_refused(version: int, type_: str) -> None:
    laptop = key()
    payload = statement(version=version).payload()
    signed = Envelope(payload, type_, laptop.public.fingerprint, laptop.sign(pae(type_, payload)))
    assert refusal(signed.encode(), approvers(laptop)) is RefusalReason.WRONG_TYPE
    original = sign(statement(version=version), laptop)
    relabelled = Envelope(original.payload, type_, original.keyid, original.signature)
    assert refusal(relabelled.encode(), approvers(laptop)) is RefusalReason.BAD_SIGNATURE


@pytest.mark.parametrize("type_", [PAYLOAD_TYPE, "application/vnd.aileron.decision.v3+json"])
def test_a_decision_of_a_newer_version_is_refused_with_advice(type_: str) -> None:
    laptop = key()
    payload = statement().payload().replace(b'"version":2', b'"version":3')
    signed = Envelope(payload, type_, laptop.public.fingerprint, laptop.sign(pae(type_, payload)))
    with pytest.raises(EnvelopeRefused, match=r"newer version of aileron-tui \(format 3;") as caught:
        check(signed.encode(), approvers(laptop))
    assert (caught.value.reason, caught.value.hint) == (RefusalReason.NEWER_FORMAT, "Update aileron-tui.")


def test_every_bit_of_the_signature_and_many_of_the_payload_matter() -> None:
    laptop = key()
    good = sign(statement(), laptop)
    keys = approvers(laptop)
    for position in range(len(good.signature) * 8):
        spoilt = bytearray(good.signature)
        spoilt[position // 8] ^= 1 << position % 8
        data = Envelope(good.payload, good.type, good.keyid, bytes(spoilt)).fields()
        assert refusal(data, keys) is RefusalReason.BAD_SIGNATURE
    for position in range(0, len(good.payload), 7):
        changed = bytearray(good.payload)
        changed[position] ^= 1
        assert refusal(Envelope(bytes(changed), good.type, good.keyid, good.signature).fields(), keys) is (
            RefusalReason.BAD_SIGNATURE
        )


def _twice(fields: dict[str, Json]) -> dict[str, Json]:
    signatures = fields["signatures"]
    assert isinstance(signatures, list)
    return fields | {"signatures": [*signatures, *signatures]}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda fields: fields | {"signatures": []},
        _twice,
        lambda fields: fields | {"signatures": [{"sig": "AA=="}]},
        lambda fields: fields | {"signatures": [{"keyid": 1, "sig": "AA=="}]},
        lambda fields: fields | {"payload": None},
        lambda fields: fields | {"payload": "%%%"},
        lambda fields: {name: value for name, value in fields.items() if name != "payloadType"},
        lambda fields: [fields],
    ],
)
def test_a_malformed_envelope_is_refused(spoil: Callable[[dict[str, Json]], Json]) -> None:
    laptop = key()
    data = json.dumps(spoil(sign(statement(), laptop).fields())).encode()
    assert refusal(data, approvers(laptop)) is RefusalReason.MALFORMED


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b'{"payload":"","payload":""}', b"[" * 1000, b" " * 3_000_000])
def test_bytes_that_are_no_envelope_are_refused(data: bytes) -> None:
    assert refusal(data, approvers()) is RefusalReason.MALFORMED


def test_a_signed_payload_that_is_no_statement_is_refused() -> None:
    laptop = key()
    for payload in (
        b"{}",
        b"null",
        statement().payload().replace(b'"approve"', b'"maybe"'),
        statement().payload() + b" ",
    ):
        signed = Envelope(payload, PAYLOAD_TYPE, laptop.public.fingerprint, laptop.sign(pae(PAYLOAD_TYPE, payload)))
        assert refusal(signed.encode(), approvers(laptop)) is RefusalReason.MALFORMED


def test_url_safe_base64_is_read_too() -> None:
    laptop = key()
    good = sign(statement(), laptop)
    fields: dict[str, Json] = {
        "payload": base64.urlsafe_b64encode(good.payload).decode(),
        "payloadType": good.type,
        "signatures": [{"keyid": good.keyid, "sig": base64.urlsafe_b64encode(good.signature).decode()}],
    }
    assert read_envelope(fields) == good


def _theirs(laptop: UnlockedKey) -> SSlibKey:
    return SSlibKey(laptop.public.fingerprint, "ed25519", "ed25519", {"public": laptop.public.raw.hex()})


def test_securesystemslib_verifies_ours() -> None:
    laptop, other = key(), key("other")
    ours = TheirEnvelope.from_dict(json.loads(sign(statement(), laptop).encode()))
    assert list(ours.verify([_theirs(laptop)], 1)) == [laptop.public.fingerprint]
    with pytest.raises(VerificationError):
        ours.verify([_theirs(other)], 1)


def test_we_verify_what_securesystemslib_signs() -> None:
    private = Ed25519PrivateKey.generate()
    laptop = UnlockedKey("laptop", private, insecure=False)
    theirs = TheirEnvelope(statement().payload(), PAYLOAD_TYPE, {})
    theirs.sign(CryptoSigner(private, _theirs(laptop)))
    data = json.dumps(theirs.to_dict()).encode()
    assert check(data, approvers(laptop)) == statement()
    theirs.payload = statement(reason="other").payload()
    assert refusal(json.dumps(theirs.to_dict()).encode(), approvers(laptop)) is RefusalReason.BAD_SIGNATURE
