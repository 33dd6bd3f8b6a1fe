"""Asking a passphrase on the terminal itself: not echoed, never from arguments, environment or standard input."""

import os
import termios

from aileron_tui.signing.errors import KeyFault, NoTerminal
from aileron_tui.signing.memory import wipe

_LONGEST_LINE = 4096


def ask_passphrase(question: str) -> bytearray:
    """What the person types, in memory the caller can wipe. What was typed before the question is dropped."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        hint = "Run the command in a terminal. A passphrase is not taken from anywhere else."
        raise NoTerminal("there is no terminal to ask the passphrase on", hint=hint) from None
    line = bytearray(_LONGEST_LINE)
    try:
        before = termios.tcgetattr(terminal)
        silent = [*before]
        silent[3] = (before[3] & ~termios.ECHO) | termios.ICANON | termios.ISIG
        termios.tcsetattr(terminal, termios.TCSAFLUSH, silent)
        try:
            os.write(terminal, f"{question}: ".encode())
            length = os.readv(terminal, [line])
        finally:
            termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
            os.write(terminal, b"\n")
        if not length:
            raise NoTerminal("no passphrase was given")
        return line[:length].rstrip(b"\r\n")
    finally:
        wipe(line)
        os.close(terminal)


def ask_new_passphrase(name: str) -> bytearray:
    """A new passphrase, asked twice."""
    first = ask_passphrase(f"New passphrase for {name}")
    second = ask_passphrase("The same again")
    same = first == second
    wipe(second)
    if not same:
        wipe(first)
        raise KeyFault("the two passphrases differ", hint="Nothing was changed. Try again.")
    return first
