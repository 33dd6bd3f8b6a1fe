"""The guide of the demo: approve a good request, meet a failed preview, catch a hostile mail, and make a rule.

Each lesson is about requests of the script. What it says to look at is shown only while such a request is on screen.
"""

from collections.abc import Callable, Mapping
from typing import Final

from aileron_tui.console.guide import GuideLine
from aileron_tui.core.jsontext import Json
from aileron_tui.core.request import Request
from aileron_tui.core.values import dataclass
from aileron_tui.demo.agent_script import SCRIPT
from aileron_tui.demo.sample_data import HOSTILE, NOT_A_DRAFT, WORKED_EXAMPLE
from aileron_tui.surface.board import Board


@dataclass(frozen=True, slots=True)
class Words:
    """One sentence in two lengths."""

    text: str
    brief: str


@dataclass(frozen=True, slots=True)
class Lesson:
    """What to learn from which requests: `look` while one of them is shown, `find` while another one is."""

    heading: str
    is_about: Callable[[str, Mapping[str, Json]], bool]
    find: Words
    look: Words
    ends_with_rule: bool = False


LATER: Final = Words("It is asked for later. Answer what waits until then.", "Answer what waits until then")
FINISHED: Final = GuideLine(
    "That was the guide",
    "h shows what happened, l what the agent got. q quits and says how to go on.",
    "Done. q says how to go on",
)
_COMPILING: Final = "Compiling, only this once"
_SAFE: Final = tuple(
    (call.action, call.args)
    for scene in SCRIPT
    for call in scene
    if call.action in ("draft-mail", "rename-file") or call.args.get("file_id") == "f-1001"
)


def _sends(draft: str) -> Callable[[str, Mapping[str, Json]], bool]:
    return lambda action, args: action == "send-draft" and args.get("draft_id") == draft


LESSONS: Final = (
    Lesson(
        "1 of 4: approve a good request",
        _sends(WORKED_EXAMPLE),
        Words("Go to the first send-draft, which is for team@example.com: n goes on.", "n: to the first send-draft"),
        Words("Right people, right text? Read to the end, press a, then confirm.", "Right people? Read on, then a"),
    ),
    Lesson(
        "2 of 4: a preview that failed",
        _sends(NOT_A_DRAFT),
        Words("Go to the send-draft for 19df4136f28569d2: n goes on.", "n: to send-draft 19df41…"),
        Words("No such draft, so nobody knows what would be sent. d denies, D says why.", "No such draft: d denies it"),
    ),
    Lesson(
        "3 of 4: catch a hostile mail",
        _sends(HOSTILE),
        Words("One of the waiting mails lies about where it goes. n goes on.", "n: find the mail that lies"),
        Words("Look at the warnings, To, Bcc and the end of the text. d denies it.", "See warnings, Bcc: d denies"),
    ),
    Lesson(
        "4 of 4: stop being asked",
        lambda action, args: any(action == known and args == exactly for known, exactly in _SAFE),
        Words("Go to a move-file, rename-file or draft-mail without a warning: n goes on.", "n: to a harmless request"),
        Words("R makes a rule: calls like this run without asking until it ends.", "R: a rule for such calls"),
        ends_with_rule=True,
    ),
)


class DemoGuide:
    """Follows the lessons: the one about the request on screen, else the first that is not done."""

    def __init__(self, compiling: Callable[[], str]) -> None:
        """`compiling` says which connectors are being compiled, "" if none is."""
        self._compiling = compiling
        self._done: set[Lesson] = set()

    def line(self, board: Board, shown: Request | None) -> GuideLine:
        """What to do next."""
        for lesson in LESSONS:
            ended = (request for request in board.requests.values() if not request.state.decidable)
            if not lesson.ends_with_rule and any(_is_about(lesson, request) for request in ended):
                self._done.add(lesson)
        if shown and shown.fetching and (progress := self._compiling()):
            return GuideLine(_COMPILING, f"The preview follows. {progress}.", f"{_COMPILING}…")
        left = [lesson for lesson in LESSONS if lesson not in self._done]
        if not left:
            return FINISHED
        if shown and shown.state.decidable:
            for lesson in left:
                if _is_about(lesson, shown):
                    return GuideLine(lesson.heading, lesson.look.text, lesson.look.brief)
        waiting = (request for request in board.requests.values() if request.state.decidable)
        words = left[0].find if any(_is_about(left[0], request) for request in waiting) else LATER
        return GuideLine(left[0].heading, words.text, words.brief)

    def rule_made(self) -> None:
        """Ends the lesson about rules."""
        self._done |= {lesson for lesson in LESSONS if lesson.ends_with_rule}


def _is_about(lesson: Lesson, request: Request) -> bool:
    return lesson.is_about(request.prompt.action, request.prompt.args)
