"""Whether a gate can do its work, and why not."""

from collections.abc import Callable


class GateHealth:
    """What is wrong with the parts of a gate at the moment."""

    def __init__(self) -> None:
        self._problems: dict[str, str] = {}
        self._checks: list[Callable[[], str]] = []

    def watch(self, check: Callable[[], str]) -> None:
        """Adds a check that returns what is wrong, or ""."""
        self._checks.append(check)

    def report(self, part: str, problem: str) -> None:
        """Records a problem of one part; "" means that the part works again."""
        if problem:
            self._problems[part] = problem
        else:
            self._problems.pop(part, None)

    def problem(self, part: str) -> str:
        """The problem that a part has reported and that is not solved, or ""."""
        return self._problems.get(part, "")

    @property
    def reason(self) -> str:
        """What is wrong, or "" if the gate works."""
        found = [check() for check in self._checks]
        return "; ".join(filter(None, [*found, *self._problems.values()]))
