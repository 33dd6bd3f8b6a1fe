"""What a console wrote to its terminal, told apart: its own sequences, and what came with foreign text."""

import re

from tests.console.screen_app import UNSAFE
from tests.e2e.terminal import Terminal
from tests.hostile import FORGED, MARKUP, SINGLE, STRINGS, TERMINAL, UNSEEN

GROUPS = (TERMINAL, STRINGS, SINGLE, UNSEEN, MARKUP, FORGED)
# Half of a surrogate pair is no JSON: it is refused where it arrives, so it never comes this way.
CORPUS = [text for group in GROUPS for text in group.values() if not re.search(r"[\ud800-\udfff]", text)]
LINE = " ".join(text.replace("\n", "") for text in CORPUS)
"""All of it in one line."""

_ESCAPE = b"\x1b"
_COLOUR = rb"[34]8;2;\d{1,3};\d{1,3};\d{1,3}"
# All that the console itself writes once it is open: styles, places, frames, titles, mouse shapes, how many wait.
_OWN = re.compile(
    rb"\x1b\[(?:(?:[012347]|" + _COLOUR + rb")(?:;(?=\d)|(?=m)))*m"
    rb"|\x1b\[\d{1,2};\d{1,3}H"
    rb"|\x1b\[\?2026[hl]"
    rb"|\x1b\]0;(?:\(\d+\) )?aileron\x07"
    rb"|\x1b\]9;aileron: (?:1 request is|[\d,]+ requests are) waiting\x07"
    rb"|\x1b\]777;notify;aileron;(?:1 request is|[\d,]+ requests are) waiting\x07"
    rb"|\x1b\]22;(?:default|pointer|text)\x07"
    rb"|\x07|\r?\n"
)


def disguised() -> list[bytes]:
    """Texts whose sequences are such as the console writes itself: known by the words beside them."""
    found = [text.encode() for text in CORPUS if "\x1b" in text]
    return [text for text in found if (rest := _OWN.sub(b"", text)) and not UNSAFE.search(rest.decode())]


def written(terminal: Terminal, opened: int) -> bytes:
    """What was written since; what was read last may end amid a sequence."""
    return bytes(terminal.raw[terminal.raw.index(_ESCAPE, opened) : terminal.raw.rindex(_ESCAPE)])


def foreign(data: bytes) -> dict[str, str]:
    """Characters that a terminal obeys or hides and that the console did not write itself, and where they are."""
    left = _OWN.sub(b"", data).decode()
    found = {one: left[max(0, left.index(one) - 40) :][:80] for one in UNSAFE.findall(left)}
    return found | {text.decode(): "as it came" for text in disguised() if text in data}
