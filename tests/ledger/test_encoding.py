"""The quick writer of entries writes exactly the canonical form, or leaves it to the other."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.entry_chain import Entry, decode, encode
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonError, canonical

texts = st.text(max_size=20)
numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(texts, values, max_size=5), texts)
def test_both_writers_agree(body: dict[str, Json], request_id: str) -> None:
    entry = Entry(7, "2026-05-12T10:15:30.000000Z", EntryKind.REQUESTED, request_id, body)
    fields: dict[str, Json] = {"seq": 7, "time": entry.time, "kind": "request.made", "request": request_id}
    fields["body"] = body
    assert encode(entry) == canonical(fields | {"version": 2})
    assert encode(replace(entry, version=1)) == canonical(fields)
    assert encode(decode(encode(entry))) == encode(entry)


def _nested(depth: int) -> Json:
    value: Json = 0
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("odd", [2**53 + 1, float("nan"), "\ud800", {"\ud800": 1}, {"é": "\ud800"}, _nested(100_000)])
def test_what_cannot_be_canonical_is_refused(odd: Json) -> None:
    with pytest.raises(JsonError):
        encode(Entry(1, "", "", "", {"x": odd}))
    with pytest.raises(JsonError):
        encode(Entry(1, "", "", "\ud800", {}))
