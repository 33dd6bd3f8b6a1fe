"""The answer keys of a screen: whether they can be used now, and what disarms them."""

from typing import TYPE_CHECKING

from textual import events

from aileron_tui.console.answer_flow import AnswerFlow
from aileron_tui.console.key_actions import KeyAction, KeyScope
from aileron_tui.console.key_reasons import KeyState
from aileron_tui.console.key_table import BY_ID, at, running
from aileron_tui.core.decision import Verdict
from aileron_tui.surface.arming import Arming

if TYPE_CHECKING:
    from aileron_tui.console.port import ConsolePort


class AnswerKeys:
    """A mixin for a screen. A key that cannot be used says why; an answer counts only once the prompt is armed."""

    port: "ConsolePort"
    answers: AnswerFlow
    arming: Arming

    @property
    def key_state(self) -> KeyState:
        """What decides which keys can be used now."""
        raise NotImplementedError

    def show_status(self) -> None:
        """Shows whether an answer counts now."""
        raise NotImplementedError

    def usable(self, id_: str) -> bool:
        """Whether a key can be used now; if not, shows why."""
        return not self._refused(BY_ID[id_])

    def _refused(self, action: KeyAction) -> bool:
        """Whether a key does nothing now; if so, shows why. An answer that counts removes earlier messages."""
        why = action.why_not(self.key_state)
        if why:
            if action.armed:
                self.arming.answer_dropped()
            self.port.show_message(why)
            self.show_status()
        elif action.armed:
            self.port.clear_message()
        return bool(why)

    # what disarms an answer

    def on_key(self, event: events.Key) -> None:
        """Disarms on every key that is not an answer, so that typing never answers."""
        action = at(KeyScope.MAIN, event.key, self.port.keymap_in_use)
        if action is None or not (action.armed or action.keeps_armed):
            self.arming.typed()
            self.show_status()

    def on_paste(self, event: events.Paste) -> None:
        """Disarms, because pasted text is never an answer."""
        event.stop()
        self.arming.pasted()
        self.show_status()

    def on_screen_resume(self) -> None:
        """Disarms, because the prompt was covered by another screen."""
        self.arming.screen_changed()
        self.show_status()

    def refuses(self, action: str) -> bool:
        """Whether a click on a key is ignored: an answer that does not count now. Clicks on other keys disarm."""
        found = running(KeyScope.MAIN, action)
        if found is None or not found.armed:
            if found is None or not found.keeps_armed:
                self.arming.clicked()
            return False
        return self._refused(found)

    # answers

    def action_approve(self) -> None:
        """Approves the request that is shown."""
        if self.usable("approve"):
            self.answers.approve()

    def action_deny(self) -> None:
        """Denies the request that is shown."""
        if self.usable("deny"):
            self.answers.deny()

    def action_deny_reason(self) -> None:
        """Denies the request that is shown, with a reason."""
        if self.usable("deny_reason"):
            self.answers.deny_with_reason()

    def action_edit(self) -> None:
        """Opens the form for the inputs."""
        if self.usable("edit"):
            self.answers.edit()

    def action_mark(self) -> None:
        """Marks or unmarks the request, and goes to the next."""
        if self.usable("mark"):
            self.answers.mark()

    def action_mark_all(self) -> None:
        """Marks or unmarks every listed request."""
        if self.usable("mark_all"):
            self.answers.mark_all()

    def action_approve_marked(self) -> None:
        """Opens the sheet with every request set to approve."""
        if self.usable("approve_marked"):
            self.answers.batch(Verdict.APPROVE)

    def action_deny_marked(self) -> None:
        """Opens the sheet with every request set to deny."""
        if self.usable("deny_marked"):
            self.answers.batch(Verdict.DENY)

    def action_undo(self) -> None:
        """Cancels a held approval."""
        if self.usable("undo"):
            self.answers.take_back()

    def action_refresh(self) -> None:
        """Fetches the preview again."""
        if self.usable("refresh"):
            self.answers.refresh_preview()
