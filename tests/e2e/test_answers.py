"""Answers that take more than one key: taken back, edited, and several at once."""

import re

import pytest

from tests.e2e.conftest import CONFIG, House, answer
from tests.e2e.person import READY, read
from tests.e2e.terminal import CLEAR, CTRL_S, Terminal

pytestmark = pytest.mark.slow

# These tests are about one-key answers and batches, which a high risk would not allow.
ONE_KEY = """
[[risk]]
level = "normal"
action = "*-file"
"""


@pytest.fixture
def open_house(house: House) -> House:
    """A gate that runs, and a key that needs no passphrase. Moving and renaming files takes one key."""
    (house.home / "config.toml").write_text(CONFIG + ONE_KEY)
    house.make_key()
    house.start_gate()
    return house


def folder_of(house: House, file: str = "f-1001") -> tuple[str, ...]:
    return house.service.drive.files[file].sample.parents


def move(house: House, terminal: Terminal) -> None:
    """The agent wants to move a file, and the console is ready for the answer."""
    house.call("move-file", wait=0, file_id="f-1001", folder_id="d-reports")
    terminal.until("Quarterly report.pdf")
    read(terminal)


def test_an_approval_is_taken_back_within_the_window(open_house: House) -> None:
    with open_house.console() as terminal:
        move(open_house, terminal)
        terminal.press("a")
        terminal.until("s: u undo")
        terminal.press("u")
        terminal.until(lambda text: "s: u undo" not in text)
        assert "1 waiting" in terminal.still(2.5)
        assert folder_of(open_house) == ("d-inbox",)
        terminal.until(READY)
        terminal.press("a")
        terminal.until("done ✓")
    assert folder_of(open_house) == ("d-reports",)


def test_quitting_within_the_window_sends_nothing(open_house: House) -> None:
    with open_house.console() as terminal:
        move(open_house, terminal)
        terminal.press("a")
        terminal.until("s: u undo")
        terminal.press("q")
        terminal.until("Quit anyway?")
        terminal.press("y")
        assert terminal.end() == 0
    assert folder_of(open_house) == ("d-inbox",)


def test_five_more_minutes_survive_a_crash_of_the_gate(open_house: House) -> None:
    with open_house.console() as terminal:
        move(open_house, terminal)
        terminal.press("+")
        terminal.until(lambda text: bool(re.search(r"\b[89]:\d\d left", text)))
        assert READY in terminal.text
        open_house.kill_gate()
        terminal.until("not connected")
        open_house.start_gate()
        terminal.until("● connected")
        terminal.until(lambda text: bool(re.search(r"\b[89]:\d\d left", text)))
        read(terminal)
        terminal.press("a")
        terminal.until("done ✓")
        terminal.press("h")
        terminal.until("end of the list")
        terminal.press("\r")
        terminal.until(lambda text: bool(re.search(r"extended +once, by ", text)))
    assert folder_of(open_house) == ("d-reports",)


def test_an_edited_call_is_previewed_again_and_runs_as_edited(open_house: House) -> None:
    with open_house.console() as terminal:
        call = open_house.call("rename-file", file_id="f-1001", name="Report.pdf")
        terminal.until("Quarterly report.pdf")
        read(terminal)
        terminal.press("e")
        terminal.until("review changes")
        terminal.press("\t")
        terminal.still(0.3)
        terminal.press(CLEAR)
        terminal.still(0.3)
        terminal.press("Report of May.pdf")
        terminal.until("  Report of May.pdf")
        terminal.press(CTRL_S)
        terminal.until("a approve edited call")
        terminal.press("a")
        terminal.until("done ✓")
        assert answer(call)[0] == 0
    assert open_house.service.drive.files["f-1001"].sample.name == "Report of May.pdf"


def test_a_batch_does_what_its_sheet_says_and_no_more(open_house: House) -> None:
    with open_house.console() as terminal:
        calls = {
            file: open_house.call("move-file", file_id=file, folder_id="d-archive")
            for file in ("f-1001", "f-1002", "f-1003")
        }
        terminal.until("3 waiting")
        for _ in calls:
            read(terminal)
            terminal.press(" ")
            terminal.still(0.2)
        terminal.until("3 marked")
        terminal.still(1.0)
        terminal.press("A")
        shown = terminal.until("ctrl+s send")
        listed = re.findall(r"· File id (f-\d+)", shown)
        assert sorted(listed) == sorted(calls)
        terminal.press(" ", " ")
        terminal.until("leave ")
        terminal.press("j")
        terminal.still(0.2)
        terminal.press(" ")
        terminal.until("deny ")
        terminal.still(1.0)
        terminal.press(CTRL_S)
        terminal.until("1 approved, 1 denied")
        terminal.until("1 waiting")
        left, denied, approved = listed
        assert answer(calls[denied])[0] == 3
        assert answer(calls[approved])[0] == 0
        assert calls[left].poll() is None
    moved = [file for file in calls if folder_of(open_house, file) == ("d-archive",)]
    assert moved == [approved]
