"""Where credentials come from: what the configuration names, or else the account that the connector is bound to.

The configuration can name an environment variable, the output of a command, or an entry of the system keyring.

A secret is wrapped in an object that never appears in a log, error or traceback. Its text is read only where it is
added to a request.
"""

import os
import threading
import time
from collections.abc import Mapping
from typing import Final, NoReturn, Protocol, TypeAlias

from aileron_tui.core.connector import Connector
from aileron_tui.core.values import dataclass
from aileron_tui.files.secret_command import SecretCommandError, command_output
from aileron_tui.sandbox.failure import TIMEOUT, Boundary, CallRefused, Failure, FailureKind

_CACHE_SECONDS: Final = 30.0


class Secret:
    """Secret text that never appears in output; only `reveal` returns it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Returns the text itself, to be sent."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("secrets cannot be pickled")


@dataclass(frozen=True, slots=True)
class FromEnvironment:
    """An environment variable: `env = "NAME"`."""

    name: str


@dataclass(frozen=True, slots=True)
class FromCommand:
    """The standard output of a command, run without a shell: `command = ["program", "argument", …]`."""

    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FromKeyring:
    """An entry in the system keyring: `keyring = "service/user"`."""

    service: str
    user: str


SecretSource: TypeAlias = FromEnvironment | FromCommand | FromKeyring


@dataclass(frozen=True, slots=True)
class ConfiguredCredential:
    """`[connectors."fqn".credential]`: where the secret comes from, and the other values that AWS signatures need."""

    source: SecretSource
    region: str = ""
    access_key_id: str = ""


@dataclass(frozen=True, slots=True)
class FoundCredential:
    """A secret, and what else a signature needs. `hidden` has every secret that no output may contain."""

    secret: Secret
    region: str = ""
    access_key_id: str = ""
    hidden: tuple[Secret, ...] = ()


@dataclass(frozen=True, slots=True)
class AccountChoice:
    """The account that a call would use, or in `needs` why it can use none, in words. Both are "" if it uses none."""

    account: str = ""
    needs: str = ""


class Accounts(Protocol):
    """The accounts that connectors are bound to. Thread-safe."""

    @property
    def revision(self) -> int:
        """Changes whenever `choose` may answer otherwise than before."""

    def choose(self, action: str, connector: Connector) -> AccountChoice:
        """The account of a connector that an action uses."""

    def find(self, connector: Connector, account: str, seconds: float) -> FoundCredential:
        """The credential of an account; raises CallRefused."""

    def renew(self, connector: Connector, account: str, refused: Secret, seconds: float) -> bool:
        """Replaces a secret that the service refused; returns whether there is another one. Raises CallRefused."""


class Credentials:
    """The credentials of all connectors. A secret is read when a request needs it. Thread-safe."""

    def __init__(
        self, configured: Mapping[str, ConfiguredCredential] | None = None, accounts: Accounts | None = None
    ) -> None:
        self._configured = dict(configured or {})
        self._accounts = accounts
        self._locks = {name: threading.Lock() for name in self._configured}
        self._cached: dict[str, tuple[float, Secret]] = {}

    @property
    def revision(self) -> int:
        """Changes whenever `choose` may answer otherwise than before."""
        return self._accounts.revision if self._accounts else 0

    def configured_source(self, connector: str) -> SecretSource | None:
        """Where the configuration says that the secret of a connector is; None if it says nothing."""
        found = self._configured.get(connector)
        return found.source if found else None

    def choose(self, action: str, connector: Connector) -> AccountChoice:
        """The account that a connector would use for an action. What the configuration names is not an account."""
        if connector.credential is None or connector.name in self._configured or self._accounts is None:
            return AccountChoice()
        return self._accounts.choose(action, connector)

    def find(self, connector: Connector, kind: str, account: str, seconds: float) -> FoundCredential:
        """Returns a connector's credential; raises CallRefused if there is none or its source fails."""
        configured = self._configured.get(connector.name)
        if configured is not None:
            secret = self._secret(connector.name, kind, configured.source, seconds)
            return FoundCredential(secret, configured.region, configured.access_key_id, (secret,))
        if self._accounts is not None and account:
            return self._accounts.find(connector, account, seconds)
        raise CallRefused(missing_credential(connector.name, kind))

    def renew(self, connector: Connector, account: str, refused: Secret, seconds: float) -> bool:
        """Replaces a secret that the service refused, if it is one of an account; returns whether there is another."""
        if self._accounts is None or not account or connector.name in self._configured:
            return False
        return self._accounts.renew(connector, account, refused, seconds)

    def _secret(self, connector: str, kind: str, source: SecretSource, seconds: float) -> Secret:
        match source:
            case FromEnvironment(name):
                text = os.environ.get(name, "")
                if not text.strip():
                    raise CallRefused(
                        missing_credential(connector, kind, f"the environment variable {name} is not set")
                    )
                return checked_secret(connector, kind, text)
            case FromKeyring(service, user):
                return checked_secret(connector, kind, _from_keyring(connector, kind, service, user))
            case FromCommand(argv):
                return self._from_command(connector, kind, argv, seconds)

    def _from_command(self, connector: str, kind: str, argv: tuple[str, ...], seconds: float) -> Secret:
        """Runs the command, or reuses a recent result: commands can be slow, and calls come in bursts."""
        end = time.monotonic() + seconds
        lock = self._locks[connector]
        if not lock.acquire(timeout=max(seconds, 0)):
            raise CallRefused(credential_failure(connector, "its command took too long", TIMEOUT))
        try:
            since, secret = self._cached.get(connector, (0.0, None))
            if secret is None or time.monotonic() - since > _CACHE_SECONDS:
                secret = checked_secret(connector, kind, _command_output(connector, argv, end - time.monotonic()))
                self._cached[connector] = time.monotonic(), secret
            return secret
        finally:
            lock.release()


