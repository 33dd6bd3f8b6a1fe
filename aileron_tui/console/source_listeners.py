"""The sources of one console: a listener for each, its connection status, and threads for blocking work."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple

from aileron_tui.core.errors import AileronError
from aileron_tui.core.visible_text import short
from aileron_tui.surface.source import OperatorKey, SourceSpec
from aileron_tui.surface.source_listener import ConnectionState, SourceListener, SourceStatus

if TYPE_CHECKING:
    from aileron_tui.core.request import Request
    from aileron_tui.runtime.source_events import SourceEvent
    from aileron_tui.surface.source import Source

_THREADS: Final = 4
_LONGEST_REASON: Final = 200


class SourceReport(NamedTuple):
    """What a source reported since the last call; `status` is None if it did not change."""

    name: str
    events: "list[SourceEvent]"
    status: SourceStatus | None


class SourceListeners:
    """The listeners of one or more sources. A source that cannot be reached does not delay the others.

    `reported` and `connected` are called from the threads of the listeners.
    """

    def __init__(
        self,
        upstreams: Sequence[SourceSpec],
        keys: OperatorKey,
        reported: Callable[[], None],
        connected: "Callable[[Source], None] | None" = None,
    ) -> None:
        self.listeners = {
            upstream.name: SourceListener(upstream, keys, reported, connected=connected) for upstream in upstreams
        }
        names = self.listeners
        # A request's key is the source's name, a space and an id, so that no source can use the keys of another.
        if len(names) < len(upstreams) or (len(names) > 1 and not all(names)) or any(" " in name for name in names):
            raise AileronError("every source needs a unique name without spaces")

    @property
    def several(self) -> bool:
        """Whether there is more than one source, so that each request must show its source."""
        return len(self.listeners) > 1

    @property
    def statuses(self) -> Mapping[str, SourceStatus]:
        """The connection status of every source by its name."""
        return {name: listener.status for name, listener in self.listeners.items()}

    def start(self) -> None:
        """Starts all listeners."""
        for listener in self.listeners.values():
            listener.start()

    def stop(self) -> None:
        """Closes every connection for good."""
        for listener in self.listeners.values():
            listener.stop()

    def disconnect(self) -> None:
        """Closes every connection; they are opened again once the key is unlocked."""
        for listener in self.listeners.values():
            listener.disconnect()

    def reports(self) -> "Iterator[SourceReport]":
        """What each source reported since the last call."""
        for name, listener in self.listeners.items():
            before = listener.status
            events = listener.take_events()
            yield SourceReport(name, events, listener.status if listener.status is not before else None)

    def problem(self, request: "Request | None" = None) -> str:
        """Why the connection does not allow answering this request (without one: any request), "" if it does."""
        if request is None:
            return (
                ""
                if any(status.state is ConnectionState.LIVE for status in self.statuses.values())
                else "not connected"
            )
        status = self.listeners[request.source].status
        if status.state is ConnectionState.LIVE:
            return ""
        why = f": {short(status.why, _LONGEST_REASON)}" if status.why else ""
        return f"{f'{request.source} is ' if self.several else ''}not connected{why}"

    @property
    def trouble(self) -> str:
        """Why a source is not connected, "" if all are."""
        lost = [status for status in self.statuses.values() if status.state is not ConnectionState.LIVE]
        return next((status.why or status.state for status in lost), "")


class SourceThreads:
    """Threads for blocking work. Each kind of work has its own threads for each source, so that none delays another."""

    def __init__(self) -> None:
        self._pools: dict[tuple[str, str], ThreadPoolExecutor] = {}

    def run(self, kind: str, source: str, task: Callable[[], None]) -> None:
        """Runs a task in one of the threads."""
        self.pool(kind, source).submit(task)

    def pool(self, kind: str, source: str) -> ThreadPoolExecutor:
        """The threads for one kind of work on one source."""
        if (kind, source) not in self._pools:
            self._pools[kind, source] = ThreadPoolExecutor(_THREADS, f"{kind} {source}".rstrip())
        return self._pools[kind, source]

    def close(self) -> None:
        """Starts no more tasks; running ones are not interrupted."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
