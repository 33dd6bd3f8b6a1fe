"""How the page looks and reads: axe-core, narrow windows, zoom, focus, and what a screen reader is told."""

from typing import TYPE_CHECKING

import pytest

from tests.browser.opened_page import PHONE, WIDE, tab
from tests.browser.programs import AXE
from tests.browser.sample_page import SamplePage
from tests.browser.samples import everyday
from tests.browser.screens import SCREENS, prompt

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
CHECK = f"""async () => (await axe.run(document, {{runOnly: {TAGS}}})).violations.map(
    (one) => one.id + ": " + one.nodes.map((node) => node.target.join(" ") + node.failureSummary).join("; "))"""
ON_PHONE = ("waiting", "warnings", "difference", "record", "confirmation", "reason", "lost", "enrolment")
# What would be cut off or need scrolling sideways.
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize(
    ("name", "size", "dark"),
    [*((name, WIDE, False) for name in SCREENS), *((name, PHONE, True) for name in ON_PHONE)],
)
def test_axe_finds_nothing(
    chromium: "Browser", sample: SamplePage, name: str, size: tuple[int, int], dark: bool
) -> None:
    with tab(chromium, size, dark=dark) as found:
        SCREENS[name](found, sample)
        found.page.evaluate(AXE.read_text())
        assert found.page.evaluate(CHECK) == []
        assert found.page.evaluate(TOO_WIDE) <= 0
        assert not found.noted


@pytest.mark.parametrize("width", [640, 320], ids=["200 percent", "400 percent"])
def test_nothing_needs_scrolling_sideways_when_zoomed(chromium: "Browser", sample: SamplePage, width: int) -> None:
    for name in ("warnings", "hostile", "record"):
        sample.reset()
        with tab(chromium, (width, 512)) as found:
            SCREENS[name](found, sample)
            assert found.page.evaluate(TOO_WIDE) <= 0, name
            if name == "warnings":
                box = found.page.locator("#deny").bounding_box()
                assert box is not None
                assert box["x"] >= 0
                assert box["x"] + box["width"] <= width


def test_the_keyboard_reaches_everything_in_order(chromium: "Browser", sample: SamplePage) -> None:
    with tab(chromium) as found:
        prompt(found, sample)
        found.page.evaluate("document.body.focus()")
        order = []
        for _ in range(30):
            found.page.keyboard.press("Tab")
            order.append(
                found.page.evaluate(
                    "document.activeElement.id || document.activeElement.dataset.open || document.activeElement.tagName"
                )
            )
        wanted = ["go-waiting", "go-history", "search", "act-1", "SUMMARY", "deny-reason", "deny", "approve"]
        places = [order.index(name) for name in wanted]
        assert places == sorted(places)


def test_a_screen_reader_is_told_what_happens(chromium: "Browser", sample: SamplePage) -> None:
    first, second, *_ = everyday()
    sample.show(first)
    with tab(chromium) as found:
        page = found.page
        page.goto(sample.url)
        page.wait_for_selector(".prompt")
        for role, name in (
            ("banner", None),
            ("main", None),
            ("navigation", "Pages"),
            ("search", None),
            ("article", "Request"),
            ("region", "Waiting"),
            ("group", "Answer"),
        ):
            assert page.get_by_role(role, name=name).count() == 1, role
        sample.show(first, second)
        page.wait_for_selector("#live:text-is('1 new. 2 waiting.')", state="attached")
        assert page.title() == "(2) Aileron: waiting"
        sample.tell("alert", id=second.id, surface="page")
        page.wait_for_selector("#live:text-is('A request needs an answer.')", state="attached")
        assert page.get_by_role("button", name="Approve").get_attribute("aria-describedby") == "answer-status"


def test_without_scripts_the_page_says_so(chromium: "Browser", sample: SamplePage) -> None:
    with tab(chromium, java_script_enabled=False) as found:
        found.page.goto(sample.url)
        assert found.page.locator("noscript h1").is_visible()
        assert found.page.locator("main").is_hidden()
