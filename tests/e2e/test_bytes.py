"""Every byte that a hostile call makes the console write to its terminal."""

import re

from tests.console.pilots import UNSAFE
from tests.e2e.conftest import House
from tests.e2e.terminal import ENTER, PAGE_DOWN, Terminal
from tests.hostile import FORGED, MARKUP, SINGLE, STRINGS, TERMINAL, UNSEEN

GROUPS = (TERMINAL, STRINGS, SINGLE, UNSEEN, MARKUP, FORGED)
# Half of a surrogate pair is no JSON: the gate refuses it, so it never comes this way.
CORPUS = [text for group in GROUPS for text in group.values() if not re.search(r"[\ud800-\udfff]", text)]
ESCAPE = b"\x1b"
COLOUR = rb"[34]8;2;\d{1,3};\d{1,3};\d{1,3}"
# All that the console itself writes once it is open: styles, places, frames, the title, and how many wait.
OWN = re.compile(
    rb"\x1b\[(?:(?:[012347]|" + COLOUR + rb")(?:;(?=\d)|(?=m)))*m"
    rb"|\x1b\[\d{1,2};\d{1,3}H"
    rb"|\x1b\[\?2026[hl]"
    rb"|\x1b\]0;(?:\(\d+\) )?aileron\x07"
    rb"|\x1b\]9;aileron: \d+ requests? waits?\x07"
    rb"|\x1b\]777;notify;aileron;\d+ requests? waits?\x07"
    rb"|\x07|\r?\n"
)


def disguised() -> list[bytes]:
    """Texts whose sequences are such as the console writes itself: known by the words beside them."""
    found = [text.encode() for text in CORPUS if "\x1b" in text]
    return [text for text in found if (rest := OWN.sub(b"", text)) and not UNSAFE.search(rest.decode())]


def read_all(terminal: Terminal) -> None:
    """Pages through the prompt until it was read to its end."""
    terminal.until("read it to the end")
    terminal.press(ENTER)
    for _ in range(120):
        terminal.press(PAGE_DOWN)
        if "read it to the end" not in terminal.still(0.1):
            break
    terminal.until("ready for your answer")


def test_a_hostile_call_adds_no_byte_but_those_of_the_console(house: House) -> None:
    house.make_key()
    house.start_gate()
    with house.console(size=(100, 50)) as terminal:
        terminal.until("nothing waits")
        terminal.still(0.3)
        opened = len(terminal.raw)
        line = " ".join(text.replace("\n", "") for text in CORPUS)
        house.call("send-mail", to=line[:400], subject=line[-400:], body="\n".join(CORPUS))
        terminal.until("Approve send-mail?")
        read_all(terminal)
        # What was read last may end amid a sequence.
        written = bytes(terminal.raw[terminal.raw.index(ESCAPE, opened) : terminal.raw.rindex(ESCAPE)])
        assert "⟨ESC⟩".encode() in written
        assert disguised()
        left = OWN.sub(b"", written).decode()
        assert {found: left[max(0, left.index(found) - 40) :][:80] for found in UNSAFE.findall(left)} == {}
        assert [text for text in disguised() if text in written] == []
