"""When an answer counts on the page: the rules of the console, with a keyboard, a mouse and a slow reader."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.browser.opened_page import PHONE, Tab, tab
from tests.browser.sample_page import LATE, SamplePage
from tests.browser.samples import everyday, lasting, move
from tests.console import sample_requests as samples

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DENY = "/deny"
CHALLENGE = "/challenge"
LONG = "\n".join(f"line {number} of a long text that must be read" for number in range(300))


@contextmanager
def opened(chromium: "Browser", sample: SamplePage, size: tuple[int, int] = (1280, 860)) -> Iterator[Tab]:
    with tab(chromium, size) as found:
        found.page.goto(sample.url)
        found.page.wait_for_selector("#link:text-is('connected')", state="attached")
        if size == PHONE:
            found.page.click(".row")
        found.page.wait_for_selector(".prompt")
        yield found


def test_keys_typed_ahead_answer_nothing(chromium: "Browser", sample: SamplePage) -> None:
    sample.documents = LATE
    sample.show(move())
    with tab(chromium) as found:
        found.page.goto(sample.url, wait_until="commit")
        for key in "ddddaaaadddd":
            found.page.keyboard.press(key)
        found.page.wait_for_selector(".prompt")
        found.page.keyboard.press("d")
        assert "That did not count" in found.status()
        assert not sample.answers(DENY)
        found.can_deny()
        found.page.keyboard.press("d")
        found.page.wait_for_selector("#answer-status:has-text('Denied on the page')")
        assert len(sample.answers(DENY)) == 1


def test_a_key_that_is_held_down_answers_nothing(chromium: "Browser", sample: SamplePage) -> None:
    sample.show(move())
    with opened(chromium, sample) as found:
        found.page.keyboard.down("d")
        for _ in range(20):
            found.page.wait_for_timeout(60)
            found.page.keyboard.down("d")  # repeats
        assert not sample.answers(DENY)


def test_a_new_prompt_is_not_answered_by_what_was_meant_for_another(chromium: "Browser", sample: SamplePage) -> None:
    first, *_ = everyday()
    sample.documents = LATE
    sample.show(move())
    with opened(chromium, sample) as found:
        found.can_deny()
        changed = replace(move(), prompt=first.prompt, digest=first.digest)
        sample.requests = {changed.id: changed}
        sample.tell("request", id=changed.id)
        found.page.wait_for_selector("text=Weekly recap >> visible=true")
        found.page.keyboard.press("d")
        found.page.wait_for_timeout(150)
        assert not sample.answers(DENY)
        assert "That did not count" in found.status()


def test_a_click_counts_only_on_a_prompt_that_was_there_when_it_began(chromium: "Browser", sample: SamplePage) -> None:
    sample.documents = LATE
    sample.show(move())
    with opened(chromium, sample) as found:
        box = found.page.locator("#deny").bounding_box()
        assert box is not None
        found.page.mouse.move(box["x"] + 5, box["y"] + 5)
        found.page.mouse.down()
        found.can_deny()
        found.page.mouse.up()
        found.page.wait_for_timeout(100)
        assert not sample.answers(DENY)
        found.can_deny()
        found.page.mouse.click(box["x"] + 5, box["y"] + 5)
        found.page.wait_for_selector("#answer-status:has-text('Denied on the page')")


def test_scripts_cannot_press_the_buttons(chromium: "Browser", sample: SamplePage) -> None:
    sample.show(move())
    with opened(chromium, sample) as found:
        found.can_deny()
        found.page.evaluate("document.getElementById('deny').click()")
        found.page.evaluate("dispatchEvent(new KeyboardEvent('keydown', {key: 'd', bubbles: true}))")
        found.page.wait_for_timeout(150)
        assert not sample.answers(DENY)


def test_enter_and_space_answer_only_on_a_button_that_was_chosen(chromium: "Browser", sample: SamplePage) -> None:
    sample.documents = LATE
    sample.show(move())
    with opened(chromium, sample) as found:
        found.armed()
        for key in ("Enter", "Space"):
            found.page.keyboard.press(key)
        found.armed()
        found.page.focus("#deny")
        found.page.keyboard.press("Enter")
        found.page.wait_for_timeout(100)
        assert not sample.answers(DENY)
        assert not sample.answers(CHALLENGE)
        found.can_deny()
        found.page.keyboard.press("Enter")
        found.page.wait_for_selector("#answer-status:has-text('Denied on the page')")


def test_what_was_not_on_screen_cannot_be_approved(chromium: "Browser", sample: SamplePage) -> None:
    sample.show(lasting(samples.long_body(LONG), 1))
    with opened(chromium, sample) as found:
        page = found.page
        page.wait_for_timeout(1000)
        page.keyboard.press("a")
        page.wait_for_timeout(100)
        assert "left to read" in found.status()
        page.evaluate("document.getElementById('detail').scrollTo(0, 1e6)")  # to the end without reading
        page.wait_for_timeout(700)
        assert "left to read" in found.status()
        page.evaluate("document.getElementById('detail').scrollTo(0, 0)")
        presses = 0
        while "left to read" in found.status() and presses < 60:
            page.keyboard.press("Enter")
            page.wait_for_timeout(330)
            presses += 1
        found.armed()
        assert 5 < presses < 30
        assert not sample.answers(CHALLENGE)
        # What changed must be read again, and only that.
        sample.show(lasting(samples.long_body(LONG + "\none more line"), 1))
        sample.tell("request", id="act-1")
        page.wait_for_selector("#answer-status:has-text('1 part left to read')")


def test_high_risk_is_asked_once_more_and_cancel_has_the_focus(chromium: "Browser", sample: SamplePage) -> None:
    sample.documents = LATE
    sample.show(everyday()[2])
    with opened(chromium, sample) as found:
        found.armed()
        found.page.keyboard.press("a")
        found.page.wait_for_selector("#confirm-dialog[open]")
        assert "19df4136f28569d2" in str(found.page.text_content("#confirm-dialog"))
        assert found.page.evaluate("document.activeElement.id") == "confirm-cancel"
        found.page.keyboard.press("a")
        found.page.wait_for_timeout(100)
        assert "That did not count" in str(found.page.text_content("#confirm-status"))
        found.page.keyboard.press("Enter")  # presses Cancel
        assert found.page.is_hidden("#confirm-dialog")
        assert not sample.answers(CHALLENGE)


def test_a_prompt_that_changes_behind_the_confirmation_is_not_approved(chromium: "Browser", sample: SamplePage) -> None:
    request = everyday()[2]
    sample.show(request)
    with opened(chromium, sample) as found:
        found.armed()
        found.page.keyboard.press("a")
        found.page.wait_for_selector("#confirm-dialog[open]")
        other = replace(everyday()[0], id=request.id)
        sample.requests = {request.id: other}
        sample.tell("request", id=request.id)
        found.page.wait_for_selector(f".prompt[data-digest='{other.digest}']")
        found.page.wait_for_timeout(900)
        found.page.keyboard.press("a")
        found.page.wait_for_selector("#answer-status:has-text('changed meanwhile')")
        assert not sample.answers(CHALLENGE)


def test_a_lost_connection_is_said_and_nothing_can_be_answered(chromium: "Browser", sample: SamplePage) -> None:
    sample.show(move())
    with opened(chromium, sample) as found:
        found.can_deny()
        found.page.route("**/page/events", lambda route: route.abort())
        sample.hang_up()
        found.page.wait_for_selector("#banner:has-text('connection to the gate is lost')")
        found.page.wait_for_timeout(900)
        found.page.keyboard.press("d")
        found.page.wait_for_timeout(100)
        assert not sample.answers(DENY)
        found.page.unroute("**/page/events")
        found.page.wait_for_selector("#link:text-is('connected')", state="attached")
        assert found.page.is_hidden("#banner")
        found.can_deny()
        found.page.keyboard.press("d")
        found.page.wait_for_selector("#answer-status:has-text('Denied on the page')")


def test_keys_move_filter_and_can_be_turned_off(chromium: "Browser", sample: SamplePage) -> None:
    sample.show(*everyday())
    with opened(chromium, sample) as found:
        page = found.page
        page.keyboard.press("j")
        page.wait_for_selector(".prompt[data-id='act-2']")
        page.keyboard.press("k")
        page.wait_for_selector(".prompt[data-id='act-1']")
        page.keyboard.press("n")
        page.wait_for_selector(".prompt[data-id='act-2']")
        page.keyboard.press("/")
        page.keyboard.type("push")
        assert page.locator(".row:visible").count() == 1
        page.keyboard.press("Escape")
        assert page.locator(".row:visible").count() == 6
        page.keyboard.press("?")
        page.wait_for_selector("#keys-dialog[open]")
        page.click("#keys-on")
        page.click("#keys-close")
        page.wait_for_timeout(900)
        page.keyboard.press("d")
        page.keyboard.press("j")
        page.wait_for_timeout(200)
        assert not sample.answers(DENY)
        assert page.get_attribute(".prompt", "data-id") == "act-2"


def test_other_readers_and_other_answers_are_shown(chromium: "Browser", sample: SamplePage) -> None:
    sample.show(move())
    with opened(chromium, sample, PHONE) as found:
        sample.readers = {"act-1": ["the console"]}
        sample.tell("reading", id="act-1")
        found.page.wait_for_selector(".readers:has-text('Being read in the console')")
        ended = replace(move(), state=samples.worked().state.__class__("denied"), reason="too early")
        sample.requests, sample.ended = {}, {"act-1": ended}
        sample.tell("resolved", id="act-1", surface="console", by="operator")
        found.page.wait_for_selector("#answer-status:has-text('Answered elsewhere, in the console by operator.')")
        found.page.wait_for_selector(".outcome:has-text('too early')")
        found.page.click("#back")
        found.page.wait_for_selector("text=Nothing is waiting")
