"""Every screen of the page, each reached as a person reaches it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from aileron_tui.core.caution import Caution
from aileron_tui.core.states import RequestState
from aileron_tui.page.attempts import NO_PASSKEY
from tests.browser.opened_page import PHONE, Tab
from tests.browser.sample_page import SamplePage
from tests.browser.samples import everyday, lasting, past
from tests.console import sample_requests as samples
from tests.console.tool_requests import edit, fetch
from tests.hostile import HOSTILE

Screen = Callable[[Tab, SamplePage], None]


def _open(found: Tab, sample: SamplePage) -> None:
    found.page.goto(sample.url)
    found.page.wait_for_selector("#link:text-is('connected')", state="attached")


def _prompt(found: Tab, sample: SamplePage) -> None:
    _open(found, sample)
    size = found.page.viewport_size
    if size and size["width"] <= PHONE[0] * 2:
        found.page.click(".row")
    found.page.wait_for_selector(".prompt")
    found.page.wait_for_timeout(350)


def waiting(found: Tab, sample: SamplePage) -> None:
    """What waits; on a wide screen with the first request beside it."""
    sample.show(*everyday())
    sample.readers = {"act-2": ["the console"]}
    _open(found, sample)
    found.page.wait_for_selector(".row")
    found.page.wait_for_timeout(350)


def empty(found: Tab, sample: SamplePage) -> None:
    _open(found, sample)
    found.page.wait_for_selector("text=Nothing is waiting")


def prompt(found: Tab, sample: SamplePage) -> None:
    sample.show(*everyday())
    _prompt(found, sample)


def warnings(found: Tab, sample: SamplePage) -> None:
    """A request with warnings, one of which is about a look-alike, and with a passkey still missing."""
    request = lasting(fetch(), 1)
    sample.show(replace(request, cautions=(*request.cautions, Caution("the agent asked for this three times"))))
    sample.cannot_approve, sample.problem = NO_PASSKEY, "the disk is full: nothing can be recorded"
    _prompt(found, sample)


def hostile(found: Tab, sample: SamplePage) -> None:
    text = "\n".join(list(HOSTILE.values())[:60])[:300]
    sample.show(lasting(samples.hostile(text), 1))
    _prompt(found, sample)


def difference(found: Tab, sample: SamplePage) -> None:
    """A file that would be changed, and a request that was edited."""
    sample.show(lasting(edit(), 1), lasting(samples.after_edit(), 2))
    _prompt(found, sample)


def answered(found: Tab, sample: SamplePage) -> None:
    first, *others = everyday()
    sample.show(first, *others)
    _prompt(found, sample)
    sample.requests.pop(first.id)
    sample.ended = {first.id: replace(first, state=RequestState("denied"), reason="wrong recipient")}
    sample.tell("resolved", id=first.id, surface="console")
    found.page.wait_for_selector(".outcome")


def history(found: Tab, sample: SamplePage) -> None:
    sample.show(*everyday())
    sample.records = past()
    _open(found, sample)
    found.page.click("#go-history")
    found.page.wait_for_selector(".chart")


def record(found: Tab, sample: SamplePage) -> None:
    history(found, sample)
    found.page.click(".row >> nth=1")
    found.page.wait_for_selector(".record")


def confirmation(found: Tab, sample: SamplePage) -> None:
    sample.show(everyday()[2])
    _prompt(found, sample)
    while found.page.is_visible("#read-on"):
        found.page.click("#read-on")
        found.page.wait_for_timeout(400)
    found.armed()
    found.page.click("#approve")
    found.page.wait_for_selector("#confirm-dialog[open]")


def reason(found: Tab, sample: SamplePage) -> None:
    prompt(found, sample)
    found.page.click("#deny-reason")
    found.page.wait_for_selector("#reason-dialog[open]")


def keys(found: Tab, sample: SamplePage) -> None:
    prompt(found, sample)
    found.page.click("#show-keys")
    found.page.wait_for_selector("#keys-dialog[open]")


def lost(found: Tab, sample: SamplePage) -> None:
    prompt(found, sample)
    found.page.route("**/page/events", lambda route: route.abort())
    sample.hang_up()
    found.page.wait_for_selector("#banner:visible")


def enrolment(found: Tab, sample: SamplePage) -> None:
    sample.purpose = "enroll"
    found.page.goto(sample.url)
    found.page.wait_for_selector("#create-passkey:visible")


def signed_out(found: Tab, sample: SamplePage) -> None:
    found.page.goto(sample.url.partition("#")[0])
    found.page.wait_for_selector("text=You are signed out")


SCREENS: Final[dict[str, Screen]] = {
    "waiting": waiting,
    "empty": empty,
    "prompt": prompt,
    "warnings": warnings,
    "hostile": hostile,
    "difference": difference,
    "answered": answered,
    "history": history,
    "record": record,
    "confirmation": confirmation,
    "reason": reason,
    "keys": keys,
    "lost": lost,
    "enrolment": enrolment,
    "signed-out": signed_out,
}
