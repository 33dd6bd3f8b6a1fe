"""Draws `screenshots/demo.svg`, a moving picture of the console, from the program itself: `python -m tools.animation`.

Each frame is a screenshot after some keys. Rows that several frames share are stored once, and a style sheet shows one
frame after the other, so the file is small, needs no script, and is the same whenever it is drawn.
"""

import asyncio
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from xml.sax.saxutils import escape

from textual.pilot import Pilot

from aileron_tui.console.app import Console
from aileron_tui.console.rule_making import RULES
from aileron_tui.console.screens.rule import RuleScreen
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.demo.sample_data import DRAFTS, HOSTILE
from tests.console import sample_requests as samples
from tests.console.fixed_clock import fixed_time
from tests.console.rule_gate import movable, past_calls, prompt_read, read
from tests.console.sample_requests import waiting
from tests.console.screen_app import wait_until
from tests.console.scripted_gate import console
from tools.screenshots import FOLDER, QUIET, Gate, settled

PICTURE: Final = FOLDER / "demo.svg"
_SIZE: Final = (100, 30)
_CELL: Final = (8.4, 17)
_MARGIN: Final = 10
_TITLE: Final = 34
_ANSWERS: Final = frozenset("adyR")
_READ: Final = "read"
"""Stands for the keys that read a prompt to its end."""

# What Textual writes: the rules of the text styles, the backgrounds, and the texts.
_STYLE: Final = re.compile(r"^ *\.terminal-\d+-(r\d+) \{ (.*) \}$", re.MULTILINE)
_BACKGROUND: Final = re.compile(r'<rect fill="(#\w+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="[\d.]+" shape')
_TEXT: Final = re.compile(
    r'<text class="terminal-\d+-(r\d+)" x="([\d.]+)" y="([\d.]+)" textLength="([\d.]+)"[^>]*>([^<]*)'
)
_TEXTUAL_CELL: Final = (12.2, 24.4)


@dataclass(frozen=True)
class Frame:
    """The keys that lead to a frame, what is written above it, and for how long it is shown."""

    keys: tuple[str, ...]
    caption: str
    seconds: float


FRAMES: Final = (
    Frame((), "An agent wants to send a mail. You see what the mailbox says about it.", 3.0),
    Frame((_READ,), "Read it to the end: nothing can be approved unseen.", 2.2),
    Frame(("a",), "High risk is confirmed, with the recipients in view.", 2.6),
    Frame(("y",), "Approved and signed. Exactly that was sent, once.", 1.8),
    Frame(("n",), "No such draft: nobody can say what would be sent.", 2.8),
    Frame(("d",), "Denied. The agent is told.", 1.4),
    Frame(("n",), "Hostile text cannot hide: look-alike letters, escape codes, a blind copy.", 4.2),
    Frame(("d",), "Denied.", 1.2),
    Frame(("n", _READ, "R", _READ), "Always fine? Make a rule: signed, exact, and with an end.", 3.6),
    Frame(("y",), "From now on that call runs without asking.", 1.8),
    Frame(("h",), "Everything is recorded in a signed chain, which you can search and verify.", 3.2),
)


def _requests() -> tuple[Request, ...]:
    mail = DRAFTS[HOSTILE]
    rows = (
        Row("To", mail.to),
        Row("Subject", mail.subject),
        Row("Bcc", dict(mail.headers)["Bcc"]),
        Row("Body", mail.body, multiline=True),
    )
    hostile = samples.item(samples.prompt((Row("Draft id", HOSTILE),), rows))
    return (
        waiting(samples.worked(), 1, 214),
        waiting(samples.not_found(), 2, 252),
        waiting(hostile, 3, 281),
        waiting(movable(), 4, 290),
    )


async def screens() -> list[str]:
    """Plays the frames, and returns a screenshot of each."""
    found: list[str] = []
    gate = Gate(*_requests())
    gate.past_calls = past_calls(2)
    async with console(gate, replace(QUIET, follow=False, fastest_reading=0), _SIZE) as (app, pilot):
        for frame in FRAMES:
            for key in frame.keys:
                await _press(app, pilot, key)
            found.append(app.export_screenshot())
    decided = [(id_, str(verdict)) for id_, verdict, *_ in gate.decided]
    if decided != [("act-1", "approve"), ("act-2", "deny"), ("act-3", "deny")] or len(gate.made) != 1:
        raise RuntimeError(f"the frames do not show what their captions say: {decided}, {len(gate.made)} rules")
    return found


async def _press(app: Console, pilot: Pilot[None], key: str) -> None:
    await settled(app, pilot)
    if key == _READ and isinstance(app.screen, RuleScreen):
        await read(pilot, app.screen)
    elif key == _READ:
        await prompt_read(app, pilot)
    else:
        if key in _ANSWERS:
            await wait_until(pilot, lambda: not app.arming.why_not_armed())
        await pilot.press(key)
    for kind in ("answers", RULES):
        await asyncio.wrap_future(app.threads.pool(kind, "").submit(lambda: None))  # what was sent has arrived
    await settled(app, pilot)


