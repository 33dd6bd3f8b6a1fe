"""Entries, their bytes, and the chain over them."""

import hashlib
import json
from dataclasses import replace

import pytest

from aileron_tui.core.entry_chain import (
    GENESIS,
    BodyRemoved,
    ChainWalker,
    Damage,
    Entry,
    decode,
    encode,
    header,
    link,
)
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.formats import NewerFormat
from aileron_tui.core.jsontext import JsonError, canonical

Stored = tuple[int, bytes, str]


def entry(seq: int = 1, version: int = 2) -> Entry:
    return Entry(seq, "2026-05-12T10:15:30.000000Z", "request.made", f"act-{seq}", {"action": "send-draft"}, version)


def chain(length: int = 5, old: int = 0) -> list[Stored]:
    """A chain that begins with `old` entries of version 1."""
    head, stored = GENESIS, []
    for seq in range(1, length + 1):
        data = encode(entry(seq, 1 if seq <= old else 2))
        head = link(head, data)
        stored.append((seq, data, head))
    return stored


def first_fault(stored: list[Stored]) -> tuple[int, Damage] | None:
    walker = ChainWalker()
    for item in stored:
        if fault := walker.check(*item):
            return fault.seq, fault.damage
    return None


def test_a_good_chain_is_walked_to_its_head() -> None:
    stored, walker = chain(), ChainWalker()
    assert [walker.check(*item) for item in stored] == [None] * 5
    assert (walker.seq, walker.head) == (5, stored[-1][2])


def test_an_entry_survives_its_bytes() -> None:
    odd = Entry(1, "2026-05-12T10:15:30.000000Z", "gate.started", "", {"a": [1, None, {"b": "⟨"}]})
    assert decode(encode(odd)) == odd
    assert decode(encode(replace(odd, version=1))) == replace(odd, version=1)


def test_the_bytes_and_hash_of_version_1_never_change() -> None:
    data = encode(entry(version=1))
    assert data == (
        b'{"body":{"action":"send-draft"},"kind":"request.made","request":"act-1","seq":1,'
        b'"time":"2026-05-12T10:15:30.000000Z"}'
    )
    expected = hashlib.sha256(b"aileron ledger v1\n" + bytes(32) + data).hexdigest()
    assert link(GENESIS, data) == f"sha256:{expected}"


def test_the_hash_of_version_2_covers_the_digest_of_the_body() -> None:
    data = encode(entry())
    body = hashlib.sha256(b'{"action":"send-draft"}').hexdigest()
    expected = (
        f'{{"body":"sha256:{body}","kind":"request.made","request":"act-1","seq":1,'
        '"time":"2026-05-12T10:15:30.000000Z","version":2}'
    ).encode()
    assert header(data) == expected
    hashed = hashlib.sha256(b"aileron ledger v2\n" + bytes(32) + expected).hexdigest()
    assert link(GENESIS, data) == f"sha256:{hashed}"


@pytest.mark.parametrize("old", [0, 2, 5])
def test_a_chain_may_begin_with_version_1(old: int) -> None:
    stored, walker = chain(old=old), ChainWalker()
    assert [walker.check(*item) for item in stored] == [None] * 5
    assert walker.head == stored[-1][2]


@pytest.mark.parametrize("seq", [1, 3, 5])
def test_a_body_can_be_removed_without_breaking_the_chain(seq: int) -> None:
    stored, walker = chain(), ChainWalker()
    number, data, digest = stored[seq - 1]
    stored[seq - 1] = (number, header(data), digest)
    assert [walker.check(*item) for item in stored] == [None] * 5
    assert walker.head == stored[-1][2]
    assert header(header(data)) == header(data)
    removed = decode(header(data))
    assert (removed.body, removed.removed) == ({}, f"sha256:{hashlib.sha256(canonical(decode(data).body)).hexdigest()}")
    assert encode(removed) == header(data)
    with pytest.raises(BodyRemoved):
        decode(header(encode(replace(decode(data), kind=EntryKind.KEY_REVOKED))))


