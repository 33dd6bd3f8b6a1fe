"""Where answers are given: asked once more if need be, held for the undo window, sent, and followed to their end."""

from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from textual.timer import Timer

from aileron_tui.console.board import Tone
from aileron_tui.console.deliveries import Answer, Outcome, deliver
from aileron_tui.console.render import foreign_line, own
from aileron_tui.console.screens.batch import BatchScreen, Choice
from aileron_tui.console.screens.confirm import ConfirmScreen, TypedConfirmScreen
from aileron_tui.console.screens.edit import EditScreen
from aileron_tui.console.screens.lock import LockScreen
from aileron_tui.console.screens.reason import ReasonScreen
from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.risk import Level
from aileron_tui.runtime.items import Item

if TYPE_CHECKING:
    from aileron_tui.console.app import Console


class Desk:
    """The answers of one console. Sending is work of the app, so it outlives every screen."""

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._board = console.board
        self._held: tuple[Answer, float, Timer] | None = None
        self.edited: Answer | None = None

    # one answer

    def approve(self) -> None:
        """Approves what is shown; high risk is asked once more."""
        answer = self.edited or self._answer(Verdict.APPROVE)
        if answer is None:
            return
        if answer.item.prompt.risk.level is Level.HIGH:
            self._ask_once_more(answer)
        else:
            self._hold(answer)

    def deny(self) -> None:
        """Denies the request that is shown, at once: nothing runs."""
        if answer := self._answer(Verdict.DENY):
            self._send(answer)

    def deny_with_reason(self) -> None:
        """Asks for the reason, then denies."""
        answer = self._answer(Verdict.DENY)
        if answer is None:
            return
        item = answer.item

        def denied(reason: str | None) -> None:
            if reason is not None:
                self._send(Answer(item, Verdict.DENY, reason))

        self._console.push_screen(ReasonScreen(item.prompt.action), denied)

    def _answer(self, verdict: Verdict) -> Answer | None:
        item = self._board.item
        return Answer(item, verdict) if item else None

    def _ask_once_more(self, answer: Answer) -> None:
        settings, prompt = self._console.settings, answer.item.prompt
        question = own("⚠ High risk. Approve ", "bold $text-error") + foreign_line(prompt.action) + own("?")

        def confirmed(sure: bool | None) -> None:
            if sure:
                self._hold(answer)

        if settings.high_risk == "type":
            self._console.push_screen(TypedConfirmScreen(question, prompt.action), confirmed)
        elif settings.high_risk == "passphrase" and self._console.keys.lockable:
            self._console.push_screen(LockScreen(self._console.keys, "Approve with your passphrase"), confirmed)
        else:
            detail = foreign_line(prompt.risk.reason)
            self._console.push_screen(ConfirmScreen(question, detail, seconds=settings.arm_seconds), confirmed)

    # the undo window

    def _hold(self, answer: Answer) -> None:
        """Keeps an approval back for a moment; low risk goes out at once. A second approval sends the first."""
        seconds = self._console.settings.undo_seconds
        if self._held:
            self._send(self._release(self._held))
        if not seconds or answer.item.prompt.risk.level is Level.LOW:
            self._send(answer)
            return
        timer = self._console.set_timer(seconds, self._time_is_up)
        self._held = (answer, monotonic() + seconds, timer)
        self._board.say(answer.item.id, "approved, u takes it back", Tone.WARN)
        self._console.redraw()

    def _time_is_up(self) -> None:
        if self._held:
            self._send(self._release(self._held))

    @property
    def held(self) -> float:
        """Seconds until a held approval is sent, 0 if there is none."""
        return max(0.1, self._held[1] - monotonic()) if self._held else 0.0

    def take_back(self) -> None:
        """Undo: nothing is sent."""
        if not self._held:
            self._console.hint("there is nothing to take back")
            return
        answer = self._release(self._held)
        self._board.say(answer.item.id, "")
        self._console.hint("taken back: nothing was sent")
        self._console.redraw()

    def _release(self, held: tuple[Answer, float, Timer]) -> Answer:
        held[2].stop()
        self._held = None
        return held[0]

    def look_again(self) -> None:
        """After news from the gate: an approval over what is no longer shown is not sent, its edit is forgotten."""
        if self.edited and not self._board.waits(self.edited.item.id):
            self.edited = None
        if self._held:
            answer = self._held[0]
            now = self._board.items.get(answer.item.id)
            if answer.edits is None and now and now.digest != answer.item.digest:
                self._release(self._held)
                self._board.say(answer.item.id, "")
                self._console.hint("it changed before it was sent: look again", Tone.WARN)

    # sending

    def _send(self, answer: Answer) -> None:
        self.edited = None
        self._board.say(answer.item.id, "sending…")
        self._board.marked.discard(answer.item.id)
        self._work(partial(self._deliver, [answer]), "answers")
        self._console.redraw()

    def _deliver(self, answers: list[Answer]) -> None:
        """Off the loop: sends one answer, or several one after the other."""
        outcomes = [self._delivered(answer) for answer in answers]
        if len(answers) > 1:
            self._console.call_from_thread(self._summed_up, outcomes)

    def _delivered(self, answer: Answer) -> Outcome:
        source = self._console.source
        outcome = deliver(source, answer) if source else Outcome(answer, False, "not connected: nothing was sent")
        self._console.call_from_thread(self._settled, outcome)
        return outcome

    def _settled(self, outcome: Outcome) -> None:
        """The pill tells the truth."""
        id_ = outcome.answer.item.id
        if outcome.taken:
            self._board.answered_here.add(id_)
            self._board.say(id_, "running…" if outcome.answer.verdict is Verdict.APPROVE else "denied")
        else:
            self._board.say(id_, "")
            self._console.hint(outcome.words, outcome.tone)
        self._console.redraw()

    def _summed_up(self, outcomes: list[Outcome]) -> None:
        counts = {"approved": 0, "denied": 0, "skipped": 0}
        for outcome in outcomes:
            verdict = "approved" if outcome.answer.verdict is Verdict.APPROVE else "denied"
            counts[verdict if outcome.taken else "skipped"] += 1
        words = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        why = "; ".join(dict.fromkeys(outcome.words for outcome in outcomes if not outcome.taken))
        self._console.hint(f"{words} ({why})" if why else words, Tone.WARN if why else Tone.GOOD)
        self._board.marked -= {outcome.answer.item.id for outcome in outcomes}
        self._console.redraw()

    def _work(self, task: "partial[None]", group: str) -> None:
        self._console.run_worker(task, thread=True, group=group, exit_on_error=False)

    # editing

    def edit(self) -> None:
        """Opens the form; what comes of it is shown as a difference before it can be approved."""
        item = self._board.item
        if item is None:
            return

        def edited(edits: JsonObject | None) -> None:
            if edits:
                self._board.say(item.id, "fetching the edited call…")
                self._console.redraw()
                self._work(partial(self._fetch_edited, item, edits), "previews")

        self._console.push_screen(EditScreen(item), edited)

    def _fetch_edited(self, item: Item, edits: JsonObject) -> None:
        source = self._console.source
        try:
            if source is None:
                raise AileronError("not connected")
            answer = Answer(source.refresh(item.id, edits), Verdict.APPROVE, "", edits)
        except AileronError as error:
            self._console.call_from_thread(self._not_edited, item, str(error))
        else:
            self._console.call_from_thread(self._show_edited, answer)

    def _not_edited(self, item: Item, why: str) -> None:
        self._board.say(item.id, "")
        self._console.hint(why, Tone.BAD)
        self._console.redraw()

    def _show_edited(self, answer: Answer) -> None:
        self._board.say(answer.item.id, "")
        if self._board.chosen == answer.item.id:
            self.edited = answer
        self._console.redraw()

    def forget_edit(self) -> None:
        """Back to what the agent sent."""
        self.edited = None

    # several at once

    def mark(self) -> None:
        """Marks the request for a batch, or unmarks it."""
        item = self._board.item
        if item is None or not self._board.waits(item.id):
            self._console.hint("only a waiting request can be marked")
            return
        self._board.marked ^= {item.id}
        self._console.redraw()

    def batch(self, verdict: Verdict) -> None:
        """The sheet of marked requests."""
        marked = [id_ for id_ in self._board.visible if id_ in self._board.marked and self._board.waits(id_)]
        if why := self._console.unable() or ("" if marked else "nothing is marked: space marks a request"):
            self._console.hint(why)
            return
        start = Choice.APPROVE if verdict is Verdict.APPROVE else Choice.DENY
        self._console.push_screen(BatchScreen([self._board.items[id_] for id_ in marked], start), self._send_all)

    def _send_all(self, chosen: list[tuple[Item, Verdict]] | None) -> None:
        if not chosen:
            return
        for item, _ in chosen:
            self._board.say(item.id, "sending…")
        self._console.redraw()
        self._work(partial(self._deliver, [Answer(item, verdict) for item, verdict in chosen]), "answers")
