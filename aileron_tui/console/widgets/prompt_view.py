"""The prompt: everything there is to know about one request before it is answered."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import get_current_worker

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import MUTED, STRONG, own
from aileron_tui.console.timers import call_after
from aileron_tui.console.widgets import prompt_words as words
from aileron_tui.console.widgets.cached_widget import CachedWidget
from aileron_tui.console.widgets.fields import Field, Fields, label_width
from aileron_tui.console.widgets.line_widget import LineWidget
from aileron_tui.console.widgets.lookalike_scan import AT_ONCE, inspect
from aileron_tui.console.widgets.prompt_sections import Block, Section, section
from aileron_tui.console.widgets.quote import Quote
from aileron_tui.console.widgets.quote_heights import shared
from aileron_tui.console.widgets.time_left import time_left
from aileron_tui.console.widgets.two_sided_line import TwoSidedLine
from aileron_tui.core.prompt import Prompt
from aileron_tui.core.request import Request

_INDENT: Final = 2
_FAR: Final = 10**9
_LOW: Final = 16
_PAINTED: Final = 0.15
_NONE: Final = Content("")
_AGELESS: Final = (None, "")


class Scroll(VerticalScroll, CachedWidget, can_focus=False, inherit_bindings=False):
    """What scrolls below the title; the view around it has the focus and the keys."""

    class Resized(Message):
        """It has room now, or other room than before."""

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Draws all of it: Textual draws what moved since it last looked, as it does when asked where something is."""
        super().watch_scroll_y(old_value, new_value)
        self.refresh()

    def on_resize(self) -> None:
        """Tells the view around it."""
        self.post_message(self.Resized())


