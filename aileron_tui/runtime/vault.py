"""The state of a daemon's vault, where it keeps the credentials that its connectors need."""

from enum import StrEnum


class VaultState(StrEnum):
    """NONE where there is no vault to speak of."""

    NONE = ""
    LOCKED = "locked"
    UNLOCKED = "unlocked"
    MISSING = "missing"
