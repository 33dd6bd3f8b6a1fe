"""Nothing that was not on screen is answered, in a real terminal."""

import threading

import pytest

from tests.e2e.conftest import House
from tests.e2e.person import UNREAD, confirm, read
from tests.e2e.terminal import ENTER

pytestmark = pytest.mark.slow


@pytest.fixture
def open_house(house: House) -> House:
    """A gate that runs, and a key that needs no passphrase."""
    house.make_key()
    house.start_gate()
    return house


def test_a_huge_paste_without_brackets_is_dropped_with_a_word(open_house: House) -> None:
    with open_house.console() as terminal:
        call = open_house.call("send-draft", draft_id="r-12345")
        terminal.until("Weekly recap")
        terminal.still(1.5)
        flood = threading.Thread(target=terminal.press, args=("a" * 200_000,), daemon=True)
        flood.start()
        terminal.until("characters of input were dropped")
        flood.join(30)
        terminal.press("?")
        terminal.until("Enter and space never answer a request")
        assert call.poll() is None
    assert open_house.subjects() == []


def test_a_filter_that_hides_the_request_denies_and_approves_nothing(open_house: House) -> None:
    with open_house.console() as terminal:
        call = open_house.call("send-draft", draft_id="r-12345")
        read(terminal)
        terminal.press("/")
        terminal.until("filter:")
        terminal.press("zzz")
        terminal.until("nothing matches")
        terminal.press(ENTER)
        terminal.until("the filter hides this request")
        for key in ("d", "a", "D", "e"):
            terminal.still(1.0)
            terminal.press(key)
        terminal.still(1.0)
        assert call.poll() is None
        terminal.press("\x1b")
        read(terminal)
        confirm(terminal)
        terminal.until("done ✓")
    assert open_house.subjects() == ["Weekly recap"]


def test_a_page_that_was_skipped_must_be_read_at_the_smallest_size(open_house: House) -> None:
    with open_house.console(size=(40, 15)) as terminal:
        call = open_house.call("send-draft", draft_id="r-12345")
        terminal.until(UNREAD)
        terminal.press(ENTER)
        terminal.still(0.3)
        for _ in range(3):
            terminal.press("\x1b[F")  # end
            terminal.still(0.5)
        terminal.still(1.0)
        assert UNREAD in terminal.text
        terminal.press("a")
        terminal.still(1.0)
        assert "y yes" not in terminal.text
        terminal.resize((60, 18))
        terminal.still(1.0)
        for _ in range(60):
            terminal.press(ENTER)
            if UNREAD not in terminal.still(0.3):
                break
        terminal.still(1.0)
        confirm(terminal)
        terminal.until("done ✓")
        assert call.wait(20) == 0
    assert open_house.subjects() == ["Weekly recap"]
