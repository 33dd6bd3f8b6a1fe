"""Listens to a gate from a thread of its own, for as long as the console lives, and reconnects by itself."""

import random
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from aileron_tui.console.source import Connect, Keyholder, Source
from aileron_tui.core.errors import AileronError
from aileron_tui.runtime.feed import Happening

_SHORTEST: Final = 0.3
_LONGEST: Final = 8.0


class Link:
    """One listener. `news` holds what was heard and not yet taken; the callbacks are called from its thread."""

    def __init__(
        self, connect: Connect, keys: Keyholder, heard: Callable[[], None], lost: Callable[[str], None]
    ) -> None:
        self._connect = connect
        self._keys = keys
        self._heard = heard
        self._lost = lost
        self._stop = threading.Event()
        self.news: deque[Happening] = deque()
        self.source: Source | None = None
        # A daemon: a read that waits for the gate must not keep the program alive.
        self._thread = threading.Thread(target=self._listen, name="link", daemon=True)

    def start(self) -> None:
        """Begins to listen."""
        self._thread.start()

    def stop(self) -> None:
        """Hangs up."""
        self._stop.set()
        self.hang_up()

    def take(self) -> list[Happening]:
        """What was heard since the last time."""
        taken: list[Happening] = []
        while self.news:
            taken.append(self.news.popleft())
        return taken

    def _listen(self) -> None:
        pause = _SHORTEST
        while not self._stop.is_set():
            key = self._keys.key
            if key is not None:
                try:
                    self.source = self._connect(key)
                    for happening in self.source.watch():
                        if self._stop.is_set():
                            return
                        pause = _SHORTEST
                        if happening is not None:
                            self._note(happening)
                    self._lost("the gate hung up")
                except AileronError as error:
                    self._lost(str(error))
                finally:
                    self.hang_up()
            self._stop.wait(pause * random.uniform(0.7, 1.3))  # noqa: S311  # spreads reconnects, no secret
            pause = min(_LONGEST, pause * 1.6)

    def _note(self, happening: Happening) -> None:
        self.news.append(happening)
        self._heard()

    def hang_up(self) -> None:
        """Ends the connection; a new one is made as soon as there is a key to make it with."""
        source, self.source = self.source, None
        if source is not None:
            with suppress(AileronError, RuntimeError):
                source.close()
