"""The agent of the demo: makes the calls in its script, waits for the answers, and comments on them."""

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

ASKER: Final = Asker(says="demo agent", session="demo", folder="/home/sam/this-week")

_MAX_WAITING: Final = 8


@dataclass(frozen=True, slots=True)
class AgentPace:
    """How fast the agent works, and after how many scenes without an answer it gives up."""

    scene_seconds: float = 20.0
    poll_seconds: float = 0.4
    max_unanswered_scenes: int = 4


class AgentCalls(Protocol):
    """The part of the agent client that the scripted agent uses."""

    def run(self, name: str, args: JsonObject, *, asker: Asker | None = None, wait: int = 0) -> JsonObject:
        """Calls an action."""

    def result(self, id_: str) -> JsonObject:
        """Returns the result of a call, or its state while it is open."""


def _clock() -> datetime:
    return datetime.now().astimezone()


class AgentLog:
    """The agent's comments, line by line. Thread-safe."""

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
        """Returns all lines so far."""
        return tuple(self._lines)


class ScriptedAgent:
    """Plays a script against a gate on its own thread.

    It pauses while many requests are waiting, and gives up when nobody seems to be there.
    """

    def __init__(
        self,
        gate: AgentCalls,
        log: AgentLog,
        script: Sequence[Scene] = SCRIPT,
        pace: AgentPace | None = None,
    ) -> None:
        self._gate = gate
        self._log = log
        self._script = script
        self._pace = pace or AgentPace()
        self._waiting: dict[str, ScriptedCall] = {}
        self._unanswered_scenes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self.play, name="agent", daemon=True)

    def __enter__(self) -> "ScriptedAgent":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def play(self) -> bool:
        """Plays the script to its end or until stopped; returns whether the gate was reachable throughout."""
        try:
            for scene in self._script:
                if self._stop.is_set() or not self._play_scene(scene):
                    break
            else:
                if not self._stop.is_set():
                    self._log.say("That was everything.")
            self._poll_until(lambda: not self._waiting)
        except RuntimeFault as fault:
            if not self._stop.is_set():
                self._log.say(f"I can no longer reach the gate: {fault}")
            return False
        return True

    def _play_scene(self, scene: Scene) -> bool:
        """Makes the calls of a scene and waits for answers; returns whether to continue."""
        for call in scene:
            self._ask(call)
        self._unanswered_scenes += 1
        self._poll_until(lambda: False, self._pace.scene_seconds)
        if self._unanswered_scenes >= self._pace.max_unanswered_scenes:
            self._log.say(
                "Nobody seems to be there, so I will not ask for more. Requests that are waiting will expire."
            )
            return False
        self._poll_until(lambda: len(self._waiting) < _MAX_WAITING)
        return True

    def _ask(self, call: ScriptedCall) -> None:
        self._log.say(call.intent)
        try:
            answer = self._gate.run(call.action, call.args, asker=ASKER)
        except Rejected as refusal:
            self._log.say(f"{call.action}: {refusal.title}")
            return
        id_ = answer.get("approval_id")
        if isinstance(id_, str):
            self._waiting[id_] = call
        else:
            self._react(call, answer)

    def _poll_until(self, finished: Callable[[], bool], seconds: float | None = None) -> None:
        """Polls for results until `finished` returns true, the agent is stopped, or the time is up."""
        remaining = float("inf") if seconds is None else seconds
        while remaining > 0 and not finished() and not self._stop.wait(min(self._pace.poll_seconds, remaining)):
            remaining -= self._pace.poll_seconds
            for id_, call in tuple(self._waiting.items()):
                self._poll(id_, call)

    def _poll(self, id_: str, call: ScriptedCall) -> None:
        try:
            answer = self._gate.result(id_)
        except NotFound:
            del self._waiting[id_]
            self._log.say(f"{call.action}: the gate no longer knows this request.")
            return
        if answer.get("status") not in ("pending_approval", "running"):
            del self._waiting[id_]
            self._react(call, answer)

    def _react(self, call: ScriptedCall, answer: JsonObject) -> None:
        """Comments on an answer, and makes the calls that follow from it."""
        next_calls: Sequence[ScriptedCall] = ()
        match answer:
            case {"failure": {"error": {"class": "approval_timeout"}}}:
                self._log.say(f"{call.action}: nobody answered. That is not a denial, so I may ask again later.")
                return
            case {"status": "denied", "reason": str(reason)} if reason:
                self._log.say(f"{call.action} denied (“{reason}”): {call.refused}")
                next_calls = call.fallback
            case {"status": "denied"}:
                self._log.say(f"{call.action} denied: {call.refused}")
                next_calls = call.fallback
            case {"failure": {"error": {"message": str(message)}}} | {"error": {"message": str(message)}}:
                self._log.say(f"{call.action} approved, but it failed: {message}")
                next_calls = call.fallback
            case _:
                self._log.say(f"{call.action} approved: {call.done}")
                next_calls = call.next_calls(result_of(answer))
        self._unanswered_scenes = 0
        for next_call in next_calls:
            self._ask(next_call)
