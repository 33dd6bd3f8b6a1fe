"""Assertions of security keys: good ones count, and every field of one, spoiled once, is refused."""

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from aileron_tui.core.decision import challenge, pae
from aileron_tui.core.jsontext import canonical
from aileron_tui.signing.approvers import Approver, Approvers, approver_lines, read_approver_lines
from aileron_tui.signing.assertion import CONSOLE_ORIGIN
from aileron_tui.signing.envelope import Envelope, check_envelope, opened, read_envelope, sign
from aileron_tui.signing.errors import EnvelopeRefused, KeyFault, RefusalReason
from aileron_tui.signing.public_key import PublicKey, read_public
from aileron_tui.signing.security_key import ALGORITHMS, EDDSA, ES256, RS256, SecurityKey
from tests.signing import decisions
from tests.signing.decisions import statement
from tests.signing.security_keys import (
    ATTESTED,
    BACKED_UP,
    ELIGIBLE,
    EXTENDED,
    PAGE,
    PRESENT,
    VERIFIED,
    SoftwareKey,
    spki_of,
)

KEY = SoftwareKey()
STATEMENT = statement()
SIGNED = pae(STATEMENT.payload_type, STATEMENT.payload())


def enrolled(key: SoftwareKey = KEY, **changes: Any) -> Approvers:
    approver = Approver("yubi", key.public, "2026-05-12T10:00:00.000000Z")
    return Approvers({key.public.fingerprint: replace(approver, **changes)})


def refusal(envelope: Envelope, keys: Approvers | None = None) -> RefusalReason:
    with pytest.raises(EnvelopeRefused) as refused:
        opened(read_envelope(envelope.encode()), keys or enrolled())
    return refused.value.reason


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_assertion_counts_as_a_signature(algorithm: int) -> None:
    key = SoftwareKey(algorithm)
    keys = read_approver_lines("\n".join(approver_lines(enrolled(key))))
    envelope = read_envelope(key.sign(STATEMENT, flags=PRESENT | VERIFIED | ELIGIBLE | BACKED_UP).encode())
    assert opened(envelope, keys) == STATEMENT
    approver, said = check_envelope(envelope, keys)
    assert approver.name == "yubi"
    assert said is not None
    assert (said.origin, said.nonce, said.counter, said.on_page) == (CONSOLE_ORIGIN, b"n" * 32, 1, False)
    assert (said.backup_eligible, said.backed_up) == (True, True)


def test_the_page_is_recognised_by_its_origin() -> None:
    on_page = statement(surface="page")
    assert opened(KEY.sign(on_page, origin=PAGE), enrolled()) == on_page
    assert refusal(KEY.sign(on_page)) is RefusalReason.WRONG_ORIGIN
    assert refusal(KEY.sign(STATEMENT, origin=PAGE)) is RefusalReason.WRONG_ORIGIN


