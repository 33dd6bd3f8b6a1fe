"""Entries, their bytes, and the chain over them."""

import json

import pytest

from aileron_tui.core.entry_chain import GENESIS, ChainWalker, Damage, Entry, decode, encode, link
from aileron_tui.core.jsontext import JsonError

Stored = tuple[int, bytes, str]


def chain(length: int = 5) -> list[Stored]:
    head, stored = GENESIS, []
    for seq in range(1, length + 1):
        data = encode(Entry(seq, "2026-05-12T10:15:30.000000Z", "request.made", f"act-{seq}", {"action": "send-draft"}))
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
    entry = Entry(1, "2026-05-12T10:15:30.000000Z", "gate.started", "", {"a": [1, None, {"b": "⟨"}]})
    assert decode(encode(entry)) == entry


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
    [({"seq": "1"}, "$.seq"), ({"seq": True}, "$.seq"), ({"body": []}, "$.body"), ({"more": 1}, "$.more")],
)
def test_a_malformed_entry_is_refused_by_path(change: dict[str, object], path: str) -> None:
    body = json.loads(chain(1)[0][1]) | change
    with pytest.raises(JsonError) as caught:
        decode(json.dumps(body).encode())
    assert caught.value.path == path


def test_the_hash_covers_the_one_before() -> None:
    data = chain(1)[0][1]
    assert link(GENESIS, data) != link("sha256:" + "1" * 64, data)
