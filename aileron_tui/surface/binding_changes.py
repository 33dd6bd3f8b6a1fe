"""Makes and ends bindings of the gate of a data folder. Its ledger records them, even while the gate runs.

A new secret is stored under the name of the new binding before the binding is recorded, and the old one is removed
after that. So whenever a process is killed, the binding that the ledger names has its secret.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from aileron_tui.accounts.secret_document import SecretDocument
from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.core.binding_change import LARGEST, Binding, BindingChange, declined_body, ended, made, new_binding_id
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.ledger.store import LedgerView
from aileron_tui.packages.connectors_in_use import ConnectorInUse
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.bindings import Bindings, check_binding_signature
from aileron_tui.signing.envelope import Envelope
from aileron_tui.signing.errors import BindingFault
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.surface import signed_changes
from aileron_tui.surface.signed_changes import ChangeRules

Consent: TypeAlias = tuple[BindingChange, Envelope]
"""A change, and what another key than the operator's, such as a security key, signed over it."""

MakeChange: TypeAlias = Callable[[str, str], BindingChange]
"""Makes a change for a head of the ledger and a time."""

_RULES: Final = ChangeRules(
    "accounts", LARGEST, "The connector asks for too many scopes or hosts.", BindingFault, check_binding_signature
)


def new_binding(  # noqa: PLR0913  # only AWS has a region and a key, and only another binding is replaced
    used: ConnectorInUse, account: str, store: str, *, region: str = "", access_key_id: str = "", replaces: str = ""
) -> Binding:
    """A binding for what a connector asks for now. Raises BindingFault if it uses no account."""
    credential, asked = used.connector.credential, used.grant.credential
    if credential is None or asked is None:
        raise BindingFault(f"{used.connector.name} uses no account")
    return Binding(
        new_binding_id(),
        used.connector.name,
        credential.kind,
        account,
        asked.scopes,
        asked.addresses,
        credential.oauth2.client_id if credential.oauth2 else "",
        store,
        region,
        access_key_id,
        replaces,
        used.grant.hosts,
    )


def making(binding: Binding) -> MakeChange:
    """The change that makes a binding."""
    return lambda head, time: made(binding, head, time)


def ending(binding: Binding) -> MakeChange:
    """The change that ends a binding."""
    return lambda head, time: ended(binding, head, time)


def statement(ledger: Path, make: MakeChange) -> BindingChange:
    """What is to be signed by a security key."""
    return signed_changes.statement(ledger, make, _RULES)


def check_key(ledger: Path, key: UnlockedKey) -> None:
    """Refuses a key that may not approve here, before anything is asked."""
    with open_reader(ledger) as reader:
        signed_changes.check_approver(key, Approvers.of(reader.key_changes()), _RULES)


def bind(
    ledger: Path, stores: SecretStores, binding: Binding, document: SecretDocument, consent: UnlockedKey | Consent
) -> list[str]:
    """Makes a binding: first the secret, then the entry, which makes it count. Returns what could not be removed."""
    with stores.locked():
        _clean(ledger, stores)
        try:
            stores.of(binding.store).write(binding.id, document)
            _record(ledger, making(binding), consent)
        except BaseException:
            _clean(ledger, stores)
            raise
        return _clean(ledger, stores, binding.replaces)


def unbind(ledger: Path, stores: SecretStores, binding: Binding, consent: UnlockedKey | Consent) -> list[str]:
    """Ends a binding: first the entry, then the secret. Returns what could not be removed."""
    with stores.locked():
        _record(ledger, ending(binding), consent)
        return _clean(ledger, stores, binding.id)


def record_declined(ledger: Path, connector: str, account: str, kind: str) -> None:
    """Records that a binding was offered and declined. That changes nothing, so nobody signs it."""
    with open_ledger(ledger, role="accounts", guest=True) as opened:
        opened.append(EntryKind.BINDING_DECLINED, declined_body(connector, account, kind))


def _clean(ledger: Path, stores: SecretStores, ended: str = "") -> list[str]:
    """Removes secrets that no binding names, also those that a command left behind that was killed.

    If the ledger has entries that are not valid, only the secret of the binding that just ended is removed.
    """
    try:
        with open_reader(ledger) as reader:
            bindings = Bindings.of(reader)
    except AileronError as error:
        return [str(error)]  # what cannot be read is not known to be superfluous
    if bindings.invalid:
        why = f"the ledger has bindings that are not valid, so nothing else was removed: {bindings.invalid[0]}"
        return [*stores.remove(ended), why]
    return stores.clean([known.binding for known in bindings.values()])


def _record(ledger: Path, make: MakeChange, consent: UnlockedKey | Consent) -> None:
    try:
        signed_changes.record(ledger, make, consent, _RULES, _check_fits)
    except EntryRefused as error:
        raise _changed_meanwhile(error.detail) from None


def _check_fits(view: LedgerView, change: BindingChange) -> None:
    """Refuses a change for something else than what is in force, as far as approvers signed for it."""
    if why := Bindings.of(view).objection(change, timestamp(utc_now())):
        raise _changed_meanwhile(why)


def _changed_meanwhile(detail: str) -> BindingFault:
    hint = "Nothing was changed. Run the command again."
    return BindingFault("the accounts have changed meanwhile", detail, hint)
