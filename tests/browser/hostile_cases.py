"""Hostile text through every element of the page: it is shown and never becomes markup."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from aileron_tui.core.caution import Caution
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.core.visible_text import inline
from tests.browser.opened_page import Tab, tab
from tests.browser.sample_page import SamplePage
from tests.browser.samples import lasting
from tests.console import sample_requests as samples
from tests.console.history_gate import record
from tests.hostile import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

WEB: Final = {
    "script": "<script>alert(1)</script>",
    "image": "<img src=x onerror=alert(1)>",
    "svg": "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "attribute": '" onmouseover=alert(1) autofocus onfocus=alert(1) x="',
    "single quotes": "' onclick='alert(1)",
    "end of everything": "</bdi></dd></dl></div></section><h1>Approved</h1><button id=approve>Approve</button>",
    "end of script": "</script><script>alert(1)</script>",
    "comment": "<!--><script>alert(1)</script-->",
    "template": "{{ 7 * 7 }}{% include 'shell.html' %}{{ view.__class__.__mro__ }}",
    "frame": "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "form": "<form action=//evil.example><input name=code autofocus></form>",
    "link": "<a href=javascript:alert(1)>press</a>",
    "style": "<style>*{display:none}</style><link rel=stylesheet href=//evil.example/x.css>",
    "meta": "<meta http-equiv=refresh content='0;url=//evil.example'><base href=//evil.example>",
    "entity": "&lt;script&gt;alert(1)&lt;/script&gt;&#x3c;b&#x3e;",
    "clobbering": "<img name=getElementById id=detail><form id=approve>",
    "mutation": "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "math": "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "data attribute": "' data-can-answer='yes' data-read='",
    "our own words": "High risk: you will be asked once more. You can answer now.",
}
SAFE: Final = "harmless words"
STRUCTURE: Final = """root => [...root.querySelectorAll("*")].map(element => element.tagName + "|"
    + [...element.attributes].map(one => one.name).sort().join(" ") + "|" + element.className).join("\\n")"""


def corpus() -> dict[str, str]:
    """Every text that JSON can have, without those that only repeat a character thousands of times."""
    return {
        name: text
        for name, text in chain(HOSTILE.items(), WEB.items())
        if len(text) < 3000 and not re.search("[\ud800-\udfff]", text)
    }


def hostile(text: str) -> Request:
    """A request with the text wherever foreign text can be."""
    request = lasting(samples.hostile(text), 1)
    return replace(request, cautions=(Caution(text),), question=text, reason=text, extended_by=(text,))


@contextmanager
def opened(chromium: "Browser", sample: SamplePage) -> Iterator[Tab]:
    with tab(chromium) as found:
        found.page.goto(sample.url)
        found.page.wait_for_selector("#link:text-is('connected')")
        yield found


def _put(sample: SamplePage, text: str) -> None:
    request = hostile(text)
    sample.requests = {request.id: request}
    sample.ended = {"act-2": replace(request, id="act-2", state=RequestState("denied"))}
    sample.problem, sample.readers = text, {"act-1": [text, text]}
    sample.records = [record(1, changes=dict.fromkeys(("action", "agent", "reason", "error", "connector"), text))]


def _fragments(found: Tab) -> dict[str, Any]:
    """Loads every fragment as the page does, and returns what it became: its elements, attributes and text."""
    result: dict[str, Any] = found.page.evaluate(
        """async ([paths, structure]) => {
            const shape = eval(structure);
            const place = document.getElementById("detail");
            const got = {};
            for (const path of paths) {
                const reply = await fetch(path, {headers: {"X-Aileron-Tab": sessionStorage.getItem("aileron-tab")}});
                const parsed = new DOMParser().parseFromString(await reply.text(), "text/html");
                place.replaceChildren(...parsed.body.childNodes);
                got[path] = [reply.status, shape(place), place.textContent];
            }
            return got;
        }""",
        [
            ["/page/waiting", "/page/requests/act-1", "/page/requests/act-2", "/page/history"],
            STRUCTURE,
        ],
    )
    return result


def test_the_corpus_changes_no_element_and_no_attribute(chromium: "Browser", sample: SamplePage) -> None:
    """Every text makes exactly the elements and attributes that harmless words make, apart from warnings."""
    with tab(chromium, bypass_csp=True) as found:
        found.page.goto(sample.url)
        found.page.wait_for_selector("#link:text-is('connected')")
        _put(sample, SAFE)
        plain = _fragments(found)
        allowed = {line for _, structure, _ in plain.values() for line in structure.split("\n")}
        allowed |= {
            *("SPAN|class|mark", "SPAN|class|newline", "SPAN|class|unseen", "SPAN|aria-hidden class|sign"),
            *(
                "P|class|warning",
                "P|class data-read|warning",
                "P|class|note",
                "BDI|class dir|foreign",
                "SPAN|class|quote-line",
                "SPAN|class|action",
                "SPAN|class|action long",
            ),
            *("SPAN|class|row-summary", "SPAN|class|placeholder", "FIGURE|class|quote"),
            *("FIGCAPTION|data-read|", "FIGCAPTION||", "SPAN|class|quote-label", "SPAN|class|muted"),
            *("DIV|class data-read dir|quote-text foreign", "DIV|class dir|quote-text foreign"),
            *("DETAILS|class|rest", "SUMMARY||", "DIV|class data-read|field", "DIV|class|field", "DT||", "DD||"),
        }
        for name, text in corpus().items():
            _put(sample, text)
            for path, (status, structure, shown) in _fragments(found).items():
                assert status == 200, (name, path)
                odd = {line for line in structure.split("\n") if line not in allowed}
                assert not odd, (name, path, odd)
                assert not [one for one in shown if not one.isprintable() and one != "\n"], (name, path)
        assert not found.noted
        assert all(url.startswith(f"http://localhost:{sample.port}/") for url in found.paths)


def test_hostile_text_is_shown_on_the_page_and_does_nothing(chromium: "Browser", sample: SamplePage) -> None:
    """The page itself, with its policy: no dialog, no error, no request elsewhere; the text is readable."""
    with opened(chromium, sample) as found:
        page = found.page
        before = page.evaluate("document.querySelectorAll('body > *').length")
        for name, text in WEB.items():
            _put(sample, text)
            sample.tell("request", id="act-1")
            sample.tell("waiting")
            shown = inline(text)
            page.wait_for_function(
                "words => document.querySelector('.prompt .action')?.textContent === words", arg=shown
            )
            assert page.text_content("h2.question .action") == shown, name
            for selector in ("script:not([type=module])", "img", "iframe", "form:not([id])", "a:not(.skip)", "base"):
                assert not page.query_selector(f"body {selector}"), (name, selector)
            assert page.evaluate("document.querySelectorAll('body > *').length") == before
            assert page.evaluate("document.querySelectorAll('#approve').length") == 1
        page.keyboard.press("h")
        page.click(".row.past")
        page.wait_for_selector(".record")
        page.wait_for_timeout(100)
        assert not found.noted
        assert all(url.startswith(f"http://localhost:{sample.port}/") for url in found.paths)


def test_a_fragment_with_anything_else_is_not_placed(chromium: "Browser", sample: SamplePage) -> None:
    """Even a gate that sent markup could not run it: the page refuses elements that no template has."""
    sample.show(lasting(samples.worked(), 1))
    bad = (
        "<div><img src=x onerror=alert(1)></div>",
        "<div onclick=alert(1)>x</div>",
        "<div style='position:fixed'>x</div>",
        "<div><a href='javascript:alert(1)'>x</a></div>",
        "<script>alert(1)</script><div>x</div>",
        "<div id=approve>x</div>",
        "<div><button type=submit>x</button></div>",
    )
    with opened(chromium, sample) as found:
        for html in bad:
            found.page.unroute_all()
            found.page.route("**/page/requests/*", _reply(html))
            sample.tell("request", id="act-1")
            found.page.wait_for_selector("#banner:has-text('The gate sent')")
            assert found.page.query_selector(".prompt")
            found.page.unroute_all()
            found.page.keyboard.press("h")
            found.page.wait_for_selector(".history")
            found.page.keyboard.press("h")
            found.page.wait_for_selector(".prompt")
            found.page.wait_for_selector("#banner", state="hidden")
        # The policy stops an attribute even while it is read; nothing else happens.
        assert not [line for line in found.noted if "Content Security Policy" not in line]
        assert all(url.startswith(f"http://localhost:{sample.port}/") for url in found.paths)


def _reply(html: str) -> Callable[["Route"], None]:
    return lambda route: route.fulfill(body=html, content_type="text/html")


def test_the_policy_stops_what_is_not_ours(chromium: "Browser", sample: SamplePage) -> None:
    with opened(chromium, sample) as found:
        refused = found.page.evaluate(
            """() => {
                const results = [];
                const script = document.createElement("script");
                for (const attempt of [
                    () => { document.body.innerHTML = "<b>x</b>"; },
                    () => { script.text = "globalThis.ran = true"; document.body.append(script); },
                    () => { document.body.insertAdjacentHTML("beforeend", "<b>x</b>"); },
                    () => { trustedTypes.createPolicy("other", {createHTML: (text) => text}); },
                    () => { trustedTypes.createPolicy("aileron-fragment", {createHTML: (text) => text}); },
                ]) {
                    try { attempt(); results.push("allowed"); } catch (error) { results.push(error.name); }
                }
                return [results, Boolean(globalThis.ran)];
            }"""
        )
        assert refused == [["TypeError"] * 5, False]
