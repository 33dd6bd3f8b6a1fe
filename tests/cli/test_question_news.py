"""Questions on a terminal while something else happens: news from the gate, other surfaces, the key."""

import threading
from dataclasses import replace

import pytest

from aileron_tui.cli.question import QuestionSettings
from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import utc_now
from aileron_tui.runtime.errors import PromptChanged
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.surface.security_key_device import TouchCancelled, TouchDialog, TouchFault
from aileron_tui.surface.security_key_touch import Touched
from tests.cli.question_desk import ClosableGate, Desk, LockableKey, lasting
from tests.console import sample_requests as samples
from tests.console.scripted_gate import ScriptedGate, request

pytestmark = pytest.mark.usefixtures("quick_answers")


# Meanwhile


def test_what_was_answered_elsewhere_is_not_answered_here() -> None:
    one, two = lasting(request(1)), lasting(request(2))
    gate = ScriptedGate(one, two)
    with Desk(gate) as desk:
        desk.asked()
        gate.tell("updated", replace(one, state=RequestState.DENIED, reason="no", revision=2))
        desk.until("No longer waiting: answered elsewhere: denied: no")
        assert "Approve act-on-2?" in desk.asked()
        gate.tell("updated", replace(two, state=RequestState.EXPIRED, revision=2))
        desk.until("No longer waiting: nobody answered")
        desk.until("Nothing is waiting.")
    assert gate.decided == []


def test_two_prompts_at_once_give_one_answer() -> None:
    one = lasting(request(1))
    gate = ScriptedGate(one)
    with Desk(gate) as desk:
        desk.asked()
        gate.items["act-1"] = replace(one, state=RequestState.DENIED)  # its event is still on the way
        desk.press("a")
        desk.until("Answered elsewhere: denied.")
        gate.tell("updated", replace(one, state=RequestState.DENIED, revision=2))
        desk.until("Nothing is waiting.")
    assert gate.decided == []


def test_a_changed_prompt_is_read_again() -> None:
    one = lasting(request(1))
    other = replace(one.prompt, inputs=(Row("Draft id", "r-666"),), args={"draft_id": "r-666"})
    changed = lasting(replace(samples.item(other, revision=2), id="act-1"))
    gate = ScriptedGate(one)
    with Desk(gate) as desk:
        desk.asked()
        gate.tell("updated", changed)
        desk.until("The prompt has changed. Read it again.")
        assert "Draft id: r-666" in desk.asked()
        gate.trouble = PromptChanged(409, {"error": {"code": "PROMPT_CHANGED", "message": "x"}})
        desk.press("a")
        desk.until("The prompt changed: look again.")
        gate.trouble = None
        gate.tell("updated", replace(one, revision=3))
        assert "Draft id: r-1\n" in desk.asked()
        desk.press("a")
        desk.until("Approved act-on-1")
    assert len(gate.decided) == 1


def test_a_lost_gate_takes_the_question_away_until_it_is_back() -> None:
    gate = ScriptedGate(lasting(request(1)))
    with Desk(gate) as desk:
        desk.asked()
        gate.hang_up()
        desk.until("Not connected")
        desk.until("Nothing was decided.")
        desk.until("Press q to quit.")
        desk.press("a")
        gate.down = False
        assert "Approve act-on-1?" in desk.asked()
        assert gate.decided == []
        desk.press("a")
        desk.until("Approved act-on-1")


def test_an_answer_that_was_refused_is_asked_for_again() -> None:
    gate = ScriptedGate(lasting(request(1)))
    gate.trouble = AileronError("the \x1b[2Jdisk is full", hint="Make room.")
    with Desk(gate) as desk:
        desk.asked()
        desk.press("a")
        desk.until("Not sent: the ⟨ESC⟩[2Jdisk is full.\nMake room.")
        desk.asked()
        gate.trouble = None
        desk.press("a")
        desk.until("Approved act-on-1")


def test_the_last_seconds_are_announced() -> None:
    with Desk(ScriptedGate(lasting(request(1), 30.8))) as desk:
        desk.asked()
        desk.until("30 seconds left.")
        desk.until("\n> ")


def test_a_preview_that_is_being_fetched_is_waited_for() -> None:
    ready = lasting(samples.worked())
    gate = ScriptedGate(replace(ready, fetching=True, revision=0))
    with Desk(gate) as desk:
        desk.until("Its preview is being fetched.")
        gate.tell("updated", ready)
        assert "Subject:  Weekly recap" in desk.asked()


def test_stopping_takes_the_question_away() -> None:
    gate = ScriptedGate(lasting(request(1)))
    with Desk(gate) as desk:
        desk.asked()
        desk.loop.stop()
        desk.until("Stopping. Nothing was decided.")
        assert desk.ended() == 0
    assert gate.decided == []


# The key


def test_the_key_is_locked_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("aileron_tui.cli.question_lock.elapsed", lambda: now[0])
    key = LockableKey()
    gate = ClosableGate(lasting(request(1)))
    with Desk(gate, key=key, settings=QuestionSettings(lock_minutes=15, bell=False)) as desk:
        desk.until("Passphrase of default: ")
        desk.press("wrong\n")
        desk.until("Wrong passphrase.\nPassphrase of default: ")
        desk.press("correct horse\n")
        desk.asked()
        now[0] += 15 * 60
        desk.until("The key is locked: nothing was typed for 15 minutes.")
        desk.until("A request is waiting. Unlock your key to read it")
        assert key.key is None
        desk.until("Passphrase of default: ")
        desk.press("correct horse\n")
        desk.asked()
        assert "correct horse" not in desk.text
        desk.press("a")
        desk.until("Approved act-on-1")


