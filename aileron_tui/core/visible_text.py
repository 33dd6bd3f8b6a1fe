"""Foreign text made visible: the one way in which anything we did not write reaches a terminal.

Ordinary letters, marks, digits, punctuation and symbols of every script stay as they are, and so do the space
and, in `visible` and `block`, the newline. Everything else is shown between ⟨ and ⟩ and never dropped:

- control characters by name (`⟨ESC⟩`), all else by number (`⟨U+202E⟩`): format characters, bidi controls,
  tags, every space but U+0020, line separators, fillers and whatever Unicode calls ignorable, surrogates,
  private use, and what Unicode 14.0 (`character_table`) had not assigned. The table, not the running Python,
  decides, so the same text looks the same everywhere. More than three alike in a row are counted:
  `⟨U+200B ×412⟩`.
- A tab is `⇥`, without padding: columns would depend on widths that terminals disagree about.
- CR LF is a plain newline; a CR alone is shown.
- Joined emoji: terminals also disagree about the width of a joined sequence, so the joiner is shown, but short,
  as `⟨+⟩` between two pictographs (`👩⟨+⟩💻`). For the same reason the selector that turns a symbol into an
  emoji is shown as `⟨emoji⟩` where it does that (`❤⟨emoji⟩`, `1⟨keycap⟩`) and by number elsewhere. Skin tones
  and flags are whole characters and stay.
- At most six combining marks stay on one base, more than pointed Hebrew, Burmese or Tibetan need; the rest is
  counted. A mark with nothing to sit on is shown by number. Vowels and finals of conjoining Hangul count as
  marks, since terminals stack them too.

A ⟨…⟩ that the text itself contains is left alone: it can only warn too much. `pieces` tells it from ours, so
that a console colours only the real ones. All forms are idempotent.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import NewType

from aileron_tui.core import character_table

Visible = NewType("Visible", str)
Pieces = tuple[tuple[Visible, bool], ...]

MARKS_PER_BASE = 6
ALIKE_IN_A_ROW = 3
BLANK_LINES = 2
SPACES_IN_LINE = 8
SPACES_IN_BLOCK = 24
SPACES_AT_END = 2
_NARROWEST = 8

# While we work, our own marks stand between these two, which no text that was made visible can contain. Tabs
# and newlines stay themselves until the last step.
_OPEN, _CLOSE = "\x0e", "\x0f"

_ODD = f"^{character_table.PLAIN}"
_HIDDEN = f"^{character_table.PLAIN}{character_table.MARKS}"
_LONG, _LONG_AND_FAR = 1000, 100_000

# Nothing may sit on these. The three signs are ours in the output, hence also when the text imitates them.
_NO_BASE = " \n\t⟩⇥⏎"

_C0 = """
    NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI
    DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US
"""
_C1 = """
    U+0080 U+0081 BPH NBH IND NEL SSA ESA HTS HTJ VTS PLD PLU RI SS2 SS3
    DCS PU1 PU2 STS CCH MW SPA EPA SOS U+0099 SCI CSI ST OSC PM APC
