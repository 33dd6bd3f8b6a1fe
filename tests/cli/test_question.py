"""Questions on a terminal: what is shown, what counts as an answer, and what happens meanwhile."""

import os
import time
from dataclasses import replace

import pytest

from aileron_tui.cli import question_answers
from aileron_tui.cli.question_answers import EndOfInput
from aileron_tui.cli.question_terminal import Style, style_for
from aileron_tui.core.caution import Caution
from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.prompt import Asker
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.core.visible_text import cells
from tests.cli.question_desk import PASTE, PLAIN, QUICK, Desk, lasting
from tests.console import sample_requests as samples
from tests.console.hostile_texts import carried, hostile_texts
from tests.console.scripted_gate import ScriptedGate, request

pytestmark = pytest.mark.usefixtures("quick_answers")

ANSWERS = "[A]pprove   [D]eny   [V]iew   [S]kip   [Q]uit"
REAL_WAIT = 0.7


def verdicts(gate: ScriptedGate) -> list[tuple[str, Verdict]]:
    return [(id_, verdict) for id_, verdict, _, _ in gate.decided]


# Answers


def test_approve_deny_skip_and_quit_one_at_a_time() -> None:
    gate = ScriptedGate(*(lasting(request(number)) for number in range(1, 5)))
    with Desk(gate) as desk:
        shown = desk.asked(ANSWERS)
        assert "Approval required: 4 requests waiting, 4:5" in shown
        assert "Approve act-on-1?\nagent sent\n  Draft id: r-1\n" in shown
        assert "act-on-2" not in shown
        desk.press("a")
        desk.until("Approved act-on-1 act-1.\n")
        desk.until("act-on-1 act-1: done ✓")
        assert "Approve act-on-2?" in desk.asked()
        desk.press("D")
        desk.until("Reason, or enter for none: ")
        desk.press("not today\n")
        desk.until("Denied act-on-2 act-2.")
        assert "Approve act-on-3?" in desk.asked()
        desk.press("s")
        desk.until("Skipped act-on-3. It is still waiting.")
        assert "Approve act-on-4?" in desk.asked()
        desk.press("q")
        desk.until("2 requests still waiting.")
        assert desk.ended() == 0
        assert desk.restored()
    assert gate.decided == [("act-1", Verdict.APPROVE, "", None), ("act-2", Verdict.DENY, "not today", None)]


class LateGate(ScriptedGate):
    """Takes decisions and does not report what they changed."""

    def tell(self, name: str, *items: Request) -> None:
        for item in items:
            self.items[item.id] = item


def test_what_was_answered_here_is_not_counted_as_waiting_although_its_end_is_not_reported() -> None:
    gate = LateGate(*(lasting(request(number)) for number in range(1, 4)))
    with Desk(gate) as desk:
        desk.asked()
        desk.press("d")
        desk.until("Reason, or enter for none: ")
        desk.press("\n")
        desk.until("Denied act-on-1 act-1.")
        assert "Approval required: 2 requests waiting" in desk.asked()
        desk.press("q")
        desk.until("\n2 requests still waiting.")


def test_it_waits_for_the_next_request_and_says_so() -> None:
    gate = ScriptedGate()
    with Desk(gate) as desk:
        desk.until("Nothing is waiting. The next request is shown here.\nPress q to quit.\n")
        gate.tell("pending", lasting(request(1)))
        desk.asked()
        desk.press("s")
        desk.until("1 skipped request still waiting. Press enter to be asked again.")
        desk.press("\r")
        assert "Approve act-on-1?" in desk.asked()
        desk.press("q")
        assert desk.ended() == 0


@pytest.mark.parametrize(("answer", "code"), [("a", 0), ("d", 0), ("s", 1), ("q", 1)])
def test_once_asks_about_one_request(answer: str, code: int) -> None:
    gate = ScriptedGate(request(1), request(2))
    with Desk(gate, settings=replace(QUICK, once=True)) as desk:
        desk.asked()
        desk.press(answer)
        if answer == "d":
            desk.until("Reason")
            desk.until(": ")
            desk.press("\n")
        assert desk.ended() == code
    assert [id_ for id_, _ in verdicts(gate)] == (["act-1"] if code == 0 else [])


