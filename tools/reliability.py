"""Writes docs/reliability.md from the report of a soak and the figures of other runs; `--check` only compares it.

Run it as `python -m tools.reliability`, after `make soak` has written docs/reliability-soak.json and after figures were
added to docs/reliability-runs.toml.
"""

import datetime as dt
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import tomli

_DOCS: Final = Path(__file__).resolve().parent.parent / "docs"
DOCUMENT: Final = _DOCS / "reliability.md"
SOAK: Final = _DOCS / "reliability-soak.json"
RUNS: Final = _DOCS / "reliability-runs.toml"
GUIDE: Final = Path(__file__).with_name("reliability_guide.md")
"""The text of the page, with a mark where each table goes."""

MOST_ROWS: Final = 16
"""Rows of the table by time; of a longer soak, every second, third, … minute is shown."""


class BadRuns(Exception):
    """The file of runs has something that the page cannot show; the text says what."""


FIGURES: Final = {
    "chaos": {"rounds": "rounds", "violations": "with violations", "seconds": "seconds"},
    "crash": {"program": "program", "rounds": "rounds", "failures": "failures"},
    "flood": {"agent_ratio": "other agent, times as long", "operator_ratio": "operator, times as long"},
    "robot": {"cases": "cases", "differences": "differences", "minutes": "minutes"},
    "fuzz": {"target": "target", "minutes": "minutes", "inputs": "inputs", "crashes": "crashes"},
}
"""The figures that each program prints: their names in the file of runs, and on the page."""


def document() -> str:
    """The whole page."""
    soak = json.loads(SOAK.read_text(encoding="utf-8"))
    runs = tomli.loads(RUNS.read_text(encoding="utf-8")).get("run", [])
    return page(soak, runs)


def page(soak: dict[str, Any], runs: Sequence[dict[str, Any]]) -> str:
    """The page for a report of a soak and the figures of runs."""
    check_runs(runs)
    text = GUIDE.read_text(encoding="utf-8").replace("<!-- soak -->\n", "".join(_soak(soak)))
    for test in FIGURES:
        text = text.replace(f"<!-- {test} -->\n", "".join(_figures(test, [run for run in runs if run["test"] == test])))
    return text


def check_runs(runs: Sequence[dict[str, Any]]) -> None:
    """Raises BadRuns if a run is of an unknown test, or lacks or has too many figures."""
    for number, run in enumerate(runs, 1):
        test = run.get("test")
        if test not in FIGURES:
            raise BadRuns(f"run {number}: test must be one of {', '.join(FIGURES)}")
        wanted = {"test", "date", "machine", *FIGURES[test]}
        if odd := sorted(wanted ^ set(run)):
            raise BadRuns(f"run {number} ({test}): missing or unknown: {', '.join(odd)}")
        if not isinstance(run["date"], dt.date):
            raise BadRuns(f"run {number} ({test}): date must be a date such as 2026-05-14")


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}\n"
    yield from (f"| {' | '.join(_cell(value) for value in row)} |\n" for row in rows)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _figures(test: str, runs: Sequence[dict[str, Any]]) -> Iterator[str]:
    if not runs:
        yield "No run is recorded here.\n"
        return
    heads = ["date", "machine", *FIGURES[test].values()]
    yield from _table(heads, [[run["date"], run["machine"], *(run[name] for name in FIGURES[test])] for run in runs])


def _soak(soak: dict[str, Any]) -> Iterator[str]:
    calls, minutes = sum(soak["calls"].values()), f"{soak['seconds'] / 60:.1f}".removesuffix(".0")
    yield (
        f"### The run of {soak['date']}\n\n"
        f"{minutes} minute{'' if minutes == '1' else 's'} at {soak['rate']:g} calls per second, {calls:,} calls,\n"
        f"on a machine with {soak['machine']}. {_verdict(soak)}\n\n"
    )
    yield from _table(["calls", "what happens to them"], [[count, case] for case, count in soak["calls"].items()])
    yield "\n"
    yield from _table(["besides", ""], [[count, what] for what, count in soak["counts"].items()])
    yield "\n"
    yield from _table(["what must hold", ""], [[row["what"], _passed(row["passed"])] for row in soak["checks"]])
    yield "\n#### First third and last third\n\nThe limit is for the last third.\n\n"
    yield from _table(
        ["", "first", "last", "limit", "slope per hour", ""],
        [
            [_named(row), row["first"], row["last"], row["limit"], row["slope"], _passed(row["flat"])]
            for row in soak["growth"]
        ],
    )
    yield "\n#### By time\n\nSizes are in MiB, response times in milliseconds, processor time in percent of a core.\n\n"
    rows = _thinned(soak["minutes"])
    yield from _table(list(_COLUMNS.values()), [[row.get(key) for key in _COLUMNS] for row in rows])


_COLUMNS: Final = {
    "minute": "minute",
    "calls": "calls",
    "memory": "gate: memory",
    "descriptors": "descriptors",
    "threads": "threads",
    "cpu": "processor",
    "ledger": "ledger",
    "log": "its WAL",
    "pending_p50": "call to pending, median",
    "pending_p99": "99 %",
    "result_p50": "decision to result, median",
    "result_p99": "99 %",
    "console_memory": "console: memory",
    "console_descriptors": "descriptors",
    "console_threads": "threads",
    "console_cpu": "processor",
}


def _named(row: dict[str, Any]) -> str:
    return f"{row['what']} ({row['unit']})" if row["unit"] else str(row["what"])


def _passed(passed: bool | None) -> str:
    return {True: "yes", False: "**no**", None: "too short to judge"}[passed]


def _verdict(soak: dict[str, Any]) -> str:
    early = "It was ended early. " if soak["interrupted"] else ""
    if soak["violations"] or any(row["passed"] is False for row in soak["checks"]):
        count = max(1, len(soak["violations"]))
        return f"{early}**It found {count} violation{'s' if count > 1 else ''}.**"
    return f"{early}Nothing was violated."


def _thinned(rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """At most MOST_ROWS rows at equal distances, the last one included."""
    step = max(1, math.ceil(len(rows) / MOST_ROWS))
    return rows[::-1][::step][::-1]


def main() -> int:
    """Returns 0 if the page is up to date or was written."""
    try:
        text = document()
    except BadRuns as error:
        print(f"{RUNS.name}: {error}", file=sys.stderr)
        return 1
    if "--check" in sys.argv[1:]:
        fresh = DOCUMENT.exists() and DOCUMENT.read_text(encoding="utf-8") == text
        if not fresh:
            print("docs/reliability.md is out of date: run make reliability", file=sys.stderr)
        return 0 if fresh else 1
    DOCUMENT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
