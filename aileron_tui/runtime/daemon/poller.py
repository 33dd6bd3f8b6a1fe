"""Polls a daemon for what it does not report: its list of waiting requests, and the outcome of answered ones."""

import logging
import threading
from collections.abc import Callable
from time import monotonic
from typing import Final

from aileron_tui.core.jsontext import Json
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.runtime.daemon.listed_client import DaemonResult, ListedClient
from aileron_tui.runtime.errors import ApprovalsOff, InvalidReply, NoGate, NoReply, NotAllowed, RuntimeFault

LIST_EVERY: Final = 15.0

_log: Final = logging.getLogger(__name__)

# The pause before the next list, as a multiple of the time that the last list took.
_PAUSE_FACTOR: Final = 50
# The same, if there is a reason to poll soon.
_SOON_PAUSE_FACTOR: Final = 5
_MOST_FAILED_LISTS: Final = 2
_SHORTEST_PAUSE: Final = 0.05
_FIRST_LOOKUP_PAUSE: Final = 0.2
_LONGEST_LOOKUP_PAUSE: Final = 15.0
_GIVE_UP_AFTER: Final = 3600.0
_LOOKUPS_AT_ONCE: Final = 20


@dataclass(frozen=True, slots=True)
class FetchedList:
    """A list of the waiting requests, and the tracker's tick when it was requested."""

    items: list[Json]
    asked_at: int


@dataclass(frozen=True, slots=True)
class FetchedResult:
    """What the daemon says about a request that stopped waiting."""

    id: str
    result: DaemonResult


@dataclass(slots=True)
class _Followed:
    due: float
    pause: float
    until: float


class Poller:
    """The polling thread. `tick` is the tracker's; `report` gets each result, and the fault that ends the thread."""

    def __init__(
        self,
        client: ListedClient,
        tick: Callable[[], int],
        report: Callable[[FetchedList | FetchedResult | RuntimeFault], None],
        list_every: float = LIST_EVERY,
    ) -> None:
        self._client = client
        self._tick = tick
        self._report = report
        self._list_every = list_every
        self._list_due = monotonic() + list_every
        self._soon_due = 0.0
        self._check_due = 0.0
        self._soon = False
        self._followed: dict[str, _Followed] = {}
        self._closed = False
        self._wake = threading.Event()
        # A daemon thread, so that a reply that never arrives does not keep the program alive.
        self._thread = threading.Thread(target=self._run, name="poller", daemon=True)

    def start(self) -> None:
        """Starts polling."""
        self._thread.start()

    def close(self) -> None:
        """Stops polling."""
        self._closed = True
        self._wake.set()

    def follow(self, id_: str) -> None:
        """Polls for the outcome of a request until it is known."""
        now = monotonic()
        self._followed[id_] = _Followed(now, _FIRST_LOOKUP_PAUSE, now + _GIVE_UP_AFTER)
        self._wake.set()

    def list_soon(self) -> None:
        """Fetches the list before it is due."""
        self._soon = True
        self._wake.set()

    def _run(self) -> None:
        fault: RuntimeFault = NoReply(f"the {self._client.peer} is no longer polled")
        try:
            self._poll()
        except RuntimeFault as error:
            fault = error
        except Exception as error:  # noqa: BLE001  # the watch must learn that nothing is polled any more
            fault = InvalidReply(f"the {self._client.peer} cannot be polled", f"{type(error).__name__}: {error}")
        finally:
            self._report(fault)

    def _poll(self) -> None:
        """Runs until the poller is closed or the daemon stops replying."""
        failed = 0
        while not self._closed:
            self._check_listening()
            self._look_up_followed()
            if monotonic() >= self._next_list():
                try:
                    self._fetch_list()
                    failed = 0
                except (NotAllowed, ApprovalsOff, NoGate):
                    raise
                except Exception as error:
                    failed += 1
                    if failed > _MOST_FAILED_LISTS:
                        raise
                    if not isinstance(error, RuntimeFault):
                        _log.warning("the daemon's list cannot be read: %.500r", f"{type(error).__name__}: {error}")
            due = min((followed.due for followed in tuple(self._followed.values())), default=self._list_due)
            due = min(due, self._next_list(), self._check_due)
            self._wake.wait(max(_SHORTEST_PAUSE, due - monotonic()))
            self._wake.clear()

    def _check_listening(self) -> None:
        """Raises NoGate if nobody listens: a daemon that is stopping keeps its event stream open for a while."""
        if monotonic() >= self._check_due:
            self._client.check_listening()
            self._check_due = monotonic() + self._client.check_every

    def _next_list(self) -> float:
        return min(self._soon_due, self._list_due) if self._soon else self._list_due

    def _fetch_list(self) -> None:
        began, asked_at = monotonic(), self._tick()
        self._soon = False
        self._list_due = began + self._list_every
        self._report(FetchedList(self._client.waiting(), asked_at))
        ended = monotonic()
        self._soon_due = ended + _SOON_PAUSE_FACTOR * (ended - began)
        self._list_due = max(self._list_due, ended + _PAUSE_FACTOR * (ended - began))

    def _look_up_followed(self) -> None:
        """Looks up the requests that are due. A failed lookup is repeated later; a dead daemon also fails the list."""
        now = monotonic()
        due = [id_ for id_, followed in tuple(self._followed.items()) if followed.due <= now]
        for id_ in due[:_LOOKUPS_AT_ONCE]:
            if self._closed or monotonic() >= self._next_list():
                return
            followed = self._followed[id_]
            followed.pause = min(_LONGEST_LOOKUP_PAUSE, followed.pause * 1.5)
            followed.due = monotonic() + followed.pause
            over = now > followed.until
            try:
                result = self._client.outcome(id_)
            except (NotAllowed, ApprovalsOff, NoGate):
                raise
            except RuntimeFault:
                pass
            except Exception as error:  # noqa: BLE001  # the other requests are still followed
                _log.warning("an outcome cannot be read: %.500r", f"{type(error).__name__}: {error}")
            else:
                over = over or result.state.final or result.state is RequestState.PENDING
                self._report(FetchedResult(id_, result))
            if over and self._followed.get(id_) is followed:
                del self._followed[id_]
