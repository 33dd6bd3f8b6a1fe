"""Runs many cases in several sessions at the same time, and counts how they went."""

import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from tests.compiled import compile_samples
from tests.robot import bundle
from tests.robot.case import ROUND, Case
from tests.robot.families import FAMILIES, SAMPLES, make_case
from tests.robot.operator import STUCK, Operator, Report
from tests.robot.session import Session

Key = tuple[str, int]
"""The family and the seed of a case."""

CASES_PER_SESSION: Final = 24
_ANY_PORT: Final = 8080


@dataclass
class Result:
    """How one case went, in a form that another process can send."""

    key: Key
    honest: bool
    approved: bool
    text: str
    differences: list[str]
    seconds: float

    @property
    def is_stuck(self) -> bool:
        """Whether the robot waited in vain for something on the screen, and found no other difference."""
        return bool(self.differences) and all(item.startswith(STUCK) for item in self.differences)


@dataclass
class Figures:
    """The figures of a run."""

    results: list[Result] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def differences(self) -> list[Result]:
        """The cases in which the screen and the service differ."""
        return [result for result in self.results if result.differences]

    def table(self) -> str:
        """One line for each family."""
        count, wrong, approved = Counter[str](), Counter[str](), Counter[str]()
        for result in self.results:
            family = result.key[0]
            count[family] += 1
            wrong[family] += bool(result.differences)
            approved[family] += result.approved
        lines = [f"{'family':18} cases  approved  differences"]
        lines += [f"{name:18} {count[name]:5}  {approved[name]:8}  {wrong[name]:11}" for name in sorted(count)]
        total = sum(result.seconds for result in self.results) / max(1, len(self.results))
        lines.append(f"{'all':18} {count.total():5}  {approved.total():8}  {wrong.total():11}")
        return "\n".join([*lines, f"{self.seconds:.0f} s, {total:.1f} s for a case"])


def keys_of(families: Sequence[str], cases: int, first: int = 0) -> list[Key]:
    """So many cases of these families in turn. Each has a seed of its own, which is part of the names it uses."""
    place = {family: number for number, family in enumerate(sorted(FAMILIES))}
    turns = (divmod(number, len(families)) for number in range(cases))
    return [(families[at], first + turn * ROUND + place[families[at]]) for turn, at in turns]


def lint(keys: Sequence[Key], folder: Path) -> str:
    """What `lint` finds wrong in the bundle of these cases, "" if nothing. Its warnings are part of the attacks."""
    actions = [action for key in keys for action in _all_actions(make_case(*key))]
    bundle.write_connectors(folder, _ANY_PORT)
    bundle.write_actions(folder, [bundle.READING, *actions], _ANY_PORT)
    words = [sys.executable, "-m", "aileron_tui", "lint", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"lint ended with {done.returncode}:\n{done.stdout}{done.stderr}"


def _all_actions(case: Case) -> Iterator[bundle.Action]:
    yield from case.actions
    if isinstance(new := case.more.get("new"), bundle.Action):
        yield replace(new, name=f"{new.name}-new")


def run_all(keys: Sequence[Key], jobs: int, broken: str = "", *, quiet: bool = True) -> Figures:
    """Runs the cases in several processes."""
    started = time.monotonic()
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="robot-lint-") as folder:
        if wrong := lint(keys, Path(folder)):
            raise AssertionError(wrong)
    with (
        tempfile.TemporaryDirectory(prefix="robot-cache-") as cache,
        multiprocessing.get_context("spawn").Pool(max(1, jobs)) as pool,
    ):
        shares = [(share, broken, Path(cache)) for share in _shares(keys, jobs)]
        if any(key[0] in SAMPLES for key in keys):
            compile_samples(Path(cache))
        for results in pool.imap_unordered(run_share, shares):
            figures.results += results
            for result in results:
                if result.differences:
                    line = f"{result.key}: {result.differences[0][:200]}" if quiet else result.text
                    sys.stdout.write(f"{line}\n")
                    sys.stdout.flush()
    figures.seconds = time.monotonic() - started
    return figures


def _shares(keys: Sequence[Key], jobs: int) -> Iterator[Sequence[Key]]:
    """The cases of each session; those with the sample connectors have sessions of their own.

    Every process gets the same number of sessions, so that all end at about the same time.
    """
    some = [key for key in keys if key[0] in SAMPLES]
    for at in range(0, len(some), CASES_PER_SESSION):
        yield some[at : at + CASES_PER_SESSION]
    others = [key for key in keys if key[0] not in SAMPLES]
    sessions = jobs * -(-len(others) // (CASES_PER_SESSION * jobs)) or 1
    size = max(1, -(-len(others) // sessions))
    for at in range(0, len(others), size):
        yield others[at : at + size]


def run_share(share: tuple[Sequence[Key], str, Path | None]) -> list[Result]:
    """Runs some cases one after the other, in one session or in a new one after the robot got stuck."""
    keys, broken, cache = share
    left = list(keys)
    results: list[Result] = []
    while left:
        for report in _run_session(left, broken, cache):
            key = left.pop(0)
            results.append(
                Result(key, report.case.honest, report.approved, str(report), report.differences, report.seconds)
            )
    return results


def _run_session(keys: Sequence[Key], broken: str, cache: Path | None) -> Iterator[Report]:
    """Runs cases until one leaves the console in a state from which the next one cannot start."""
    cases = [make_case(*key) for key in keys]
    samples = any(case.family in SAMPLES for case in cases)
    with Session(cases, broken, samples=samples, cache=cache) as session:
        for case in cases:
            report = Operator(session, case).run()
            yield report
            if not session.is_clean():
                return
