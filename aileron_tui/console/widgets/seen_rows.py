"""Which rows of a text have been on screen."""


class SeenRows:
    """Row numbers as disjoint ranges in ascending order, so that reading a long text costs little."""

    def __init__(self) -> None:
        self.ranges: list[range] = []

    def add(self, start: int, stop: int) -> bool:
        """Adds the rows from `start` up to but not including `stop`; returns whether some were not seen before."""
        if start >= stop or any(one.start <= start and stop <= one.stop for one in self.ranges):
            return False
        touching = [one for one in self.ranges if one.start <= stop and start <= one.stop]
        apart = [one for one in self.ranges if one not in touching]
        joined = (
            range(min(start, *(one.start for one in touching)), max(stop, *(one.stop for one in touching)))
            if (touching)
            else range(start, stop)
        )
        self.ranges = sorted([*apart, joined], key=lambda one: one.start)
        return True

    def clear(self) -> None:
        """Forgets all rows."""
        self.ranges = []

    def unseen(self, height: int) -> int:
        """How many of the first `height` rows have not been seen."""
        return height - sum(max(0, min(one.stop, height) - one.start) for one in self.ranges)

    @property
    def first_unseen(self) -> int:
        """The first row that has not been seen."""
        return self.ranges[0].stop if self.ranges and not self.ranges[0].start else 0
