"""An operator who answers one ordinary request after another, and looks at the screen before each key."""

import json
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from tests.robot.bundle import Action, Input, Preview, Step
from tests.robot.case import Call, Case, Order
from tests.robot.eyes import Window, status, title_of
from tests.robot.operator import READY
from tests.robot.session import Session

REQUESTS: Final = 50
SIZE: Final = (120, 36)
_UNDO_SECONDS: Final = 2
_AT_ONCE: Final = 10
"""So many requests wait at the same time."""
_NOTE: Final = re.compile(r"▎ ?(note-\d+)\b")
_HELD: Final = "approved, sends in"
_PATIENCE: Final = 20.0


@dataclass
class Pace:
    """How it went: the notes that were approved, the keys that did not work at once, and the seconds it took."""

    approved: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    seconds: float = 0.0

    def __str__(self) -> str:
        each = self.seconds / max(1, len(self.approved))
        return f"{len(self.approved)} approved in {self.seconds:.1f} s, {each:.2f} s each, {len(self.refused)} refused"


def make_case(number: int) -> Case:
    """An ordinary request of normal risk; every other one has a preview."""
    name, note = ("create-note", f"note-{number:03}")
    inputs = (Input("id", "Note"), Input("title", "Title"))
    step = Step("create_note", {"id": "${args.id}", "title": "${args.title}"})
    action = Action(name, inputs, (step,))
    if number % 2:
        action = replace(action, name="create-copy", preview=Preview({"To": "to", "Subject": "subject"}))
    call = Call(action.name, json.dumps({"id": note, "title": f"Minutes of meeting {number}"}))
    objects = {note: {"to": "team@example.com", "subject": f"Meeting {number}"}}
    return Case("pace", number, action.name, (action,), call, Order(()), True, objects)


def run(requests: int = REQUESTS) -> Pace:
    """Approves so many requests as fast as the console allows."""
    cases = [make_case(number) for number in range(requests)]
    pace = Pace()
    with Session(cases, undo_seconds=_UNDO_SECONDS) as session:
        session.service.objects = {id_: item for case in cases for id_, item in case.objects.items()}
        session.terminal.resize(SIZE)
        waiting = list(cases)
        for _ in range(_AT_ONCE):
            session.call(waiting.pop(0).call)
        session.terminal.until(lambda text: f"{_AT_ONCE} waiting" in text)
        started = time.monotonic()
        for _ in cases:
            _answer(session.terminal, pace)
            if waiting:
                session.call(waiting.pop(0).call)
        pace.seconds = time.monotonic() - started
        session.terminal.until(lambda text: "nothing waiting" in text, _PATIENCE)
        _until(session.terminal, lambda: len(_done(session)) == requests)  # the last ones may still be running
        pace.done = _done(session)
    return pace


def _done(session: Session) -> set[str]:
    """The notes that the service made."""
    return {str(item.args["id"]) for item in session.service.log if item.happened}


def _answer(terminal: Window, pace: Pace) -> None:
    """Reads which note is on screen, approves it once the console is ready, and goes on."""
    note = _until_ready(terminal, pace)
    terminal.press("a")
    pace.approved.append(note)
    _until(terminal, lambda: not _is_ready(terminal))
    if _HELD not in status(terminal):
        pace.refused.append(f"a for {note}: {status(terminal)}")
        return
    terminal.press("n")
    _until(terminal, lambda: _note(terminal) != note or "no other request" in terminal.text)


def _until_ready(terminal: Window, pace: Pace) -> str:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        note = _note(terminal)
        if note and note not in pace.approved and _is_ready(terminal):
            return note
        if note in pace.approved and "nothing to answer" in status(terminal):
            terminal.press("n")  # nothing else waited before
        terminal.still(0.02)
    raise AssertionError(f"never ready:\n{terminal.text}")


def _is_ready(terminal: Window) -> bool:
    return READY in status(terminal)


def _note(terminal: Window) -> str:
    """The note that the prompt is about."""
    found = _NOTE.search(terminal.text) if title_of(terminal) else None
    return found[1] if found else ""


def _until(terminal: Window, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not holds() and time.monotonic() < end:
        terminal.still(0.02)


if __name__ == "__main__":
    sys.stdout.write(f"{run()}\n")
