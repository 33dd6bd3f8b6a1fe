"""Alerts for tests."""

from datetime import timedelta

from aileron_tui.core.alerts import Alert
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.core.visible_text import inline

PAGE = "http://localhost:8722/page"


def sample_alert(
    id_: str = "act-1",
    summary: str = "bob@example.com · Lunch",
    *,
    action: str = "send-draft",
    agent: str = "laptop-claude",
    url: str = PAGE,
    waiting: int = 1,
    seconds: float = 300,
) -> Alert:
    """A request that expires after some seconds."""
    expires = timestamp(utc_now() + timedelta(seconds=seconds))
    return Alert(id_, inline(summary), inline(agent), RiskLevel.HIGH, expires, waiting, url, inline(action))
