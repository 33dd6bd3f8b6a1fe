"""The console on a gate of another process, in a real terminal."""

import os
import re
import signal
import time
from functools import partial

import pytest

from aileron_tui.demo.sample_data import HOSTILE, NOT_A_DRAFT
from tests.e2e.conftest import House, answer
from tests.e2e.person import approve, read
from tests.e2e.terminal import CTRL_C, CTRL_Q, CTRL_Z, ENTER, clean


@pytest.fixture
def open_house(house: House) -> House:
    """A gate that runs, and a key that needs no passphrase."""
    house.make_key()
    house.start_gate()
    return house


def test_an_approval_sends_exactly_one_mail(open_house: House) -> None:
    with open_house.console() as terminal:
        terminal.until("nothing waiting")
        call = open_house.call("send-draft", draft_id="r-12345")
        shown = terminal.until("team@example.com")
        assert "Approve send-draft?" in shown
        assert "1 waiting" in shown
        approve(terminal)
        code, told = answer(call)
    assert (code, told["status"]) == (0, "completed")
    assert open_house.subjects() == ["Weekly recap"]


def test_an_empty_console_says_how_an_agent_calls_the_gate(open_house: House) -> None:
    with open_house.console() as terminal:
        shown = terminal.until("Try it in another terminal")
        assert "Agents call http://127.0.0.1:" in shown
        assert "agent.token" in "".join(shown.split())
        assert "/v1/permissions" in shown


def test_a_denial_sends_nothing(open_house: House) -> None:
    with open_house.console() as terminal:
        call = open_house.call("send-draft", draft_id="r-12345")
        terminal.until("team@example.com")
        terminal.still(1.0)
        terminal.press("d")
        terminal.until("denied")
        code, told = answer(call)
    assert (code, told["status"]) == (3, "denied")
    assert open_house.subjects() == []


def test_a_preview_that_fails_is_seen_and_can_still_be_denied(open_house: House) -> None:
    with open_house.console() as terminal:
        call = open_house.call("send-draft", draft_id=NOT_A_DRAFT)
        terminal.until("Preview unavailable: Gmail API returned 404")
        terminal.still(1.0)
        terminal.press("d")
        terminal.until("denied")
        assert answer(call)[0] == 3


def test_hostile_content_sends_no_byte_of_its_own_to_the_terminal(open_house: House) -> None:
    with open_house.console() as terminal:
        open_house.call("send-draft", draft_id=HOSTILE)
        terminal.until("To (2 of 2)")
        seen = ""
        for _ in range(20):
            terminal.press(ENTER)
            seen += terminal.still(0.2)
        assert "Just the usual notes" in seen
        assert "⟨ESC⟩]52" in seen
        for poison in (b"\x1b[2J", b"\x1b]52;", b"\x1b]8;", "\u202e".encode(), "\u200b".encode()):
            assert poison not in terminal.raw


def test_a_resize_keeps_everything_needed_on_screen(open_house: House) -> None:
    with open_house.console(size=(120, 36)) as terminal:
        open_house.call("send-draft", draft_id="r-12345")
        terminal.until("team@example.com")
        for size in ((80, 24), (59, 20), (40, 15), (120, 36)):
            terminal.resize(size)
            shown = terminal.until(partial(_drawn, size))
            assert "send-draft" in shown


def _drawn(size: tuple[int, int], text: str) -> bool:
    """Whether the answer keys are on the last line of the new size, and what waits is on the first."""
    lines = text.split("\n")
    keys = re.match(r" a.* d.*\?", lines[-1])
    return len(lines) == size[1] and keys is not None and lines[0].endswith("1 waiting")


@pytest.mark.parametrize("key", [CTRL_C, CTRL_Q])
def test_leaving_restores_the_terminal_and_decides_nothing(open_house: House, key: str) -> None:
    with open_house.console() as terminal:
        call = open_house.call("send-draft", draft_id="r-12345")
        terminal.until("team@example.com")
        terminal.press(key)
        terminal.until("Quit anyway?")
        terminal.press(key)
        assert terminal.end() == 0
        assert clean(terminal)
        assert call.poll() is None
    assert open_house.subjects() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_restores_the_terminal(open_house: House, number: signal.Signals) -> None:
    with open_house.console() as terminal:
        terminal.until("nothing waiting")
        os.kill(terminal.process.pid, number)
        assert terminal.end() == 0
        assert clean(terminal)


def test_a_terminal_that_is_gone_ends_the_console_and_decides_nothing(open_house: House) -> None:
    with open_house.console() as terminal:
        call = open_house.call("send-draft", draft_id="r-12345")
        terminal.until("team@example.com")
        terminal.vanish()
        terminal.process.wait(20)
        assert call.poll() is None
    assert open_house.subjects() == []


@pytest.mark.parametrize("asked", [True, False], ids=["by ctrl+z", "by SIGSTOP"])
def test_being_stopped_and_going_on_draws_anew_and_decides_nothing(open_house: House, asked: bool) -> None:
    with open_house.console(shell=True) as terminal:
        call = open_house.call("move-file", file_id="f-1001", folder_id="d-reports")
        terminal.until("Quarterly report.pdf")
        read(terminal)
        if asked:
            terminal.press(CTRL_Z)
        else:
            terminal.stop()
        terminal.until("the program was stopped")
        assert clean(terminal) or not asked
        terminal.press("a", "\n")
        text = terminal.until(lambda text: "Quarterly report.pdf" in text and "the program was stopped" not in text)
        assert text.startswith(" aileron")
        terminal.still(1.0)  # until then the screen may still have the words from before
        read(terminal)
        terminal.press("d")
        terminal.until("denied")
        assert call.wait(15) == 3
        terminal.press("q")
        assert terminal.end() == 0
        assert clean(terminal)
    assert open_house.service.drive.files["f-1001"].sample.parents == ("d-inbox",)


def test_a_gate_that_dies_and_comes_back(open_house: House) -> None:
    with open_house.console() as terminal:
        open_house.call("send-draft", wait=0, draft_id="r-12345")
        terminal.until("team@example.com")
        open_house.kill_gate()
        terminal.until("not connected")
        terminal.until("send-draft")
        terminal.press("d")
        assert "denied" not in terminal.still(1.0)
        open_house.start_gate()
        terminal.until("● connected")
        terminal.until("team@example.com")
        approve(terminal)
    assert open_house.subjects() == ["Weekly recap"]


def test_keys_typed_before_the_prompt_was_read_are_dropped(open_house: House) -> None:
    with open_house.console() as terminal:
        terminal.until("nothing waiting")
        call = open_house.call("move-file", file_id="f-1001", folder_id="d-reports")
        end = time.monotonic() + 4
        while time.monotonic() < end:
            terminal.press("a")
            terminal.still(0.2)
        terminal.until(lambda text: "Quarterly report.pdf" in text and "1 waiting" in text)
        assert call.poll() is None
    assert open_house.service.drive.files["f-1001"].sample.parents == ("d-inbox",)
