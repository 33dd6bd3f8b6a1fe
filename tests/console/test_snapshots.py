"""What the whole console looks like: its text and its styles, against the files in `snapshots/`.

The clock of the console stands still, so that ages and times left are part of the picture. To renew the files after a
change that is meant, run the tests with `UPDATE_SNAPSHOTS=1` and read the difference before keeping it.
"""

import difflib
import os
import string
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.pilot import Pilot

from aileron_tui.console.app import Console
from aileron_tui.console.themes import THEMES
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.visible_text import cells
from tests.console import sample_requests as samples
from tests.console.fixed_clock import fixed_time
from tests.console.rule_gate import HIGH, RuleGate, listed, movable, past_calls, prompt_read
from tests.console.sample_requests import MOVES, waiting
from tests.console.screen_app import UNSAFE, async_test, lines, wait_until
from tests.console.scripted_gate import QUICK, ScriptedGate, console

FOLDER: Final = Path(__file__).parent / "snapshots"
RENEW: Final = "UPDATE_SNAPSHOTS"
HOW: Final = f"If it is meant to look like this, renew the files: {RENEW}=1 make test"
EVIL: Final = "Dear colleague,\x1b]52;c;b3duZWQ=\x07 please approve.\n" + "\n" * 40 + "To: boss@example.com"
READ: Final = "to read"
READY: Final = "ready for your answer"
ATTRIBUTES: Final = ("bold", "dim", "italic", "underline", "strike", "reverse", "blink", "conceal", "link")
ROLES: Final = (
    "foreground",
    "background",
    "surface",
    "panel",
    "primary",
    "secondary",
    "success",
    "warning",
    "error",
)


@dataclass(frozen=True)
class Case:
    """One picture; `says` is what the answer bar comes to say when everything is drawn.

    `silent` are the requests of a second source, which went away. If `keys` are pressed first, `says` can be anywhere.
    """

    name: str
    requests: tuple[Request, ...]
    size: tuple[int, int] = (80, 24)
    theme: str = "aileron-dark"
    says: str = READ
    silent: tuple[Request, ...] = ()
    keys: tuple[str, ...] = ()


def move() -> Request:
    """One that can be undone and is read at a glance."""
    shown = samples.prompt(
        (Row("File id", "f-1001"), Row("To folder", "d-reports")),
        (Row("Name", "Quarterly report.pdf"), Row("Owner", "sam@example.com")),
        action="move-file",
        risk=MOVES,
    )
    return waiting(samples.item(shown), 2, 252)


def everyday() -> tuple[Request, ...]:
    """One that cannot be undone, one that can, and one whose preview failed."""
    return (waiting(samples.worked(), 1, 214), move(), waiting(samples.not_found(), 3, 281))


def hostile() -> tuple[Request, ...]:
    """Text that would clear the screen, turn around, hide, be clicked, or be taken for another."""
    sent = (Row("Draft id", "r-1\x1b[2J\x1b[H[@click=app.quit]Yes[/]"),)
    rows = (
        Row("Subject", "Invoice \u202efdp.exe\u202c\u200b\u200b\u200b\u200b\u200b"),
        Row("Body", EVIL, multiline=True),
        Row("To", "b\u043ess@example.com"),
    )
    return (waiting(samples.item(samples.prompt(sent, rows)), 1, 270),)


CASES: Final = (
    Case("wide-dark", everyday(), (120, 36)),
    Case("narrow-dark", everyday()),
    Case("folded-dark", everyday(), (40, 15)),
    Case("narrow-light", everyday(), theme="aileron-light"),
    Case("narrow-plain", everyday(), theme="aileron-plain"),
    Case("ready", (move(),), says=READY),
    Case("preview-unavailable", (waiting(samples.not_found(), 1, 21),)),
    Case("hostile-text", hostile()),
    Case("two-sources-wide", (move(),), (120, 36), says=READY, silent=everyday()),
    Case("two-sources-narrow", (move(),), says=READY, silent=everyday()),
    Case("two-sources-folded", (move(),), (40, 15), says=READY, silent=everyday()),
    Case("rule-sheet-wide", (movable(),), (120, 36), says="and 2 more", keys=("R",)),
    Case("rule-sheet-folded", (movable(risk=HIGH),), (45, 24), says="to read", keys=("R",)),
    Case("rules-wide", (movable(),), (120, 36), says="it was ended", keys=("ctrl+r", "o")),
    Case("rules-folded", (movable(),), (45, 24), says="used 3 times", keys=("ctrl+r",)),
)


def named(cases: tuple[Case, ...]) -> pytest.MarkDecorator:
    """The cases as parameters of a test."""
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


