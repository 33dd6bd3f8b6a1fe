"""The terminal that questions are asked on: its modes, what is typed on it, and lines that are written to it.

It is the controlling terminal of the process, whatever the standard streams are. In key mode each key arrives by itself
and is not echoed; in line mode the terminal edits a line, and echoes it unless it is a secret.
"""

import os
import select
import termios
from codecs import lookup
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import Final, NamedTuple

from aileron_tui.cli.standard_streams import encoding_in_use
from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import Visible, wrap
from aileron_tui.signing.secret_memory import wipe

CONTROLLING_TERMINAL: Final = "/dev/tty"

_DUMB: Final = "dumb"
_UTF_8: Final = "utf-8"
_COLUMNS, _LINES = 80, 24
_LONGEST_READ: Final = 65536
_LONGEST_LINE: Final = 4096
_PASTE_SECONDS: Final = 2.0
_PASTE_START, _PASTE_END = b"\x1b[200~", b"\x1b[201~"
_MARK_PASTES, _LEAVE_PASTES = b"\x1b[?2004h", b"\x1b[?2004l"
_BOLD, _ALARM, _WARNING, _USUAL = "\x1b[1m", "\x1b[1;31m", "\x1b[33m", "\x1b[0m"
_END_KEY: Final = b"\x04"
_HANG: Final = " " * 8
_OURS: Final = termios.ICANON | termios.ECHO


class InputKind(StrEnum):
    """What arrived on the terminal. `WOKEN` means that nothing was typed: the time is up, or another thread woke us."""

    KEY = "key"
    LINE = "line"
    SEVERAL = "several"
    PASTE = "paste"
    END = "end"
    WOKEN = "woken"


class TerminalInput(NamedTuple):
    """What was typed. The text of a key that is not a character, or of a line that cannot be printed, is ""."""

    kind: InputKind
    text: str = ""


WOKEN: Final = TerminalInput(InputKind.WOKEN)


class TerminalGone(AileronError):
    """There is no terminal to ask on, or no longer."""


@dataclass(frozen=True, slots=True)
class Style:
    """How questions look: `plain` draws no rules and reads whole lines. `escapes`: the terminal knows sequences."""

    plain: bool = False
    colour: bool = True
    escapes: bool = True


def style_for(environment: Mapping[str, str], *, plain: bool) -> Style:
    """The style for a terminal with this environment."""
    dumb = environment.get("TERM", _DUMB) in ("", _DUMB)
    plain = plain or dumb
    return Style(plain, colour=not plain and not environment.get("NO_COLOR"), escapes=not dumb)


