"""Exit codes of commands that ask or answer, beside 0, 1 and 2."""

from typing import Final

DENIED: Final = 3
UNANSWERED: Final = 4
NOT_FOUND: Final = 5
WAITING: Final = 75