def test_another_body_or_header_in_the_place_of_a_removed_body_is_found() -> None:
    stored = chain()
    number, data, digest = stored[2]
    other = header(encode(replace(entry(3), body={"action": "send-drafd"})))
    later = header(data).replace(b"10:15:30", b"10:15:31")
    for changed in (other, later, data.replace(b"send-draft", b"send-drafd"), b'{"BODY":' + data[8:]):
        assert first_fault([*stored[:2], (number, changed, digest), *stored[3:]]) == (3, Damage.CHANGED)


@pytest.mark.parametrize("request_id", ['","kind":"x', ',"kind":"', '"},"kind":"x","request":"', "\\"])
def test_text_that_looks_like_the_end_of_a_body_is_part_of_its_field(request_id: str) -> None:
    odd = Entry(1, "t", request_id, request_id, {request_id: request_id, "x": [{"kind": request_id}]})
    data = encode(odd)
    assert decode(data) == odd
    body = canonical(odd.body)
    digest = hashlib.sha256(body).hexdigest()
    assert header(data) == data.replace(body, f'"sha256:{digest}"'.encode(), 1)


def test_version_1_cannot_pass_for_version_2() -> None:
    new, old = encode(entry()), encode(entry(version=1))
    assert link(GENESIS, new) != link(GENESIS, old)
    assert link(GENESIS, new[: -len(b',"version":2}')] + b"}") != link(GENESIS, new)


def test_an_entry_that_is_not_canonical_is_refused() -> None:
    data = encode(entry())
    for odd in (data.replace(b',"seq"', b', "seq"'), b" " + data, data.replace(b'"kind"', b'"\\u006bind"')):
        with pytest.raises(JsonError):
            decode(odd)


def test_a_newer_entry_is_refused_with_advice() -> None:
    stored = chain()
    data = stored[2][1].replace(b'"version":2', b'"version":3')
    words = r"the entry was written by a newer version of aileron-tui \(format 3; this program reads up to 2\)"
    for function in (decode, lambda data: link(GENESIS, data)):
        with pytest.raises(NewerFormat, match=words):
            function(data)
    stored[2] = (3, data, stored[2][2])
    assert first_fault(stored) == (3, Damage.NEWER)
    assert Damage.NEWER.endswith("newer version of aileron-tui, or it was changed")  # nothing proves which


@pytest.mark.parametrize("seq", [1, 3, 5])
def test_a_changed_entry_is_named(seq: int) -> None:
    stored = chain()
    number, data, digest = stored[seq - 1]
    stored[seq - 1] = (number, data.replace(b"send-draft", b"send-drafd"), digest)
    assert first_fault(stored) == (seq, Damage.CHANGED)


def test_a_changed_entry_with_a_fresh_hash_breaks_the_next() -> None:
    stored = chain()
    data = stored[1][1].replace(b"send-draft", b"send-drafd")
    stored[1] = (2, data, link(stored[0][2], data))
    assert first_fault(stored) == (3, Damage.CHANGED)


def test_a_removed_entry_is_a_gap() -> None:
    stored = chain()
    del stored[2]
    assert first_fault(stored) == (4, Damage.GAP)


def test_swapped_entries_are_named() -> None:
    stored = chain()
    stored[1], stored[2] = stored[2], stored[1]
    assert first_fault(stored) == (3, Damage.GAP)


def test_a_repeated_entry_is_out_of_order() -> None:
    stored = chain()
    stored.insert(2, stored[1])
    assert first_fault(stored) == (2, Damage.ORDER)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"seq": "1"}, "$.seq"),
        ({"seq": True}, "$.seq"),
        ({"body": []}, "$.body"),
        ({"more": 1}, "$.more"),
        ({"version": 1}, "$.version"),
    ],
)
def test_a_malformed_entry_is_refused_by_path(change: dict[str, object], path: str) -> None:
    body = json.loads(chain(1)[0][1]) | change
    with pytest.raises(JsonError) as caught:
        decode(json.dumps(body).encode())
    assert caught.value.path == path


def test_the_hash_covers_the_one_before() -> None:
    data = chain(1)[0][1]
    assert link(GENESIS, data) != link("sha256:" + "1" * 64, data)
