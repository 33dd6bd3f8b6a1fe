"""The cautions that come with a request."""

from dataclasses import replace
from datetime import timedelta

import pytest

from aileron_tui.core.jsontext import Json, read_object
from aileron_tui.core.times import timestamp
from aileron_tui.runtime.daemon.request_reader import edited
from tests.runtime.daemon.asked import ARGS, KINDS, SEEN, item, read

STARTED = SEEN.replace(hour=9, minute=0, second=0)


@pytest.mark.parametrize("kind", KINDS)
def test_an_ordinary_request_needs_no_caution(kind: str) -> None:
    assert bool(item(kind).cautions_at(SEEN)) is (kind in ("carrier_pigeon", "http_request"))


def test_an_unknown_kind_is_named() -> None:
    assert '"carrier_pigeon"' in item("carrier_pigeon").cautions_at(SEEN)[0]


@pytest.mark.parametrize(("secret", "said"), [("", True), (None, True), ("example-api", False)])
def test_a_call_without_a_credential_is_pointed_out(secret: Json, said: bool) -> None:
    made = item("http_request", args=ARGS["http_request"] | {"secret_name": secret})
    assert ("no vault credential is added" in made.cautions_at(SEEN)) is said
    assert any("headers from the agent, even Authorization" in caution for caution in made.cautions_at(SEEN))


def test_a_shell_waits_five_minutes() -> None:
    made = item("shell", requested_at="2026-05-12T10:00:00Z", started=STARTED)
    asked = SEEN.replace(minute=0, second=0)
    assert made.cautions_at(asked + timedelta(minutes=5)) == ()
    late = asked + timedelta(minutes=5, seconds=1)
    assert made.cautions_at(late) == ("the shell stopped waiting after 5 minutes: an answer may have no effect",)
    assert item("comms_send", requested_at="2026-05-12T10:00:00Z", started=STARTED).cautions_at(late) == ()
    assert replace(made, requested_at="whenever").cautions_at(late) == ()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("after", "words"),
    [
        (timedelta(microseconds=1), "the daemon restarted after the agent asked"),
        (timedelta(0), "the daemon started in the same second that the agent asked"),
        (timedelta(seconds=-1, microseconds=1), "the daemon started in the same second that the agent asked"),
        (timedelta(seconds=-1), ""),
    ],
)
def test_a_request_that_is_older_than_its_daemon(kind: str, after: timedelta, words: str) -> None:
    started = STARTED + timedelta(seconds=1)
    made = item(kind, requested_at=(started - after).isoformat(), started=started)
    said = [caution for caution in made.cautions_at(SEEN) if "the daemon" in caution and "started" in caution]
    if kind == "action" or not words:
        assert said == []
    else:
        assert len(said) == 1
        assert said[0].startswith(words)
    certain = after > timedelta(0) and kind not in ("action", "carrier_pigeon")
    assert made.abandoned is certain
    assert any("so it has no effect" in caution for caution in said) is certain


def test_a_daemon_whose_start_is_not_known_is_not_trusted_for_ever() -> None:
    made = item("http_request")
    assert not any("not known" in caution for caution in made.cautions_at(SEEN))
    later = SEEN + timedelta(minutes=10)
    assert any("if so, an approval has no effect" in caution for caution in made.cautions_at(later))
    assert not any("not known" in caution for caution in item("action").cautions_at(later))


def test_a_request_from_the_future_was_not_made_then() -> None:
    made = item("shell", requested_at="2099-05-12T10:00:00Z", started=STARTED)
    assert made.requested_at == timestamp(SEEN)
    assert any("clock is ahead" in caution for caution in made.cautions_at(SEEN))
    assert any("5 minutes" in caution for caution in made.cautions_at(SEEN + timedelta(minutes=6)))
    near = item("shell", requested_at=timestamp(SEEN + timedelta(seconds=30)), started=STARTED)
    assert near.cautions_at(SEEN) == ()


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