@pytest.mark.parametrize("part", ["payload", "sig", "authenticatorData", "clientDataJSON"])
def test_every_bit_of_an_assertion_counts(part: str) -> None:
    envelope = KEY.sign(STATEMENT)
    assertion = envelope.assertion
    assert assertion is not None
    parts = {
        "payload": envelope.payload,
        "sig": envelope.signature,
        "authenticatorData": assertion.authenticator_data,
        "clientDataJSON": assertion.client_data,
    }
    data, keys = parts[part], enrolled()
    for place in range(len(data)):
        spoiled = bytearray(data)
        spoiled[place] ^= 1 << place % 8
        bad = parts | {part: bytes(spoiled)}
        one = replace(
            envelope,
            payload=bad["payload"],
            signature=bad["sig"],
            assertion=replace(
                assertion, authenticator_data=bad["authenticatorData"], client_data=bad["clientDataJSON"]
            ),
        )
        with pytest.raises(EnvelopeRefused):
            opened(one, keys)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"type": "webauthn.create"}, RefusalReason.MALFORMED),
        ({"type": None}, RefusalReason.MALFORMED),
        ({"challenged": challenge(SIGNED + b" ", b"n" * 32)}, RefusalReason.BAD_SIGNATURE),
        ({"challenged": challenge(SIGNED, b"n" * 32)[32:]}, RefusalReason.MALFORMED),
        ({"challenged": b"x" + challenge(SIGNED, b"n" * 32)}, RefusalReason.MALFORMED),
        ({"challenge": None}, RefusalReason.MALFORMED),
        ({"challenge": base64.b64encode(challenge(SIGNED, b"\xff" * 32)).decode()}, RefusalReason.MALFORMED),
        ({"challenge": base64.urlsafe_b64encode(challenge(SIGNED, b"n" * 32)).decode()}, RefusalReason.MALFORMED),
        ({"challenge": 1}, RefusalReason.MALFORMED),
        ({"crossOrigin": True}, RefusalReason.WRONG_ORIGIN),
        ({"crossOrigin": "false"}, RefusalReason.WRONG_ORIGIN),
        ({"topOrigin": "https://evil.example"}, RefusalReason.WRONG_ORIGIN),
        ({"origin": "https://evil.example"}, RefusalReason.WRONG_ORIGIN),
        ({"origin": "https://localhost:8765"}, RefusalReason.WRONG_ORIGIN),
        ({"origin": "http://localhost"}, RefusalReason.WRONG_ORIGIN),
        ({"origin": "http://localhost:08765"}, RefusalReason.WRONG_ORIGIN),
        ({"origin": "http://localhost:65536"}, RefusalReason.WRONG_ORIGIN),
        ({"origin": "http://localhost:8765/"}, RefusalReason.WRONG_ORIGIN),
        ({"origin": "http://127.0.0.1:8765"}, RefusalReason.WRONG_ORIGIN),
        ({"origin": "http://localhost.evil.example:8765"}, RefusalReason.WRONG_ORIGIN),
        ({"origin": None}, RefusalReason.WRONG_ORIGIN),
        ({"rp_id": "evil.example"}, RefusalReason.WRONG_ORIGIN),
        ({"flags": VERIFIED}, RefusalReason.NOT_VERIFIED),
        ({"flags": PRESENT}, RefusalReason.NOT_VERIFIED),
        ({"flags": 0}, RefusalReason.NOT_VERIFIED),
        ({"flags": PRESENT | VERIFIED | BACKED_UP}, RefusalReason.MALFORMED),
        ({"flags": PRESENT | VERIFIED | ATTESTED, "more": b"x" * 40}, RefusalReason.MALFORMED),
        ({"flags": PRESENT | VERIFIED | EXTENDED}, RefusalReason.MALFORMED),
        ({"more": b"x"}, RefusalReason.MALFORMED),
        ({"flags": PRESENT | VERIFIED | EXTENDED, "more": b"x" * 2000}, RefusalReason.MALFORMED),
        ({"padding": "x" * 5000}, RefusalReason.MALFORMED),
        ({"client": b"[]"}, RefusalReason.MALFORMED),
        ({"client": b'{"type": "webauthn.get", "type": "webauthn.get"}'}, RefusalReason.MALFORMED),
        ({"client": b"\xff"}, RefusalReason.MALFORMED),
        ({"client": b""}, RefusalReason.MALFORMED),
    ],
)
def test_what_the_key_signed_for_something_else_is_refused(options: dict[str, Any], reason: RefusalReason) -> None:
    assert refusal(KEY.sign(STATEMENT, **options)) is reason


def test_browsers_may_say_more() -> None:
    extended = KEY.sign(STATEMENT, flags=PRESENT | VERIFIED | EXTENDED, more=b"\xa0", crossOrigin=None, other_key="x")
    assert opened(extended, enrolled()) == STATEMENT