"""
_NAMES = {"\x7f": "DEL"}
_NAMES.update((chr(code), name) for code, name in enumerate(_C0.split()))
_NAMES.update((chr(code), name) for code, name in enumerate(_C1.split(), 0x80))

_EMOJI_STYLE, _JOINER, _KEYCAP = "\ufe0f", "\u200d", "\u20e3"

_FAR = re.compile("[\U00010000-\U0010ffff]")
_BEYOND = re.compile(r"(?:\\U[0-9a-f]{8}-?)+")
_ASCII_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]+")
_LINE_PADDING = re.compile(rf"[ \t\n]{{{SPACES_IN_LINE + 1},}}|[ \t\n]{{{SPACES_AT_END + 1},}}\Z")
_BLOCK_PADDING = re.compile(rf"[ \t]{{{SPACES_IN_BLOCK + 1},}}|[ \t]{{{SPACES_AT_END + 1},}}$", re.MULTILINE)
_ALIKE = re.compile(r"(.)\1*", re.DOTALL)
_OUR_MARK = re.compile(f"({_OPEN}[^{_CLOSE}]*{_CLOSE}|[\t\r])")


def visible(text: str) -> Visible:
    """The text with everything shown that a terminal would hide or obey; newlines stay."""
    return _finish(_marked(text))


def inline(text: str) -> Visible:
    """The text as one line: newlines are `⏎`, and long runs of blanks are counted (`⟨412 spaces⟩`)."""
    return _finish(_one_line(text))


def block(text: str) -> tuple[Visible, ...]:
    """The text as lines, with counts for blank lines (`⟨412 blank lines⟩`) and long or trailing blanks."""
    return tuple(Visible(line) for line in _finish(_folded(text)).split("\n"))


def pieces(text: str) -> Iterator[tuple[Visible, bool]]:
    """The parts of `visible(text)` in order, each with whether it is a mark of ours."""
    return _split(_marked(text))


def inline_pieces(text: str) -> Iterator[tuple[Visible, bool]]:
    """The parts of `inline(text)`, each with whether it is a mark of ours."""
    return _split(_one_line(text))


def block_pieces(text: str) -> tuple[Pieces, ...]:
    """The lines of `block(text)`, each as its parts with whether they are marks of ours."""
    return tuple(tuple(_split(line)) for line in _folded(text).split("\n"))


def count_not_plain(text: str) -> int:
    """How many characters of a text do not stay as they are wherever they stand."""
    return len(_class(_HIDDEN if _FAR.search(text) else _near(_HIDDEN)).findall(text))


def repeat_notice(character: str, number: int) -> Visible:
    """What is made of so many of a character that does not stand on its own, without looking at each; "" of others."""
    some = character * (ALIKE_IN_A_ROW + 1)
    return Visible("") if visible(some) == some else _finish(_named(character, number))


def cells(text: str) -> int:
    """How many columns of a terminal visible text takes."""
    if text.isascii():
        return len(text)
    wide = len(text) - len(_class(character_table.WIDE).sub("", text))
    return wide + len(_class(character_table.NARROWEST).sub("", text))


def clip(text: Visible, width: int) -> Visible:
    """One line cut to `width` columns, ending in how many characters are hidden: `…⟨+123⟩`.

    Marks are never cut in two. Where not even the notice fits, the notice alone is returned.
    """
    if len(text) <= width and text.isascii():
        return text
    ends = [(0, 0)]
    used = 0
    for unit in _unit().finditer(text):
        used += cells(unit[0])
        if used > width:
            break
        ends.append((unit.end(), used))
    else:
        return text
    notice = ""
    for end, taken in reversed(ends):
        notice = f"…⟨+{len(text) - end}⟩"
        if taken + len(notice) <= width:
            return Visible(text[:end] + notice)
    return Visible(notice)


def wrap(text: Visible, width: int, hang: str) -> Iterator[Visible]:
    """One line as rows of at most `width` columns, of which all but the first begin with `hang`.

    A terminal would go on in its first column, where text could pass for a line of ours. No `width`, no rows.
    """
    row, used, room = "", 0, max(width, cells(hang) + _NARROWEST)
    if not width or cells(text) <= room:
        yield text
        return
    for unit in _unit().finditer(text):
        size = cells(unit[0])
        if used + size > room and row not in ("", hang):
            yield Visible(row)
            row, used = hang, cells(hang)
        row, used = row + unit[0], used + size
    yield Visible(row)


def clip_lines(lines: Sequence[Visible], height: int) -> tuple[Visible, ...]:
    """At most `height` lines (at least one), the last of which tells how many are hidden."""
    if len(lines) <= height:
        return tuple(lines)
    kept = max(height - 1, 0)
    return (*lines[:kept], Visible(f"⟨{_count(len(lines) - kept, 'more line')}⟩"))


def prepare() -> Iterator[None]:
    """Compiles the large classes one by one, so that no text has to wait for it, in other scripts either."""
    for wanted in (
        (_near(_ODD), "+"),
        (_near(_HIDDEN),),
        (character_table.MARKS, "+"),
        (character_table.EMOJI,),
        (character_table.PICTOGRAPHS,),
        (character_table.WIDE,),
        (character_table.NARROWEST,),
        (_ODD, "+"),
        (_HIDDEN,),
    ):
        _class(*wanted)
        yield
    for odd in (_near(_ODD), _ODD):
        _misplaced(odd)
        yield
    _unit()


@cache
def _class(inside: str, after: str = "") -> re.Pattern[str]:
    """A character class of the table, compiled when the first text needs it."""
    return re.compile(f"[{_literal(inside)}]{after}")


@cache
def _unit() -> re.Pattern[str]:
    """What `clip` does not cut: a mark of ours, a flag, a character with all that sits on it."""
    return re.compile(rf"⟨[^⟨⟩\n]{{1,40}}⟩|[🇦-🇿]{{2}}|.[🏻-🏿]?[{_literal(_ODD)}]*", re.DOTALL)


@cache
def _misplaced(odd: str) -> re.Pattern[str]:
    """Marks without a base and too many marks, in text that contains nothing else to show."""
    mark = f"[{_literal(odd)}]"
    return re.compile(rf"(?:\A|[{_NO_BASE}]|{mark}{{{MARKS_PER_BASE}}}){mark}")


def _literal(inside: str) -> str:
    """The inside of a class with its characters as such, which compiles in two thirds of the time."""
    return inside.encode("ascii").decode("unicode_escape")


def _marked(text: str) -> str:
    """The text with our marks in their working form."""
    text = text.replace("\r\n", "\n")
    if text.isascii():
        return _ASCII_ODD.sub(lambda odd: _shown(odd[0]), text)
    far = _FAR.search(text) is not None
    odd, hidden = (_ODD, _HIDDEN) if far else (_near(_ODD), _near(_HIDDEN))
    # A look ahead spares long texts in scripts full of marks a call per mark.
    long = len(text) > (_LONG_AND_FAR if far else _LONG)
    if long and not _class(hidden).search(text) and not _misplaced(odd).search(text):
        return text
    return _class(odd, "+").sub(_show, text)


@cache
def _near(inside: str) -> str:
    """A class without its many far ranges, which are looked through one by one, for text with nothing so far."""
    return _BEYOND.sub("", inside)


def _show(odd: re.Match[str]) -> str:
    """A run of characters that do not stand on their own, made visible."""
    run, start, end = odd[0], odd.start(), odd.end()
    before = odd.string[start - 1] if start else "\n"
    sitting = _class(character_table.MARKS, "+").match(run) if before not in _NO_BASE else None
    if sitting:
        excess = sitting.end() - MARKS_PER_BASE
        notice = f"{_OPEN}+{_count(excess, 'combining mark')}{_CLOSE}" if excess > 0 else ""
        return sitting[0][:MARKS_PER_BASE] + notice + _shown(run[sitting.end() :])
    emoji = ""
    if run[0] == _EMOJI_STYLE and _class(character_table.EMOJI).match(before):
        keycap = run[1:2] == _KEYCAP and before in "0123456789#*"
        emoji = f"{_OPEN}{'keycap' if keycap else 'emoji'}{_CLOSE}"
        run = run[2 if keycap else 1 :]
    pictograph = _class(character_table.PICTOGRAPHS)
    if run == _JOINER and pictograph.match(before) and pictograph.match(odd.string, end):
        return f"{emoji}{_OPEN}+{_CLOSE}"
    return emoji + _shown(run)


def _shown(run: str) -> str:
    """Every character of the run by name or number, many alike as one with a count."""
    return "".join([_named(alike[1], len(alike[0])) for alike in _ALIKE.finditer(run)])


def _named(character: str, number: int) -> str:
    name = _NAMES.get(character) or f"U+{ord(character):04X}"
    return f"{_OPEN}{name} ×{number}{_CLOSE}" if number > ALIKE_IN_A_ROW else f"{_OPEN}{name}{_CLOSE}" * number


def _one_line(text: str) -> str:
    # A carriage return stands for the newline sign: a real one is a mark by now.
    return _LINE_PADDING.sub(_counted, _marked(text)).replace("\n", "\r")


def _folded(text: str) -> str:
    lines: list[str] = []
    for blank, group in groupby(_marked(text).split("\n"), key=_is_blank):
        run = list(group)
        if blank and len(run) > BLANK_LINES:
            lines.append(f"{_OPEN}{len(run)} blank lines{_CLOSE}")
        else:
            lines.extend(run)
    return _BLOCK_PADDING.sub(_counted, "\n".join(lines))


def _is_blank(line: str) -> bool:
    return not line.strip(" \t")


def _counted(padding: re.Match[str]) -> str:
    kinds = ((" ", "space"), ("\t", "tab"), ("\n", "newline"))
    counts = [(padding[0].count(character), noun) for character, noun in kinds]
    return f"{_OPEN}{', '.join(_count(number, noun) for number, noun in counts if number)}{_CLOSE}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _finish(marked: str) -> Visible:
    for working, final in ((_OPEN, "⟨"), (_CLOSE, "⟩"), ("\t", "⇥"), ("\r", "⏎")):
        marked = marked.replace(working, final)
    return Visible(marked)


def _split(marked: str) -> Iterator[tuple[Visible, bool]]:
    for index, part in enumerate(_OUR_MARK.split(marked)):
        if index % 2:
            yield _finish(part), True
        elif part:
            yield Visible(part), False
