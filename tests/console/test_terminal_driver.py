"""A terminal that goes away while it is written to."""

import os
import pty
import selectors
import threading
import time
from pathlib import Path
from typing import IO, cast

from textual.drivers._writer_thread import WriterThread

from aileron_tui.console.terminal_driver import IdleSelector, TerminalOutput


def test_writing_to_a_terminal_that_is_gone_waits_for_nobody_and_says_so_once() -> None:
    master, slave = pty.openpty()
    told: list[str] = []
    with os.fdopen(slave, "w") as file:
        writer = WriterThread(cast("IO[str]", TerminalOutput(file, lambda: told.append("gone"))))
        writer.start()
        os.close(master)

        def write() -> None:
            for _ in range(200):
                writer.write("x" * 10_000)
            writer.stop()

        writing = threading.Thread(target=write, daemon=True)
        writing.start()
        writing.join(20)
        assert not writing.is_alive()
        assert told == ["gone"]
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), file.fileno())  # so that closing it has somewhere to write what is left


def test_it_waits_longer_where_nothing_was_typed_for_a_while_and_no_longer_than_that() -> None:
    reading, writing = os.pipe()
    with IdleSelector() as selector:
        selector.register(reading, selectors.EVENT_READ)
        began = time.monotonic()
        assert selector.select(0.001) == []
        assert time.monotonic() - began >= 0.4
        threading.Timer(0.05, os.write, (writing, b"\x1b")).start()
        assert selector.select(0.001)
        os.read(reading, 1)
        began = time.monotonic()
        for _ in range(5):
            assert selector.select(0.001) == []
        assert time.monotonic() - began < 0.4
    os.close(reading)
    os.close(writing)