@contextmanager
def open_terminal(style: Style, path: str = CONTROLLING_TERMINAL) -> "Iterator[QuestionTerminal]":
    """The terminal, until the block ends. Its settings are restored then."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        raise no_terminal() from None
    terminal = QuestionTerminal(descriptor, style)
    try:
        yield terminal
    finally:
        terminal.close()


def no_terminal(detail: str = "this process has no terminal") -> TerminalGone:
    """The error for a process that has no terminal to ask on."""
    hint = "Run it in a terminal. `aileron-tui list` and `aileron-tui watch` work without one."
    return TerminalGone("questions need a terminal", detail, hint)


class QuestionTerminal:
    """Reads and writes one terminal. Only `wake` may be called from another thread."""

    def __init__(self, descriptor: int, style: Style) -> None:
        self.style = style
        self._terminal = descriptor
        self._encoding = encoding_in_use() or _UTF_8
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self._before = termios.tcgetattr(descriptor)
        self._flags: int | None = None
        self._pasting = False
        self._asking = False
        self._marks = False

    def close(self) -> None:
        """Restores the terminal, and drops what was typed and not read."""
        self.leave()
        for descriptor in (self._terminal, self._woken, self._wake):
            os.close(descriptor)

    def leave(self) -> None:
        """Gives the terminal back for a while: others may write to it, and what is typed is not ours."""
        with suppress(OSError, termios.error, TerminalGone):
            self.end_question()
            self._mark_pastes(marked=False)
            if self._flags is not None and self.in_foreground:
                termios.tcsetattr(self._terminal, termios.TCSAFLUSH, self._before)
        self._flags = None

    def wake(self) -> None:
        """Ends a read that waits."""
        with suppress(OSError):  # it is woken already, or closed
            os.write(self._wake, b"!")

    @property
    def in_foreground(self) -> bool:
        """Whether this program may read the terminal. If it runs in the background, what is typed is for another."""
        try:
            return os.tcgetpgrp(self._terminal) == os.getpgrp()
        except OSError:
            return True  # it does not control this process, or is gone, which the next read notices

    # writing

    @property
    def columns(self) -> int:
        """The width of the window."""
        return self._size()[0]

    @property
    def lines(self) -> int:
        """The height of the window."""
        return self._size()[1]

    def _size(self) -> tuple[int, int]:
        try:
            size = os.get_terminal_size(self._terminal)
        except OSError:
            return _COLUMNS, _LINES
        return size.columns or _COLUMNS, size.lines or _LINES

    def write(self, *lines: str, indent: str = "  ") -> None:
        """Writes lines whose foreign text was made visible, after ending a question that is open."""
        self.end_question()
        width = self.columns
        rows = (row for line in lines for row in wrap(Visible(line), width, indent, words=True))
        self._put("".join(f"{row}\n" for row in rows))

    def write_rows(self, rows: list[str]) -> None:
        """Writes rows that are wrapped already."""
        self.end_question()
        self._put("".join(f"{row}\n" for row in rows))

    def write_warning(self, rows: list[str]) -> None:
        """Writes rows that are wrapped already, in amber where colours are wanted."""
        before, after = (_WARNING, _USUAL) if self.style.colour else ("", "")
        self.write_rows([f"{before}{row}{after}" for row in rows])

    def emphasize(self, line: str, *, alarm: bool = False) -> None:
        """Writes a line of our own, strong or as an alarm where colours are wanted."""
        self.end_question()
        before, after = (_ALARM if alarm else _BOLD, _USUAL) if self.style.colour else ("", "")
        rows = wrap(Visible(line), self.columns, "  ", words=True)
        self._put("".join(f"{before}{row}{after}\n" for row in rows))

    def ask(self, question: str) -> None:
        """Writes a question that the answer follows on the same line."""
        self.end_question()
        *rows, last = wrap(Visible(question), self.columns, "  ", words=True)
        self._put("".join(f"{row}\n" for row in rows) + last)
        self._asking = True

    @property
    def asking(self) -> bool:
        """Whether a question is open on the last line."""
        return self._asking

    def ring(self) -> None:
        """Rings the bell."""
        self._put("\a")

    def end_question(self, echo: str = "") -> None:
        """Ends the line of a question that is open."""
        if self._asking:
            self._asking = False
            self._put(f"{echo}\n")

    def _put(self, text: str) -> None:
        if lookup(self._encoding).name != _UTF_8:
            *lines, last = text.split("\n")
            text = "".join(f"{row}\n" for line in lines for row in self._encoded(line)) + last
        data = text.encode(self._encoding, "backslashreplace")
        try:
            while data:
                data = data[os.write(self._terminal, data) :]
        except OSError:
            raise TerminalGone("the terminal is gone", "nothing was decided") from None

    def _encoded(self, line: str) -> Iterator[str]:
        """The line with escapes for what the terminal cannot show, wrapped again, because escapes are longer."""
        shown = line.encode(self._encoding, "backslashreplace").decode(self._encoding)
        return wrap(Visible(shown), self.columns, _HANG) if shown != line else iter((line,))

    # reading

    def read_keys(self, *, drop: bool = True) -> None:
        """Each key arrives by itself from now on. `drop`: what was typed before is dropped."""
        self._set_mode(0, drop=drop)

    def read_lines(self, *, secret: bool = False, pasted: bool = False) -> None:
        """Whole lines arrive from now on. Earlier input is dropped. `pasted` says that a pasted line is welcome."""
        self._set_mode(termios.ICANON | (0 if secret else termios.ECHO), drop=True, marked=not (secret or pasted))

    def _set_mode(self, flags: int, *, drop: bool, marked: bool = True) -> None:
        self._mark_pastes(marked=marked)
        self._flags = flags
        self._pasting = False
        try:
            self._apply(termios.TCSAFLUSH if drop else termios.TCSANOW)
        except termios.error:
            raise TerminalGone("the terminal is gone", "nothing was decided") from None

    def _apply(self, when: int) -> None:
        mode, controls = [*self._before], [*self._before[6]]
        mode[3] = (self._before[3] & ~_OURS) | termios.ISIG | (self._flags or 0)
        controls[termios.VMIN], controls[termios.VTIME] = 1, 0
        mode[6] = controls
        termios.tcsetattr(self._terminal, when, mode)

    @property
    def _by_line(self) -> bool:
        return bool((self._flags or 0) & termios.ICANON)

    def _mark_pastes(self, *, marked: bool) -> None:
        """Asks the terminal to mark pasted text, so that it never counts as an answer."""
        if self.style.escapes and marked != self._marks:
            self._marks = marked
            self._put((_MARK_PASTES if marked else _LEAVE_PASTES).decode())

    def read(self, seconds: float) -> TerminalInput:
        """Waits for input in the current mode, for at most this long."""
        if not self._ready(seconds):
            return WOKEN
        try:
            data = os.read(self._terminal, _LONGEST_LINE if self._by_line else _LONGEST_READ)
        except OSError:
            data = b""
        return self._line(data) if self._by_line else self._key(data)

    def read_secret(self, seconds: float) -> bytearray | None:
        """A line in memory that the caller wipes; None if there was none yet. An empty one means the end of input."""
        if not self._ready(seconds):
            return None
        line = bytearray(_LONGEST_LINE)
        try:
            length = os.readv(self._terminal, [line])
        except OSError:
            length = 0
        secret = line[:length]
        wipe(line)
        return secret

    def _ready(self, seconds: float) -> bool:
        """Whether there is input within this time."""
        if not self.in_foreground:
            raise TerminalGone("another program uses the terminal now", "nothing was decided")
        self._keep_mode()
        ready, _, _ = select.select([self._terminal, self._woken], [], [], max(0.0, seconds))
        if self._woken in ready:
            os.read(self._woken, _LONGEST_READ)
        return self._terminal in ready

    def _keep_mode(self) -> None:
        """Sets our mode again if a shell changed it while this program was stopped."""
        with suppress(termios.error):
            if self._flags is not None and (termios.tcgetattr(self._terminal)[3] & _OURS) != self._flags:
                self._apply(termios.TCSAFLUSH)

    def _key(self, data: bytes) -> TerminalInput:
        if not data:
            return TerminalInput(InputKind.END)
        if self._pasting or _PASTE_START in data:
            self._pasting = _PASTE_END not in data[data.find(_PASTE_START) :]
            self._drop_paste()
            return TerminalInput(InputKind.PASTE)
        if data == _END_KEY:
            return TerminalInput(InputKind.END)
        text = data.decode("utf-8", "replace")
        if len(text) > 1 and not text.startswith("\x1b"):
            return TerminalInput(InputKind.SEVERAL)
        return TerminalInput(InputKind.KEY, text if len(text) == 1 and (text.isprintable() or text in "\r\n") else "")

    def _drop_paste(self) -> None:
        """Reads the rest of a paste, which may arrive in many pieces."""
        tail = b""
        while self._pasting and select.select([self._terminal], [], [], _PASTE_SECONDS)[0]:
            try:
                data = os.read(self._terminal, _LONGEST_READ)
            except OSError:
                break
            self._pasting = bool(data) and _PASTE_END not in tail + data
            tail = data[-len(_PASTE_END) :]
        self._pasting = False

    def _line(self, data: bytes) -> TerminalInput:
        if not data:
            return TerminalInput(InputKind.END)
        self._asking = not data.endswith(b"\n")  # the terminal echoed the end of the line
        if _PASTE_START in data or _PASTE_END in data:
            return TerminalInput(InputKind.PASTE)
        if not data.endswith(b"\n"):
            return TerminalInput(InputKind.SEVERAL)
        text = data.decode("utf-8", "replace").strip()
        return TerminalInput(InputKind.LINE, text if text.isprintable() else "")
