"""The terminal is closed while the console writes to it, and an idle console polls less often."""

import os
import pty
import selectors
import threading
import time
from pathlib import Path
from typing import IO, cast

from textual.drivers._writer_thread import WriterThread

from aileron_tui.console.terminal_driver import IdleSelector, TerminalOutput


def test_writing_to_a_closed_terminal_does_not_block_and_is_reported_once() -> None:
    master, slave = pty.openpty()
    reported: list[str] = []
    with os.fdopen(slave, "w") as file:
        writer = WriterThread(cast("IO[str]", TerminalOutput(file, lambda: reported.append("closed"))))
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
        assert reported == ["closed"]
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), file.fileno())  # closing the file flushes what is left


def test_the_selector_waits_longer_only_while_nothing_is_typed() -> None:
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
