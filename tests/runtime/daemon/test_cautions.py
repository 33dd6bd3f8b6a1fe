"""What is said about a request before it is answered."""

from dataclasses import replace
from datetime import timedelta

import pytest

from aileron_tui.core.jsontext import Json, read_object
from aileron_tui.runtime.daemon.cautions import cautions, gave_up
from aileron_tui.runtime.daemon.request_reader import edited
from tests.runtime.daemon.asked import ARGS, KINDS, SEEN, item, read


@pytest.mark.parametrize("kind", KINDS)
def test_an_ordinary_request_needs_no_caution(kind: str) -> None:
    assert bool(cautions(item(kind), SEEN)) is (kind == "carrier_pigeon")


def test_a_kind_that_is_not_known_is_named() -> None:
    assert '"carrier_pigeon"' in cautions(item("carrier_pigeon"), SEEN)[0]


@pytest.mark.parametrize(("secret", "said"), [("", True), (None, True), ("example-api", False)])
def test_a_call_without_a_credential_is_pointed_out(secret: Json, said: bool) -> None:
    made = item("http_request", args=ARGS["http_request"] | {"secret_name": secret})
    assert ("goes out without a credential" in cautions(made, SEEN)) is said


def test_a_shell_waits_five_minutes() -> None:
    made = item("shell", requested_at="2026-05-12T10:00:00Z")
    asked = SEEN.replace(minute=0, second=0)
    assert cautions(made, asked + timedelta(minutes=5)) == ()
    late = asked + timedelta(minutes=5, seconds=1)
    assert cautions(made, late) == ("the shell that asked gave up after 5 minutes: answering may change nothing",)
    assert not gave_up(item("comms_send", requested_at="2026-05-12T10:00:00Z"), late)
    assert not gave_up(replace(made, requested_at="whenever"), late)


@pytest.mark.parametrize(("scope", "words"), [("project", "in this project"), ("user", "for this user")])
def test_saving_a_rule_is_pointed_out(scope: str, words: str) -> None:
    (said,) = cautions(edited(item("shell"), {"save_policy": scope}), SEEN)
    assert "also saves a rule" in said
    assert words in said
    assert cautions(edited(item("shell"), {"save_policy": ""}), SEEN) == ()


def test_why_something_can_only_be_denied_is_said_first() -> None:
    made = read(read_object('{"id": "a", "kind": "odd", "args": {"n": 12345678901234567891}}'))
    said = cautions(made, SEEN)
    assert said[0].startswith("cannot be approved here, only denied: the integer 12345678901234567891")
    assert len(said) == 2


def test_the_request_of_a_gate_is_left_alone() -> None:
    assert cautions(replace(item("carrier_pigeon"), daemon=False), SEEN) == ()
