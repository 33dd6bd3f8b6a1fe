"""Asks questions on the terminal. Answers are never read from arguments, the environment or standard input."""

import os
import termios
from typing import Final

from aileron_tui.signing.errors import KeyFault, NoTerminal
from aileron_tui.signing.secret_memory import wipe

_LONGEST_LINE: Final = 4096
_MARK_PASTES: Final = (b"\x1b[?2004h", b"\x1b[?2004l")


def ask_passphrase(question: str) -> bytearray:
    """Asks for a passphrase without echo, and returns it in memory that the caller can wipe. Drops earlier input."""
    line = _asked(f"{question}: ", echo=False)
    if not line:
        raise NoTerminal("no passphrase was given")
    while line.endswith((b"\r", b"\n")):
        line.pop()  # in place, because a copy would stay in memory
    return line


def ask_line(question: str) -> str:
    """Asks for a line with echo. Input from before the question is dropped, and pasted text is returned as "".

    The terminal is asked to mark pasted text, so that a pasted line never counts as an answer.
    """
    text = _asked(f"{question} ", echo=True).decode("utf-8", "replace").strip()
    return text if text.isprintable() else ""


def ask_text(question: str) -> str:
    """Asks for a line with echo that may be pasted, such as an address. Input from before the question is dropped."""
    return _asked(f"{question} ", echo=True, pastes=True).decode("utf-8", "replace").strip()


def ask_new_passphrase(name: str) -> bytearray:
    """Asks twice for a new passphrase. Raises KeyFault if the answers differ."""
    first = ask_passphrase(f"New passphrase for {name}")
    second = ask_passphrase("Repeat the passphrase")
    same = first == second
    wipe(second)
    if not same:
        wipe(first)
        raise KeyFault("the two passphrases differ", hint="Nothing was changed. Try again.")
    return first


def _asked(question: str, *, echo: bool, pastes: bool = False) -> bytearray:
    """Reads one line from the terminal, empty if the terminal was closed. The caller wipes it."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        hint = "Run the command in a terminal. Passphrases are never read from anywhere else."
        raise NoTerminal(f"cannot ask {'' if echo else 'for the passphrase '}without a terminal", hint=hint) from None
    line = bytearray(_LONGEST_LINE)
    begin, end = _MARK_PASTES if echo and not pastes and os.environ.get("TERM", "dumb") != "dumb" else (b"", b"")
    try:
        before = termios.tcgetattr(terminal)
        asking = [*before]
        asking[3] = (before[3] | termios.ICANON | termios.ISIG | termios.ECHO) & ~(0 if echo else termios.ECHO)
        termios.tcsetattr(terminal, termios.TCSAFLUSH, asking)
        try:
            os.write(terminal, begin + question.encode())
            length = os.readv(terminal, [line])
        finally:
            termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
            os.write(terminal, end + (b"" if echo else b"\n"))
        return line[:length]
    finally:
        wipe(line)
        os.close(terminal)
