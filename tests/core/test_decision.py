"""What a decision says, and the bytes that are signed."""

import json
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.decision import (
    PAYLOAD_TYPE,
    Statement,
    Verdict,
    pae,
    read_statement,
    statement_version,
)
from aileron_tui.core.formats import VERSION, NewerFormat
from aileron_tui.core.jsontext import JsonError, JsonObject
from aileron_tui.core.times import moment, timestamp
from tests.core.examples import statement


def test_a_statement_survives_its_bytes() -> None:
    edited = replace(statement(), edits={"draft_id": "r-2"}, reason="wrong draft", verdict=Verdict.DENY)
    assert read_statement(edited.payload()) == edited


def test_a_connector_of_which_no_hash_is_told_may_be_named_by_nothing() -> None:
    untold = replace(statement(), connector="")
    assert read_statement(untold.payload()) == untold


def test_every_field_is_in_the_bytes() -> None:
    assert set(json.loads(statement().payload())) == {field.name for field in fields(Statement)}


BAD: list[tuple[str, Callable[[JsonObject], object], str]] = [
    ("missing", lambda it: it.pop("nonce"), "$.nonce"),
    ("unknown", lambda it: it.update(extra=1), "$.extra"),
    ("verdict", lambda it: it.update(verdict="maybe"), "$.verdict"),
    ("type", lambda it: it.update(request=7), "$.request"),
    ("edits", lambda it: it.update(edits=[]), "$.edits"),
    ("digest", lambda it: it.update(digest="sha256:AB"), "$.digest"),
    ("digest newline", lambda it: it.update(digest=f"{it['digest']}\n"), "$.digest"),
    ("connector", lambda it: it.update(connector="sha256:AB"), "$.connector"),
    ("connector twice", lambda it: it.update(connector=f"{it['connector']}{it['connector']}"), "$.connector"),
    ("nonce", lambda it: it.update(nonce="x" * 32), "$.nonce"),
    ("time", lambda it: it.update(time="2026-05-12 10:15"), "$.time"),
    ("expires", lambda it: it.update(expires="2026-05-12T10:15:30.000000+00:00"), "$.expires"),
]


@pytest.mark.parametrize(
    ("change", "path"), [(change, path) for _, change, path in BAD], ids=[name for name, *_ in BAD]
)
def test_a_bad_twin_is_refused_by_path(change: Callable[[JsonObject], object], path: str) -> None:
    body = json.loads(statement().payload())
    change(body)
    data = json.dumps(body, separators=(",", ":"), sort_keys=True).encode()
    with pytest.raises(JsonError) as caught:
        read_statement(data)
    assert caught.value.path == path


def test_the_version_is_signed_and_stated_by_the_type() -> None:
    assert json.loads(statement().payload())["version"] == VERSION == 2
    assert statement().payload_type == PAYLOAD_TYPE == "application/vnd.aileron.decision.v2+json"
    assert [statement_version(type_) for type_ in (PAYLOAD_TYPE, "text/plain", f"{PAYLOAD_TYPE}\n")] == [2, None, None]


def test_version_1_has_no_version_field_and_keeps_its_bytes() -> None:
    old = replace(statement(), version=1)
    assert json.loads(old.payload()) == {
        name: value for name, value in json.loads(statement().payload()).items() if name != "version"
    }
    assert read_statement(old.payload()) == old
    assert old.payload_type == "application/vnd.aileron.decision+json"
    assert statement_version(old.payload_type) == 1


NEWER = r"the decision was written by a newer version of aileron-tui \(format 3; this program reads up to 2\)"


def test_a_newer_statement_is_refused_with_advice() -> None:
    body = json.loads(statement().payload()) | {"version": 3, "more": "than we know"}
    with pytest.raises(NewerFormat, match=NEWER) as caught:
        read_statement(json.dumps(body).encode())
    assert caught.value.hint == "Update aileron-tui."
    with pytest.raises(NewerFormat, match=NEWER):
        statement_version("application/vnd.aileron.decision.v3+json")


@pytest.mark.parametrize("version", [0, 1, -1, True, "2", 2.0, None])
def test_a_version_that_is_none_is_refused(version: object) -> None:
    body = json.loads(statement().payload()) | {"version": version}
    with pytest.raises(JsonError) as caught:
        read_statement(json.dumps(body, separators=(",", ":"), sort_keys=True).encode())
    assert caught.value.path == "$.version"


def test_another_spelling_of_the_same_statement_is_refused() -> None:
    spaced = json.dumps(json.loads(statement().payload())).encode()
    with pytest.raises(JsonError, match="canonical"):
        read_statement(spaced)


def test_the_dsse_example_of_its_specification() -> None:
    assert (
        pae("http://example.com/HelloWorld", b"hello world")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


@given(st.text(), st.binary(), st.text(), st.binary())
def test_no_two_payloads_share_their_signed_bytes(type1: str, data1: bytes, type2: str, data2: bytes) -> None:
    assert (pae(type1, data1) == pae(type2, data2)) == ((type1, data1) == (type2, data2))


def test_times_are_utc_and_exact() -> None:
    summer = timezone(timedelta(hours=2))
    assert timestamp(datetime(2026, 5, 12, 12, 15, 30, 5, summer)) == "2026-05-12T10:15:30.000005Z"
    assert moment("2026-05-12T10:15:30.000005Z") == datetime(2026, 5, 12, 10, 15, 30, 5, UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-05-12T10:15:30.000005Z",
        "2026-05-12T10:15:30.5Z",
        "2026-5-2T1:5:3.000005Z",
        "2026-02-30T10:15:30.000005Z",
        "2026-05-12T24:00:00.000000Z",
        "2026-05-12T10:15:60.000000Z",
        "0000-05-12T10:15:30.000005Z",
        "2026-05-12T10:15:30.000005Z\n",
        "2026-05-12 10:15:30.000005Z",
        "2026-05-12T10:15:30,000005Z",
        "2026-W20-2T10:15:30.000005Z",
        "2026-05-12T10:15:30.00000+0",
        "\u0662026-05-12T10:15:30.000005Z",
        "",
    ],
)
def test_a_moment_is_read_as_ever_however_it_is_written(text: str) -> None:
    try:
        expected: datetime | None = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    except ValueError:
        expected = None
    try:
        read: datetime | None = moment(text)
    except ValueError:
        read = None
    assert read == expected
