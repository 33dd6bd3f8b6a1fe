"""A text field that takes only as much of a pasted text as fits, and says how much it left out."""

from textual import events
from textual.widgets import Input


class LimitedInput(Input):
    """Textual's field ignores a pasted text that is longer than `max_length`."""

    def on_paste(self, event: events.Paste) -> None:
        """Inserts the start of a text that is too long or has several lines."""
        text = event.text.rstrip("\n")
        room = (self.max_length or len(text)) - len(self.value) + len(self.selected_text)
        inserted = text.split("\n")[0].rstrip("\r")[: max(0, room)]
        if inserted == text:
            return
        event.stop()
        event.prevent_default()
        self.replace(inserted, *self.selection)
        words = f"{len(text) - len(inserted):,} characters did not fit and were dropped"
        self.app.notify(words, severity="warning", timeout=3, markup=False)
