"""Changes of trusted publishers, as pure values."""

import pytest

from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonError, canonical
from aileron_tui.core.publisher_change import PublisherChange, is_authority, key_text, read_change, read_signed_change

KEY = key_text(bytes(range(32)))
HEAD = "sha256:" + "0" * 64
TIME = "2026-05-12T10:15:30.000000Z"
TRUSTED = PublisherChange(EntryKind.PUBLISHER_TRUSTED, "github://example", KEY, HEAD, TIME)
GOOD = {"change": "publisher.trusted", "authority": "github://example", "key": KEY, "head": HEAD, "time": TIME}


def test_a_signed_change_is_read_back() -> None:
    assert read_signed_change(TRUSTED.payload()) == TRUSTED
    assert read_signed_change(canonical({**GOOD})) == TRUSTED


@pytest.mark.parametrize(
    "fields",
    [
        {"change": "agent.added"},
        {"authority": "github://"},
        {"authority": "github://example/repo/more"},
        {"authority": "https://example"},
        {"authority": 1},
        {"key": ""},
        {"key": KEY.rstrip("=")},
        {"key": key_text(bytes(31))},
        {"key": KEY.replace("/", "_") + " "},
        {"head": "sha256:1"},
        {"time": "now"},
        {"more": ""},
    ],
)
def test_a_change_that_is_not_valid_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(JsonError):
        read_signed_change(canonical(GOOD | fields))  # type: ignore[arg-type]  # all of them are JSON
    with pytest.raises(JsonError):
        read_signed_change(b" " + TRUSTED.payload())


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"authority": "github://example", "key": KEY},
        {"authority": "github://example", "key": KEY, "envelope": {}},
        {"authority": "github://example", "key": KEY, "envelope": {"payload": "?"}},
        TRUSTED.body(
            {"payload": key_text(PublisherChange(TRUSTED.change, "github://other", KEY, HEAD, TIME).payload())}
        ),
    ],
)
def test_an_entry_that_is_not_valid_is_refused(body: dict[str, object]) -> None:
    with pytest.raises(JsonError):
        read_change(Entry(2, TIME, EntryKind.PUBLISHER_TRUSTED, "", body))  # type: ignore[arg-type]  # all are JSON


def test_what_names_a_publisher() -> None:
    assert all(map(is_authority, ("github://example", "github://example/repo", "hub://a.b-c", "local://me")))
    assert not any(map(is_authority, ("github://", "github://a/b/c", "github://a@1.0.0", "x://a", "github://a/\n", "")))
