"""The base classes of dialogs: their keys always stay visible and can be clicked."""

from typing import ClassVar, Final, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import Vertical
from textual.content import Content
from textual.css.scalar import Scalar
from textual.screen import ModalScreen
from textual.widgets import Static

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_hints import KeyHint, dialog_hints
from aileron_tui.console.key_table import running
from aileron_tui.console.render import MUTED, trusted
from aileron_tui.console.timers import call_after
from aileron_tui.console.widgets.key_line import KeyLine
from aileron_tui.surface.arming import Arming

T = TypeVar("T")

_LEAST_ROWS: Final = 3
_JUST_AFTER: Final = 0.02


class Sheet(ModalScreen[T]):
    """A screen on top of another; closing it never closes another screen."""

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Closes this screen if it is on top. Textual closes whatever is on top, for example the lock screen."""
        return super().dismiss(result) if self.is_active else AwaitComplete()


class Dialog(Sheet[T]):
    """A box with content, a note and the keys of its scope. Only a part with the class `body` scrolls.

    With an `arming`, keys that decide count only once the dialog has been visible for a moment.
    """

    SHAPE: ClassVar = "dialog"
    SCOPE: ClassVar[KeyScope]
    LOW_HEIGHT: ClassVar = 20
    """Below this height of the window, the dialog uses less space around its content."""

    def __init__(self, arming: Arming | None = None) -> None:
        super().__init__()
        self.arming = arming or Arming(0.0)

    def compose(self) -> ComposeResult:
        with Vertical(classes=self.SHAPE):
            yield from self.parts()
            yield Static(classes="note")
            yield KeyLine(lambda _: self.keys())

    def parts(self) -> ComposeResult:
        """The content."""
        raise NotImplementedError

    def keys(self) -> tuple[KeyHint, ...]:
        """The keys to show."""
        return dialog_hints(self.SCOPE)

    def on_mount(self) -> None:
        """Disarms, because nobody has read the dialog yet."""
        self.arming.screen_changed()
        self.screen_layout_refresh_signal.subscribe(self, self._fit)

    def on_screen_resume(self) -> None:
        """Disarms, because the dialog was covered by another screen."""
        self.arming.screen_changed()

    def say(self, words: Content) -> None:
        """Shows a note above the keys. Its line is reserved, so that nothing moves."""
        self.query_one(".note", Static).update(words)

    def refuses(self, action: str) -> bool:
        """Whether a key is ignored because it decides and comes too early; if so, shows why."""
        found = running(self.SCOPE, action)
        if found is None or not found.armed:
            self.arming.clicked()
            return False
        why = self.arming.why_not_armed()
        if why:
            self.arming.answer_dropped()
            self.say(trusted(f"not yet: {why}", MUTED))
            self._clear_when_armed()
        return bool(why)

    def _clear_when_armed(self) -> None:
        """Removes the note as soon as the key would count."""
        if left := self.arming.seconds_until_armed():
            call_after(self, left + _JUST_AFTER, self._clear_when_armed)
        else:
            self.say(Content(""))

    def on_resize(self, event: events.Resize) -> None:
        """Uses less space in a low window."""
        self.set_class(event.size.height < self.LOW_HEIGHT, "-low")

    def _fit(self, _: object) -> None:
        """Limits the height of the part that scrolls, so that the other parts stay visible."""
        box = self.query_one(".dialog", Vertical)
        for body in box.query(".body"):
            others = [child for child in box.displayed_children if child is not body]
            taken = sum(child.outer_size.height + child.styles.margin.height for child in others)
            highest = box.styles.max_height
            rows = int(self.size.height * (highest.value / 100 if highest else 1))
            room = Scalar.from_number(max(_LEAST_ROWS, rows - box.gutter.height - taken))
            # Setting the same height again would start another layout, in an endless loop.
            if room != body.styles.max_height:
                body.styles.max_height = room
