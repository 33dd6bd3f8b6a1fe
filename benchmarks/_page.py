"""The page in Chromium: from opening it to the painted prompt, and from a key to the acknowledged answer.

Needs what `make browser` installs, so it has a target of its own: `make bench-page`.
"""

import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks._report import line
from benchmarks._result import Result, against
from tests.browser.answer_cases import enrol
from tests.browser.authenticator import Authenticator
from tests.browser.opened_page import Tab, browser, tab
from tests.browser.page_gate import PageGate, page_gate

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROUNDS: Final = 20
WARM: Final = 3
# The time of the frame after the prompt is in the page, and of the frame after the answer is acknowledged.
OBSERVER: Final = """
    globalThis.noted = {};
    const after = (name, done) => new MutationObserver((_, self) => {
        if (!done()) return;
        self.disconnect();
        requestAnimationFrame(() => setTimeout(() => { noted[name] = performance.now(); }));
    }).observe(document, {subtree: true, childList: true, characterData: true});
    after("prompt", () => document.querySelector(".prompt"));
    globalThis.answered = () => {
        addEventListener("keydown", (event) => { noted.key = event.timeStamp; }, {once: true});
        new MutationObserver((_, self) => {
            if (!document.getElementById("answer-status").textContent.startsWith("Approved")) return;
            self.disconnect();
            noted.known = performance.now();
        }).observe(document.getElementById("answer-status"), {subtree: true, childList: true});
    };
"""
# What the page does for an answer, and nothing else.
BARE: Final = """async ([id, digest]) => {
    const headers = {"Content-Type": "application/json", "X-Aileron-Tab": sessionStorage.getItem("aileron-tab")};
    const send = async (what, body) =>
        (await fetch(`/page/requests/${id}/${what}`, {method: "POST", headers, body: JSON.stringify(body)})).json();
    const began = performance.now();
    const {attempt, publicKey} = await send("challenge", {verdict: "approve", reason: "", digest});
    const options = PublicKeyCredential.parseRequestOptionsFromJSON(publicKey);
    const assertion = (await navigator.credentials.get({publicKey: options})).toJSON();
    const reply = await send("answer", {attempt, assertion});
    return reply.status === "approved" ? performance.now() - began : null;
}"""


def measure() -> Iterator[Result]:
    """Each measurement."""
    with tempfile.TemporaryDirectory() as folder, browser() as chromium, page_gate(Path(folder) / "home") as gate:
        yield _opened(chromium, gate)
        yield _answered(chromium, gate)


def _opened(chromium: "Browser", gate: PageGate) -> Result:
    """From the navigation to the painted prompt, against a document that has the same prompt in it."""
    gate.ask()
    ours: list[float] = []
    base: list[float] = []
    for _ in range(ROUNDS):
        with tab(chromium) as found:
            found.page.add_init_script(OBSERVER)
            found.page.goto(gate.url())
            ours.append(_noted(found, "prompt"))
            document = found.page.content().replace("<script", "<template").replace("</script", "</template")
        with tab(chromium) as found:
            found.page.add_init_script(OBSERVER)
            html = document
            found.page.route("**/page", lambda route, _, html=html: route.fulfill(body=html, content_type="text/html"))
            found.page.goto(f"{gate.origin}/page")
            base.append(_noted(found, "prompt"))
    mine, bare = (statistics.median(times[WARM:]) / 1000 for times in (ours, base))
    return against("page opened to painted prompt / one document with it", mine, bare, 4.0)


def _answered(chromium: "Browser", gate: PageGate) -> Result:
    """From the key until the page shows that the gate accepted it, against a bare script with the same passkey."""
    ours: list[float] = []
    base: list[float] = []
    with tab(chromium) as found:
        Authenticator(found)
        enrol(found, gate, "laptop")
        found.page.add_init_script(OBSERVER)
        found.page.goto("about:blank")
        found.page.goto(gate.url())
        found.page.wait_for_selector(".prompt")
        found.page.keyboard.press("d")
        for number in range(ROUNDS):
            for here in (True, False):
                id_ = gate.ask(f"make test-{number}")
                found.page.click(f".row[data-open='{id_}']")
                found.page.wait_for_selector(f".prompt[data-id='{id_}']")
                if here:
                    found.armed()
                    found.page.evaluate("noted.known = 0; answered()")
                    found.page.keyboard.press("a")
                    known = _noted(found, "known")
                    ours.append(known - float(found.page.evaluate("noted.key")))
                else:
                    digest = found.page.get_attribute(".prompt", "data-digest")
                    base.append(float(found.page.evaluate(BARE, [id_, digest])))
                found.page.wait_for_timeout(50)
    mine, bare = (statistics.median(times[WARM:]) / 1000 for times in (ours, base))
    return against("key to answer acknowledged on the page / a bare script", mine, bare, 1.5)


def _noted(found: Tab, name: str) -> float:
    found.page.wait_for_function(f"() => noted.{name} > 0")
    return float(found.page.evaluate(f"noted.{name}"))


if __name__ == "__main__":
    over = 0
    for result in measure():
        over += not result.good
        print(line(result), flush=True)
    sys.exit(1 if over else 0)