def missing_credential(connector: str, kind: str, why: str = "") -> Failure:
    """The failure for a credential that is not set up."""
    table = f'[connectors."{connector}".credential]'
    return Failure(
        FailureKind.BINDING_REQUIRED,
        f"no {kind} credential is set up for {connector}{f': {why}' if why else ''}; sign in with "
        f"`aileron-tui bind {connector}`, or set {table} in the configuration",
        f"no credential is set up for {connector}" + (f" ({why})" if why else ""),
        Boundary.RUNTIME,
        details={"connector": connector, "kind": kind},
    )


def credential_failure(connector: str, why: str, reason: str = "") -> Failure:
    """The failure for a credential that is set up but cannot be used now."""
    return Failure(
        FailureKind.BINDING_FAILED,
        f"cannot get the credential of {connector}: {why}",
        reason or f"cannot get the credential of {connector}: {why}",
        Boundary.RUNTIME,
        details={"connector": connector},
    )


def checked_secret(connector: str, kind: str, text: str) -> Secret:
    """Checks that a secret fits in one header; the multi-line JSON of AWS tools is allowed because it is never sent."""
    text = text.strip()
    if not text:
        raise CallRefused(credential_failure(connector, "its source returned nothing"))
    document = kind == "aws_sigv4" and text.startswith("{")
    if not document and not (text.isascii() and text.isprintable()):
        raise CallRefused(
            credential_failure(connector, "it contains a line break, a control character or a non-ASCII character")
        )
    return Secret(text)


def _command_output(connector: str, argv: tuple[str, ...], seconds: float) -> str:
    try:
        return command_output(argv, seconds)
    except SecretCommandError as error:
        reason = TIMEOUT if error.timed_out else ""
        raise CallRefused(credential_failure(connector, str(error), reason)) from None


def _from_keyring(connector: str, kind: str, service: str, user: str) -> str:
    import keyring  # noqa: PLC0415 - searches for backends on import
    from keyring.errors import KeyringError  # noqa: PLC0415

    try:
        text = keyring.get_password(service, user)
    except KeyringError as error:
        raise CallRefused(
            credential_failure(connector, f"cannot use the system keyring ({type(error).__name__})")
        ) from None
    if text is None:
        raise CallRefused(missing_credential(connector, kind, f"the keyring has no entry {service}/{user}"))
    return text
