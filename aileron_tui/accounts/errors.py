"""What can go wrong with the secrets of accounts.

AccountError
├── StoreFault       the place for secrets cannot be used, or does not have what it was given
│   └── KeyringFault the keyring of the system is missing, fails, or does not answer in time
└── AccountsLocked   the encrypted file is locked: nobody has unlocked it since the program was started
"""

from aileron_tui.core.errors import AileronError


class AccountError(AileronError):
    """Any failure of this layer."""


class StoreFault(AccountError):
    """Secrets that cannot be stored, read or removed."""


class KeyringFault(StoreFault):
    """A keyring that is missing, fails, or does not answer in time."""


class AccountsLocked(AccountError):
    """Secrets that nobody has unlocked yet."""

    def __init__(self, detail: str = "") -> None:
        super().__init__("the accounts are locked", detail, "Open the console, or run `aileron-tui bindings --unlock`.")
