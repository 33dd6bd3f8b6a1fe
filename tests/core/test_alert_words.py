"""What the history says about alerts."""

import pytest

from aileron_tui.core.alert_words import alert_words, recorded_alerts
from aileron_tui.core.jsontext import Json

SHOWN = "prompt.shown"
FELL_BACK = "surface.fell_back"


def entry(kind: str, at: str, **body: Json) -> Json:
    return {"kind": kind, "time": f"2026-05-12T10:{at}.000000Z", "body": body}


UNDATED: Json = {"kind": FELL_BACK, "time": "?", "body": {"to": "page"}}


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([], ""),
        ([entry(SHOWN, "00:00", digest="d")], ""),
        ([entry(SHOWN, "00:00", alerted="console"), entry(SHOWN, "01:00", surface="page")], "console"),
        (
            [entry(SHOWN, "00:00", alerted="page", alert_reason="no console is open")],
            "page (no console is open)",
        ),
        (
            [
                entry(SHOWN, "00:00", alerted="console"),
                entry(FELL_BACK, "00:30", **{"from": "console", "to": "notification", "reason": "nobody reacted"}),
                entry(FELL_BACK, "03:00", **{"from": "notification", "to": "prompt", "reason": ""}),
            ],
            "console, then notification after 30 s (nobody reacted), then prompt after 2.5 min",
        ),
        ([entry(FELL_BACK, "00:00", surface="tui")], ""),
        ([entry(FELL_BACK, "00:00", to=5), entry(SHOWN, "00:00", alerted=None), None, 5, {"kind": SHOWN}], ""),
        (
            [entry(SHOWN, "00:00", alerted="console"), UNDATED],
            "console, then page",
        ),
    ],
)
def test_alerts_in_words(entries: list[Json], words: str) -> None:
    assert alert_words(recorded_alerts(entries)) == words
