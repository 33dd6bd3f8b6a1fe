"""The mouse in a real terminal: what it reports is what a person did, and only a meant click answers."""

import os
import signal

import pytest

from tests.e2e.conftest import House, answer
from tests.e2e.person import READY, read
from tests.e2e.terminal import CTRL_Q, FOCUS_CAME, FOCUS_WENT, Terminal, clean

pytestmark = pytest.mark.slow


@pytest.fixture
def open_house(house: House) -> House:
    """A gate that runs, and a key that needs no passphrase."""
    house.make_key()
    house.start_gate()
    return house


def settled(terminal: Terminal) -> None:
    """Waits until an answer counts, and what the screen says of it is not older than the last click."""
    terminal.still(1.0)
    terminal.until(READY)


def test_a_click_on_approve_sends_exactly_one_mail(open_house: House) -> None:
    with open_house.console() as terminal:
        terminal.until("nothing waiting")
        call = open_house.call("send-draft", draft_id="r-12345")
        terminal.press(FOCUS_CAME)
        read(terminal)
        terminal.click("a approve")
        terminal.until("y yes")
        terminal.still(1.0)
        yes = terminal.place("y yes")
        for _ in range(3):
            terminal.click(yes)
        terminal.until("done ✓")
        code, told = answer(call)
    assert (code, told["status"]) == (0, "completed")
    assert open_house.subjects() == ["Weekly recap"]


@pytest.mark.parametrize("reported", [True, False])
def test_the_first_click_after_the_focus_came_answers_nothing(open_house: House, reported: bool) -> None:
    """Also where the terminal, as tmux does by default, tells nothing of the focus."""
    # All of the prompt is in the window: a key to read on would show that the terminal has the focus.
    with open_house.console(size=(100, 40)) as terminal:
        call = open_house.call("move-file", file_id="f-1001", folder_id="d-reports")
        terminal.until("Quarterly report.pdf")
        terminal.until(READY)
        if reported:
            terminal.press(FOCUS_WENT, FOCUS_CAME)
        terminal.click("d deny")
        terminal.until("not yet: ")
        settled(terminal)
        assert call.poll() is None
        terminal.click("d deny")
        terminal.until("denied")
        assert answer(call)[0] == 3


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGTSTP])
def test_keys_that_were_typed_while_it_was_stopped_answer_nothing(open_house: House, number: signal.Signals) -> None:
    with open_house.console() as terminal:
        call = open_house.call("move-file", file_id="f-1001", folder_id="d-reports")
        terminal.until("Quarterly report.pdf")
        read(terminal)
        os.kill(terminal.process.pid, number)
        terminal.still(1.0)
        terminal.press("a", "d")
        os.kill(terminal.process.pid, signal.SIGCONT)
        settled(terminal)
        assert call.poll() is None
        terminal.press("d")
        terminal.until("denied")
        assert answer(call)[0] == 3
        terminal.press(CTRL_Q)
        assert terminal.end() == 0
        assert clean(terminal)
    assert open_house.service.drive.files["f-1001"].sample.parents == ("d-inbox",)
