"""A flood of input is dropped and counted; typing, held keys, mouse moves and pastes get through."""

import pytest

from aileron_tui.console.input_limit import BURST, MAX_PASTE, QUIET_SECONDS, InputLimit

START, END = "\x1b[200~", "\x1b[201~"
FOCUS, RESIZED = "\x1b[I", "\x1b[48;24;80;480;800t"


class Typist:
    """An input limit, the time it sees, and what it reported."""

    def __init__(self) -> None:
        self.now = 100.0
        self.bursts = self.floods = 0
        self.limit = InputLimit(self._burst, self._flood, lambda: self.now)

    def _burst(self) -> None:
        self.bursts += 1

    def _flood(self) -> None:
        self.floods += 1

    def type(self, text: str, seconds: float = 0.0) -> str:
        """Types after a pause; what got through."""
        self.now += seconds
        return self.limit.filter(text)


def test_200_kilobytes_are_dropped_and_counted() -> None:
    typist = Typist()
    passed = "".join(typist.type("a" * 4096, 0.001) for _ in range(50))
    assert passed == ""
    assert (typist.floods, typist.limit.take_dropped()) == (1, 0)
    typist.now += 2 * QUIET_SECONDS
    assert typist.limit.take_dropped() == 50 * 4096
    assert typist.limit.take_dropped() == 0
    assert typist.type("a", 1.0) == "a"


def test_a_flood_in_small_pieces_is_dropped_until_it_ends() -> None:
    typist = Typist()
    passed = "".join(typist.type("a", 0.0005) for _ in range(20_000))
    assert len(passed) < 1000
    assert typist.floods == 1
    assert typist.type("d", 2 * QUIET_SECONDS) == "d"


@pytest.mark.parametrize(
    ("key", "per_second"), [("a", 60), ("\x1b[6~", 100), ("\x1b[<35;10;20M", 1000), ("ä", 30)], ids=repr
)
def test_held_keys_and_mouse_moves_get_through_for_ever(key: str, per_second: int) -> None:
    typist = Typist()
    assert all(typist.type(key, 1 / per_second) == key for _ in range(60 * per_second))
    assert (typist.floods, typist.bursts) == (0, 0)


def test_a_flood_of_sequences_is_dropped_but_not_the_reports_of_the_terminal() -> None:
    typist = Typist()
    passed = "".join(typist.type("\x1b[B" * 1000 + FOCUS + RESIZED, 0.001) for _ in range(10))
    assert passed.count(FOCUS) == passed.count(RESIZED) == 10
    assert passed.count("\x1b[B") < 3000


def test_what_nobody_can_type_is_a_burst() -> None:
    typist = Typist()
    assert typist.type("a" * (BURST - 1)) == "a" * (BURST - 1)
    assert typist.bursts == 0
    assert typist.type("a" * BURST, 1.0) == "a" * BURST
    assert typist.bursts == 1


@pytest.mark.parametrize("size", [1, 3, 5, 7, 4096])
def test_a_paste_is_cut_at_its_limit_and_always_ends(size: int) -> None:
    typist = Typist()
    text = f"x{START}{'p' * (MAX_PASTE + 10)}{END}y"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    passed = "".join(typist.type(piece) for piece in pieces)
    assert passed == f"x{START}{'p' * MAX_PASTE}{END}y"
    typist.now += 1.0
    assert typist.limit.take_dropped() == 10


def test_a_pasted_sequence_is_not_typed() -> None:
    typist = Typist()
    text = f"{START}{'a' * 5000}\x1b[B{END}"
    assert typist.type(text) == text
    assert (typist.floods, typist.bursts) == (0, 0)


def test_the_escape_key_is_not_kept() -> None:
    typist = Typist()
    assert typist.type("\x1b") == "\x1b"
    assert typist.type("\x1b[") == "\x1b["