@pytest.fixture(autouse=True)
def stopped() -> Iterator[None]:
    """No time passes."""
    with fixed_time():
        yield


# how a picture is written down


def segments(app: Console) -> list[list[Segment]]:
    """The screen as it would go to the terminal."""
    return [list(strip) for strip in app.screen._compositor.render_strips()][: app.size.height]


def colour(value: Color | None, roles: dict[str, str]) -> str:
    """A colour and, if it is one of the theme, what it is there for."""
    if value is None or value.is_default:
        return "default"
    written = value.triplet.hex if value.triplet else value.name
    return f"{roles[written]} {written}" if written in roles else written


def described(style: Style | None, roles: dict[str, str]) -> str:
    """A style in words."""
    style = style or Style.null()
    words = [name for name in ATTRIBUTES if getattr(style, name)]
    return ", ".join([f"{colour(style.color, roles)} on {colour(style.bgcolor, roles)}", *words])


def snapshot(app: Console, case: Case) -> str:
    """The text, a letter for the style of each cell, and what the letters mean."""
    theme = next(theme for theme in THEMES if theme.name == case.theme)
    roles = {str(getattr(theme, role)): role for role in reversed(ROLES)}
    letters: dict[str, str] = {}
    rows: list[str] = []
    for line in segments(app):
        row = ""
        for segment in line:
            style = described(segment.style, roles)
            letter = letters.setdefault(style, string.ascii_letters[len(letters)])
            row += letter * cells(segment.text)
        rows.append(row)
    width, height = case.size
    legend = [f"{letter}  {style}" for style, letter in letters.items()]
    parts = [f"{case.name}: {width} × {height}, {case.theme}"], lines(app), rows, legend
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


async def drawn(app: Console, pilot: Pilot[None], case: Case) -> str:
    """The picture, once the answer bar says what it comes to say and nothing changes any more.

    If it never comes to that, the picture of then: its difference tells more than that the wait was in vain.
    """
    seen: list[str] = []
    for _ in range(500):
        await pilot.pause(0.02)
        seen = [*seen[-3:], snapshot(app, case)]
        words = "\n".join(lines(app)) if case.keys else lines(app)[-2]
        if case.says in words and len(seen) == 4 and len(set(seen)) == 1:
            break
    return seen[-1]


def compare(case: Case, got: str) -> None:
    """Fails with a readable difference; writes the file instead when that is asked for."""
    file = FOLDER / f"{case.name}.txt"
    if os.environ.get(RENEW):
        FOLDER.mkdir(exist_ok=True)
        file.write_text(got, "utf-8", newline="\n")
        return
    kept = file.read_text("utf-8") if file.exists() else ""
    if got != kept:
        change = difflib.unified_diff(kept.splitlines(), got.splitlines(), f"{file.name}, kept", "now", lineterm="")
        pytest.fail("\n".join(["the console looks different:", *change, "", HOW]), pytrace=False)


# the tests


def sources(case: Case) -> list[ScriptedGate]:
    """Where the requests come from."""
    if case.keys:
        gate = RuleGate(*case.requests, rules=(listed(1, used=3), listed(2), listed(3, in_force=False)))
        gate.past_calls = past_calls(7)
        return [gate]
    if not case.silent:
        return [ScriptedGate(*case.requests)]
    return [ScriptedGate(*case.requests, name="work"), ScriptedGate(*case.silent, name="laptop")]


@named(CASES)
@async_test
async def test_it_looks_as_kept(case: Case) -> None:
    gates = sources(case)
    async with console(gates, replace(QUICK, theme=case.theme), case.size) as (app, pilot):
        if case.silent:
            gates[1].hang_up()
            await wait_until(pilot, lambda: app.sources.listeners["laptop"].status.why == "nobody answers")
            app.board.selected = "work act-2"
            app.redraw()
        if case.keys:
            await prompt_read(app, pilot)
            for key in case.keys:
                await pilot.press(key)
                await pilot.pause(0.2)
        got = await drawn(app, pilot, case)
        compare(case, got)
        assert not UNSAFE.findall("".join(lines(app)))


@async_test
async def test_without_colour_there_is_none_in_any_style() -> None:
    (case,) = (case for case in CASES if case.theme == "aileron-plain")
    async with console(ScriptedGate(*case.requests), replace(QUICK, theme=case.theme), case.size) as (app, pilot):
        await drawn(app, pilot, case)
        styles = {segment.style for line in segments(app) for segment in line if segment.style}
        found = {described(style, {}) for style in styles}
        assert {words for words in found if not words.startswith("default on default")} == set()
        assert any("bold" in words for words in found)


def test_every_file_is_looked_at() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == {case.name for case in CASES}
