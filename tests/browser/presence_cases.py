"""Who is at the page: what it tells the gate, by the rules of the console, and how it shows an alert."""

from typing import TYPE_CHECKING, Any

from aileron_tui.core.jsontext import JsonObject
from tests.browser.opened_page import Tab, tab
from tests.browser.sample_page import SamplePage
from tests.browser.samples import move
from tests.gated.answered_gate import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def told(sample: SamplePage, presence: JsonObject) -> None:
    """Waits until the page has told this."""
    until(lambda: sample.presence == presence, f"{presence}")


def opened(found: Tab, sample: SamplePage) -> Any:
    """The page with nothing to show, and with a clock that the case can turn."""
    page = found.page
    page.clock.install()
    page.goto(sample.url)
    page.wait_for_selector("text=Nothing is waiting")
    told(sample, {"awake": True, "reading": ""})
    return page


def test_a_request_that_appears_by_itself_is_not_being_read(chromium: "Browser", sample: SamplePage) -> None:
    with tab(chromium) as found:
        page = opened(found, sample)
        page.clock.fast_forward(10_000)
        sample.show(move())
        page.wait_for_selector(".prompt")
        page.clock.run_for(1000)
        page.wait_for_timeout(300)
        assert sample.presence == {"awake": True, "reading": ""}, "nobody has done anything since it appeared"
        page.mouse.wheel(0, 10)
        told(sample, {"awake": True, "reading": "act-1"})
        page.clock.fast_forward(121_000)
        told(sample, {"awake": True, "reading": ""})


def test_a_page_that_nobody_uses_is_not_there(chromium: "Browser", sample: SamplePage) -> None:
    with tab(chromium) as found:
        page = opened(found, sample)
        page.clock.fast_forward(301_000)
        told(sample, {"awake": False, "reading": ""})
        page.keyboard.press("Shift")
        told(sample, {"awake": True, "reading": ""})


def test_an_alert_marks_the_title_until_somebody_reacts(chromium: "Browser", sample: SamplePage) -> None:
    with tab(chromium) as found:
        page = opened(found, sample)
        sample.show(move())
        page.wait_for_selector(".prompt")
        sample.tell("alert", id="act-1", surface="page")
        until(lambda: page.title() == "● (1) Aileron: waiting", "the title")
        sample.tell("waiting")
        page.clock.run_for(1000)
        page.wait_for_timeout(300)
        assert page.title() == "● (1) Aileron: waiting", "it stays when the list is loaded again"
        page.keyboard.press("Shift")
        until(lambda: page.title() == "(1) Aileron: waiting", "the title")
