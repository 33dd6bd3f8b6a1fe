"""Changes of agents and their names, as pure values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.agent_change import AgentChange, objection, read_change, read_signed_change, token_hash
from aileron_tui.core.agent_names import is_agent_name, is_reserved, lookalike
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonError, canonical

TOKEN = token_hash("secret")
HEAD = "sha256:" + "0" * 64
TIME = "2026-05-12T10:15:30.000000Z"
ADDED = AgentChange(EntryKind.AGENT_ADDED, "laptop", TOKEN, HEAD, TIME)


def test_a_signed_change_is_read_back() -> None:
    assert read_signed_change(ADDED.payload()) == ADDED
    assert b"secret" not in ADDED.payload()


@pytest.mark.parametrize(
    "fields",
    [
        {"change": "gate.started"},
        {"change": "agent.revoked"},
        {"name": "Laptop"},
        {"name": "a\u200bb"},
        {"name": 1},
        {"token": ""},
        {"token": "secret"},
        {"head": ""},
        {"head": "sha256:1"},
        {"time": "now"},
        {"more": ""},
    ],
)
def test_a_change_that_is_not_valid_is_refused(fields: dict[str, object]) -> None:
    good: dict[str, object] = {
        "change": "agent.added",
        "name": "laptop",
        "token": TOKEN,
        "head": HEAD,
        "time": TIME,
    }
    assert read_signed_change(canonical(good)) == ADDED  # type: ignore[arg-type]  # all of them are strings
    with pytest.raises(JsonError):
        read_signed_change(canonical(good | fields))  # type: ignore[arg-type]  # all of them are JSON
    with pytest.raises(JsonError):
        read_signed_change(b" " + ADDED.payload())


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "laptop"},
        {"name": "laptop", "token": TOKEN, "id": "1"},
        {"name": "laptop", "token": TOKEN, "envelope": {}},
        {"name": "laptop", "token": TOKEN, "envelope": {"payload": "?"}},
        {"name": "laptop", "token": TOKEN, "envelope": {"payload": ""}},
    ],
)
def test_an_entry_that_is_not_valid_is_refused(body: dict[str, object]) -> None:
    with pytest.raises(JsonError):
        read_change(Entry(2, TIME, EntryKind.AGENT_ADDED, "", body))  # type: ignore[arg-type]  # all of them are JSON


def test_only_the_first_agent_may_be_unsigned() -> None:
    default = AgentChange(EntryKind.AGENT_ADDED, "default", TOKEN)
    assert objection({}, default, signed=False) == ""
    assert objection({"laptop": EntryKind.AGENT_ADDED}, default, signed=False)
    assert objection({}, AgentChange(EntryKind.AGENT_ADDED, "laptop", TOKEN), signed=False)
    known = {"default": EntryKind.AGENT_ADDED}
    for change in (EntryKind.AGENT_ROTATED, EntryKind.AGENT_REVOKED):
        assert objection(known, AgentChange(change, "default", TOKEN), signed=False)
        assert objection(known, AgentChange(change, "default", TOKEN), signed=True) == ""


def test_a_revoked_agent_stays_revoked() -> None:
    for change in (EntryKind.AGENT_ADDED, EntryKind.AGENT_ROTATED, EntryKind.AGENT_REVOKED):
        assert objection({"laptop": EntryKind.AGENT_REVOKED}, AgentChange(change, "laptop", TOKEN), signed=True)


@given(st.text())
def test_a_name_is_a_plain_file_name(text: str) -> None:
    if is_agent_name(text):
        assert text.isascii()
        assert text == text.lower()
        assert not set(text) & set("/\\\0 \n")
        assert not text.startswith((".", "-"))
        assert ".." not in text
        assert len(text) <= 32


def test_names_that_look_alike() -> None:
    assert lookalike("agent-1", ["agent-2", "agent-l"]) == "agent-l"
    assert lookalike("warm", ["vvarrn"]) == "vvarrn"
    assert lookalike("laptop", ["laptop", "desktop"]) == ""
    assert is_reserved("gate")
    assert is_reserved("0perator")
    assert not is_reserved("gate-2")
