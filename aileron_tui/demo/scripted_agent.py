"""The demo's agent: asks for what its script says, waits, and says in plain words what it makes of the answers."""

import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, Protocol

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import Asker
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.demo.agent_script import SCRIPT, Scene, ScriptedCall, result_of
from aileron_tui.runtime.errors import NotFound, Rejected, RuntimeFault

ASKER: Final = Asker("demo agent", "demo", "/home/sam/this-week")

_FULL: Final = 8


@dataclass(frozen=True, slots=True)
class AgentPace:
    """Seconds between scenes and between looks at what is open, and how many scenes may pass without an answer."""

    scene: float = 20.0
    look: float = 0.4
    patience: int = 4


class AgentCalls(Protocol):
    """The agent's side of a gate, as far as it is needed here."""

    def run(self, name: str, args: JsonObject, *, asker: Asker | None = None, wait: int = 0) -> JsonObject:
        """Calls an action."""

    def result(self, id_: str) -> JsonObject:
        """How a call ended, or that it has not."""


def _clock() -> datetime:
    return datetime.now().astimezone()


class AgentLog:
    """What the agent says, line by line, made visible; safe to use from several threads."""

    def __init__(self, echo: Callable[[str], object] | None = None, clock: Callable[[], datetime] = _clock) -> None:
        self._lines: list[str] = []
        self._echo = echo
        self._clock = clock

    def say(self, text: str) -> None:
        """Adds a line."""
        line = f"{self._clock():%H:%M:%S}  {inline(text)}"
        self._lines.append(line)
        if self._echo:
            self._echo(line)

    def lines(self) -> Sequence[str]:
        """Everything that was said so far."""
        return tuple(self._lines)


class ScriptedAgent:
    """Plays a script against a gate on a thread of its own.

    It holds back while much is open, and gives up when nobody seems to be there.
    """

    def __init__(
        self,
        caller: AgentCalls,
        log: AgentLog,
        script: Sequence[Scene] = SCRIPT,
        pace: AgentPace | None = None,
    ) -> None:
        self._caller = caller
        self._log = log
        self._script = script
        self._pace = pace or AgentPace()
        self._open: dict[str, ScriptedCall] = {}
        self._ignored = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self.play, name="agent", daemon=True)

    def __enter__(self) -> "ScriptedAgent":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def play(self) -> bool:
        """Plays the script until its end or until it is told to stop; says whether the gate was there all the time."""
        try:
            for scene in self._script:
                if self._stop.is_set() or not self._perform(scene):
                    break
            else:
                if not self._stop.is_set():
                    self._log.say("That was all I wanted.")
            self._listen(lambda: not self._open)
        except RuntimeFault as fault:
            if not self._stop.is_set():
                self._log.say(f"I cannot reach the gate any more: {fault}")
            return False
        return True

    def _perform(self, scene: Scene) -> bool:
        """Asks for a scene and gives people time; says whether to go on."""
        for wish in scene:
            self._ask(wish)
        self._ignored += 1
        self._listen(lambda: False, self._pace.scene)
        if self._ignored >= self._pace.patience:
            self._log.say(
                "Nobody seems to be there, so I ask for nothing more. What waits, waits until its time is over."
            )
            return False
        self._listen(lambda: len(self._open) < _FULL)
        return True

    def _ask(self, wish: ScriptedCall) -> None:
        self._log.say(wish.intent)
        try:
            answer = self._caller.run(wish.action, wish.args, asker=ASKER)
        except Rejected as refusal:
            self._log.say(f"{wish.action}: {refusal.title}")
            return
        id_ = answer.get("approval_id")
        if isinstance(id_, str):
            self._open[id_] = wish
        else:
            self._take(wish, answer)

    def _listen(self, over: Callable[[], bool], seconds: float | None = None) -> None:
        """Asks for results until it is over, told to stop, or the time is up."""
        left = float("inf") if seconds is None else seconds
        while left > 0 and not over() and not self._stop.wait(min(self._pace.look, left)):
            left -= self._pace.look
            for id_, wish in tuple(self._open.items()):
                self._look(id_, wish)

    def _look(self, id_: str, wish: ScriptedCall) -> None:
        try:
            answer = self._caller.result(id_)
        except NotFound:
            del self._open[id_]
            self._log.say(f"{wish.action}: the gate does not know of it any more.")
            return
        if answer.get("status") not in ("pending_approval", "running"):
            del self._open[id_]
            self._take(wish, answer)

    def _take(self, wish: ScriptedCall, answer: JsonObject) -> None:
        """Says what it makes of an answer, and perhaps asks for more."""
        more: Sequence[ScriptedCall] = ()
        match answer:
            case {"failure": {"error": {"class": "approval_timeout"}}}:
                self._log.say(f"{wish.action}: nobody answered. That is not a no; I may ask again one day.")
                return
            case {"status": "denied", "reason": str(reason)} if reason:
                self._log.say(f"{wish.action} denied, because “{reason}”: {wish.refused}")
                more = wish.instead
            case {"status": "denied"}:
                self._log.say(f"{wish.action} denied: {wish.refused}")
                more = wish.instead
            case {"failure": {"error": {"message": str(message)}}} | {"error": {"message": str(message)}}:
                self._log.say(f"{wish.action} approved, but it failed: {message}")
                more = wish.instead
            case _:
                self._log.say(f"{wish.action} approved: {wish.done}")
                more = wish.then(result_of(answer))
        self._ignored = 0
        for next_ in more:
            self._ask(next_)
