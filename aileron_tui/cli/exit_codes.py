"""The exit codes of the commands."""

from typing import Final

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
DENIED: Final = 3
UNANSWERED: Final = 4
NOT_FOUND: Final = 5
OUTCOME_UNKNOWN: Final = 6
WAITING: Final = 75
INTERRUPTED: Final = 130
