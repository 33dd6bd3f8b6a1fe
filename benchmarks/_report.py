"""How results are printed and written to a file."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from aileron_tui import __version__
from benchmarks import _machine
from benchmarks._machine import Disturbance
from benchmarks._result import Result

FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Measured:
    """A result, and what else the machine did meanwhile."""

    result: Result
    machine: Disturbance


@dataclass(slots=True)
class Finished:
    """One benchmark: its results, how long it took, and what went wrong with it, if anything did."""

    name: str
    measured: list[Measured] = field(default_factory=list)
    seconds: float = 0.0
    trouble: str = ""
    repeated: bool = False

    @property
    def disturbed(self) -> bool:
        """Whether something else used the machine during one of the measurements."""
        return any(one.machine.too_much for one in self.measured)

    @property
    def misses(self) -> int:
        """How many results are over their limits; a benchmark that failed counts as one."""
        return sum(not one.result.good for one in self.measured) + bool(self.trouble)


def line(result: Result, machine: Disturbance | None = None) -> str:
    """One result as it is printed once it is there."""
    sides = " and ".join(filter(None, (result.ours, result.base)))
    disturbed = f"disturbed: {machine.words}" if machine and machine.too_much else ""
    said = "; ".join(filter(None, (sides, result.note, disturbed)))
    return f"{_word(result)} {_figure(result):>9} of {_limit(result):<10} {result.title:<72} {said}"


def table(finished: list[Finished]) -> str:
    """Every result beside its limit, as plain text."""
    rows = [("", "measurement", "figure", "limit", "ours", "base", "")]
    for one in finished:
        for measured in one.measured:
            result, mark = measured.result, "disturbed" if measured.machine.too_much else ""
            sides = (result.ours, result.base)
            rows.append((_word(result).strip(), result.title, _figure(result), _limit(result), *sides, mark))
        if one.trouble:
            rows.append(("FAILED", f"{one.name}: {one.trouble}", "", "", "", "", ""))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)


def summary(finished: list[Finished], seconds: float) -> str:
    """How the run went, in a few lines."""
    count = sum(len(one.measured) for one in finished)
    misses = sum(one.misses for one in finished)
    disturbed = sum(measured.machine.too_much for one in finished for measured in one.measured)
    lines = [f"{count} measurements in {seconds / 60:.1f} minutes, {misses or 'none'} over the limit."]
    if disturbed:
        lines.append(
            f"{disturbed} of them were disturbed: others used more than {_machine.OTHERS:g} % of the machine, or its"
            f" host took more than {_machine.STOLEN:g} %. Measure again when it is quiet."
        )
    return "\n".join(lines)


def document(finished: list[Finished], seconds: float, *, quick: bool) -> dict[str, Any]:
    """The whole run as JSON."""
    return {
        "format": FORMAT,
        "version": __version__,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": _machine.description(),
        "quick": quick,
        "seconds": round(seconds),
        "benchmarks": [
            {
                "name": one.name,
                "seconds": round(one.seconds),
                "repeated": one.repeated,
                "trouble": one.trouble,
                "results": [
                    {
                        **measured.result.fields,
                        "good": measured.result.good,
                        "disturbed": measured.machine.too_much,
                        "others_percent": measured.machine.others,
                        "stolen_percent": measured.machine.stolen,
                    }
                    for measured in one.measured
                ],
            }
            for one in finished
        ],
    }


def _word(result: Result) -> str:
    if result.good:
        return "ok   "
    return "UNDER" if result.at_least else "OVER "


def _figure(result: Result) -> str:
    return f"{result.figure:.{0 if result.figure >= 100 else 2}f} {result.unit}"


def _limit(result: Result) -> str:
    return f"{'≥' if result.at_least else '≤'} {result.limit:g} {result.unit}"
