"""Writes docs/performance.md and its chart from a run of the benchmarks; `--check` only checks that they match it.

Run it as `python -m tools.performance`, or as `make performance`. The run of `make bench`, if there is one, is kept
beside the page first.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks import names
from tools.growth_chart import Curve, Panel, draw

ROOT: Final = Path(__file__).resolve().parent.parent
DOCUMENT: Final = ROOT / "docs" / "performance.md"
CHART: Final = ROOT / "docs" / "growth.svg"
KEPT: Final = ROOT / "docs" / "performance.json"
RUN: Final = ROOT / ".bench.json"
"""Where `make bench` writes."""

_BEFORE: Final = """\
# Performance

How fast everything is, measured beside the least code that does the same, on the same machine and in turns. A ratio
holds on any machine; seconds do not. Each has a limit, and a run fails if one is missed.

```
make bench         # measure everything; takes about a quarter of an hour on a quiet machine
make performance   # write this page from that run
```

`python -m benchmarks --help` lists the benchmarks; name some to run only them. While one runs, the processor time that
others use is measured too. If that is more than 5 % of the machine, or if its host takes more than 2 %, the measurement
is marked as disturbed, and its benchmark is run once more.
"""

_SECTIONS: Final = {
    "start": "Starting",
    "lint": "Commands",
    "answers": "Answering",
    "growth": "Many waiting requests",
    "stalls": "Long texts and floods",
    "idle": "Idling",
    "preview": "Previews",
    "hook": "Hooks",
    "mcp_proxy": "MCP proxy",
    "gated": "Python functions",
    "rules": "Rules",
    "gate": "A call through the gate",
    "load": "A gate under load",
    "ledger": "Ledger",
    "history": "A long history",
}


class NotARun(Exception):
    """A file that no page can be written from."""


def document(run: dict[str, Any]) -> str:
    """The whole page."""
    return "".join((_BEFORE, *_machine(run), *_sections(run), *_growth(run)))


def chart(run: dict[str, Any]) -> str:
    """The chart of what grows, as SVG."""
    panels: dict[str, list[Curve]] = {"waiting requests": [], "ledger entries": []}
    for result in _grown(run):
        panel = "waiting requests" if "waiting" in result["title"] else "ledger entries"
        panels[panel].append(
            Curve(_what(result), [(size, cost / result["points"][0][1]) for size, cost in result["points"]])
        )
    limit = max(result["limit"] for result in _grown(run))
    return draw([Panel(title, curves) for title, curves in panels.items()], limit)


def read(path: Path) -> dict[str, Any]:
    """A run of all benchmarks. Raises NotARun."""
    run: dict[str, Any] = json.loads(path.read_text("utf-8"))
    missing = set(names()) - {one["name"] for one in run["benchmarks"] if not one["trouble"]}
    if missing:
        raise NotARun(f"{path.name} has no results of {', '.join(sorted(missing))}: run make bench")
    return run


def _machine(run: dict[str, Any]) -> Iterator[str]:
    machine, results = run["machine"], [result for one in run["benchmarks"] for result in one["results"]]
    misses, disturbed = sum(not result["good"] for result in results), sum(result["disturbed"] for result in results)
    yield (
        f"\n## The last run\n\n{run['date']}, version {run['version']}, on {machine['processors']} processors"
        f" ({machine['processor']}) with {machine['memory_gib']} GiB of memory, {machine['system']}, Python"
        f" {machine['python']}: {len(results)} measurements in {run['seconds'] / 60:.0f} minutes,"
        f" {misses or 'none'} over the limit.\n"
    )
    if run["quick"]:
        yield "\nThis was a quick run, with smaller sizes and fewer rounds. It says little about speed.\n"
    if disturbed:
        yield f"\nSomething else used the machine during {disturbed} of them. These are marked, and say little.\n"


def _sections(run: dict[str, Any]) -> Iterator[str]:
    measured = {one["name"]: one["results"] for one in run["benchmarks"]}
    for name, title in _SECTIONS.items():
        yield f"\n### {title}\n\n| measurement | figure | limit | ours | compared with | |\n|---|---|---|---|---|---|\n"
        yield from map(_row, measured[name])


def _row(result: dict[str, Any]) -> str:
    figure = f"{result['figure']:.{0 if result['figure'] >= 100 else 2}f} {result['unit']}"
    limit = f"{'≥' if result['at_least'] else '≤'} {result['limit']:g} {result['unit']}"
    words = [] if result["good"] else ["**missed**"]
    words += ["disturbed"] if result["disturbed"] else []
    return f"| {result['title']} | {figure} | {limit} | {result['ours']} | {result['base']} | {', '.join(words)} |\n"


def _growth(run: dict[str, Any]) -> Iterator[str]:
    yield "\n## Growth\n\nWhat a key or a look at the history costs, as the number of requests or entries grows:\n"
    for title, counted in (("waiting requests", True), ("ledger entries", False)):
        rows = [result for result in _grown(run) if ("waiting" in result["title"]) is counted]
        sizes = [size for size, _ in rows[0]["points"]]
        yield f"\n| {title} | {' | '.join(f'{size:,}' for size in sizes)} |\n|{'---|' * (len(sizes) + 1)}\n"
        for result in rows:
            yield f"| {_what(result)} | {' | '.join(f'{cost:.2f} ms' for _, cost in result['points'])} |\n"
    yield f"\n![Cost of a key and of a look at the history, relative to the smallest size]({CHART.name})\n"


def _grown(run: dict[str, Any]) -> list[dict[str, Any]]:
    return [result for one in run["benchmarks"] for result in one["results"] if result["points"]]


def _what(result: dict[str, Any]) -> str:
    """What was done, without the sizes: "moving", "search for one"."""
    return str(result["title"]).partition(" among")[0].partition(":")[0].removeprefix("history, ")


def main() -> int:
    """Returns 0 if the page is true to its run or was written."""
    try:
        if "--check" in sys.argv[1:]:
            return _check()
        run = read(RUN if RUN.exists() else KEPT)
    except NotARun as error:
        print(error, file=sys.stderr)
        return 1
    KEPT.write_text(json.dumps(run, indent=1, ensure_ascii=False) + "\n", "utf-8")
    DOCUMENT.write_text(document(run), "utf-8")
    CHART.write_text(chart(run), "utf-8")
    return 0


def _check() -> int:
    run = read(KEPT)
    for path, text in ((DOCUMENT, document(run)), (CHART, chart(run))):
        if not path.exists() or path.read_text("utf-8") != text:
            print(f"docs/{path.name} is out of date: run make performance", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
