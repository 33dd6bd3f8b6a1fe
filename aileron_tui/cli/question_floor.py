"""Asks in the terminal where a gate was started, when its turn comes: nobody else is there, or nobody reacted.

The gate goes on while a question is open: a thread asks, as a client of the gate like any other. What the gate logs
meanwhile is written afterwards, so that the question stays readable.
"""

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from aileron_tui.cli.log_output import LogOutput
from aileron_tui.cli.question import QuestionSettings
from aileron_tui.cli.question_answers import EndOfInput
from aileron_tui.cli.question_loop import SURFACE, QuestionLoop
from aileron_tui.cli.question_terminal import TerminalGone, open_terminal, style_for
from aileron_tui.core.errors import AileronError
from aileron_tui.core.visible_text import inline
from aileron_tui.files.paths import paths
from aileron_tui.runtime.errors import NoGate
from aileron_tui.runtime.gate_discovery import discover
from aileron_tui.signing import key_store
from aileron_tui.surface.arming import elapsed
from aileron_tui.surface.operator_key import StoredOperatorKey
from aileron_tui.surface.source_choice import GateChoice
from aileron_tui.surface.source_connection import source_specs

if TYPE_CHECKING:
    from aileron_tui.files.config import Config
    from aileron_tui.gate.gate import Gate
    from aileron_tui.gate.gate_log import GateLog
    from aileron_tui.surface.source import SourceSpec

_LOOK_SECONDS: Final = 0.5
OTHER_PROMPT_SECONDS: Final = 30.0
"""How long a request that nobody reads is left to another prompt that is open."""

_STOP_SECONDS: Final = 5.0
_LEFT: Final = "You can answer with `aileron-tui` or `aileron-tui prompt` in another terminal."


class TerminalFloor:
    """Asks about what waits at a gate, in a thread. All but the thread's own methods are for the gate's event loop."""

    def __init__(self, config: "Config", key_name: str, output: LogOutput, gate_log: "GateLog") -> None:
        self._config = config
        self._key_name = key_name
        self._output = output
        self._log = gate_log
        self._turns: frozenset[str] = frozenset()
        self._left: frozenset[str] = frozenset()
        self._key: StoredOperatorKey | None = None
        self._loop: QuestionLoop | None = None
        self._turn = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="terminal", daemon=True)

    @asynccontextmanager
    async def following(self, gate: "Gate") -> AsyncIterator[None]:
        """Asks during the block, whenever it is the terminal's turn."""
        self._thread.start()
        asyncio.get_running_loop().add_signal_handler(signal.SIGCONT, self._resumed)
        task = asyncio.create_task(self._follow(gate), name="terminal")
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await asyncio.to_thread(self._stop)

    async def _follow(self, gate: "Gate") -> None:
        """Notices when it is the terminal's turn and no other prompt asks. Ends when the gate is about to stop.

        Another prompt that is open proves no person: it may have been forgotten or stopped. So it only comes first.
        """
        while not _is_announced(gate):
            await asyncio.sleep(_LOOK_SECONDS)
        gate.presence.has_terminal(True)
        since: dict[str, float] = {}
        while _is_announced(gate) and self._thread.is_alive():
            self._turns = gate.prompt_turn()
            now = elapsed()
            since = {id_: since.get(id_, now) for id_ in self._turns}
            unread = [at for id_, at in since.items() if id_ not in self._left and not gate.presence.is_read(id_)]
            is_late = now - min(unread, default=now) >= OTHER_PROMPT_SECONDS
            if self._loop is None and self._is_needed() and (is_late or not gate.presence.is_open(SURFACE)):
                self._turn.set()
            await asyncio.sleep(_LOOK_SECONDS)
        gate.presence.has_terminal(False)
        await asyncio.to_thread(self._stop)

    def _resumed(self) -> None:
        if (loop := self._loop) is not None:
            loop.resumed()

    def _is_needed(self) -> bool:
        return bool(self._turns - self._left)

    def _is_wanted(self, id_: str) -> bool:
        return id_ in self._turns and id_ not in self._left

    def _stop(self) -> None:
        self._stopping.set()
        self._turn.set()
        if (loop := self._loop) is not None:
            loop.stop()
        self._thread.join(_STOP_SECONDS)

    # the thread

    def _run(self) -> None:
        # In the background, a read then fails instead of stopping the gate.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTIN, signal.SIGTTOU})
        minutes = self._config.console.lock_minutes
        try:
            while not self._stopping.is_set():
                turn = self._turn.wait(minutes * 60 if minutes else None)
                self._turn.clear()
                if not turn:
                    self._lock()
                elif self._is_needed() and not self._stopping.is_set():
                    self._ask()
        except TerminalGone as gone:
            self._log.note("terminal", f"questions are no longer asked here: {gone}")
        finally:
            self._lock()

    def _lock(self) -> None:
        if self._key is not None:
            self._key.lock()
        self._key = None

    def _ask(self) -> None:
        """Asks about everything that waits, until it is answered or left."""
        before = self._turns
        self._left &= before
        loop: QuestionLoop | None = None
        try:
            key = self._operator_key()
            with self._output.held(), open_terminal(style_for(os.environ, plain=False)) as terminal:
                if not terminal.in_foreground:
                    raise AileronError("cannot ask in this terminal", "the gate runs in the background")
                loop = self._loop = QuestionLoop(self._sources(), key, terminal, self._settings())
                try:
                    loop.run()
                except AileronError as error:
                    if not isinstance(error, TerminalGone) or isinstance(error, EndOfInput):
                        terminal.write(inline(str(error)))
                    else:
                        raise
                if loop.was_left and not self._stopping.is_set():
                    terminal.write(_LEFT if self._is_needed() else "It is no longer waiting.")
        except TerminalGone:
            raise
        except AileronError as error:
            self._log.note("terminal", " ".join(filter(None, (f"{error}.", error.hint))))
        finally:
            self._loop = None
            self._left |= before | ((loop.waiting_ids & self._turns) if loop is not None else frozenset())

    def _operator_key(self) -> StoredOperatorKey:
        if self._key is None:
            folder = paths().keys
            self._key = StoredOperatorKey(folder, key_store.choose(folder, self._key_name or None).name)
        return self._key

    def _sources(self) -> "list[SourceSpec]":
        return source_specs([GateChoice("", discover)], self._config, surface=SURFACE)

    def _settings(self) -> QuestionSettings:
        console = self._config.console
        return QuestionSettings(
            self._config.policy.high_risk,
            console.lock_minutes,
            console.bell,
            until_idle=True,
            is_wanted=self._is_wanted,
            is_needed=self._is_needed,
        )


def _is_announced(gate: "Gate") -> bool:
    """Whether the gate can be reached."""
    try:
        return discover().instance == gate.instance
    except NoGate:
        return False
