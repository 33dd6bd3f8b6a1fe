"""What listening and answering need from the client of a program that lists its waiting requests."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.runtime.sse import SseFrame


@dataclass(frozen=True, slots=True)
class DaemonResult:
    """The state of a request. `error` comes from the daemon; `note` is our own, where the state alone would mislead.

    `unanswered` is EXPIRED or WITHDRAWN if the request failed because nobody answered it in time or the agent left.
    """

    state: RequestState
    reason: str = ""
    error: str = ""
    note: str = ""
    unanswered: RequestState | None = None


class ListedClient(Protocol):
    """The client. `peer` is what messages call the program; `check_every` is how often to check that it listens."""

    peer: str
    check_every: float

    def close(self) -> None:
        """Closes the connection."""

    def redact(self, text: str, /) -> str:
        """The text without the secret of the connection."""

    def check_listening(self) -> None:
        """Raises NoGate if the program refuses connections."""

    def waiting(self) -> list[Json]:
        """The waiting requests, oldest first, as the program sends them."""

    def events(self) -> AbstractContextManager[Iterator[SseFrame | None]]:
        """Events as they happen; None for each heartbeat."""

    def decide(self, id_: str, body: JsonObject) -> None:
        """Sends an answer; raises unless the program accepted it."""

    def outcome(self, id_: str) -> DaemonResult:
        """The state of a request that no longer waits; WITHDRAWN if the program has forgotten it."""

    def current_state(self, id_: str) -> DaemonResult:
        """The state of a request: PENDING if it is listed, else its outcome."""