def test_high_risk_can_need_the_passphrase() -> None:
    gate = ScriptedGate(lasting(samples.worked()))
    with Desk(gate, key=LockableKey(), settings=QuestionSettings("passphrase", bell=False)) as desk:
        desk.until("Passphrase of default: ")
        desk.press("correct horse\n")
        desk.asked()
        desk.press("a")
        desk.until("High risk. Approve with the passphrase of default: ")
        desk.press("send-draft\n")
        desk.until("Not approved: wrong passphrase")
        desk.asked()
        assert gate.decided == []
        desk.press("a")
        desk.until("High risk. Approve with the passphrase of default: ")
        desk.press("correct horse\n")
        desk.until("Approved send-draft")


# Other surfaces


class WatchedGate(ScriptedGate):
    """A gate that is told who reads what, and tells it."""

    def __init__(self, *items: Request) -> None:
        super().__init__(*items)
        self.read: list[str] = []
        self.heard = threading.Condition()

    def report_presence(self, *, awake: bool, reading: str) -> None:
        assert awake
        with self.heard:
            self.read.append(reading)
            self.heard.notify_all()

    def until_read(self, *wanted: str) -> None:
        with self.heard:
            assert self.heard.wait_for(lambda: self.read == list(wanted), 20), self.read

    def say(self, name: str, data: JsonObject) -> None:
        self._events.put(SourceEvent(self._number, name, data, (), self.name))


def test_who_reads_and_answers_elsewhere_is_said_and_reported() -> None:
    one = lasting(request(1))
    gate = WatchedGate(one)
    with Desk(gate) as desk:
        desk.asked()
        gate.until_read("act-1")
        readers: JsonObject = {"id": "act-1", "readers": [{"surface": "prompt", "name": "test"}]}
        gate.say("reading", readers)  # that is this prompt
        both: list[Json] = [{"surface": "prompt", "name": "test"}, {"surface": "page", "name": "an\x1ba"}]
        gate.say("reading", {"id": "act-1", "readers": both})
        desk.until('It is being read on the page by "an⟨ESC⟩a".')
        desk.until("\n> ")
        gate.say("resolved", {"id": "act-1", "approved": False, "surface": "page", "by": "ana"})
        gate.tell("updated", replace(one, state=RequestState.DENIED, revision=2))
        desk.until("No longer waiting: denied on the page by ana")
        gate.until_read("act-1", "")
    assert gate.decided == []


# Security keys


class SigningGate(ScriptedGate):
    """A gate that takes what a security key signed."""

    def __init__(self, *items: Request) -> None:
        super().__init__(*items)
        self.signed: list[object] = []

    def statement(
        self, item: Request, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> object:
        return item.statement(verdict, reason=reason, edits=edits, surface="prompt", now=utc_now())

    def decide_signed(self, item: Request, envelope: object, approver: object) -> RequestState:
        self.signed.append((item.id, envelope, approver))
        return super().decide(item, Verdict.APPROVE)


def test_high_risk_can_need_the_touch_of_a_security_key(monkeypatch: pytest.MonkeyPatch) -> None:
    pins: list[str] = []
    problems = [TouchFault("no security key is plugged in", hint="Plug it in.")]

    def touch(_: object, person: TouchDialog, cancelled: threading.Event | None = None) -> Touched:
        if problems:
            raise problems.pop()
        pins.append(person.ask_pin("PIN of the security key"))
        person.say("Touch your security key now.")
        return Touched("envelope", "approver")  # type: ignore[arg-type]  # only passed on

    monkeypatch.setattr("aileron_tui.cli.security_key_prompt.touch", touch)
    gate = SigningGate(lasting(samples.worked()))
    with Desk(gate, settings=QuestionSettings("key", bell=False)) as desk:
        desk.asked()
        desk.press("a")
        desk.until("Not approved: no security key is plugged in\nPlug it in.")
        desk.asked()
        desk.press("a")
        assert "To: team@example.com" in desk.until("PIN of the security key: ")
        desk.press("123456\n")
        desk.until("Touch your security key now.")
        desk.until("Approved send-draft")
        assert "123456" not in desk.text
    assert pins == ["123456"]
    assert gate.signed == [("act-1", "envelope", "approver")]


def test_a_touch_is_cancelled_if_the_request_is_answered_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def touch(_: object, person: TouchDialog, cancelled: threading.Event | None = None) -> Touched:
        person.say("Touch your security key now.")
        assert cancelled is not None
        assert cancelled.wait(20)
        ended.set()
        raise TouchCancelled("cancelled")

    monkeypatch.setattr("aileron_tui.cli.security_key_prompt.touch", touch)
    one = lasting(samples.worked())
    gate = SigningGate(one)
    with Desk(gate, settings=QuestionSettings("key", bell=False)) as desk:
        desk.asked()
        desk.press("a")
        desk.until("Touch your security key now.")
        gate.tell("updated", replace(one, state=RequestState.EXPIRED, revision=2))
        desk.until("No longer waiting: nobody answered")
        assert ended.wait(20)
    assert gate.signed == []
