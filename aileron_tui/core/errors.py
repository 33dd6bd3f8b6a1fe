"""The one shape of failure that people read."""


class AileronError(Exception):
    """A failure in words for a person: what went wrong, the details, and what to do about it."""

    def __init__(self, title: str, detail: str = "", hint: str = "") -> None:
        super().__init__(title)
        self.title = title
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.title}: {self.detail}" if self.detail else self.title