class Picture:
    """Collects frames, and stores each style and each row once."""

    def __init__(self, size: tuple[int, int]) -> None:
        self._columns, self._rows = size
        self._styles: dict[str, str] = {}
        self._row_ids: dict[str, str] = {}
        self._frames: list[str] = []

    def add(self, svg: str, frame: Frame) -> None:
        """Adds a frame from a screenshot of Textual."""
        rows = self._drawn_rows(svg)
        uses = "".join(
            f'<use href="#{self._row_id(content)}" y="{number * _CELL[1]}"/>' for number, content in rows.items()
        )
        caption = f'<text class="c" x="{self._width / 2:g}" y="22">{escape(frame.caption)}</text>'
        key = next((key for key in reversed(frame.keys) if key != _READ), "")
        cap = f'<rect class="k" x="{self._width - 40:g}" y="6" width="26" height="22" rx="5"/>' if key else ""
        cap += f'<text class="c b" x="{self._width - 27:g}" y="22">{escape(key)}</text>' if key else ""
        screen = f'<g transform="translate({_MARGIN} {_TITLE})">{uses}</g>'
        self._frames.append(f'<g class="f f{len(self._frames)}">{caption}{cap}{screen}</g>')

    @property
    def _width(self) -> float:
        return self._columns * _CELL[0] + 2 * _MARGIN

    def _drawn_rows(self, svg: str) -> Mapping[int, str]:
        styles = dict(_STYLE.findall(svg))
        rows: dict[int, list[str]] = {}
        for colour, x, y, width in _BACKGROUND.findall(svg):
            column, span = _columns(x), _columns(width)
            rows.setdefault(int(float(y) // _TEXTUAL_CELL[1]), []).append(
                f'<rect fill="{colour}" x="{column * _CELL[0]:g}" width="{span * _CELL[0]:g}" height="{_CELL[1]}"/>'
            )
        for style, x, y, width, text in _TEXT.findall(svg):
            plain = text.replace("&#160;", " ")
            if plain.strip():
                start = _columns(x) * _CELL[0]
                rows.setdefault(int(float(y) // _TEXTUAL_CELL[1]), []).append(
                    f'<text class="{self._style(styles[style])}" x="{start:g}" y="13"'
                    f' textLength="{_columns(width) * _CELL[0]:g}">{plain}</text>'
                )
        return {number: "".join(rows[number]) for number in sorted(rows) if number < self._rows}

    def _style(self, rule: str) -> str:
        return self._styles.setdefault(rule, f"s{len(self._styles)}")

    def _row_id(self, content: str) -> str:
        return self._row_ids.setdefault(content, f"r{len(self._row_ids)}")

    def svg(self, seconds: Sequence[float], label: str) -> str:
        """The whole picture. Where motion is not wanted, it shows the first frame."""
        height = self._rows * _CELL[1] + _TITLE + _MARGIN
        total, start = sum(seconds), 0.0
        rules = [f".{name}{{{rule}}}" for rule, name in self._styles.items()]
        for number, length in enumerate(seconds):
            begin, end = 100 * start / total, 100 * (start + length) / total
            hidden = "0%{visibility:hidden}" if number else ""
            after = f"{end:.3g}%{{visibility:hidden}}" if end < 100 else ""
            rules.append(f"@keyframes k{number}{{{hidden}{begin:.3g}%{{visibility:visible}}{after}}}")
            rules.append(f".f{number}{{animation:k{number} {total:g}s step-end infinite}}")
            start += length
        rules.append("@media (prefers-reduced-motion:reduce){.f{animation:none}.f0{visibility:visible}}")
        drawn = "\n".join(f'<g id="{id_}">{content}</g>' for content, id_ in self._row_ids.items())
        dots = "".join(f'<circle cx="{20 + 18 * n}" cy="17" r="5.5" fill="#3a3d43"/>' for n in range(3))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self._width:g} {height:g}" xml:space="preserve"'
            f' role="img" aria-label="{escape(label)}">\n<style>\n'
            'text{font:14px "Fira Code","DejaVu Sans Mono",Menlo,Consolas,monospace;white-space:pre}\n'
            ".c{font:14px system-ui,sans-serif;fill:#d5d9e0;text-anchor:middle}.b{font-weight:bold}.k{fill:#3a3d43}\n"
            ".f{visibility:hidden}\n" + "\n".join(rules) + "\n</style>\n"
            f"<defs>\n{drawn}\n</defs>\n"
            f'<rect width="{self._width:g}" height="{height:g}" rx="8" fill="#14171c"/>{dots}\n'
            + "\n".join(self._frames)
            + "\n</svg>\n"
        )


def _columns(length: str) -> int:
    return round(float(length) / _TEXTUAL_CELL[0])


async def draw() -> str:
    """Returns the picture as SVG."""
    picture = Picture(_SIZE)
    for svg, frame in zip(await screens(), FRAMES, strict=True):
        picture.add(svg, frame)
    return picture.svg([frame.seconds for frame in FRAMES], " ".join(frame.caption for frame in FRAMES))


def main() -> int:
    """Draws the picture."""
    with fixed_time():
        PICTURE.write_text(asyncio.run(draw()), "utf-8")
    print(f"screenshots/{PICTURE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
