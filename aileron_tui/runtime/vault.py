"""The state of a daemon's vault, where it keeps the credentials that its connectors need."""

from enum import StrEnum


class VaultState(StrEnum):
    """The states of a vault. NONE means that the source has no vault."""

    NONE = ""
    LOCKED = "locked"
    UNLOCKED = "unlocked"
    MISSING = "missing"
