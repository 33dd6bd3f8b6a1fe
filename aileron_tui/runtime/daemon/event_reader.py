"""The thread that reads the events of a daemon."""

import threading
import time
from collections.abc import Callable
from typing import Final

from aileron_tui.runtime.daemon.listed_client import ListedClient
from aileron_tui.runtime.errors import InvalidReply, NoReply, RuntimeFault
from aileron_tui.runtime.sse import SseFrame

_MOST_UNPROCESSED: Final = 1000
_PAUSE_SECONDS: Final = 0.01


class EventReader:
    """Reads events until the connection ends. `report` gets each event, and the fault that ends the thread.

    `unprocessed` returns how many reports have not been processed. If there are too many, the daemon has to wait.
    """

    def __init__(
        self,
        client: ListedClient,
        report: Callable[[SseFrame | RuntimeFault | None], None],
        unprocessed: Callable[[], int],
    ) -> None:
        self._client = client
        self._report = report
        self._unprocessed = unprocessed
        self._closed = False
        # A daemon thread, so that a read that is waiting for data does not keep the program alive.
        self._thread = threading.Thread(target=self._run, name="events", daemon=True)

    def start(self) -> None:
        """Starts reading."""
        self._thread.start()

    def close(self) -> None:
        """Stops waiting for reports to be processed. Closing the client ends the thread."""
        self._closed = True

    def _run(self) -> None:
        fault: RuntimeFault = NoReply(f"the {self._client.peer} closed the connection")
        try:
            with self._client.events() as frames:
                for frame in frames:
                    while self._unprocessed() >= _MOST_UNPROCESSED and not self._closed:
                        time.sleep(_PAUSE_SECONDS)
                    self._report(frame)
        except RuntimeFault as error:
            fault = error
        except Exception as error:  # noqa: BLE001  # the watch must learn that the stream has ended
            fault = InvalidReply(f"the {self._client.peer}'s events cannot be read", f"{type(error).__name__}: {error}")
        finally:
            self._report(fault)
