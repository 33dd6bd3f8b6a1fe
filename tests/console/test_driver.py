"""A terminal that goes away while it is written to."""

import os
import pty
import threading
from pathlib import Path
from typing import IO, cast

from textual.drivers._writer_thread import WriterThread

from aileron_tui.console.driver import Lasting


def test_writing_to_a_terminal_that_is_gone_waits_for_nobody_and_says_so_once() -> None:
    master, slave = pty.openpty()
    told: list[str] = []
    with os.fdopen(slave, "w") as file:
        writer = WriterThread(cast("IO[str]", Lasting(file, lambda: told.append("gone"))))
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
