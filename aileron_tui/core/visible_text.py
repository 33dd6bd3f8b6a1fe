"""Makes foreign text visible. Text that this program did not write reaches a terminal only through this module.

Ordinary letters, marks, digits, punctuation and symbols of every script stay as they are, and so do the space
and, in `visible` and `block`, the newline. Everything else is shown between ⟨ and ⟩ and never dropped:

- Control characters are shown by name (`⟨ESC⟩`), everything else by code (`⟨U+202E⟩`): format characters, bidi
  controls, tags, every space but U+0020, line separators, fillers and everything Unicode calls ignorable,
  surrogates, private use, and what Unicode 14.0 (`character_table`) had not assigned. The table decides, not the
  running Python, so the same text looks the same everywhere. More than three equal characters in a row are
  counted: `⟨U+200B ×412⟩`.
- A tab is `⇥`, without padding: its columns would depend on widths that terminals disagree about.
- CR LF is a plain newline; a CR alone is shown by name.
- Joined emoji: terminals also disagree about the width of a joined sequence, so the joiner is shown, but short,
  as `⟨+⟩` between two pictographs (`👩⟨+⟩💻`). For the same reason the selector that turns a symbol into an
  emoji is shown as `⟨emoji⟩` where it does that (`❤⟨emoji⟩`, `1⟨keycap⟩`) and by code elsewhere. Skin tones
  and flags are whole characters and stay.
- At most six combining marks stay on one base, more than pointed Hebrew, Burmese or Tibetan need; the rest are
  counted. A mark without a base is shown by code. Vowels and finals of conjoining Hangul count as marks, since
  terminals stack them too.

A ⟨…⟩ that the text itself contains is left alone: it can only cause a false warning. `pieces` distinguishes it from
real marks, so that a console colours only the real ones. All forms are idempotent.
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
MAX_EQUAL_IN_A_ROW = 3
BLANK_LINES = 2
SPACES_IN_LINE = 8
SPACES_IN_BLOCK = 24
SPACES_AT_END = 2
LONGEST_CONVERTED = 20_000
_MIN_ROW_WIDTH = 8

# Working form: real marks are between these two characters, which visible text cannot contain. Tabs and newlines
# stay as they are until the last step.
_OPEN, _CLOSE = "\x0e", "\x0f"

_NOT_PLAIN = f"^{character_table.PLAIN}"
_NEVER_PLAIN = f"^{character_table.PLAIN}{character_table.MARKS}"
_LONG, _LONG_BEYOND_BMP = 1000, 100_000

# Characters that cannot carry a combining mark. The last three are our signs, so the text's own ones are included.
_CANNOT_CARRY_MARKS = " \n\t⟩⇥⏎"

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

_BEYOND_BMP = re.compile("[\U00010000-\U0010ffff]")
_RANGES_BEYOND_BMP = re.compile(r"(?:\\U[0-9a-f]{8}-?)+")
_ASCII_NOT_PLAIN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]+")
_LINE_PADDING = re.compile(rf"[ \t\n]{{{SPACES_IN_LINE + 1},}}|[ \t\n]{{{SPACES_AT_END + 1},}}\Z")
_BLOCK_PADDING = re.compile(rf"[ \t]{{{SPACES_IN_BLOCK + 1},}}|[ \t]{{{SPACES_AT_END + 1},}}$", re.MULTILINE)
_EQUAL_RUN = re.compile(r"(.)\1*", re.DOTALL)
_WORKING_MARK = re.compile(f"({_OPEN}[^{_CLOSE}]*{_CLOSE}|[\t\r])")


def visible(text: str) -> Visible:
    """The text with everything made visible that a terminal would hide or obey; newlines stay."""
    return _finish(_marked(text))


def inline(text: str) -> Visible:
    """The text as one line: newlines are `⏎`, and long runs of blanks are counted (`⟨412 spaces⟩`)."""
    return _finish(_one_line(text))


def block(text: str) -> tuple[Visible, ...]:
    """The text as lines, with counts for blank lines (`⟨412 blank lines⟩`) and long or trailing blanks."""
    return tuple(Visible(line) for line in _finish(_folded(text)).split("\n"))


def pieces(text: str) -> Iterator[tuple[Visible, bool]]:
    """The parts of `visible(text)` in order; the flag is True for a real mark."""
    return _split(_marked(text))


def inline_pieces(text: str) -> Iterator[tuple[Visible, bool]]:
    """The parts of `inline(text)` in order; the flag is True for a real mark."""
    return _split(_one_line(text))


def block_pieces(text: str) -> tuple[Pieces, ...]:
    """The lines of `block(text)`, each as its parts; the flag is True for a real mark."""
    return tuple(tuple(_split(line)) for line in _folded(text).split("\n"))


def count_not_plain(text: str) -> int:
    """The number of characters that are shown by name or code wherever they occur."""
    return len(_class(_NEVER_PLAIN if _BEYOND_BMP.search(text) else _within_bmp(_NEVER_PLAIN)).findall(text))


def repeat_notice(character: str, number: int) -> Visible:
    """The mark for a run of `number` equal characters that are shown by name or code; "" for other characters."""
    some = character * (MAX_EQUAL_IN_A_ROW + 1)
    return Visible("") if visible(some) == some else _finish(_named(character, number))


def cells(text: str) -> int:
    """The width of visible text in terminal columns."""
    if text.isascii():
        return len(text)
    wide = len(text) - len(_class(character_table.WIDE).sub("", text))
    return wide + len(_class(character_table.NARROWEST).sub("", text))


def short(text: str, width: int) -> Visible:
    """Foreign text as one line cut to `width` columns. Only the beginning of a very long text is made visible."""
    return clip(inline(text[:LONGEST_CONVERTED]), width, max(0, len(text) - LONGEST_CONVERTED))


def clip(text: Visible, width: int, left_out: int = 0) -> Visible:
    """One line cut to `width` columns; its end shows how many characters are hidden: `…⟨+123⟩`.

    Marks are never split. If not even the notice fits, the notice alone is returned. `left_out` characters more are
    hidden in any case.
    """
    if not left_out and len(text) <= width and text.isascii():
        return text
    ends = [(0, 0)]
    used = 0
    for unit in _unit().finditer(text):
        used += cells(unit[0])
        if used > width:
            break
        ends.append((unit.end(), used))
    else:
        if not left_out:
            return text
    notice = ""
    for end, taken in reversed(ends):
        notice = f"…⟨+{len(text) - end + left_out}⟩"
        if taken + len(notice) <= width:
            return Visible(text[:end] + notice)
    return Visible(notice)


def clip_around(text: Visible, width: int, place: int) -> Visible:
    """One line cut to `width` columns so that the character at `place` stays; `…` stands for what is cut.

    The beginning stays too, but is short if the place is far from it. Marks are never split. For lists, where the
    whole text is shown elsewhere; `clip` says how much is cut.
    """
    if cells(text) <= width:
        return text
    units = [(unit.start(), unit[0], cells(unit[0])) for unit in _unit().finditer(text)]
    head = _fitting(units, width - 1)
    if width < _MIN_ROW_WIDTH or place < units[len(head)][0]:
        return Visible("".join(unit for _, unit, _ in head) + "…")
    head = _fitting(units, width // 3)
    room = width - 1 - sum(size for _, _, size in head)
    tail = _fitting(units[len(head) :][::-1], room)[::-1]
    end = ""
    if tail and place < tail[0][0]:
        at = next(number for number, (start, _, _) in enumerate(units) if start >= place)
        tail, end = _fitting(units[max(len(head), at - 1) :], room - 1), "…"
    return Visible("".join(unit for _, unit, _ in head) + "…" + "".join(unit for _, unit, _ in tail) + end)


def _fitting(units: Sequence[tuple[int, str, int]], width: int) -> list[tuple[int, str, int]]:
    """The first units that fit into `width` columns."""
    fitting: list[tuple[int, str, int]] = []
    used = 0
    for unit in units:
        used += unit[2]
        if used > width:
            break
        fitting.append(unit)
    return fitting


def wrap(text: Visible, width: int, hang: str, *, words: bool = False) -> Iterator[Visible]:
    """One line as rows of at most `width` columns; all but the first begin with `hang`.

    A terminal would wrap to its first column, where foreign text could look like a line of the program. For the same
    reason, a mark is split if it is wider than a row. A `width` of 0 means no wrapping. With `words`, a row ends after
    a space if its last word is not a long one; no character is lost.
    """
    row, used, room = "", 0, max(width, cells(hang) + _MIN_ROW_WIDTH)
    if not width or cells(text) <= room:
        yield text
        return
    for unit in _units(text, room - cells(hang)):
        size = cells(unit)
        if used + size > room and row not in ("", hang):
            word = _last_word(row, hang, room - cells(hang) - size) if words else ""
            yield Visible(row.removesuffix(word))
            row, used = hang + word, cells(hang) + cells(word)
        row, used = row + unit, used + size
    yield Visible(row)


def _last_word(row: str, hang: str, room: int) -> str:
    """The word at the end of a row that moves to the next one, which has this room; "" if that would not help."""
    word = row[row.rfind(" ") + 1 :]
    stays = row.removesuffix(word)
    return word if word and stays.strip() and stays != hang and cells(word) <= room // 2 else ""


def _units(text: str, widest: int) -> Iterator[str]:
    """The parts of a line that are not split, each at most `widest` columns wide."""
    for unit in _unit().finditer(text):
        if cells(unit[0]) <= widest:
            yield unit[0]
        else:
            yield unit[0][0]  # without its first character, this is no mark
            yield from (part[0] for part in _unit().finditer(unit[0][1:]))


def quoted(text: str) -> Visible:
    """Foreign text as one line between quotes that it cannot close: quotes and backslashes in it are escaped."""
    escaped = inline(text).replace("\\", "\\\\").replace('"', '\\"')
    return Visible(f'"{escaped}"')


def clip_lines(lines: Sequence[Visible], height: int) -> tuple[Visible, ...]:
    """At most `height` lines, but at least one; if lines are hidden, the last one shows how many."""
    if len(lines) <= height:
        return tuple(lines)
    kept = max(height - 1, 0)
    return (*lines[:kept], Visible(f"⟨{_count(len(lines) - kept, 'more line')}⟩"))


def prepare() -> Iterator[None]:
    """Compiles the large character classes one by one, so that no text has to wait for that later."""
    for wanted in (
        (_within_bmp(_NOT_PLAIN), "+"),
        (_within_bmp(_NEVER_PLAIN),),
        (character_table.MARKS, "+"),
        (character_table.EMOJI,),
        (character_table.PICTOGRAPHS,),
        (character_table.WIDE,),
        (character_table.NARROWEST,),
        (_NOT_PLAIN, "+"),
        (_NEVER_PLAIN,),
    ):
        _class(*wanted)
        yield
    for not_plain in (_within_bmp(_NOT_PLAIN), _NOT_PLAIN):
        _misplaced(not_plain)
        yield
    _unit()


@cache
def _class(inside: str, after: str = "") -> re.Pattern[str]:
    """A character class from the table, compiled when a text first needs it."""
    return re.compile(f"[{_literal(inside)}]{after}")


@cache
def _unit() -> re.Pattern[str]:
    """What `clip` does not split: a mark, a flag, a character with its combining marks."""
    return re.compile(rf"⟨[^⟨⟩\n]{{1,40}}⟩|[🇦-🇿]{{2}}|.[🏻-🏿]?[{_literal(_NOT_PLAIN)}]*", re.DOTALL)


@cache
def _misplaced(not_plain: str) -> re.Pattern[str]:
    """Matches combining marks without a base or beyond the limit, in text with no other characters to make visible."""
    mark = f"[{_literal(not_plain)}]"
    return re.compile(rf"(?:\A|[{_CANNOT_CARRY_MARKS}]|{mark}{{{MARKS_PER_BASE}}}){mark}")


def _literal(inside: str) -> str:
    """The inside of a class with its escapes decoded, which compiles a third faster."""
    return inside.encode("ascii").decode("unicode_escape")


def _marked(text: str) -> str:
    """The text with marks in their working form."""
    text = text.replace("\r\n", "\n")
    if text.isascii():
        return _ASCII_NOT_PLAIN.sub(lambda run: _named_run(run[0]), text)
    beyond_bmp = _BEYOND_BMP.search(text) is not None
    not_plain, never_plain = (
        (_NOT_PLAIN, _NEVER_PLAIN) if beyond_bmp else (_within_bmp(_NOT_PLAIN), _within_bmp(_NEVER_PLAIN))
    )
    # Searching first saves one call per mark in long texts of scripts full of combining marks.
    long = len(text) > (_LONG_BEYOND_BMP if beyond_bmp else _LONG)
    if long and not _class(never_plain).search(text) and not _misplaced(not_plain).search(text):
        return text
    return _class(not_plain, "+").sub(_show_match, text)


@cache
def _within_bmp(inside: str) -> str:
    """A class without its many ranges beyond U+FFFF, which are slow to search, for text without such characters."""
    return _RANGES_BEYOND_BMP.sub("", inside)


def _show_match(match: re.Match[str]) -> str:
    """Makes a run of combining marks or characters that are not plain visible."""
    run, start, end = match[0], match.start(), match.end()
    before = match.string[start - 1] if start else "\n"
    combining = _class(character_table.MARKS, "+").match(run) if before not in _CANNOT_CARRY_MARKS else None
    if combining:
        excess = combining.end() - MARKS_PER_BASE
        notice = f"{_OPEN}+{_count(excess, 'combining mark')}{_CLOSE}" if excess > 0 else ""
        return combining[0][:MARKS_PER_BASE] + notice + _named_run(run[combining.end() :])
    emoji = ""
    if run[0] == _EMOJI_STYLE and _class(character_table.EMOJI).match(before):
        keycap = run[1:2] == _KEYCAP and before in "0123456789#*"
        emoji = f"{_OPEN}{'keycap' if keycap else 'emoji'}{_CLOSE}"
        run = run[2 if keycap else 1 :]
    pictograph = _class(character_table.PICTOGRAPHS)
    if run == _JOINER and pictograph.match(before) and pictograph.match(match.string, end):
        return f"{emoji}{_OPEN}+{_CLOSE}"
    return emoji + _named_run(run)


def _named_run(run: str) -> str:
    """Every character of the run by name or code; many equal ones as one with a count."""
    return "".join([_named(equal[1], len(equal[0])) for equal in _EQUAL_RUN.finditer(run)])


def _named(character: str, number: int) -> str:
    name = _NAMES.get(character) or f"U+{ord(character):04X}"
    return f"{_OPEN}{name} ×{number}{_CLOSE}" if number > MAX_EQUAL_IN_A_ROW else f"{_OPEN}{name}{_CLOSE}" * number


def _one_line(text: str) -> str:
    # A carriage return is the working form of the newline sign: a real one is already a mark.
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
    for index, part in enumerate(_WORKING_MARK.split(marked)):
        if index % 2:
            yield _finish(part), True
        elif part:
            yield Visible(part), False
