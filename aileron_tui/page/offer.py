"""Makes the page of a gate. Nothing that the page needs is loaded before it is first used."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate
    from aileron_tui.gate.page_port import Page, PageSetup


def make_page(gate: "Gate", setup: "PageSetup") -> "Page":
    """The page of a gate."""
    from aileron_tui.page.web_page import WebPage  # noqa: PLC0415  # see above

    return WebPage(gate, setup)