def test_an_assertion_is_that_of_one_key_and_one_statement() -> None:
    other = SoftwareKey()
    both = Approvers(enrolled() | enrolled(other))
    good = KEY.sign(STATEMENT)
    assert refusal(replace(good, keyid=other.public.fingerprint), both) is RefusalReason.BAD_SIGNATURE
    assert refusal(good, enrolled(other)) is RefusalReason.UNKNOWN_KEY
    assert refusal(good, enrolled(revoked="2026-05-12T11:00:00.000000Z")) is RefusalReason.REVOKED_KEY
    changed = statement(reason="other")
    assert refusal(replace(good, payload=changed.payload())) is RefusalReason.BAD_SIGNATURE
    assert refusal(replace(good, type="application/vnd.aileron.decision+json")) is RefusalReason.BAD_SIGNATURE


def test_each_kind_of_key_signs_in_its_own_way() -> None:
    plain = KEY.signature(SIGNED)
    without = Envelope(STATEMENT.payload(), STATEMENT.payload_type, KEY.public.fingerprint, plain)
    assert refusal(without) is RefusalReason.BAD_SIGNATURE
    laptop = decisions.key()
    with_assertion = replace(sign(STATEMENT, laptop), assertion=KEY.sign(STATEMENT).assertion)
    assert refusal(with_assertion, decisions.approvers(laptop)) is RefusalReason.BAD_SIGNATURE


@pytest.mark.parametrize("name", ["authenticatorData", "clientDataJSON"])
def test_half_an_assertion_is_refused(name: str) -> None:
    fields = json.loads(KEY.sign(STATEMENT).encode())
    del fields["signatures"][0][name]
    with pytest.raises(EnvelopeRefused, match="not complete"):
        read_envelope(canonical(fields))


def test_a_line_is_read_back() -> None:
    line = KEY.public.line("yubi")
    assert line.startswith("webauthn ")
    assert line.endswith(" yubi")
    assert read_public(line) == KEY.public
    assert KEY.public.fingerprint.startswith("WEBAUTHN:")
    others = (replace(KEY.public, credential=b"other"), SoftwareKey().public)
    assert all(other.fingerprint != KEY.public.fingerprint for other in others)


@pytest.mark.parametrize("spoil", [lambda raw: raw[:-1], lambda raw: raw + b"x", lambda raw: b"", lambda raw: raw * 2])
def test_a_line_that_is_not_whole_is_refused(spoil: Any) -> None:
    raw = base64.b64decode(KEY.public.line().split()[1])
    with pytest.raises(KeyFault):
        read_public(f"webauthn {base64.b64encode(spoil(raw)).decode()} yubi")


def test_only_keys_that_can_be_trusted_are_read() -> None:
    good = KEY.public
    bad: list[dict[str, Any]] = [
        {"algorithm": -35},
        {"algorithm": EDDSA},
        {"credential": b""},
        {"credential": b"x" * 1024},
        {"spki": b""},
        {"spki": spki_of(ec.generate_private_key(ec.SECP384R1()))},
        {"rp_id": "example.com"},
        {"algorithm": EDDSA, "spki": bytes.fromhex("302a300506032b6570032100") + bytes(32)},
    ]
    for changes in bad:
        with pytest.raises(KeyFault):
            replace(good, **changes)
    off_the_curve = SecurityKey(b"x", ES256, good.spki[:27] + b"\x01" * 64)
    weak = SecurityKey(b"x", RS256, spki_of(rsa.generate_private_key(65537, 1024)))
    wrong = SecurityKey(b"x", RS256, good.spki)
    for key in (off_the_curve, weak, wrong):
        with pytest.raises(KeyFault):
            key.check()
        assert not key.accepts(b"", b"")


def test_a_security_key_is_not_a_key_of_this_machine() -> None:
    assert not isinstance(KEY.public, PublicKey)
    assert enrolled().security_keys[0].public == KEY.public
    assert decisions.approvers(decisions.key()).security_keys == ()
