"""The results of all cases, and the table that shows them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of one case: `word` is `ok`, `open`, `FAILED` or `not tried`."""

    agent: str
    case: str
    word: str
    detail: str = ""
    seconds: float = 0.0

    def line(self) -> str:
        """The result in one line."""
        return f"{self.agent:<9} {self.case:<18} {self.word:<9} {self.seconds:5.1f} s  {self.detail}".rstrip()


def table(results: Sequence[CaseResult], agents: Iterable[str]) -> list[str]:
    """One row per case and one column per agent, and a count. A dash means that the agent has no such case."""
    words = {(result.agent, result.case): result.word for result in results}
    columns, cases = [*agents], dict.fromkeys(result.case for result in results)
    width = max(map(len, [*cases, "case"]))
    lines = [" | ".join([f"{'case':<{width}}", *(f"{agent:<9}" for agent in columns)]).rstrip()]
    lines.append("-|-".join(["-" * width, *("-" * 9 for _ in columns)]))
    for case in cases:
        cells = [f"{words.get((agent, case), '–'):<9}" for agent in columns]
        lines.append(" | ".join([f"{case:<{width}}", *cells]).rstrip())
    failed = sum(result.word == "FAILED" for result in results)
    missing = sum(result.word == "not tried" for result in results)
    count = f"{sum(result.word in ('ok', 'open') for result in results)} passed, {failed} failed"
    return [*lines, "", f"{count}, {missing} not tried" if missing else count]
