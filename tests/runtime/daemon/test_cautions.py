"""The cautions that come with a request."""

from dataclasses import replace
from datetime import timedelta

import pytest

from aileron_tui.core.jsontext import Json, read_object
from aileron_tui.runtime.daemon.request_reader import edited
from tests.runtime.daemon.asked import ARGS, KINDS, SEEN, item, read


@pytest.mark.parametrize("kind", KINDS)
def test_an_ordinary_request_needs_no_caution(kind: str) -> None:
    assert bool(item(kind).cautions_at(SEEN)) is (kind == "carrier_pigeon")


def test_an_unknown_kind_is_named() -> None:
    assert '"carrier_pigeon"' in item("carrier_pigeon").cautions_at(SEEN)[0]


@pytest.mark.parametrize(("secret", "said"), [("", True), (None, True), ("example-api", False)])
def test_a_call_without_a_credential_is_pointed_out(secret: Json, said: bool) -> None:
    made = item("http_request", args=ARGS["http_request"] | {"secret_name": secret})
    assert ("it is sent without a credential" in made.cautions_at(SEEN)) is said


def test_a_shell_waits_five_minutes() -> None:
    made = item("shell", requested_at="2026-05-12T10:00:00Z")
    asked = SEEN.replace(minute=0, second=0)
    assert made.cautions_at(asked + timedelta(minutes=5)) == ()
    late = asked + timedelta(minutes=5, seconds=1)
    assert made.cautions_at(late) == ("the shell stopped waiting after 5 minutes: an answer may have no effect",)
    assert item("comms_send", requested_at="2026-05-12T10:00:00Z").cautions_at(late) == ()
    assert replace(made, requested_at="whenever").cautions_at(late) == ()


@pytest.mark.parametrize(("scope", "words"), [("project", "in this project"), ("user", "for this user")])
def test_saving_a_rule_is_pointed_out(scope: str, words: str) -> None:
    (said,) = edited(item("shell"), {"save_policy": scope}).cautions_at(SEEN)
    assert "also saves a rule" in said
    assert words in said
    assert edited(item("shell"), {"save_policy": ""}).cautions_at(SEEN) == ()


def test_why_a_request_can_only_be_denied_comes_first() -> None:
    made = read(read_object('{"id": "a", "kind": "odd", "args": {"n": 12345678901234567891}}'))
    said = made.cautions_at(SEEN)
    assert said[0].startswith("cannot be approved here, only denied: the integer 12345678901234567891")
    assert len(said) == 2