def test_view_shows_everything_that_was_fetched() -> None:
    with Desk(ScriptedGate(request(1))) as desk:
        desk.asked()
        desk.press("v")
        shown = desk.asked()
        assert '"everything fetched": {' in shown
        assert '"snippet": "not in a row"' in shown
        assert '"digest": "sha256:' in shown


def test_a_request_that_can_only_be_denied_offers_no_approval() -> None:
    only = replace(request(1), deny_only="it cannot be shown")
    gate = ScriptedGate(only)
    with Desk(gate) as desk:
        shown = desk.asked("[D]eny   [V]iew   [S]kip   [Q]uit")
        assert "[A]pprove" not in shown
        assert "only denied: it cannot be shown" in " ".join(shown.split())
        desk.press("a")
        desk.until("Press d, v, s or q.")
    assert gate.decided == []


# High risk


def test_high_risk_needs_the_name_of_the_action() -> None:
    gate = ScriptedGate(lasting(samples.worked()))
    with Desk(gate) as desk:
        assert "High risk: may send or publish" in desk.asked()
        for wrong in ("y", "send", "", "SEND-DRAFT"):
            desk.press("a")
            assert "To: team@example.com" in desk.until("High risk. Type send-draft to approve: ")
            desk.press(f"{wrong}\n")
            desk.until("so nothing was decided.")
            desk.asked()
        desk.press("a")
        desk.until("to approve: ")
        desk.press(PASTE.format("send-draft"), "\n")
        desk.until("so nothing was decided.")
        desk.asked()
        assert gate.decided == []
        desk.press("a")
        desk.until("to approve: ")
        desk.press("send-draft\n")
        desk.until("Approved send-draft")
    assert verdicts(gate) == [("act-1", Verdict.APPROVE)]


def test_a_name_that_nobody_can_type_is_replaced_by_a_word() -> None:
    gate = ScriptedGate(samples.item(samples.prompt(action="send\u202e-ｄraft")))
    with Desk(gate) as desk:
        desk.asked()
        desk.press("a")
        desk.until("High risk. Type approve to approve: ")
        desk.press("approve\n")
        desk.until("Approved send")
    assert len(gate.decided) == 1


# What was typed before, or for something else


@pytest.mark.parametrize("style", [Style(colour=False), PLAIN], ids=["keys", "lines"])
def test_what_was_typed_ahead_answers_nothing(style: Style) -> None:
    gate = ScriptedGate()
    with Desk(gate, armed=REAL_WAIT, style=style) as desk:
        desk.until("Nothing is waiting.")
        desk.press("a\na\na")
        gate.tell("pending", lasting(request(1)))
        desk.until("Approve act-on-1?")
        desk.press("a\na", "a\n")  # on screen, but only just
        assert desk.asked().endswith("> ")
        assert gate.decided == []
        desk.press("a\n" if style.plain else "a")
        desk.until("Approved act-on-1")
    assert len(gate.decided) == 1


@pytest.mark.parametrize("style", [Style(colour=False), PLAIN], ids=["keys", "lines"])
@pytest.mark.parametrize("text", ["a", "a\n", "approve\n", "a\na\na\n" * 50])
def test_pasted_text_answers_nothing(style: Style, text: str) -> None:
    gate = ScriptedGate(lasting(request(1)))
    with Desk(gate, style=style) as desk:
        desk.asked()
        desk.press(PASTE.format(text), "" if not style.plain or text.endswith("\n") else "\n")
        desk.until("Pasted text is not an answer.")
        desk.until("\n> ")
    assert gate.decided == []


@pytest.mark.parametrize("typed", ["approve", "add the file", "a\n", "aa", "deny"])
def test_a_key_that_is_part_of_a_word_answers_nothing(typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question_answers, "ALONE_SECONDS", REAL_WAIT)
    gate = ScriptedGate(lasting(request(1)))
    with Desk(gate, armed=REAL_WAIT) as desk:
        desk.asked()
        for key in typed:
            desk.press(key)
            time.sleep(0.05)
        desk.until("\n> ")
        desk.press("s")
        desk.until("Skipped")
    assert gate.decided == []


