"""Which requests a surface calls attention to."""

from dataclasses import replace

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.surface.request_alerts import RequestAlerts
from tests.surface.test_board import item


def event(name: str, **data: object) -> SourceEvent:
    fields: JsonObject = dict(data)  # type: ignore[arg-type]
    return SourceEvent(1, name, fields)


def requests(*numbers: int) -> dict[str, Request]:
    return {f"act-{number}": item(number) for number in numbers}


ROUTES = event("snapshot", readers={})


def test_without_a_gate_that_routes_every_new_request_and_every_reminder_is_announced() -> None:
    alerts = RequestAlerts()
    assert alerts.receive([event("snapshot")], ["act-1", "act-2"], requests(1, 2)) == 2
    assert alerts.receive([event("updated", id="act-1", reminder=True)], [], requests(1, 2)) == 1
    assert (alerts.quiet_count, alerts.has_unclaimed) == (0, False)


def test_what_somebody_else_is_alerted_to_stays_quiet_until_it_is_this_surfaces_turn() -> None:
    alerts, waiting = RequestAlerts(), requests(1)
    to_page = event("alert", id="act-1", surface="page")
    assert alerts.receive([ROUTES, to_page], ["act-1"], waiting) == 0
    assert (alerts.quiet_count, alerts.has_unclaimed, alerts.take_unclaimed(waiting)) == (1, False, 0)
    assert alerts.receive([event("updated", id="act-1", reminder=True)], [], waiting) == 0
    assert alerts.receive([event("alert", id="act-1", surface="console")], [], waiting) == 1
    assert alerts.receive([event("updated", id="act-1", reminder=True)], [], waiting) == 1
    assert alerts.quiet_count == 0


def test_one_alert_can_stand_for_many_requests() -> None:
    alerts, waiting = RequestAlerts(), requests(1, 2, 3, 4)
    assert alerts.receive([ROUTES], waiting, waiting) == 0
    assert alerts.receive([event("alert", id="act-2", surface="page", more=1)], [], waiting) == 0
    assert alerts.receive([event("alert", id="act-3", surface="console", more=9)], [], waiting) == 2
    assert (alerts.quiet_count, alerts.has_unclaimed) == (2, False)


def test_what_nobody_is_alerted_to_is_announced_once_its_prompt_is_ready() -> None:
    alerts, waiting = RequestAlerts(), requests(1)
    waiting["act-1"] = replace(waiting["act-1"], fetching=True)
    alerts.receive([ROUTES], ["act-1"], waiting)
    assert alerts.take_unclaimed(waiting) == 0
    assert alerts.has_unclaimed
    waiting["act-1"] = replace(waiting["act-1"], fetching=False)
    assert alerts.take_unclaimed(waiting) == 1
    assert alerts.take_unclaimed(waiting) == 0
    assert not alerts.has_unclaimed


def test_what_ended_is_neither_announced_nor_counted() -> None:
    alerts, waiting = RequestAlerts(), requests(1)
    alerts.receive([ROUTES], ["act-1"], waiting)
    ended = {"act-1": replace(waiting["act-1"], state=RequestState.DENIED)}
    assert alerts.receive([event("alert", id="act-1", surface="console")], [], ended) == 0
    assert (alerts.quiet_count, alerts.take_unclaimed({})) == (0, 0)
