"""The robot operator: it reads the screen, compares it with its order sheet, and answers with keys."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.e2e.terminal import ENTER, Terminal
from tests.robot.case import Case, Effect, Order
from tests.robot.eyes import CannotRead, Moved, changed, read_prompt, settle, status, title_of, title_place
from tests.robot.order_check import objection
from tests.robot.page import GUTTER, Page
from tests.robot.service import Received
from tests.robot.session import Session

READY: Final = "ready for your answer"
UNREAD: Final = re.compile(r"^◌ .*?(?:\d (?:more )?lines?\b|read on$)")
"""The status line, which may be cut, while something is left to read."""
_TIMES_SAME: Final = 2
"""So often nothing changes at the end of the list."""
_MOST_PAGES: Final = 200
COUNTED: Final = 0.25
"""A line counts as read once it stayed on screen for a moment."""
_TIMES_MOVED: Final = 4
_READING_SECONDS: Final = 1.5
"""After this, lines that are still to be read will not count as read by themselves."""
NOT_YET: Final = "not yet"
READ_FAST: Final = "You read"
"""The status line if the robot read much text faster than a person can."""
_ARMED: Final = 0.85
_ENDED: Final = re.compile(r"^(?P<pill>.*?) · noth")
_LONGEST_RUN: Final = 50.0
DONE, FAILED, UNKNOWN, DENIED = "done", "failed", "outcome unknown", "denied"


@dataclass
class Report:
    """How a case went: whether the robot approved, what the screen said in the end, and what differed."""

    case: Case
    approved: bool = False
    pill: str = ""
    differences: list[str] = field(default_factory=list)
    screens: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    why: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        case = self.case
        head = [
            f"family {case.family}, seed {case.seed}: {case.about or case.name}",
            f"  again: python -m tests.robot --family {case.family} --seed {case.seed}",
            f"  call: {case.call.action} {case.call.args}",
            f"  order: {[effect.words() for effect in case.order.effects]}",
            f"  honest: {case.honest}, approved: {self.approved} ({self.why or 'as ordered'}), pill: {self.pill!r}",
        ]
        received = [f"  service: {line}" for line in self.log]
        return "\n".join([*head, *received, *(f"  DIFFERENCE: {item}" for item in self.differences), *self.screens])


STUCK: Final = "the robot got stuck"


class Operator:
    """Drives the console of a session through one case."""

    def __init__(self, session: Session, case: Case) -> None:
        self.session = session
        self.case = case
        self.terminal: Terminal = session.terminal
        self.report = Report(case)
        self._logged = len(session.service.log)
        self._page: Page | None = None

    # the usual course

    def run(self) -> Report:
        """Runs the case and compares what the screen said with what the service received."""
        case, session = self.case, self.session
        started, first = time.monotonic(), len(self.session.service.log)
        session.service.objects = dict(case.objects)
        session.service.faults = dict(case.faults)
        session.service.changes = dict(case.changes)
        self.terminal.resize(case.size)
        self.terminal.still(0.1)
        try:
            (case.script or answer_by_order)(self, case)
        except (CannotRead, AssertionError, OSError, ValueError, ArithmeticError) as error:
            self.differ(f"{STUCK}: {error!r}")
        self.report.log = [_line(item) for item in session.service.log[first:]]
        self.report.seconds = time.monotonic() - started
        return self.report

    def ask(self) -> str:
        """The agent makes its call; gives the id of the request."""
        state, reply = self.session.call(self.case.call)
        if state != 202:
            self.report.why = f"the gate refused the call: {state} {reply}"
            return ""
        return str(reply["approval_id"])

    def look(self, action: str = "") -> None:
        """Waits until the request is on screen with its preview."""
        self.reach(action)
        self.terminal.until(lambda text: "fetching from" not in text, 10)
        settle(self.terminal)

    def reach(self, action: str = "") -> None:
        """Goes to the request as soon as it is listed."""
        name = action or self.case.call.action
        self.terminal.until(lambda text: self._shows(name) or "nothing waiting" not in text, 15)
        if not self._shows(name):
            self.go_to(name)

    def _shows(self, name: str) -> bool:
        place = title_place(self.terminal)
        return place is not None and f"Approve {name}" in self.terminal.lines[place[0]]

    def read(self) -> Page:
        """Reads the whole prompt."""
        asked = title_of(self.terminal)
        for _ in range(_TIMES_MOVED):
            try:
                page = read_prompt(self.terminal)
            except Moved:
                if asked and title_of(self.terminal) != asked:
                    self.go_to(asked.removeprefix("Approve ").rstrip("?"))
                continue
            self._page = page
            self.keep_screen("read")
            self.read_on()
            return page
        raise CannotRead(f"the prompt keeps changing:\n{self.terminal.text}")

    def read_on(self) -> None:
        """Reads on while the console says that there is more to read, such as lines that were drawn too late."""
        for _ in range(_MOST_PAGES):
            if not UNREAD.search(status(self.terminal)):
                return
            self.terminal.press(ENTER)
            self.terminal.still(COUNTED)

    def approve(self, before_confirming: Callable[[], object] = lambda: None) -> bool:
        """Approves what is on screen, and confirms it; False if the console does not accept it."""
        for tried in range(6):
            if not self.ready(8.0):
                return bool(tried and self.ended()) and self.confirm()
            self.terminal.press("a")
            self._until(self._has_reacted, 6)
            if status(self.terminal).startswith(READ_FAST):
                self.terminal.still(_ARMED)
                self.terminal.press("a")
                self._until(lambda: self.ended() or NOT_YET in status(self.terminal), 6)
            if self._asks_twice() or NOT_YET not in status(self.terminal):
                before_confirming()
                return self.confirm()
            if (before := self._page) and self.read().sections != before.sections:
                self.report.approved = True  # but this is another prompt now, which `finish` reads
                return True
        return False

    def _has_reacted(self) -> bool:
        line = status(self.terminal)
        return self._asks_twice() or bool(self.ended()) or NOT_YET in line or line.startswith(READ_FAST)

    def confirm(self) -> bool:
        """Confirms if the console asks once more."""
        if self._asks_twice():
            self.keep_screen("confirm")
            for _ in range(8):
                self.terminal.still(_ARMED)
                self.terminal.press("y")
                self._until(lambda: not self._asks_twice(), 0.6)
                if not self._asks_twice():
                    break
        self.report.approved = True
        return True

    def _asks_twice(self) -> bool:
        return "y yes" in self.terminal.text

    def _until(self, holds: Callable[[], object], seconds: float) -> None:
        """Waits until something holds, but no longer than this."""
        end = time.monotonic() + seconds
        while not holds() and time.monotonic() < end:
            self.terminal.still(0.03)

    def ready(self, seconds: float = 4.0) -> bool:
        """Waits until the console says that an answer counts."""
        end = time.monotonic() + seconds
        unread_until = time.monotonic() + _READING_SECONDS
        while READY not in (line := status(self.terminal)):
            unread = UNREAD.search(line) is not None
            if not unread:
                unread_until = time.monotonic() + _READING_SECONDS
            if time.monotonic() > (unread_until if unread else end):
                self.report.why = f"not ready: {status(self.terminal)}"
                return False
            self.terminal.still(0.03)
        return True

    def deny(self) -> None:
        """Denies what is on screen."""
        for _ in range(3):
            self.ready(2.0)
            self.terminal.press("d")
            end = time.monotonic() + 2
            while time.monotonic() < end:
                if self.ended():
                    return
                self.terminal.still(0.03)
        raise AssertionError(f"cannot deny:\n{self.terminal.text}")

    def ended(self) -> str:
        """The pill of the request on screen, or "" while it waits or runs."""
        found = _ENDED.match(status(self.terminal))
        return found["pill"].strip() if found else ""

    def is_asking(self) -> bool:
        """Whether the console asks about a request, and nothing is being sent."""
        for _ in range(2):
            line = status(self.terminal)
            if title_place(self.terminal) is None or not (READY in line or UNREAD.search(line)):
                return False
            self.terminal.still(0.4)
        return title_place(self.terminal) is not None

    def go_to(self, action: str) -> None:
        """Moves to another request in the list."""
        self.terminal.press("\x1b")
        self.terminal.still(0.1)
        for key in "jk":
            same = 0
            while not self._shows(action) and same < _TIMES_SAME:
                before = self.terminal.text
                self.terminal.press(key)
                changed(self.terminal, before, 0.25)
                same = same + 1 if self.terminal.text == before else 0
        assert self._shows(action), f"cannot find {action} on\n{self.terminal.text}"
        settle(self.terminal)

    def is_shown(self) -> bool:
        """Whether a question is on screen."""
        return title_place(self.terminal) is not None

    def to_list(self) -> None:
        """Goes from the prompt to the list."""
        self.terminal.press("\x1b")
        self.terminal.still(0.15)

    def close_dialogs(self) -> None:
        """Closes whatever is open above the prompt, without answering."""
        for _ in range(4):
            text = self.terminal.text
            if (
                "esc cancel" not in text
                and "y yes" not in text
                and "ctrl+s" not in text
                and "esc" not in status(self.terminal)
            ):
                return
            self.terminal.press("\x1b")
            self.terminal.still(0.25)

    def clear_waiting(self) -> None:
        """Denies everything that still waits."""
        for _ in range(8):
            if "nothing waiting" in self.terminal.still(0.3):
                return
            if not self.is_shown():
                self.to_list()
                for key in "jjjjkkkkkkkk":
                    self.terminal.press(key)
                    self.terminal.still(0.12)
                    if self.is_shown():
                        break
            self.ready(2.5)
            self.terminal.press("d")
            self.terminal.still(0.3)

    def lists(self, action: str) -> bool:
        """Whether the list shows this request."""
        place = title_place(self.terminal)
        lines = self.terminal.lines
        rows = [line[: place[1]] if place and place[1] > 10 else line for line in lines]
        end = place[0] if place and place[1] <= 10 else len(lines)
        return any(action in row for row in rows[1:end])

    def said(self) -> str:
        """What the screen says about the end of the request."""
        lines = self.terminal.lines
        values = [number for number, line in enumerate(lines) if GUTTER in line]
        # Only what is above the prompt's values: these name every op, whether it ran or not.
        return " ".join(lines[: values[0]] if values else lines)

    def outcome(self, seconds: float = 15.0) -> str:
        """Waits for the end of the request; gives the pill."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self._is_over():
                self.report.pill = pill = self.ended()
                self.keep_screen("outcome")
                return pill
            self.terminal.still(0.03)
        raise AssertionError(f"no outcome on screen:\n{self.terminal.text}")

    def finish(self, order: Order | None = None) -> str:
        """Waits for the end of the request; if the console asks again, reads and answers that. Gives the pill."""
        order = order or self.case.order
        for _ in range(3):
            end = time.monotonic() + _LONGEST_RUN
            while time.monotonic() < end and not self._is_over():
                if self.is_asking():
                    break
                self.terminal.still(0.03)
            if self._is_over():
                break
            self.keep_screen("asked again")
            self.report.approved = False
            if why := objection(self.read(), order):
                self.report.why = why
                self.deny()
            elif not self.approve():
                self.deny()
        return self.outcome()

    def _is_over(self) -> bool:
        pill = self.ended()
        return bool(pill) and not pill.startswith(("sending", "running", "approved"))

    # what the service did

    def received(self) -> list[Received]:
        """What the service received for this case."""
        return self.session.service.log[self._logged :]

    def effects(self) -> list[Effect]:
        """What the service did for this case."""
        return [Effect(item.connector, item.op, item.args, item.content) for item in self.received() if item.happened]

    def forget_effects(self) -> None:
        """Looks from now on only at what the service does next."""
        self._logged = len(self.session.service.log)

    # differences

    def differ(self, what: str) -> None:
        """Notes a difference."""
        self.report.differences.append(what)
        self.keep_screen("difference")

    def keep_screen(self, when: str) -> None:
        """Keeps the screen for the report."""
        rule = "-" * self.case.size[0]
        self.report.screens.append(f"  screen ({when}):\n{rule}\n{self.terminal.text}\n{rule}")

    def compare(self, pill: str, order: Order | None = None) -> None:
        """Compares what happened with the order and with what the screen says about it."""
        allowed = sorted(effect.words() for effect in (order or self.case.order).effects)
        done = sorted(effect.words() for effect in self.effects())
        if not self.report.approved and done:
            self.differ(f"it ran without an approval: {done}")
            return
        left = list(allowed)
        for item in done:
            if item in left:
                left.remove(item)
            else:
                self.differ(f"not what was ordered: {item}; ordered: {allowed}")
        if pill.startswith(DONE) and left and not self.report.differences:
            self.differ(f"the screen says {pill!r}, but the service never did {left}")
        if pill.startswith((FAILED, DENIED, "nobody", "withdrawn", "expired")) and done:
            self.differ(f"the screen says {pill!r}, but the service did {done}")


def answer_by_order(operator: Operator, case: Case) -> None:
    """Reads the prompt, approves it only if it says what the order sheet says, and checks what happened."""
    if not operator.ask():
        if case.honest:
            operator.differ(operator.report.why)
        return
    operator.look()
    page = operator.read()
    if why := objection(page, case.order):
        operator.report.why = why
        operator.deny()
        if case.honest:
            operator.differ(f"an honest call cannot be recognised: {why}")
    elif not operator.approve():
        why = operator.report.why
        operator.deny()
        if case.honest:
            operator.differ(f"an honest call cannot be approved: {why}")
    pill = operator.finish()
    operator.compare(pill)
    if case.honest and not pill.startswith(DONE) and not operator.report.differences:
        operator.differ(f"an honest call ended as {pill!r}")


def _line(item: Received) -> str:
    return f"{item.connector}.{item.op} {item.raw}{'' if item.happened else ' (not done)'}"