class PromptView(CachedWidget, can_focus=True):
    """One request, scrollable. An update of the same request keeps the position; another request starts on top."""

    DEFAULT_CSS = """
    PromptView { layout: vertical; height: 1fr; width: 1fr; }
    PromptView Scroll { height: 1fr; padding: 0 1 0 0; scrollbar-gutter: stable; scrollbar-size-vertical: 1; }
    PromptView Static { height: auto; width: 1fr; }
    PromptView Quote { margin: 0 0 1 2; }
    PromptView #prompt-cautions { display: none; }
    PromptView .section { margin: 1 0 0 0; }
    PromptView #prompt-empty { height: 1fr; content-align: center middle; text-align: center; display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.PROMPT)]

    class Ready(Message):
        """It is there, and shows what it is told to."""

    class ReadToEnd(Message):
        """The last line of the prompt and of each quote in it has been on screen."""

    class Inspected(Message):
        """Long texts have been checked for look-alikes."""

        def __init__(self, texts: Sequence[str], warnings: dict[int, tuple[str, ...]]) -> None:
            super().__init__()
            self.texts = texts
            self.warnings = warnings

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.read_to_end = False
        self.ready = False
        self._early: tuple[Request | None, Content | None] = (None, None)
        self._drawn: tuple[Request | None, Content | None] = (None, None)
        self._item: Request | None = None
        self._shown = ""
        self._now = datetime.now(UTC)
        self._cautioned = _NONE
        self._sent = self._fetched = Section()
        # By identity, of texts that the sections hold: to hash a long text takes as long as to draw a screen of it.
        self._warnings: dict[int, tuple[str, ...]] = {}
        self._long: Sequence[str] = ()
        self._inspecting = False
        self._ends: set[Widget] = set()
        self._starts: set[Widget] = set()
        self._rows = 0
        self._titled: tuple[Prompt | None, bool, Content] = (None, True, _NONE)
        self._aged: tuple[Request | None, str] = _AGELESS
        self._quotes: dict[str, list[Quote]] = {"sent": [], "fetched": []}

    def compose(self) -> ComposeResult:
        """A title that stays, and below it what scrolls."""
        yield Static(id="prompt-empty")
        yield TwoSidedLine(id="prompt-title")
        yield TwoSidedLine(id="prompt-note")
        with Scroll(id="prompt-body"):
            yield TwoSidedLine(id="prompt-risk")
            yield TwoSidedLine(id="prompt-cautions")
            yield Fields(id="asker")
            yield TwoSidedLine(id="sent-head", classes="section")
            yield Fields(id="sent")
            yield TwoSidedLine(id="prompt-unavailable", classes="section")
            yield TwoSidedLine(id="fetched-head", classes="section")
            yield Fields(id="fetched")
            yield Fields(own("told by the agent", STRONG), id="told", classes="section")
            yield Fields(own("would run", STRONG), id="runs", classes="section")
        yield TwoSidedLine(id="prompt-foot")

    def on_mount(self) -> None:
        """Watch what is on screen."""
        if len(self.query("#prompt-body, #prompt-foot")) < 2:
            return  # the console is being left while it is still being built
        for changing in ("scroll_y", "virtual_size"):
            self.watch(self._body, changing, self._scrolled, init=False)
        self.ready = True
        item, note = self._early
        self.show(item, note=note)
        self.post_message(self.Ready())

    def on_resize(self) -> None:
        """Share the room anew."""
        # The size with its padding, which depends on the class.
        self.set_class(self.outer_size.height < _LOW, "low")
        self._fit_anew()

    def show(self, item: Request | None, *, note: Content | None = None) -> None:
        """This request, or none; of an edited one also what the edit changed."""
        if not self.ready:
            self._early = (item, note)
            return
        before = self._item
        drawn, said = self._drawn
        self._drawn = (item, note)
        if item is not None and item is drawn:
            if not (note or _NONE).is_same(said or _NONE):
                self._say(note)
                self._share_room()
            return
        same = item is not None and before is not None and item.key == before.key
        shown = f"{item.key} {item.digest} {item.edited_from.digest if item.edited_from else ''}" if item else ""
        changed = shown != self._shown or (item and before and item.fetching != before.fetching)
        self._item = item
        self._now = datetime.now(UTC)
        if changed:
            self._shown = shown
            self.read_to_end = False
            self._ends.clear()
            # The position is kept, so what lies above it may be something else now.
            self._starts = {part for part in self._parts() if not self._at_start(part)} if same else set()
            self._plan(item)
            if not same:
                self._body.scroll_to(y=0, animate=False)
                for quote in self._all_quotes():
                    quote.body.scroll_to(y=0, animate=False)
        self._draw(note)

    @property
    def changed_above(self) -> bool:
        """Whether it changed while a later part was read, and its start has not been on screen since."""
        return not self._starts.isdisjoint(self._parts())

    @on(Scroll.Resized)
    def _fit(self, event: Scroll.Resized) -> None:
        event.stop()
        self._fit_anew()

    def _fit_anew(self) -> None:
        if self._item is not None:
            self._aged = _AGELESS
            self._draw_times(self._item)
        self._arrange()

    def tick(self, now: datetime) -> None:
        """A second has passed."""
        self._now = now
        if self._item is not None:
            self._draw_times(self._item)
            if self._caution(self._item):
                self._arrange()
            if not self.read_to_end:
                self._look()

    def travel(self, rows: int, *, pages: bool = False) -> None:
        """Scroll by rows (or pages) through everything: a quote that is in view moves first, up to its end."""
        count, rows = rows, rows * max(1, self._body.size.height - 1) if pages else rows
        down = rows > 0
        body = self._body
        quotes = list(self._all_quotes()) if down else list(self._all_quotes())[::-1]
        top, height = round(body.scroll_y), body.size.height
        target = top + rows
        for quote in quotes:
            region = quote.virtual_region
            whole = region.y >= top and region.bottom <= top + height
            if down and rows >= _FAR and whole and not quote.body.passage.counted:
                quote.body.to_end()
                return
            inner = count * max(1, quote.body.size.height - 1) if pages else rows
            if whole and quote.body.travel(inner):
                return
            if down and quote.body.below and region.bottom > top + height:
                target = min(target, region.bottom - height)
            elif not down and quote.body.above and region.y < top:
                target = max(target, region.y)
        body.scroll_to(y=max(0, min(target, round(body.max_scroll_y))), animate=False)

    def action_travel(self, rows: int) -> None:
        """By rows."""
        self.travel(rows)

    def action_page(self, pages: int) -> None:
        """By screens, with a row kept for the eye."""
        self.travel(pages, pages=True)

    def action_enter_outline(self) -> None:
        """To the first JSON that is in view, where left and right fold."""
        for quote in self._all_quotes():
            if quote.body.outline is not None and self._body.can_view_partial(quote.body):
                quote.body.focus(scroll_visible=False)
                return

    def action_leave_outline(self) -> None:
        """Back to the prompt as a whole."""
        self.focus(scroll_visible=False)

    @property
    def _body(self) -> Scroll:
        return self.query_one("#prompt-body", Scroll)

    def _spread(self, id_: str) -> TwoSidedLine:
        return self.query_one(f"#{id_}", TwoSidedLine)

    def _all_quotes(self) -> Iterator[Quote]:
        for quotes in self._quotes.values():
            yield from (quote for quote in quotes if quote.display)

    def _parts(self) -> set[Widget]:
        """What scrolls: the prompt, and each quote in it."""
        return {self._body, *self._all_quotes()}

    def _plan(self, item: Request | None) -> None:
        """Decide what becomes a field and what a quote, and look for look-alikes."""
        self._sent = self._fetched = Section()
        self._warnings = {}
        self._long = ()
        self._inspecting = False
        if item is None:
            return
        old = item.edited_from
        self._sent = section(item.prompt.inputs, old.inputs if old else None)
        if item.prompt.preview is not None:
            was = old.preview.rows if old and old.preview and not old.preview.unavailable else None
            self._fetched = section(item.prompt.preview.rows, was)
        self._inspect()

    def _inspect(self) -> None:
        sections = (self._sent, self._fetched)
        texts = [field.value for part in sections for field in part.fields if field.value]
        texts += [block.text for part in sections for block in part.blocks]
        self._warnings = {id(text): inspect(text) for text in texts if len(text) <= AT_ONCE}
        self._long = [text for text in texts if len(text) > AT_ONCE]
        if self._long:
            self._inspecting = True
            # The first paint has the interpreter for itself.
            call_after(self, _PAINTED, partial(self._inspect_if_shown, self._long))

    def _inspect_if_shown(self, texts: Sequence[str]) -> None:
        if texts is self._long:
            self._inspect_long(texts)

    # Without a description Textual writes out the arguments as one, and the texts are long.
    @work(thread=True, exclusive=True, group="inspection", description="look-alikes", exit_on_error=False)
    def _inspect_long(self, texts: Sequence[str]) -> None:
        worker = get_current_worker()
        found = {id(text): inspect(text, lambda: worker.is_cancelled) for text in texts}
        if not worker.is_cancelled:
            self.post_message(self.Inspected(texts, found))

    @on(Inspected)
    def _inspected(self, event: Inspected) -> None:
        event.stop()
        if event.texts is self._long:
            self._inspecting = False
            self._warnings |= event.warnings
            self._warn()
            self._arrange()

    def _draw(self, note: Content | None) -> None:
        item = self._item
        empty = self.query_one("#prompt-empty", Static)
        for child in self.children:
            if child.id != "prompt-note":
                child.display = (child is empty) is (item is None)
        if item is None:
            said = Content.assemble(own("Nothing waits.", STRONG), own("\nWhat an agent asks for appears here.", MUTED))
            empty.update(note or said)
            self._say(None)
            return
        self._say(note)
        self._spread("prompt-risk").show(words.risk(item.prompt))
        self._spread("sent-head").show(words.sent(item))
        self._show_if_any("prompt-unavailable", words.unavailable(item))
        self._caution(item)
        self._draw_times(item)
        self._fill_quotes("sent", self._sent.blocks, before="prompt-unavailable")
        self._fill_quotes("fetched", self._fetched.blocks, before="told")
        self._arrange()

    def _caution(self, item: Request) -> bool:
        """Says what should be known before an answer; whether that is something new."""
        said = words.cautioned(item, self._now)
        if said.is_same(self._cautioned):
            return False
        self._cautioned = said
        self._show_if_any("prompt-cautions", said)
        return True

    def _say(self, note: Content | None) -> None:
        self._show_if_any("prompt-note", note or _NONE)

    def _show_if_any(self, id_: str, said: Content) -> None:
        shown = self._spread(id_)
        shown.display = bool(said)
        shown.show(said)

    def _draw_times(self, item: Request) -> None:
        prompt, asks = item.prompt, item.state.decidable
        if prompt is not self._titled[0] or asks is not self._titled[1]:
            self._titled = (prompt, asks, words.title(prompt, asks=asks))
        self._spread("prompt-title").show(self._titled[2], time_left(item, self._now, self.size.width))
        age = words.age(item, self._now)
        if item is self._aged[0] and age == self._aged[1]:
            return
        self._aged, room = (item, age), self._room.width
        head, fetched = self._spread("fetched-head"), words.fetched(item)
        head.display = bool(fetched)
        inline = Content.assemble(fetched, own(f" · {age}", MUTED))
        fits = inline.cell_length <= room
        head.show(*((inline,) if fits and age else (fetched, own(age, MUTED))))

    def _fill_quotes(self, section_: str, blocks: Sequence[Block], before: str) -> None:
        """Quotes are kept and filled anew, so that walking through a list builds nothing."""
        quotes = self._quotes[section_]
        fresh = [Quote() for _ in range(len(blocks) - len(quotes))]
        quotes += fresh
        if fresh:
            self._body.mount_all(fresh, before=f"#{before}")
        for index, quote in enumerate(quotes):
            quote.display = index < len(blocks)
            if quote.display:
                block = blocks[index]
                quote.show(block.label, block.text, note=block.note, diff=block.diff, listed=block.listed)
        self._warn()

    def _warn(self) -> None:
        for section_, blocks in (("sent", self._sent.blocks), ("fetched", self._fetched.blocks)):
            for quote, block in zip(self._quotes[section_], blocks, strict=False):
                quote.warn(self._warnings.get(id(block.text), ()))

    def _fields(self) -> dict[str, tuple[Field, ...]]:
        item = self._item
        if item is None:
            return {}
        return {
            "sent": tuple(self._warned(field) for field in self._sent.fields),
            "fetched": tuple(self._warned(field) for field in self._fetched.fields),
            "asker": (words.asker_field(item),),
            "told": words.told_fields(item.prompt),
            "runs": words.connector_fields(item.prompt),
        }

    def _warned(self, field: Field) -> Field:
        found = self._warnings.get(id(field.value), ())
        return Field(field.label, field.value, field.said, field.old, field.edited, found) if found else field

    def _arrange(self) -> None:
        """Give each part its width, then each quote its share of the height."""
        width = self._room.width
        if self._item is None or width <= 0:
            return
        fields = self._fields()
        labels = label_width([field for part in fields.values() for field in part], width)
        for id_, part in fields.items():
            self.query_one(f"#{id_}", Fields).show(part, labels)
        self._share_room()

    def _share_room(self) -> None:
        """Give each quote its share of the height."""
        width, height = self._room
        if width <= 0:
            return
        quotes = list(self._all_quotes())
        taken = sum(self._height(child, width) for child in self._body.displayed_children)
        needs = [quote.body.rows_at(width - _INDENT, height) for quote in quotes]
        for quote, rows in zip(quotes, shared(needs, height - taken, height), strict=True):
            quote.body.styles.height = rows
        self.call_after_refresh(self._look)

    @property
    def _room(self) -> Size:
        """The room for what scrolls; what it will be, if it has not been laid out yet."""
        body = self._body
        if body.size:
            return body.scrollable_content_region.size.with_height(body.size.height)
        around = sum(self._height(child, self.size.width) for child in self.displayed_children if child is not body)
        width = self.size.width - body.gutter.width - body.styles.scrollbar_size_vertical
        return Size(max(0, width), max(0, self.size.height - around))

    def _height(self, child: Widget, width: int) -> int:
        """The rows a part takes, without waiting for the screen to be laid out; of a quote those around its text."""
        if isinstance(child, Quote):
            return child.around(width - _INDENT)
        frame, margin = child.gutter, child.styles.margin
        inner = child.get_content_height(self.size, self.size, width - frame.width - margin.width)
        return inner + frame.height + margin.height

    def _scrolled(self) -> None:
        self._look()

    @on(Quote.Seen)
    def _seen(self, event: Quote.Seen) -> None:
        event.stop()
        self._look()

    def _look(self) -> None:
        """Note which ends are on screen now, and say how much is below."""
        body = self._body
        if self._item is None or not body.size.height:
            return
        rows = body.virtual_size.height
        # Not max_scroll_y: Textual learns of the room some time after the rows.
        below = max(0, round(rows - body.size.height - body.scroll_y))
        plural = "" if below == 1 else "s"
        self._spread("prompt-foot").show(Content(""), own(f"{below:,} more line{plural} ↓" if below else "", STRONG))
        if rows != self._rows:
            # It is still being laid out, or something was added: what seemed to be the end was not.
            self.read_to_end = self.read_to_end and rows < self._rows
            self._rows = rows
            self._ends.clear()
            self.call_after_refresh(self._look)
            return
        if self.read_to_end or self._inspecting or self._item.fetching or self.app.screen is not self.screen:
            return
        wanted = self._parts() - self._ends
        seen = {part for part in wanted if (below == 0 if part is body else self._end_seen(part))}
        begun = {part for part in self._starts if self._at_start(part) and self._start_seen(part)}
        if wanted and not seen and not begun:
            return
        if not all(part.settled for part in self.walk_children(LineWidget)):
            return
        self._ends |= seen
        self._starts -= begun
        if wanted == seen and not self.changed_above:
            self.read_to_end = True
            self.post_message(self.ReadToEnd())

    def _at_start(self, part: Widget) -> bool:
        return not (part.body.above if isinstance(part, Quote) else round(part.scroll_y))

    def _start_seen(self, part: Widget) -> bool:
        text = part.body.region if isinstance(part, Quote) else part.region
        return bool(text.height) and self._body.region.contains(text.x, text.y)

    def _end_seen(self, part: Widget) -> bool:
        if not isinstance(part, Quote) or not part.read:
            return False
        text = part.body.region
        return bool(text.height) and self._body.region.contains(text.x, text.bottom - 1)