@pytest.mark.parametrize("style", [Style(colour=False), PLAIN], ids=["keys", "lines"])
def test_the_rest_of_a_word_does_not_quit_when_its_question_ends(style: Style) -> None:
    asked = lasting(samples.item(samples.prompt(action="query-all")))
    gate = ScriptedGate(asked)
    with Desk(gate, style=style, armed=REAL_WAIT) as desk:
        desk.asked()
        desk.press("a\n" if style.plain else "a")
        desk.until("Type query-all to approve: ")
        gate.tell("updated", replace(asked, state=RequestState.EXPIRED, revision=2))
        desk.until("No longer waiting")
        time.sleep(0.1)
        for key in "query-all":
            desk.press(key)
            time.sleep(0.1)
        desk.press("\n")
        time.sleep(REAL_WAIT + 0.3)
        assert desk.code is None
        desk.press("q\n" if style.plain else "q")
        assert desk.ended() == 0
    assert gate.decided == []


def test_a_line_must_come_alone() -> None:
    gate = ScriptedGate(lasting(request(1)))
    with Desk(gate, style=PLAIN) as desk:
        desk.asked()
        desk.press("a\nls -la\n")
        desk.until("More was typed right after it, so nothing was decided.")
        desk.until("\n> ")
        desk.press("approve\n")
        desk.until("Approved act-on-1")
    assert len(gate.decided) == 1


@pytest.mark.parametrize("key", ["\r", " ", "y", "\x1b", "\x1b[A", "é", "\t", "\x00", "1"])
def test_other_keys_answer_nothing(key: str) -> None:
    gate = ScriptedGate(lasting(request(1)))
    with Desk(gate) as desk:
        desk.asked()
        desk.press(key)
        desk.until("Press a, d, v, s or q.")
    assert gate.decided == []


@pytest.mark.parametrize("style", [Style(colour=False), PLAIN], ids=["keys", "lines"])
def test_the_end_of_input_decides_nothing(style: Style) -> None:
    gate = ScriptedGate(lasting(request(1)))
    with Desk(gate, style=style) as desk:
        desk.asked()
        desk.press("\x04")
        desk.ended()
        assert isinstance(desk.error, EndOfInput)
        assert desk.error.detail == "nothing was decided"
        assert desk.restored()
    assert gate.decided == []


# Everything was on screen


def test_a_long_prompt_is_approved_only_after_its_last_page() -> None:
    body = "\n".join(f"line {number}" for number in range(60))
    shown = replace(request(1).prompt, inputs=(Row("Body", body, multiline=True),), args={"body": body})
    gate = ScriptedGate(lasting(samples.item(shown)))
    with Desk(gate, size=(80, 24)) as desk:
        pages = []
        for _ in range(3):
            pages.append(desk.asked("[M]ore   [D]eny   [S]kip   [Q]uit"))
            assert len(pages[-1].splitlines()) <= 24
            desk.press("a")
            desk.until("Press m, d, s or q.")
            desk.until("\n> ")
            desk.press(" ")
        pages.append(desk.asked(ANSWERS))
        everything = "".join(pages)
        assert [f"    > line {number}\n" in everything for number in range(60)] == [True] * 60
        assert gate.decided == []
        desk.press("a")
        desk.until("Approved")
    assert len(gate.decided) == 1


def test_a_narrower_window_shows_the_prompt_again() -> None:
    gate = ScriptedGate(lasting(request(1)))
    with Desk(gate) as desk:
        desk.asked()
        desk.resize(40, 60)
        desk.until("The window is narrower now")
        shown = desk.asked("[A]pprove [D]eny [V]iew [S]kip [Q]uit")
        assert max(cells(line) for line in shown.split("\n")) <= 40


# How it looks


@pytest.mark.parametrize("size", [(1, 1), (1, 24), (19, 24), (80, 7)])
def test_nothing_is_approved_in_a_window_too_small_to_read(size: tuple[int, int]) -> None:
    gate = ScriptedGate(lasting(request(1)))
    with Desk(gate, settings=replace(QUICK, once=True)) as desk:
        desk.asked()
        desk.resize(*size)
        desk.until("the prompt is shown again" if size[0] > 79 else "window")
        while "To " not in (shown := desk.until("> ")):
            if "[M]ore" in shown:
                desk.press("m")
        desk.press("a")
        time.sleep(0.3)
        desk.resize(80, 60)
        desk.asked(ANSWERS)
        assert gate.decided == []
        desk.press("a")
        desk.until("Approved act-on-1")


