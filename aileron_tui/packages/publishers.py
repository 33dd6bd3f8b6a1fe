"""Whether a trusted publisher signed a connector or an action."""

from enum import StrEnum
from typing import Final

from aileron_tui.core.action import Action
from aileron_tui.core.connector import Connector
from aileron_tui.core.values import dataclass
from aileron_tui.sandbox.connector_package import ConnectorPackage, PackageError, PublisherKeyring, verifies
from aileron_tui.signing.public_key import PublicKey

_HINT: Final = (
    "Somebody changed it, or it was signed with a key that you do not trust. Ask its publisher; if the key is new, "
    "trust it with `aileron-tui trust`."
)


class SignatureState(StrEnum):
    """What is known about a signature. A wrong signature is no state: it is refused."""

    TRUSTED = "signed by a trusted key"
    UNKNOWN = "unknown publisher"
    UNSIGNED = "unsigned"


@dataclass(frozen=True, slots=True)
class Publisher:
    """Who published something: the authority whose key signed it, and the fingerprint of that key, if it is trusted."""

    state: SignatureState
    authority: str = ""
    fingerprint: str = ""

    @property
    def words(self) -> str:
        """The state in a few words."""
        return f"signed by {self.authority}" if self.state is SignatureState.TRUSTED else str(self.state)


def connector_publisher(package: ConnectorPackage, connector: Connector, keyring: PublisherKeyring) -> Publisher:
    """Who published a connector; raises PackageError if its signature is wrong."""
    return _publisher(connector.name, package.wasm + package.manifest, package.signature, keyring)


def action_publisher(data: bytes, action: Action, signature: bytes | None, keyring: PublisherKeyring) -> Publisher:
    """Who published an action; raises PackageError if its signature is wrong."""
    return _publisher(action.source.rpartition("@")[0], data, signature, keyring)


def authority_of(name: str) -> str:
    """The repository that a fully qualified name belongs to, which is its most specific authority."""
    scheme, _, rest = name.partition("://")
    owner, _, path = rest.partition("/")
    return f"{scheme}://{owner}/{path.partition('/')[0]}"


def _publisher(name: str, signed: bytes, signature: bytes | None, keyring: PublisherKeyring) -> Publisher:
    if signature is None:
        return Publisher(SignatureState.UNSIGNED)
    authority, keys = keyring.keys(name)
    if not keys:
        return Publisher(SignatureState.UNKNOWN, authority_of(name))
    for key in keys:
        if verifies(key, signature, signed):
            return Publisher(SignatureState.TRUSTED, authority, PublicKey(key).fingerprint)
    raise PackageError(f"the signature of {name} is wrong", f"none of the keys trusted for {authority} made it", _HINT)
