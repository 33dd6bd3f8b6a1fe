"""What questions about requests say: the rows to read, the answers to choose from, the word to type."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from aileron_tui.cli.output import counted
from aileron_tui.cli.question_terminal import Style
from aileron_tui.cli.request_text import request_lines
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, plain
from aileron_tui.core.prompt import row_lines
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.summary import targets
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import Visible, block, inline, short, wrap
from aileron_tui.surface.raw_request import raw_fields

APPROVE, DENY, VIEW, SKIP, QUIT = "approve", "deny", "view", "skip", "quit"
MORE, BACK = "more", "back"
DECISIVE: Final = frozenset({APPROVE, DENY})
"""The answers that decide something."""

_LONGEST_NAME: Final = 60
_LONGEST_NOTE: Final = 300
_MOST_TARGETS: Final = 4
_RULE: Final = "─"
_GUTTER: Final = "    > "


def is_high(request: Request) -> bool:
    """Whether a request is high risk."""
    return request.prompt.risk.level is RiskLevel.HIGH


def name_of(request: Request) -> Visible:
    """The action of a request, short enough for a line."""
    return short(request.prompt.action, _LONGEST_NAME)


def rule(width: int, style: Style) -> tuple[str, ...]:
    """A line across the window; none in the plain style."""
    return () if style.plain else (_RULE * width,)


def heading(request: Request, waiting: int) -> str:
    """The line above a prompt."""
    seconds = int(request.seconds_left(utc_now()))
    left = f", {seconds // 60}:{seconds % 60:02d} left" if request.expires_at else ""
    more = f"{counted(waiting, 'request')} waiting{left}"
    return f"Approval required: {more}"


def risk_line(request: Request) -> str:
    """The line about high risk, "" for other risks."""
    return f"High risk: {short(request.prompt.risk.reason, _LONGEST_NOTE)}" if is_high(request) else ""


def prompt_rows(request: Request, width: int) -> list[str]:
    """Everything that an approval is bound to, in rows of this width."""
    return list(request_lines(request, width))


def view_rows(request: Request, fetched: Json, width: int) -> list[str]:
    """The request as JSON, with everything that its preview fetched."""
    text = plain(raw_fields(request, fetched))
    return [row for line in block(text) for row in wrap(Visible(f"{_GUTTER}{line}"), width, _GUTTER)]


def fetch_problem(error: AileronError) -> str:
    """Why not everything that the preview op returns can be shown."""
    return f"The rest cannot be fetched: {short(str(error), _LONGEST_NOTE)}"


def target_rows(request: Request, width: int) -> Iterator[str]:
    """What an approval is directed at, named once more."""
    found = targets(request.prompt)
    yield from row_lines([(_cut(row), None) for row in found[:_MOST_TARGETS]], width)
    if len(found) > _MOST_TARGETS:
        yield f"  and {len(found) - _MOST_TARGETS:,} more"


def _cut(row: Row) -> Row:
    """The row in one line; the whole value has been on screen."""
    cut = row.value if len(row.value) <= _LONGEST_NOTE else f"{row.value[:_LONGEST_NOTE]}…"
    return replace(row, value=cut, multiline=False)


def choices(words: Sequence[str], width: int) -> str:
    """The answers that can be given, such as `[A]pprove   [D]eny`, closer together in a narrow window."""
    names = [f"[{word[0].upper()}]{word[1:]}" for word in words]
    wide = "   ".join(names)
    return wide if len(wide) <= width else " ".join(names)


def answers_to(request: Request) -> tuple[str, ...]:
    """The answers to a request whose prompt was shown to its end."""
    approvable = not (request.deny_only or request.fetching)
    return (*((APPROVE,) if approvable else ()), DENY, VIEW, SKIP, QUIT)


def word_to_type(request: Request) -> str:
    """What confirms high risk: the action's name, or another word if a person could not type that."""
    action = request.prompt.action
    typeable = action.isascii() and action.isprintable() and action == action.strip() and inline(action) == action
    return action if typeable and 0 < len(action) <= _LONGEST_NAME else APPROVE


def ended_words(words: str) -> str:
    """What happened to a request while it was on screen."""
    return "It is no longer waiting." if words == "no longer waiting" else f"No longer waiting: {words}"


def capitalized(words: str) -> str:
    """Words as the beginning of a sentence."""
    return words[:1].upper() + words[1:]
