"""How it went, in words: what a daemon does not tell is said, not guessed."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from aileron_tui.core.decision import timestamp
from aileron_tui.core.outcomes import QUIET, ending, missing_outcome

NOW = datetime(2026, 5, 12, 12, tzinfo=UTC)
LATELY, LONG_AGO = timestamp(NOW - QUIET), timestamp(NOW - 2 * QUIET)


@dataclass(frozen=True)
class Seen:
    outcome: str = "running"
    kind: str = "action"
    daemon: str = "here"
    decided: str = LONG_AGO
    edited: bool = False


@pytest.mark.parametrize(
    ("seen", "words", "heard"),
    [
        (Seen(), ("…", "no news"), False),
        (Seen("approved"), ("…", "no news"), False),
        (Seen(decided=LATELY), ("…", "running"), True),
        (Seen(daemon=""), ("…", "running"), True),
        (Seen(decided=""), ("…", "running"), True),
        (Seen(decided="odd"), ("…", "running"), True),
        (Seen(kind="shell", decided=LATELY), ("→", "allowed"), False),
        (Seen(kind="shell", daemon=""), ("…", "running"), True),
        (Seen("executed", "shell"), ("✓", "done"), True),
        (Seen("denied", "shell"), ("–", "denied"), True),
        (Seen("executed", edited=True), ("✓", "done, edited"), True),
        (Seen(kind="shell", edited=True), ("→", "allowed, edited"), False),
        (Seen("vanished"), ("?", "vanished"), True),
    ],
)
def test_what_is_said_of_a_request(seen: Seen, words: tuple[str, str], heard: bool) -> None:
    assert ending(seen, NOW) == words
    assert bool(missing_outcome(seen, NOW)) is not heard


def test_since_when_nothing_was_heard_is_told_in_local_time() -> None:
    assert missing_outcome(Seen(), NOW).endswith(f"{(NOW - 2 * QUIET).astimezone():%H:%M}")
    days = Seen(decided=timestamp(NOW - timedelta(days=3)))
    assert missing_outcome(days, NOW).endswith(f"{(NOW - timedelta(days=3)).astimezone():%Y-%m-%d %H:%M}")
