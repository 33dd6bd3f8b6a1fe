"""The quotes of a prompt, section by section. They are reused, so that moving through the list mounts no widgets."""

from collections.abc import Iterator

from aileron_tui.console.widgets.lookalike_scan import LookalikeScan
from aileron_tui.console.widgets.prompt_content import ORIGINS, PromptContent
from aileron_tui.console.widgets.prompt_scroll import PromptScroll
from aileron_tui.console.widgets.quote import Quote


class PromptQuotes:
    """The quotes that a body shows. Those of a section are mounted before the widget with its `quotes-end` id."""

    def __init__(self) -> None:
        self._quotes: dict[str, list[Quote]] = {name: [] for name in ORIGINS}

    def __iter__(self) -> Iterator[Quote]:
        for quotes in self._quotes.values():
            yield from (quote for quote in quotes if quote.display)

    @property
    def have_warnings(self) -> bool:
        """Whether there is a warning about one of the texts."""
        return any(quote.has_warning for quote in self)

    @property
    def are_counted(self) -> bool:
        """Whether the rows of all texts are counted."""
        return all(quote.body.long_text.counted for quote in self)

    def fill(self, body: PromptScroll, content: PromptContent) -> None:
        """Shows the long texts of a prompt."""
        for name, quotes in self._quotes.items():
            blocks = content.blocks(name)
            origin = content.origin(name)
            new = [Quote(origin=origin) for _ in range(len(blocks) - len(quotes))]
            quotes.extend(new)
            if new:
                body.mount_all(new, before=f"#{name}-quotes-end")
            for index, quote in enumerate(quotes):
                quote.display = index < len(blocks)
                if quote.display:
                    quote.origin = origin
                    quote.show(blocks[index])

    def warn(self, content: PromptContent, lookalikes: LookalikeScan) -> None:
        """Shows the remarks about each text."""
        for name in content.sections:
            for quote, block in zip(self._quotes[name], content.blocks(name), strict=False):
                found = lookalikes.remarks_for(block.text)
                quote.warn(found.warnings, found.notes)

    def in_view(self, body: PromptScroll) -> Quote | None:
        """The first quote of which a part is on screen, or else the first of all."""
        quotes = list(self)
        return next((quote for quote in quotes if body.can_view_partial(quote)), quotes[0] if quotes else None)
