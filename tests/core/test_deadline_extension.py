"""Extensions of deadlines, as pure values."""

from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from aileron_tui.core.deadline_extension import (
    PAYLOAD_TYPE,
    Extension,
    extended_words,
    next_deadline,
    objection,
    read_extension,
    recorded_extension,
)
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonError, canonical
from aileron_tui.core.times import timestamp

EXPIRES = datetime(2026, 5, 12, 10, 5, tzinfo=UTC)
LATEST = EXPIRES + timedelta(minutes=25)
EXTENSION = Extension(
    request="act-1",
    instance="gate-1",
    before=timestamp(EXPIRES),
    expires=timestamp(EXPIRES + timedelta(minutes=5)),
    surface="console",
    time="2026-05-12T10:04:00.000000Z",
    head="sha256:" + "0" * 64,
)

PAYLOAD = b64encode(EXTENSION.payload()).decode()


def test_a_signed_extension_is_read_back() -> None:
    assert read_extension(EXTENSION.payload()) == EXTENSION


@pytest.mark.parametrize(
    "fields",
    [
        {"request": 1},
        {"before": ""},
        {"expires": "2026-05-12T10:10:00Z"},
        {"expires": "2026-99-12T10:10:00.000000Z"},
        {"time": "now"},
        {"head": "sha256:1"},
        {"more": ""},
    ],
)
def test_an_extension_that_is_not_valid_is_refused(fields: dict[str, object]) -> None:
    good = {name: getattr(EXTENSION, name) for name in Extension.__dataclass_fields__}
    assert read_extension(canonical(good)) == EXTENSION
    with pytest.raises(JsonError):
        read_extension(canonical(good | fields))
    with pytest.raises(JsonError):
        read_extension(canonical({name: value for name, value in good.items() if name not in fields}) + b" ")


@pytest.mark.parametrize(
    "envelope",
    [
        None,
        {},
        {"payload": "?", "payloadType": PAYLOAD_TYPE, "signatures": [{"keyid": "k", "sig": ""}]},
        {"payload": PAYLOAD, "payloadType": "text/plain", "signatures": [{"keyid": "k"}]},
        {"payload": PAYLOAD, "payloadType": PAYLOAD_TYPE, "signatures": []},
    ],
)
def test_an_entry_that_is_not_valid_is_refused(envelope: object) -> None:
    with pytest.raises(JsonError):
        recorded_extension(Entry(2, EXTENSION.time, EntryKind.EXTENDED, "act-1", {"envelope": envelope}))  # type: ignore[dict-item]  # all of them are JSON


def test_an_extension_adds_five_minutes_but_not_more_than_the_limit() -> None:
    assert next_deadline(EXPIRES, LATEST) == EXPIRES + timedelta(minutes=5)
    assert next_deadline(LATEST - timedelta(minutes=2), LATEST) == LATEST


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], ""),
        (["laptop"], "once, by laptop"),
        (["laptop", "laptop"], "twice, by laptop"),
        (["laptop", "desk", "laptop"], "3 times, by laptop and desk"),
        (["a", "b", "c"], "3 times, by a, b and c"),
    ],
)
def test_extensions_are_counted_with_the_names_of_the_approvers(names: list[str], words: str) -> None:
    assert extended_words(names) == words


def test_an_extension_fits_one_request_and_one_deadline() -> None:
    assert objection(EXTENSION, "act-1", EXPIRES, LATEST) == ""
    later = EXPIRES + timedelta(minutes=5)
    for changed, deadline, latest, why in (
        (replace(EXTENSION, request="act-2"), EXPIRES, LATEST, "signed for request act-2"),
        (EXTENSION, EXPIRES, None, "cannot be extended"),
        (EXTENSION, EXPIRES, EXPIRES, "waits as long as it may"),
        (EXTENSION, later, LATEST, "replaces the deadline"),
        (replace(EXTENSION, expires=timestamp(later + timedelta(seconds=1))), EXPIRES, LATEST, "the next deadline is"),
        (EXTENSION, EXPIRES, later - timedelta(seconds=1), "the next deadline is"),
        (replace(EXTENSION, expires=EXTENSION.before), EXPIRES, LATEST, "the next deadline is"),
    ):
        assert why in objection(changed, "act-1", deadline, latest)