@pytest.mark.parametrize(
    ("variables", "plain", "style"),
    [
        ({"TERM": "xterm"}, False, Style(plain=False, colour=True, escapes=True)),
        ({"TERM": "xterm"}, True, Style(plain=True, colour=False, escapes=True)),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False, Style(plain=False, colour=False, escapes=True)),
        ({"TERM": "xterm", "NO_COLOR": ""}, False, Style(plain=False, colour=True, escapes=True)),
        ({"TERM": "dumb"}, False, Style(plain=True, colour=False, escapes=False)),
        ({}, False, Style(plain=True, colour=False, escapes=False)),
    ],
)
def test_the_style_follows_the_environment(variables: dict[str, str], plain: bool, style: Style) -> None:
    assert style_for(variables, plain=plain) == style


def test_a_dumb_terminal_gets_no_escape_sequence() -> None:
    gate = ScriptedGate(lasting(samples.worked()))
    with Desk(gate, style=Style(plain=True, colour=False, escapes=False)) as desk:
        desk.asked()
        desk.press("a\n")
        desk.until("to approve: ")
        desk.press("send-draft\n")
        desk.until("done ✓")
        desk.until("Type q and press enter to quit.")
        desk.press("q\n")
        assert desk.ended() == 0
    assert b"\x1b" not in desk.raw
    assert "─" not in desk.text
    assert len(gate.decided) == 1


def test_colours_are_only_used_where_they_are_wanted() -> None:
    raw = {}
    for colour in (True, False):
        with Desk(ScriptedGate(lasting(samples.worked())), style=Style(colour=colour)) as desk:
            desk.asked()
        raw[colour] = desk.raw
    assert b"\x1b[1;31mHigh risk: may send or publish\x1b[0m" in raw[True]
    assert b"\x1b[1" not in raw[False]
    assert b"High risk: may send or publish\r\n" in raw[False]


@hostile_texts(parts=4, once=True)
@pytest.mark.parametrize("style", [Style(colour=True), PLAIN], ids=["usual", "plain"])
def test_hostile_text_is_shown_and_never_obeyed_in_every_element(
    style: Style, texts: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(question_answers, "TICK_SECONDS", 0.05)
    for name, text in texts.items():
        evil = carried(text)
        inputs = (Row(evil, evil), Row("Body", evil, multiline=True))
        shown = samples.prompt(inputs, (Row(evil, evil), Row("To", evil)), action=evil, asker=Asker(evil, evil, evil))
        asked = samples.item(replace(shown, risk=replace(shown.risk, reason=evil)), id_=f"act-{evil}")
        asked = lasting(replace(asked, cautions=(Caution(evil),), reason=evil))
        gate = ScriptedGate(asked)
        gate.trouble = AileronError(evil, evil, evil)
        with Desk(gate, style=style, size=(40, 60_000)) as desk:
            enter = "\n" if style.plain else ""
            desk.asked("[A]pprove [D]eny [V]iew [S]kip [Q]uit")
            desk.press(f"v{enter}")
            desk.asked("[A]pprove [D]eny")
            desk.press(f"d{enter}")
            desk.until("or enter for none: ")
            desk.press("\n")
            desk.until("Not ")
            desk.asked("[A]pprove [D]eny")
            gate.tell("updated", replace(asked, state=RequestState.DENIED, reason=evil, revision=2))
            desk.until("No longer waiting")
            desk.until("Nothing is waiting")
        written = desk.raw.replace(b"\x1b[?2004h", b"").replace(b"\x1b[?2004l", b"").replace(b"\r\n", b"\n")
        for ours in (b"\x1b[1;31m", b"\x1b[1m", b"\x1b[0m"):
            written = written.replace(ours, b"")
        odd = {byte for byte in written.decode() if (byte < " " and byte != "\n") or "\x7f" <= byte <= "\x9f"}
        assert not odd, (name, odd)
        assert max(cells(line) for line in written.decode().split("\n")) <= 40, name


def test_a_terminal_that_is_gone_decides_nothing() -> None:
    gate = ScriptedGate(lasting(request(1)))
    desk = Desk(gate)
    with desk:
        desk.asked()
        os.close(desk._slave)
        os.close(desk._master)
        desk._thread.join(20)
        assert isinstance(desk.error, AileronError)
        desk._master, desk._slave = os.pipe()  # something to close at the end
    assert gate.decided == []
