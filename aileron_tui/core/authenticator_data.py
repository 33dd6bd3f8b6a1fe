"""What a security key or passkey says about itself when it signs: for which site, with which flags, and how often.

A security key counts its signatures. A counter that does not grow means that the key was copied. Keys that do not
count, as most passkeys, always say 0.
"""

import struct
from typing import Final

from aileron_tui.core.agent_change import AGENT_CHANGES
from aileron_tui.core.base64_text import from_base64
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.package_change import PACKAGE_CHANGES
from aileron_tui.core.publisher_change import PUBLISHER_CHANGES
from aileron_tui.core.rule_change import RULE_CHANGES
from aileron_tui.core.values import dataclass

LARGEST: Final = 1024
"""The largest authenticator data that is read, in bytes."""

_COUNTED: Final = frozenset(
    {EntryKind.DECIDED, EntryKind.EXTENDED, *AGENT_CHANGES, *RULE_CHANGES, *PACKAGE_CHANGES, *PUBLISHER_CHANGES}
)
_HEAD: Final = struct.Struct(">32sBI")
_USER_PRESENT: Final = 0x01
_USER_VERIFIED: Final = 0x04
_BACKUP_ELIGIBLE: Final = 0x08
_BACKED_UP: Final = 0x10
_ATTESTED: Final = 0x40
_EXTENDED: Final = 0x80


@dataclass(frozen=True, slots=True)
class AuthenticatorData:
    """The fixed part of what an authenticator signs. `rp_id_hash` is the SHA-256 of the site's id."""

    rp_id_hash: bytes
    flags: int
    counter: int

    @property
    def user_present(self) -> bool:
        """Whether somebody touched the key."""
        return bool(self.flags & _USER_PRESENT)

    @property
    def user_verified(self) -> bool:
        """Whether the key checked who touched it, by a PIN or biometrics."""
        return bool(self.flags & _USER_VERIFIED)

    @property
    def backup_eligible(self) -> bool:
        """Whether the key may be copied to other devices of its owner."""
        return bool(self.flags & _BACKUP_ELIGIBLE)

    @property
    def backed_up(self) -> bool:
        """Whether the key has been copied to other devices of its owner."""
        return bool(self.flags & _BACKED_UP)


def read_authenticator_data(data: bytes) -> AuthenticatorData:
    """Reads the data that comes with a signature. Raises ValueError."""
    if not _HEAD.size <= len(data) <= LARGEST:
        raise ValueError(f"the authenticator data has {len(data)} bytes")
    found = AuthenticatorData(*_HEAD.unpack_from(data))
    if found.flags & _ATTESTED:
        raise ValueError("the authenticator data is that of an enrolment")
    if bool(found.flags & _EXTENDED) != (len(data) > _HEAD.size):
        raise ValueError("the authenticator data has another length than its flags say")
    return found


def counter_problem(before: int, counter: int) -> str:
    """Why a counter cannot follow the last one of the same key, in words, or "" if it can."""
    if counter > before or counter == before == 0:
        return ""
    return f"it counted {counter} signatures, but it had already counted {before}; it may have been copied"


def recorded_counter(entry: Entry) -> tuple[str, int] | None:
    """The security key that signed what an entry has, and its counter; None if none did or it cannot be read."""
    if entry.kind not in _COUNTED:
        return None
    match entry.body.get("envelope"):
        case {"signatures": [{"keyid": str() as keyid, "authenticatorData": str() as text}]}:
            try:
                return keyid, read_authenticator_data(from_base64(text)).counter
            except ValueError:
                return None
    return None
