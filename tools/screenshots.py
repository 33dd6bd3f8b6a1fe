"""Draws the pictures in `screenshots/` from the program itself, with fixed requests: `python -m tools.screenshots`.

The clock is stopped, so that the pictures are always the same.
"""

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from textual.pilot import Pilot

from aileron_tui.console.app import Console
from aileron_tui.console.settings import ConsoleSettings
from aileron_tui.core.jsontext import Json
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.demo.guide import DemoGuide
from tests.console import sample_requests as samples
from tests.console.fixed_clock import fixed_time
from tests.console.guided_requests import guided
from tests.console.history_gate import HistoryGate, records
from tests.console.rule_gate import RuleGate, listed, movable, past_calls, prompt_read
from tests.console.sample_requests import MOVES, NOW, waiting
from tests.console.screen_app import text
from tests.console.scripted_gate import console
from tests.console.tool_requests import everyday_tools

FOLDER: Final = Path(__file__).parents[1] / "screenshots"
_PAUSE: Final = 0.1
_EQUAL_FRAMES: Final = 4
# Depends on the order of styles, which can change although the picture looks the same.
_NAME: Final = re.compile(r"terminal-\d+")
QUIET: Final = ConsoleSettings(arm_seconds=0.05, undo_seconds=0.0, bell=False, notify=False)
EVIL: Final = (
    "Dear colleague,\x1b[2J\x1b[H please approve.\n"
    + "\n" * 40
    + "\u202egnp.eciovni\u202c is attached. [@click=app.quit]Yes[/]\n"
    "To: boss@example.com"
)

Steps = Callable[[Console, Pilot[None]], Awaitable[None]]


async def _nothing(_: Console, pilot: Pilot[None]) -> None:
    await pilot.pause()


def _keys(*keys: str, wait: float = 0.3) -> Steps:
    async def press(_: Console, pilot: Pilot[None]) -> None:
        for key in keys:
            await pilot.press(key)
            await pilot.pause(wait)

    return press


async def _rule_sheet(app: Console, pilot: Pilot[None]) -> None:
    await prompt_read(app, pilot)
    await pilot.press("R")


@dataclass(frozen=True)
class Shot:
    """One picture: the waiting requests, the size, the theme, and the keys that are pressed first."""

    name: str
    requests: tuple[Request, ...]
    size: tuple[int, int] = (110, 34)
    theme: str = "aileron-dark"
    steps: Steps = field(default=_nothing)
    guide: bool = False


def _everyday() -> tuple[Request, ...]:
    move = samples.prompt(
        (Row("File id", "f-1001"), Row("To folder", "d-reports")),
        (Row("Name", "Quarterly report.pdf"), Row("From folder", "d-inbox"), Row("Owner", "sam@example.com")),
        action="move-file",
        risk=MOVES,
    )
    return (
        waiting(samples.worked(), 1, 214),
        waiting(samples.item(move), 2, 252),
        waiting(samples.not_found(), 3, 281),
    )


def _folded() -> tuple[Request, ...]:
    """Four identical requests between others."""
    inputs = (Row("To", "lin@example.com"), Row("Subject", "Friday, 15:00"))
    draft = samples.prompt(inputs, action="draft-mail", preview=False, risk=Risk(RiskLevel.NORMAL, "creates something"))
    before, *after = _everyday()
    drafts = [waiting(samples.item(draft), number, 230 + number) for number in range(4, 8)]
    return *drafts, before, *after


def _guided() -> tuple[Request, ...]:
    """The first requests of the demo."""
    return tuple(waiting(guided(number), number, 298) for number in (1, 2))


def _declared(item: Request) -> Request:
    inputs: list[Json] = [
        {"name": row.label, "type": "string", "required": True, "label": row.label, "multiline": row.multiline}
        for row in item.prompt.inputs
    ]
    return replace(item, fields=item.fields | {"inputs": inputs})


