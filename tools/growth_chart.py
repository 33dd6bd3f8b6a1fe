"""Draws how costs grow with sizes, as SVG that is readable on a light and on a dark background."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

WIDTH, HEIGHT = 400, 300
LEFT, RIGHT, TOP, BOTTOM = 44, 16, 34, 96
_STYLE: Final = """\
<style>
text { font: 12px system-ui, sans-serif; fill: #333; }
.axis, .tick { stroke: #767676; fill: none; }
.limit { stroke: #b3261e; stroke-dasharray: 6 4; fill: none; }
.limit-text { fill: #b3261e; }
.c0 { stroke: #1f5fbf; } .c1 { stroke: #b35900; } .c2 { stroke: #2a7d2a; } .c3 { stroke: #8a3ab9; }
.curve { fill: none; stroke-width: 2; }
.ground { fill: #fff; }
@media (prefers-color-scheme: dark) {
text { fill: #ddd; } .axis, .tick { stroke: #999; } .ground { fill: #16181d; }
.limit { stroke: #ff8a80; } .limit-text { fill: #ff8a80; }
.c0 { stroke: #7ab0ff; } .c1 { stroke: #ffb266; } .c2 { stroke: #7fd67f; } .c3 { stroke: #d29bff; }
}
</style>
"""
_DASHES: Final = ("", "8 3", "2 3", "8 3 2 3")
"""So that curves differ without their colours too."""


@dataclass(frozen=True, slots=True)
class Curve:
    """What is measured, and its cost at each size, relative to the smallest."""

    title: str
    points: Sequence[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves over the same sizes."""

    title: str
    curves: Sequence[Curve]


def draw(panels: Sequence[Panel], limit: float) -> str:
    """The panels beside each other, with a line at the limit."""
    width = WIDTH * len(panels)
    top = max([limit, *(cost for panel in panels for curve in panel.curves for _, cost in curve.points)]) * 1.1
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" role="img">\n',
        "<title>Cost relative to the smallest size</title>\n",
        _STYLE,
        f'<rect class="ground" width="{width}" height="{HEIGHT}"/>\n',
    ]
    for number, panel in enumerate(panels):
        lines += [f'<g transform="translate({number * WIDTH} 0)">\n', *_panel(panel, limit, top), "</g>\n"]
    return "".join((*lines, "</svg>\n"))


def _panel(panel: Panel, limit: float, top: float) -> Iterator[str]:
    sizes = [size for size, _ in panel.curves[0].points]
    least, most = math.log10(sizes[0]), math.log10(sizes[-1])
    inner, base = WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM

    def across(size: int) -> float:
        return round(LEFT + (math.log10(size) - least) / (most - least) * inner, 1)

    def up(cost: float) -> float:
        return round(base - cost / top * (base - TOP), 1)

    yield f'<text x="{LEFT}" y="20">{escape(panel.title)}</text>\n'
    yield f'<path class="axis" d="M{LEFT} {TOP}V{base}H{WIDTH - RIGHT}"/>\n'
    for size in sizes:
        anchor = "end" if size == sizes[-1] else "middle"
        yield f'<path class="tick" d="M{across(size)} {base}v5"/>'
        yield f'<text x="{across(size)}" y="{base + 18}" text-anchor="{anchor}">{size:,}</text>\n'
    for cost in range(math.floor(top) + 1):
        yield f'<path class="tick" d="M{LEFT} {up(cost)}h-5"/>'
        yield f'<text x="{LEFT - 8}" y="{up(cost) + 4}" text-anchor="end">{cost} ×</text>\n'
    yield f'<path class="limit" d="M{LEFT} {up(limit)}H{WIDTH - RIGHT}"/>'
    yield f'<text class="limit-text" x="{WIDTH - RIGHT}" y="{up(limit) - 5}" text-anchor="end">limit</text>\n'
    for number, curve in enumerate(panel.curves):
        look = f'class="curve c{number % 4}" stroke-dasharray="{_DASHES[number % 4]}"'
        path = "L".join(f"{across(size)} {up(cost)}" for size, cost in curve.points)
        yield f'<path {look} d="M{path}"/>\n'
        x, y = LEFT + number % 2 * inner // 2, base + 42 + number // 2 * 20
        yield f'<path {look} d="M{x} {y - 4}h28"/><text x="{x + 34}" y="{y}">{escape(curve.title)}</text>\n'
