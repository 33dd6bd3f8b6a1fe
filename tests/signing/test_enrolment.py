"""Who may approve follows from the entries, in their order."""

from itertools import product

import pytest

from aileron_tui.core.entry_chain import Damage, Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.key_change import needs_signature
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.errors import KeyFault
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.signing.decisions import key, statement


def entry(seq: int, kind: EntryKind, body: JsonObject) -> Entry:
    return Entry(seq, f"2026-05-12T10:15:{seq:02}.000000Z", kind, "", body)


def test_a_key_may_approve_from_enrolment_to_revocation() -> None:
    laptop, approvers = key(), Approvers()
    approvers.learn(entry(1, EntryKind.KEY_ENROLLED, approvers.enrolment("laptop", laptop.public)))
    assert [approver.name for approver in approvers.active] == ["laptop"]
    approvers.learn(entry(2, EntryKind.KEY_REVOKED, approvers.revocation("laptop")))
    assert not list(approvers.active)
    assert approvers[laptop.public.fingerprint].revoked == "2026-05-12T10:15:02.000000Z"
    approvers.learn(entry(3, EntryKind.KEY_ENROLLED, approvers.enrolment("laptop-again", laptop.public)))
    assert [approver.name for approver in approvers.active] == ["laptop-again"]


def test_decisions_are_judged_at_their_place_in_the_order() -> None:
    laptop, signers = key(), RecordedSigners()
    envelope = sign(statement(), laptop).fields()
    assert signers.check(envelope)[0] is Damage.KEY
    signers.learn(entry(1, EntryKind.KEY_ENROLLED, signers.approvers.enrolment("laptop", laptop.public)))
    assert signers.check(envelope) == (statement(), laptop.public.fingerprint)
    assert signers.check(envelope | {"payloadType": "text/plain"})[0] is Damage.SIGNATURE
    assert signers.check(None)[0] is Damage.SIGNATURE
    signers.learn(entry(2, EntryKind.KEY_REVOKED, signers.approvers.revocation("laptop")))
    assert signers.check(envelope)[0] is Damage.KEY


def test_names_and_keys_are_unique_among_those_who_may_approve() -> None:
    laptop, other, approvers = key(), key("other"), Approvers()
    approvers.learn(entry(1, EntryKind.KEY_ENROLLED, approvers.enrolment("laptop", laptop.public, insecure=True)))
    assert approvers.active[0].insecure
    with pytest.raises(KeyFault, match="already enrolled, as laptop"):
        approvers.enrolment("second", laptop.public)
    with pytest.raises(KeyFault, match="another key named laptop"):
        approvers.enrolment("laptop", other.public)
    with pytest.raises(KeyFault, match="invalid key name"):
        approvers.enrolment("../x", other.public)


def test_a_key_is_found_by_name_or_fingerprint() -> None:
    laptop, approvers = key(), Approvers()
    approvers.learn(entry(1, EntryKind.KEY_ENROLLED, approvers.enrolment("laptop", laptop.public)))
    assert approvers.named("laptop") == approvers.named(laptop.public.fingerprint)
    with pytest.raises(KeyFault, match="may approve here"):
        approvers.named("phone")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (EntryKind.KEY_ENROLLED, {}),
        (EntryKind.KEY_ENROLLED, {"name": "x", "key": "nonsense"}),
        (EntryKind.KEY_ENROLLED, {"name": "../x", "key": "ssh-ed25519 " + "A" * 68}),
        (EntryKind.KEY_REVOKED, {"fingerprint": "SHA256:never"}),
        (EntryKind.KEY_REVOKED, {}),
    ],
)
def test_a_senseless_key_change_is_refused(kind: EntryKind, body: JsonObject) -> None:
    with pytest.raises(KeyFault):
        Approvers.of([entry(1, kind, body)])


def test_after_the_first_key_every_change_must_be_signed() -> None:
    laptop, evil, approvers = key(), key("evil"), Approvers()
    approvers.learn(entry(1, EntryKind.KEY_ENROLLED, approvers.first_enrolment("laptop", laptop.public)))
    with pytest.raises(KeyFault, match="not signed"):
        approvers.learn(entry(2, EntryKind.KEY_ENROLLED, approvers.enrolment("evil", evil.public)))
    with pytest.raises(KeyFault, match="not signed"):
        approvers.learn(entry(2, EntryKind.KEY_ENROLLED, approvers.enrolment("evil", evil.public, temporary=True)))
    with pytest.raises(KeyFault, match="not signed"):
        approvers.learn(entry(2, EntryKind.KEY_REVOKED, approvers.revocation("laptop")))
    assert [approver.name for approver in approvers.active] == ["laptop"]


def test_a_temporary_key_that_was_left_behind_keeps_nobody_out() -> None:
    left, owner, approvers = key("left"), key(), Approvers()
    approvers.learn(entry(1, EntryKind.KEY_ENROLLED, approvers.enrolment("left", left.public, temporary=True)))
    assert not approvers.need_signature
    approvers.learn(entry(2, EntryKind.KEY_ENROLLED, approvers.first_enrolment("owner", owner.public)))
    assert approvers.need_signature


def test_the_ledger_and_its_readers_agree_on_when_a_signature_is_needed() -> None:
    keys = [key(name) for name in ("one", "two", "three")]
    for first, temporary, revoked in product((False, True), repeat=3):
        approvers, entries = Approvers(), list[Entry]()
        enrolment = approvers.first_enrolment if first else approvers.enrolment
        bodies: list[tuple[EntryKind, JsonObject]] = [
            (EntryKind.KEY_ENROLLED, approvers.enrolment("one", keys[0].public, temporary=temporary)),
            (EntryKind.KEY_ENROLLED, enrolment("two", keys[1].public)),
        ]
        if revoked and not first:
            bodies.append((EntryKind.KEY_REVOKED, {"fingerprint": keys[0].public.fingerprint}))
        for seq, (kind, body) in enumerate(bodies, 1):
            assert approvers.need_signature == needs_signature(entries)
            entries.append(entry(seq, kind, body))
            approvers.learn(entries[-1])
        assert approvers.need_signature == needs_signature(entries) == first