def _shots() -> tuple[Shot, ...]:
    everyday = _everyday()
    rows = (
        Row("To", '"boss@example.com" <b\u043ess@ex\u0430mple.com>'),
        Row("Subject", "Invoice \u202efdp.exe\u202c\u200b\u200b\u200b\u200b\u200b"),
        Row("Body", EVIL, multiline=True),
    )
    hostile = waiting(samples.item(samples.prompt(rows=rows)), 1, 270)
    alike = tuple(
        waiting(
            samples.item(
                replace(
                    everyday[1].prompt,
                    args={"n": n},
                    inputs=(Row("File id", f"f-100{n}"), Row("To folder", "d-reports")),
                )
            ),
            n,
            280 - n,
        )
        for n in range(1, 5)
    )
    tools = tuple(waiting(one, number, 210 + 9 * number) for number, one in enumerate(everyday_tools(), start=1))
    edited = waiting(_declared(samples.before_edit()), 1, 283)
    return (
        Shot("wide", everyday),
        Shot("narrow", everyday, (80, 24)),
        Shot("40-columns", everyday, (40, 15)),
        Shot("preview-unavailable", (waiting(samples.not_found(), 1, 281),), (100, 26)),
        Shot("hostile-text", (hostile,), (100, 34)),
        Shot(
            "edit-diff",
            (edited,),
            (110, 34),
            steps=_keys("e", "home", *"lead-", "ctrl+s", wait=0.15),
        ),
        Shot("batch", alike, (100, 24), steps=_keys("space", "space", "space", "A")),
        Shot("summaries-45", everyday, (45, 24)),
        Shot("folded", _folded(), (120, 30)),
        Shot("folded-45", _folded(), (45, 24), steps=_keys("n")),
        Shot("body", everyday, (120, 30), steps=_keys("f", "/", *"staging", "enter")),
        Shot("body-45", everyday, (45, 24), steps=_keys("f")),
        Shot("rule", (movable(),), (120, 36), steps=_rule_sheet),
        Shot("rule-45", (movable(),), (45, 30), steps=_rule_sheet),
        Shot("rules", (movable(),), (120, 30), steps=_keys("ctrl+r")),
        Shot("rules-45", (movable(),), (45, 30), steps=_keys("ctrl+r")),
        Shot("tools", tools, (120, 32)),
        Shot("tools-edit", tools, (110, 32), steps=_keys("n")),
        Shot("tools-45", tools, (45, 24)),
        Shot("history", everyday, (110, 34), steps=_keys("h", wait=1.5)),
        Shot("guide", _guided(), (100, 30), guide=True),
        Shot("guide-40", _guided(), (40, 15), guide=True),
        Shot("light", everyday, theme="aileron-light"),
        Shot("no-colour", everyday, (100, 30), theme="aileron-plain"),
    )


SHOTS: Final = _shots()


class Gate(RuleGate):
    """A gate with waiting requests, rules and a history."""

    def __init__(self, *items: Request) -> None:
        super().__init__(*items, rules=(listed(1, used=3), listed(2), listed(3, in_force=False)))
        self.past_calls = past_calls(7)
        self._past = HistoryGate(records(120, NOW))
        self.history = self._past.history  # type: ignore[method-assign]  # the history comes from another scripted gate


async def draw(shot: Shot) -> str:
    """Returns the picture as SVG."""
    guide = DemoGuide(lambda: "") if shot.guide else None
    async with console(Gate(*shot.requests), replace(QUIET, theme=shot.theme), shot.size, guide=guide) as (app, pilot):
        await settled(app, pilot)
        await shot.steps(app, pilot)
        await settled(app, pilot)
        return _NAME.sub(f"terminal-{shot.name}", app.export_screenshot(title="aileron-tui"))


async def settled(app: Console, pilot: Pilot[None]) -> None:
    """Waits until the screen stops changing."""
    seen: list[str] = []
    while len(seen) < _EQUAL_FRAMES or len(set(seen)) > 1:
        await pilot.pause(_PAUSE)
        seen = [*seen[1 - _EQUAL_FRAMES :], text(app)]


def main() -> int:
    """Draws all pictures."""
    FOLDER.mkdir(exist_ok=True)
    for shot in SHOTS:
        with fixed_time():
            (FOLDER / f"{shot.name}.svg").write_text(asyncio.run(draw(shot)), "utf-8")
        print(f"screenshots/{shot.name}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
