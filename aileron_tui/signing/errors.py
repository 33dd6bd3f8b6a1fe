"""What can go wrong with keys and signed decisions.

SigningError
├── KeyFault         a key file, a key name or a public key cannot be used
│   └── NoKey        there is no such key
├── AgentFault       an agent cannot be added, rotated or revoked, or its ledger entry is not valid
│   └── NoAgent      there is no such agent
├── RuleFault        a rule cannot be made or ended, or its ledger entry is not valid
│   └── NoRule       there is no such rule
├── PackageFault     packages cannot be added or removed, or their ledger entry is not valid
│   └── NoPackage    there is no such package
├── BindingFault     a binding cannot be made or ended, or its ledger entry is not valid
│   └── NoBinding    there is no such binding
├── PublisherFault   the trusted publishers cannot be changed, or their ledger entry is not valid
│   └── NoPublisher  there is no such publisher or key
├── NoTerminal       there is no terminal to ask the user for something
├── WrongSecret      the passphrase is wrong or missing
├── KeyLocked        a key that is locked cannot sign
└── EnvelopeRefused  an envelope is not valid; `reason` says why
"""

from enum import StrEnum

from aileron_tui.core.errors import AileronError


class SigningError(AileronError):
    """Any failure of this layer."""


class KeyFault(SigningError):
    """A key file, a key name or a public key that cannot be used."""


class NoKey(KeyFault):
    """There is no such key."""


class AgentFault(SigningError):
    """An agent that cannot be added, rotated or revoked, or whose ledger entry is not valid."""


class NoAgent(AgentFault):
    """There is no such agent."""


class RuleFault(SigningError):
    """A rule that cannot be made or ended, or whose ledger entry is not valid."""


class NoRule(RuleFault):
    """There is no such rule."""


class PackageFault(SigningError):
    """Packages that cannot be added or removed, or whose ledger entry is not valid."""


class NoPackage(PackageFault):
    """There is no such package."""


class BindingFault(SigningError):
    """A binding that cannot be made or ended, or whose ledger entry is not valid."""


class NoBinding(BindingFault):
    """There is no such binding."""


class PublisherFault(SigningError):
    """Trusted publishers that cannot be changed, or whose ledger entry is not valid."""


class NoPublisher(PublisherFault):
    """There is no such publisher or key."""


class NoTerminal(SigningError):
    """There is no terminal to ask the user for something."""


class WrongSecret(SigningError):
    """The passphrase is wrong or missing."""


class KeyLocked(SigningError):
    """A key that is locked cannot sign."""


class RefusalReason(StrEnum):
    """Why an envelope is refused, in words for users."""

    MALFORMED = "malformed envelope"
    WRONG_TYPE = "wrong payload type"
    NEWER_FORMAT = "newer format"
    UNKNOWN_KEY = "unknown key"
    REVOKED_KEY = "revoked key"
    BAD_SIGNATURE = "bad signature"
    WRONG_INSTANCE = "meant for another instance"
    WRONG_REQUEST = "meant for another request"
    DIGEST_DIFFERS = "not what was shown"
    NOT_YET_VALID = "not yet valid"
    EXPIRED = "expired"
    REPLAYED = "nonce already used"
    WRONG_ORIGIN = "made on another page"
    NOT_VERIFIED = "the user was not verified"
    NOT_ISSUED = "not asked for by this gate"
    COUNTER_WENT_BACK = "the security key may have been copied"
    NEEDS_SECURITY_KEY = "needs a security key"


class EnvelopeRefused(SigningError):
    """An envelope that is not valid."""

    def __init__(self, reason: RefusalReason, detail: str = "", hint: str = "") -> None:
        super().__init__(f"decision refused, {reason}", detail, hint)
        self.reason = reason
