"""What a daemon does not tell by itself: asks for its list now and then, and follows answered requests to their end."""

import threading
from collections.abc import Callable
from time import monotonic
from typing import Final

from aileron_tui.core.jsontext import Json
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.runtime.daemon.daemon_client import DaemonClient, DaemonResult
from aileron_tui.runtime.errors import ApprovalsOff, NotAllowed, RuntimeFault, Unanswered

LIST_EVERY: Final = 15.0

_LIST_SHARE: Final = 50  # a list that takes long is asked for less often,
_SOON_SHARE: Final = 5  # also when there is a reason to ask
_MOST_MISSED: Final = 2
_SHORTEST_PAUSE: Final = 0.05
_FIRST_LOOK: Final = 0.2
_LONGEST_LOOK: Final = 15.0
_GIVE_UP_AFTER: Final = 3600.0
_LOOKS_AT_ONCE: Final = 20


@dataclass(frozen=True, slots=True)
class Listed:
    """A list, and the moment of the tracker at which it was asked for."""

    items: list[Json]
    asked: int


@dataclass(frozen=True, slots=True)
class Became:
    """What was looked up of a request that does not wait any more."""

    id: str
    result: DaemonResult


@dataclass(slots=True)
class _Followed:
    due: float
    pause: float
    until: float


class Poller:
    """A thread that asks. `now` is the tracker's moment; what is learned, or what went wrong, is given to `tell`."""

    def __init__(
        self,
        client: DaemonClient,
        now: Callable[[], int],
        tell: Callable[[Listed | Became | RuntimeFault], None],
        list_every: float = LIST_EVERY,
    ) -> None:
        self._client = client
        self._now = now
        self._tell = tell
        self._list_every = list_every
        self._list_due = monotonic() + list_every
        self._soon_due = 0.0
        self._soon = False
        self._followed: dict[str, _Followed] = {}
        self._closed = False
        self._wake = threading.Event()
        # A daemon: an answer that does not come must not keep the program alive.
        self._thread = threading.Thread(target=self._run, name="keeper", daemon=True)

    def start(self) -> None:
        """Begins to ask."""
        self._thread.start()

    def close(self) -> None:
        """Asks no more."""
        self._closed = True
        self._wake.set()

    def follow(self, id_: str) -> None:
        """Asks what becomes of a request, until it is known."""
        now = monotonic()
        self._followed[id_] = _Followed(now, _FIRST_LOOK, now + _GIVE_UP_AFTER)
        self._wake.set()

    def list_soon(self) -> None:
        """Asks for the list without waiting for its turn."""
        self._soon = True
        self._wake.set()

    def _run(self) -> None:
        fault: RuntimeFault = Unanswered("the daemon cannot be asked any more")
        try:
            self._ask_on()
        except RuntimeFault as error:
            fault = error
        finally:
            self._tell(fault)

    def _ask_on(self) -> None:
        """Until it is closed, or the daemon does not answer."""
        missed = 0
        while not self._closed:
            self._look_after()
            if monotonic() >= self._due():
                try:
                    self._list()
                    missed = 0
                except (NotAllowed, ApprovalsOff):
                    raise
                except RuntimeFault:
                    missed += 1
                    if missed > _MOST_MISSED:
                        raise
            due = min((followed.due for followed in tuple(self._followed.values())), default=self._list_due)
            self._wake.wait(max(_SHORTEST_PAUSE, min(due, self._due()) - monotonic()))
            self._wake.clear()

    def _due(self) -> float:
        return min(self._soon_due, self._list_due) if self._soon else self._list_due

    def _list(self) -> None:
        began, asked = monotonic(), self._now()
        self._soon = False
        self._list_due = began + self._list_every
        self._tell(Listed(self._client.waiting(), asked))
        ended = monotonic()
        self._soon_due = ended + _SOON_SHARE * (ended - began)
        self._list_due = max(self._list_due, ended + _LIST_SHARE * (ended - began))

    def _look_after(self) -> None:
        """A look that fails is repeated later: whether the daemon is there at all is for its list to show."""
        now = monotonic()
        due = [id_ for id_, followed in tuple(self._followed.items()) if followed.due <= now]
        for id_ in due[:_LOOKS_AT_ONCE]:
            if self._closed or monotonic() >= self._due():
                return
            followed = self._followed[id_]
            followed.pause = min(_LONGEST_LOOK, followed.pause * 1.5)
            followed.due = monotonic() + followed.pause
            over = now > followed.until
            try:
                result = self._client.ended(id_)
            except (NotAllowed, ApprovalsOff):
                raise
            except RuntimeFault:
                pass
            else:
                over = over or result.state.final or result.state is RequestState.PENDING
                self._tell(Became(id_, result))
            if over and self._followed.get(id_) is followed:
                del self._followed[id_]
