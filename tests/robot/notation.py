"""What a text must look like on screen: the notation of PRODUCT and THREATS, written a second time for the robot.

It is deliberately small. It covers the characters that the robot's cases use, and says so (`UnknownNotation`) for
others, so that a case cannot pass because the reference was guessed. It never imports the console's own rendering.

- A newline is `⏎` in a field and a new row in a quote; a tab is `⇥`.
- Control characters are shown by name (`⟨ESC⟩`), invisible and format characters by code (`⟨U+202E⟩`). Four or more
  equal ones in a row are counted (`⟨U+200B ×412⟩`).
- In a field, nine or more blanks in a row, and three or more at the end, are counted (`⟨412 spaces⟩`). In a quote,
  these are twenty-five, and three at the end of a line; three or more blank lines are counted.
- Rows wrap between words where possible. One or two blanks at the end of a row are not drawn; more are counted there or
  in the next row.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

_C0: Final = """
    NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US
""".split()  # noqa: SIM905 - a table is easier to read as text
_C1: Final = """
    U+0080 U+0081 BPH NBH IND NEL SSA ESA HTS HTJ VTS PLD PLU RI SS2 SS3
    DCS PU1 PU2 STS CCH MW SPA EPA SOS U+0099 SCI CSI ST OSC PM APC
""".split()  # noqa: SIM905 - a table is easier to read as text
_SHOWN_BY_CODE: Final = {"Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
_FILLERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_SELECTORS: Final = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef\u180b-\u180f]")
_COMBINING: Final = {"Mn", "Mc", "Me"}


class UnknownNotation(Exception):
    """The reference does not cover this character."""


def name_of(character: str) -> str:
    """The name by which a character is shown, or "" if it is shown as it is."""
    code = ord(character)
    if code < 0x20:
        return _C0[code]
    if code == 0x7F:
        return "DEL"
    if 0x80 <= code <= 0x9F:
        return _C1[code - 0x80]
    if character == " ":
        return ""
    kind = unicodedata.category(character)
    if kind in _SHOWN_BY_CODE or character in _FILLERS or _SELECTORS.match(character):
        return f"U+{code:04X}"
    if kind in _COMBINING:
        raise UnknownNotation(f"U+{code:04X}")
    return ""


def _named(text: str) -> str:
    """Everything but newlines and tabs made visible."""
    out: list[str] = []
    index = 0
    text = text.replace("\r\n", "\n")
    while index < len(text):
        character = text[index]
        name = "" if character in "\n\t" else name_of(character)
        if not name:
            out.append(character)
            index += 1
            continue
        end = index
        while end < len(text) and text[end] == character:
            end += 1
        number = end - index
        out.append(f"⟨{name} ×{number}⟩" if number > 3 else f"⟨{name}⟩" * number)
        index = end
    return "".join(out)


def _counted(found: re.Match[str]) -> str:
    nouns = ((" ", "space"), ("\t", "tab"), ("\n", "newline"))
    counts = [(found[0].count(character), noun) for character, noun in nouns]
    words = ", ".join(f"{number} {noun}{'' if number == 1 else 's'}" for number, noun in counts if number)
    return f"⟨{words}⟩"


def in_field(text: str) -> str:
    """The text as one line."""
    folded = re.sub(r"[ \t\n]{9,}|[ \t\n]{3,}\Z", _counted, _named(text))
    return folded.replace("\n", "⏎").replace("\t", "⇥")


def in_quote(text: str) -> list[str]:
    """The text as lines."""
    lines: list[str] = []
    blank: list[str] = []
    for line in [*_named(text).split("\n"), None]:
        if line is not None and not line.strip(" \t"):
            blank.append(line)
            continue
        lines += [f"⟨{len(blank)} blank lines⟩"] if len(blank) > 2 else blank
        blank = []
        if line is not None:
            lines.append(line)
    folded = (re.sub(r"[ \t]{25,}|[ \t]{3,}$", _counted, line) for line in lines)
    return [line.replace("\t", "⇥") for line in folded]


def same_field(rows: list[str], text: str, seen: Callable[[str], str] = str) -> bool:
    """Whether these rows of a field show exactly this text, to somebody with this eyesight."""
    return _follows([seen(row) for row in rows], seen(in_field(text)))


def same_quote(rows: list[str], text: str, seen: Callable[[str], str] = str) -> bool:
    """Whether these rows of a quote show exactly this text. A quote does not tell a wrapped line from a new one."""
    rows = [seen(row) for row in rows]
    for line in in_quote(text):
        taken = _rows_for(rows, seen(line))
        if not taken:
            return False
        del rows[:taken]
    return not rows


def _rows_for(rows: list[str], line: str) -> int:
    """How many of the rows show this line; 0 if they do not."""
    for count in range(1, len(rows) + 1):
        if _follows(rows[:count], line):
            return count
        if sum(len(row) for row in rows[:count]) > len(line):
            break
    return 0


def _follows(rows: list[str], expected: str) -> bool:
    """Whether the rows, read one after the other, are the expected text; two blanks at a break may be missing."""
    at, ended_with = 0, ""
    for number, row in enumerate(rows):
        shown, start = row.rstrip(" "), at
        if number and expected.startswith(" ", at):
            at += len(expected[at:]) - len(expected[at:].lstrip(" "))
        blanks = at - start
        counted = f"⟨{blanks} spaces⟩"
        if blanks > 2 and ended_with != counted:
            if not shown.startswith(counted):
                return False
            shown = shown.removeprefix(counted)
        ended_with = ""
        if not expected.startswith(shown, at) and (end := re.search(r"⟨\d+ spaces⟩$", shown)):
            shown, ended_with = shown[: end.start()], end[0]
        if not expected.startswith(shown, at):
            return False
        at += len(shown)
    return expected[at:].strip(" ") == "" and not ended_with
