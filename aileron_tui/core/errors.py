"""The base class of errors that users read."""


class AileronError(Exception):
    """An error for users: what went wrong, the details, and what to do."""

    def __init__(self, title: str, detail: str = "", hint: str = "") -> None:
        super().__init__(title)
        self.title = title
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.title}: {self.detail}" if self.detail else self.title
