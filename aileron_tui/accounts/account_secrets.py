"""The secrets of bound accounts for calls of connectors: which account a call uses, and its token, renewed in time.

A binding in the ledger says which accounts a connector has, a store has their secrets. Only one renewal of an account
runs at a time, in all processes together, because most providers accept a token for renewing only once. A renewal is
never broken off because its call ran out of time: the new token would be lost with it.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDone
from pathlib import Path
from typing import Final

from aileron_tui.accounts.errors import AccountError, AccountsLocked
from aileron_tui.accounts.file_lock import file_lock
from aileron_tui.accounts.oauth_tokens import TokenDocument, renewed
from aileron_tui.accounts.provider_http import SECONDS, SignInAgain, SignInError
from aileron_tui.accounts.secret_document import ENDED, SecretDocument
from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.core.binding_change import Binding, bind_command, outdated
from aileron_tui.core.connector import Connector
from aileron_tui.core.jsontext import JsonObject, compact
from aileron_tui.core.package_grant import connector_grant
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import Config
from aileron_tui.sandbox.credentials import (
    AccountChoice,
    FoundCredential,
    Secret,
    checked_secret,
    credential_failure,
)
from aileron_tui.sandbox.failure import TIMEOUT, Boundary, CallRefused, Failure, FailureKind
from aileron_tui.signing.bindings import Bindings

_EARLY_SECONDS: Final = 60
"""How long before it expires a token is renewed."""

_LOCKS: Final = "account-locks"
_AWS: Final = {"access_key_id": "AccessKeyId", "secret_access_key": "SecretAccessKey", "session_token": "SessionToken"}

log: Final = logging.getLogger("aileron_tui.accounts")


@dataclass(frozen=True, slots=True)
class ConfiguredAccounts:
    """The accounts that the configuration chooses, by the name of a connector and by that of an action."""

    by_connector: Mapping[str, str]
    by_action: Mapping[str, str]

    @classmethod
    def of(cls, config: Config) -> "ConfiguredAccounts":
        """What this configuration chooses."""
        return cls(
            {name: settings.account for name, settings in config.connectors.items() if settings.account},
            {name: settings.account for name, settings in config.actions.items() if settings.account},
        )


class AccountSecrets:
    """The accounts of one data folder. Thread-safe."""

    def __init__(
        self,
        data: Path,
        stores: SecretStores,
        configured: ConfiguredAccounts | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._locks = data / _LOCKS
        self.stores = stores
        self._configured = configured or ConfiguredAccounts({}, {})
        self._now = now
        self._guard = threading.Lock()
        self._bindings: dict[tuple[str, str], Binding] = {}
        self._revision = 0
        self._ended: dict[str, str] = {}  # why a provider no longer accepts an account, by binding
        self._unsaved: dict[str, TokenDocument] = {}  # tokens that could not be stored, by binding
        self._renewals: dict[str, Future[TokenDocument]] = {}

    @property
    def revision(self) -> int:
        """Changes whenever another account may be chosen than before."""
        return self._revision

    def note(self, bindings: Bindings) -> None:
        """Uses these bindings from now on."""
        found = {place: known.binding for place, known in bindings.items()}
        with self._guard:
            if found == self._bindings:
                return
            self._bindings = found
            ids = {binding.id for binding in found.values()}
            self._ended = {id_: why for id_, why in self._ended.items() if id_ in ids}
            self._unsaved = {id_: kept for id_, kept in self._unsaved.items() if id_ in ids}
            self._revision += 1

    def choose(self, action: str, connector: Connector) -> AccountChoice:
        """The account that a connector uses for an action; it is never guessed."""
        name = connector.name
        bound = {account: found for (bound_name, account), found in self._bindings.items() if bound_name == name}
        wanted = self._configured.by_action.get(action) or self._configured.by_connector.get(name, "")
        if wanted and wanted not in bound:
            return AccountChoice(needs=f"{name} needs the account {wanted}: run `{bind_command(name, wanted)}`")
        if not bound:
            return AccountChoice(needs=f"{name} needs an account: run `{bind_command(name)}`")
        if not wanted and len(bound) > 1:
            listed, table = ", ".join(sorted(bound)), f'[connectors."{name}"] or [actions."{action}"]'
            return AccountChoice(needs=f"{name} has several accounts ({listed}): set account = … in {table}")
        account = wanted or next(iter(bound))
        why = self._why_not(connector, bound[account])
        needs = f"sign in to {account} of {name} again ({why}): run `{bind_command(name, account)}`" if why else ""
        return AccountChoice(account, needs)

    def find(self, connector: Connector, account: str, seconds: float) -> FoundCredential:
        """The credential of an account, with a token that is valid for a while; raises CallRefused."""
        binding = self._binding(connector, account)
        document = self._read(binding)
        if binding.kind == "oauth2" and (self._expires_soon(document) or binding.id in self._unsaved):
            document = self._renewed_early(connector, binding, document, seconds)
        return _credential(binding, document)

    def renew(self, connector: Connector, account: str, refused: Secret, seconds: float) -> bool:
        """Replaces a token that the service refused; returns whether there is another one. Raises CallRefused."""
        binding = self._binding(connector, account)
        if binding.kind != "oauth2":
            return False
        document = self._renew(connector, binding, refused.reveal(), seconds)
        return document.get("access_token") != refused.reveal()

    def _binding(self, connector: Connector, account: str) -> Binding:
        binding = self._bindings.get((connector.name, account))
        if binding is None:
            raise CallRefused(_required(connector.name, f"the account {account} is not bound", account))
        if why := self._why_not(connector, binding):
            raise CallRefused(_required(connector.name, f"sign in again ({why})", account))
        return binding

    def _why_not(self, connector: Connector, binding: Binding) -> str:
        return outdated(binding, connector_grant(connector, "", "")) or self._ended.get(binding.id, "")

    def _read(self, binding: Binding) -> TokenDocument:
        if kept := self._unsaved.get(binding.id):
            return kept
        try:
            document = self.stores.read(binding)
        except AccountsLocked as error:
            raise CallRefused(_locked(binding.connector, str(error.title), error.hint)) from None
        except AccountError as error:
            raise CallRefused(credential_failure(binding.connector, inline(str(error)))) from None
        fields = document.reveal() if document else {}
        if fields.get("kind") != binding.kind:
            why = "its secret is no longer stored on this machine"
            raise CallRefused(_required(binding.connector, why, binding.account))
        if isinstance(ended := fields.get(ENDED), str):
            self._end(binding, ended)
            raise CallRefused(_required(binding.connector, f"sign in again ({ended})", binding.account))
        return fields

    def _expires_soon(self, document: TokenDocument) -> bool:
        expires_at = document.get("expires_at")
        return isinstance(expires_at, int) and self._now() > expires_at - _EARLY_SECONDS

    def _renewed_early(
        self, connector: Connector, binding: Binding, document: TokenDocument, seconds: float
    ) -> TokenDocument:
        """Renews a token that expires soon, or stores one that could not be stored.

        If that is not possible now, it is used while it is valid.
        """
        expires_at = document.get("expires_at")
        valid = not isinstance(expires_at, int) or self._now() < expires_at
        if valid and not document.get("refresh_token"):
            return document
        try:
            return self._renew(connector, binding, "", seconds)
        except CallRefused as refused:
            if not valid or refused.failure.kind == FailureKind.BINDING_REQUIRED:
                raise
            log.warning("%s", inline(refused.failure.message))
            return document

    def _renew(self, connector: Connector, binding: Binding, refused: str, seconds: float) -> TokenDocument:
        """Waits for the renewal of an account, which is begun unless it runs already; raises CallRefused."""
        name = connector.name
        with self._guard:
            future = self._renewals.get(binding.id)
            if future is None:
                future = Future()
                work = (connector, binding, refused, future)
                try:
                    threading.Thread(target=self._run_renewal, args=work, name="token-renewal").start()
                except RuntimeError:  # the system allows no more threads
                    raise CallRefused(credential_failure(name, "cannot renew its token now")) from None
                self._renewals[binding.id] = future
        try:
            return future.result(max(seconds, 0))
        except (NotDone, TimeoutError):
            raise CallRefused(credential_failure(name, "its token was not renewed in time", TIMEOUT)) from None
        except SignInAgain as error:
            raise CallRefused(_required(name, f"sign in again ({inline(str(error))})", binding.account)) from None
        except (SignInError, AccountError) as error:
            raise CallRefused(credential_failure(name, f"cannot renew its token: {inline(str(error))}")) from None

    def _run_renewal(self, connector: Connector, binding: Binding, refused: str, future: Future[TokenDocument]) -> None:
        try:
            with file_lock(self._locks / binding.id, SECONDS + 5):
                document = self._renewal(connector, binding, refused)
        except BaseException as error:  # noqa: BLE001  # whoever waits must be told
            self._forget_renewal(binding)
            future.set_exception(error)
        else:
            self._forget_renewal(binding)
            future.set_result(document)

    def _forget_renewal(self, binding: Binding) -> None:
        with self._guard:
            self._renewals.pop(binding.id, None)

    def _renewal(self, connector: Connector, binding: Binding, refused: str) -> TokenDocument:
        """Renews an account, unless another process has done so meanwhile. Only inside the lock."""
        document = self._read(binding)
        if document.get("access_token") != refused and not self._expires_soon(document):
            if binding.id in self._unsaved:
                self._store(binding, document)
            return document
        oauth2 = connector.credential.oauth2 if connector.credential else None
        if oauth2 is None:
            raise SignInError("the connector does not say where to sign in")
        try:
            made = renewed(oauth2, document)
        except SignInAgain as error:
            self._store(binding, document | {ENDED: str(error)})
            self._end(binding, str(error))
            raise
        if not self._store(binding, made):
            self._unsaved[binding.id] = made
        return made

    def _store(self, binding: Binding, document: JsonObject) -> bool:
        """Stores a secret in place of the old one; returns whether that worked."""
        try:
            self.stores.of(binding.store).write(binding.id, SecretDocument(document), existing=True)
        except AccountError as error:
            where = f"{binding.account} of {binding.connector}"
            log.error("the new token of %s could not be stored: %s", where, inline(str(error)))
            return False
        self._unsaved.pop(binding.id, None)
        return True

    def _end(self, binding: Binding, why: str) -> None:
        with self._guard:
            if binding.id not in self._ended:
                self._ended[binding.id] = inline(why)
                self._revision += 1


def _credential(binding: Binding, document: TokenDocument) -> FoundCredential:
    name, kind = binding.connector, binding.kind
    if kind == "aws_sigv4":
        keys = {aws: text for key, aws in _AWS.items() if isinstance(text := document.get(key), str) and text}
        hidden = tuple(Secret(text) for aws, text in keys.items() if aws != "AccessKeyId")
        keys.setdefault("AccessKeyId", binding.access_key_id)
        secret = checked_secret(name, kind, compact({**keys}))
        return FoundCredential(secret, binding.region, binding.access_key_id, hidden)
    text = document.get("access_token" if kind == "oauth2" else "key")
    secret = checked_secret(name, kind, text if isinstance(text, str) else "")
    refresh_token = document.get("refresh_token")
    more = (Secret(refresh_token),) if isinstance(refresh_token, str) and refresh_token else ()
    return FoundCredential(secret, hidden=(secret, *more))


def _required(connector: str, why: str, account: str) -> Failure:
    """The failure that only a person can end, by signing in."""
    reason = f"{connector} cannot use its account: {why}; run `{bind_command(connector, account)}`"
    return Failure(
        FailureKind.BINDING_REQUIRED,
        reason,
        reason,
        Boundary.RUNTIME,
        details={"connector": connector, "account": account},
    )


def _locked(connector: str, title: str, hint: str) -> Failure:
    """The failure of a gate whose accounts nobody has unlocked."""
    reason = f"{title}: {hint[:1].lower()}{hint[1:].rstrip('.')}"
    details: JsonObject = {"connector": connector, "required": "vault.passphrase"}
    return Failure(FailureKind.BINDING_REQUIRED, reason, reason, Boundary.RUNTIME, details=details)
