"""The report of a soak: as JSON for tools/reliability.py, and as lines for a terminal."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.soak.cases import Case
from tests.soak.growth import MIB, Growth, compare, quantile
from tests.soak.journal import PENDING, RESULT, Journal
from tests.soak.samples import Sample

_KEYS: Final = {"pending": PENDING, "result": RESULT}


@dataclass(frozen=True, slots=True)
class SoakReport:
    """Everything that was measured and checked."""

    fields: dict[str, Any]

    @property
    def failed(self) -> bool:
        return bool(self.fields["violations"]) or any(check["passed"] is False for check in self.fields["checks"])

    def write(self, path: Path) -> None:
        """Writes the report, one line for each row, so that it can be compared."""
        parts = []
        for name, value in self.fields.items():
            rows = isinstance(value, list) and value and isinstance(value[0], dict)
            text = "[\n" + ",\n".join(f"  {json.dumps(row)}" for row in value) + "\n ]" if rows else json.dumps(value)
            parts.append(f" {json.dumps(name)}: {text}")
        path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")

    def lines(self) -> Iterator[str]:
        """The report for a terminal."""
        fields = self.fields
        for name, count in fields["calls"].items():
            yield f"{count:7} × {name}"
        for name, count in fields["counts"].items():
            yield f"{count:7} {name}"
        yield "minute  calls    MiB   fds threads  cpu %  ledger MiB  WAL MiB  console MiB"
        for row in fields["minutes"]:
            yield (
                f"{row['minute']:6} {row['calls']:6} {row['memory']:6.1f} {row['descriptors'] or 0:5}"
                f" {row['threads']:7} {row['cpu']:6.1f} {row['ledger']:11.1f} {row['log']:8.1f}"
                f" {row.get('console_memory', 0):12.1f}"
            )
        yield f"{'':44} {'first':>9} {'last':>9} {'limit':>9} {'per hour':>9}"
        for row in fields["growth"]:
            verdict = {True: "flat", False: "GROWS", None: "not judged"}[row["flat"]]
            yield (
                f"{row['what']:40} {row['unit']:3} {row['first']:9.1f} {row['last']:9.1f} {row['limit']:9.1f}"
                f" {row['slope']:9.1f} {verdict}"
            )
        for check in fields["checks"]:
            yield f"{ {True: 'ok', False: 'FAILED', None: 'not judged'}[check['passed']]:10} {check['what']}"
        for violation in fields["violations"]:
            yield f"VIOLATION: {violation}"


def machine() -> str:
    """The class of this machine, without its name."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} on {platform.machine()},"
        f" Python {platform.python_version()}"
    )


def make_report(  # everything that a report consists of
    journal: Journal,
    samples: Sequence[Sample],
    *,
    planned_minutes: float,
    rate: float,
    seconds: float,
    interrupted: bool,
    checks: dict[str, list[str]],
) -> SoakReport:
    """Puts the report together. `checks` has the violations by what was checked."""
    growth = compare(samples, journal.latencies, seconds)
    cases = {case: journal.counts[case] for case in Case}
    listed: list[dict[str, Any]] = [{"what": what, "passed": not found} for what, found in checks.items()]
    listed += [{"what": f"no growth: {row.what}", "passed": row.flat} for row in growth]
    return SoakReport(
        {
            "date": datetime.now(UTC).date().isoformat(),
            "machine": machine(),
            "planned_minutes": planned_minutes,
            "seconds": round(seconds, 1),
            "rate": rate,
            "interrupted": interrupted,
            "calls": cases,
            "counts": {what: count for what, count in sorted(journal.counts.items()) if what not in set(Case)},
            "minutes": minute_rows(journal, samples, seconds),
            "growth": [row.fields() for row in growth],
            "checks": listed,
            "violations": [text for found in checks.values() for text in found[:20]] + _grown(growth),
        }
    )


def _grown(growth: Sequence[Growth]) -> list[str]:
    return [
        f"{row.what} grew from {row.first:.1f} to {row.last:.1f} {row.unit}; the limit is {row.limit:.1f}"
        for row in growth
        if row.flat is False
    ]


def minute_rows(journal: Journal, samples: Sequence[Sample], seconds: float) -> list[dict[str, Any]]:
    """One row for each minute that has samples. Sizes are in MiB, times in milliseconds."""
    rows = []
    for minute in range(int(seconds // 60) + 1):
        looks = [sample for sample in samples if minute * 60 <= sample.at < (minute + 1) * 60]
        if not looks:
            continue
        began = journal.started + minute * 60
        row: dict[str, Any] = {
            "minute": minute + 1,
            "calls": sum(began <= call.began < began + 60 for call in list(journal.calls.values())),
            "memory": round(statistics.median(look.gate.memory for look in looks) / MIB, 1),
            "descriptors": _middle([look.gate.descriptors for look in looks]),
            "threads": _middle([look.gate.threads for look in looks]),
            "cpu": round(statistics.mean(look.gate.cpu for look in looks), 1),
            "ledger": round(looks[-1].ledger / MIB, 2),
            "log": round(max(look.log for look in looks) / MIB, 2),
        }
        consoles = [look.console for look in looks if look.console]
        if consoles:
            row["console_memory"] = round(statistics.median(look.memory for look in consoles) / MIB, 1)
            row["console_descriptors"] = _middle([look.descriptors for look in consoles])
            row["console_threads"] = _middle([look.threads for look in consoles])
            row["console_cpu"] = round(statistics.mean(look.cpu for look in consoles), 1)
        for key, what in _KEYS.items():
            times = [
                one.seconds * 1000 for one in journal.latencies if one.what == what and int(one.at // 60) == minute
            ]
            row[f"{key}_p50"], row[f"{key}_p99"] = (round(quantile(times, part), 1) for part in (0.5, 0.99))
        rows.append(row)
    return rows


def _middle(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return round(statistics.median(known)) if known else None
