"""What dialogs share: they open only because somebody asked, and their keys stay in sight and can be clicked."""

from typing import ClassVar, Final, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import Vertical
from textual.content import Content
from textual.css.scalar import Scalar
from textual.screen import ModalScreen
from textual.widgets import Static

from aileron_tui.console.actions import KeyHint, offered
from aileron_tui.console.render import MUTED, own
from aileron_tui.console.timers import call_after
from aileron_tui.console.widgets.key_line import KeyLine
from aileron_tui.surface.arming import Arming

T = TypeVar("T")

_LOW: Final = 20
_LEAST: Final = 3
_SOON: Final = 0.02


class Sheet(ModalScreen[T]):
    """Lies over the screen it was asked from, and closes once."""

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Textual closes whatever is on top; after a second click, or under a lock, that is another screen."""
        return super().dismiss(result) if self.is_active else AwaitComplete()


class Dialog(Sheet[T]):
    """A box with what it is about, something to say if need be, and the keys. Only a part of class `body` scrolls.

    With an `arming` the key named by `DECIDES` counts only once the dialog was to be seen for a moment.
    """

    SHAPE: ClassVar = "dialog"
    DECIDES: ClassVar = ""

    def __init__(self, arming: Arming | None = None) -> None:
        super().__init__()
        self.arming = arming or Arming(0.0)

    def compose(self) -> ComposeResult:
        with Vertical(classes=self.SHAPE):
            yield from self.parts()
            yield Static(classes="note")
            yield KeyLine(lambda _: self.keys())

    def parts(self) -> ComposeResult:
        """What it is about."""
        raise NotImplementedError

    def keys(self) -> tuple[KeyHint, ...]:
        """The keys that do something here."""
        return offered(self.BINDINGS)

    def on_mount(self) -> None:
        """Nobody can have read it yet."""
        self.arming.screen_changed()
        self.screen_layout_refresh_signal.subscribe(self, self._fit)

    def on_screen_resume(self) -> None:
        """What was covered has to be read again."""
        self.arming.screen_changed()

    def say(self, words: Content) -> None:
        """Something to know, above the keys; there is room for it before it is said, so that it moves nothing."""
        self.query_one(".note", Static).update(words)

    def refuses(self, does: str) -> bool:
        """An answer that comes too early is dropped; says why."""
        if does != self.DECIDES:
            self.arming.clicked()
            return False
        why = self.arming.why_not_armed()
        if why:
            self.arming.answer_dropped()
            self.say(own(f"not yet: {why}", MUTED))
            self._wait_for_it()
        return bool(why)

    def _wait_for_it(self) -> None:
        """That it is too early is said as long as it is."""
        if left := self.arming.seconds_until_armed():
            call_after(self, left + _SOON, self._wait_for_it)
        else:
            self.say(Content(""))

    def on_resize(self, event: events.Resize) -> None:
        """Where there is little room, none is given away."""
        self.set_class(event.size.height < _LOW, "-low")

    def _fit(self, _: object) -> None:
        """What scrolls gets the rows that the other parts leave, so that these stay in sight."""
        box = self.query_one(".dialog", Vertical)
        for body in box.query(".body"):
            others = [child for child in box.displayed_children if child is not body]
            taken = sum(child.outer_size.height + child.styles.margin.height for child in others)
            highest = box.styles.max_height
            rows = int(self.size.height * (highest.value / 100 if highest else 1))
            # The same again would lay out everything again, for ever.
            if (room := Scalar.from_number(max(_LEAST, rows - box.gutter.height - taken))) != body.styles.max_height:
                body.styles.max_height = room
