"""What the parts of the console need from the app. They depend on these protocols, not on the app."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from aileron_tui.core.values import dataclass
from aileron_tui.surface.board import Board, Tone

if TYPE_CHECKING:
    from textual.signal import Signal

    from aileron_tui.console.guide import Guide
    from aileron_tui.console.settings import ConsoleSettings
    from aileron_tui.core.decision import Verdict
    from aileron_tui.core.jsontext import JsonObject
    from aileron_tui.core.request import Request
    from aileron_tui.core.skeletons import KnownNames
    from aileron_tui.runtime.source_events import SourceEvent
    from aileron_tui.signing.envelope import Signable
    from aileron_tui.surface.agent_notices import AgentNotices
    from aileron_tui.surface.arming import Arming
    from aileron_tui.surface.held_approval import Stoppable
    from aileron_tui.surface.security_key_touch import Touched
    from aileron_tui.surface.source import OperatorKey, Source
    from aileron_tui.surface.source_listener import SourceStatus


class ConsolePort(Protocol):
    """The app as its parts see it."""

    @property
    def board(self) -> Board:
        """The requests and their state."""

    @property
    def agent_notices(self) -> "AgentNotices":
        """What gates reported about agents."""

    @property
    def arming(self) -> "Arming":
        """Decides whether an answer counts now."""

    @property
    def settings(self) -> "ConsoleSettings":
        """The user's settings."""

    @property
    def keys(self) -> "OperatorKey":
        """The operator's signing key."""

    @property
    def keymap_in_use(self) -> Mapping[str, str]:
        """The user's own keys by action id."""

    @property
    def read_only(self) -> bool:
        """Whether this console may not answer."""

    @property
    def is_locked(self) -> bool:
        """Whether the operator's key is locked, so that no request is visible."""

    @property
    def log_lines(self) -> Callable[[], Sequence[str]] | None:
        """The log of the demo's agent or of the gate in this window, if there is one."""

    @property
    def guide(self) -> "Guide | None":
        """The guide of the demo, if there is one."""

    # sources

    @property
    def statuses(self) -> "Mapping[str, SourceStatus]":
        """The connection status of every source by its name."""

    @property
    def source_events(self) -> "Signal[Sequence[SourceEvent]]":
        """Published with the events of the sources, once they are processed."""

    def source(self, name: str) -> "Source | None":
        """The source with this name, while it is connected."""

    def source_label(self, name: str) -> str:
        """The kind of this source: `daemon` or `gate`."""

    def answer_problem(self, request: "Request | None" = None) -> str:
        """Why this request (without one: any request) cannot be answered now, "" if it can."""

    # the screen

    def redraw(self) -> None:
        """Shows the board as it is now."""

    def request_shown(self, key: str) -> None:
        """This request is on screen now, or none."""

    def show_message(self, words: str, tone: Tone = Tone.QUIET) -> None:
        """Shows a short message for a few seconds; replaces the previous one."""

    def clear_message(self) -> None:
        """Removes the message."""

    def lock(self) -> None:
        """Locks the console."""

    def leave(self) -> None:
        """Quits; asks first if requests are waiting."""

    # time and threads

    def call_after(self, seconds: float, callback: Callable[[], object]) -> "Stoppable":
        """Calls `callback` once on the loop, after this many seconds."""

    def run_blocking(self, kind: str, source: str, task: Callable[[], None]) -> None:
        """Runs a task that waits for a source in a thread. Other sources and other kinds of task do not wait for it."""

    def report(self, callback: Callable[..., object], *values: object) -> None:
        """Calls `callback` on the loop; may be used from any thread."""


@dataclass(frozen=True, slots=True)
class BatchChecks:
    """What the sheet of marked requests asks about each of them, and how many more the filter hides."""

    problem: "Callable[[Request], str]"
    """Why it cannot be answered now, "" if it can."""
    was_read: "Callable[[Request], bool]"
    seen: "KnownNames"
    """The hosts and addresses that this console has shown, and those of requests approved here."""
    hidden: int = 0


class Dialogs(Protocol):
    """The dialogs. Each calls `done` with its result, or with None if it was cancelled."""

    def confirm_high_risk(
        self, request: "Request", prepare: "Callable[[], Signable]", done: "Callable[[bool | Touched | None], None]"
    ) -> None:
        """Asks for confirmation before a high-risk request is approved, in the way chosen in the settings.

        If that is the touch of a security key, it signs what `prepare` returns, in a thread.
        """

    def ask_reason(self, request: "Request", done: Callable[[str | None], None]) -> None:
        """Asks why a request is denied."""

    def edit_inputs(
        self,
        request: "Request",
        edits: "JsonObject | None",
        done: "Callable[[JsonObject | None], None]",
        *,
        refused: str = "",
    ) -> None:
        """Shows the form for the inputs, with the edits made so far; `refused` says why they were not accepted."""

    def review_batch(
        self,
        requests: "list[Request]",
        verdict: "Verdict",
        checks: BatchChecks,
        done: "Callable[[list[tuple[Request, Verdict]] | None], None]",
    ) -> None:
        """Shows the sheet of marked requests."""

    def ask_vault_passphrase(
        self, source: str, unlock: Callable[[bytearray], None], done: Callable[[bool | None], None]
    ) -> None:
        """Asks for the passphrase of a daemon's vault; `unlock` tries it in a thread."""
