"""Whether a binding can be used now, and if not, what a person has to do."""

import time
from collections.abc import Callable
from enum import StrEnum

from aileron_tui.accounts.errors import AccountError, AccountsLocked
from aileron_tui.accounts.secret_document import ENDED, SecretDocument
from aileron_tui.core.binding_change import Binding, bind_command, outdated
from aileron_tui.core.package_grant import ConnectorGrant
from aileron_tui.core.values import dataclass

ReadSecret = Callable[[Binding], SecretDocument | None]


class StateName(StrEnum):
    """The states of a binding."""

    OK = "ok"
    LOCKED = "locked"
    EXPIRED = "expired"
    SIGN_IN_AGAIN = "sign in again"
    UNUSED = "unused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class BindingState:
    """A state, why it is so, and what to do about it."""

    name: StateName
    why: str = ""
    fix: str = ""


def binding_state(
    binding: Binding, connector: ConnectorGrant | None, read: ReadSecret, now: Callable[[], float] = time.time
) -> BindingState:
    """The state of a binding. `connector` is what the connector may do now, None if no gate here would use it."""
    again = f"Run `{bind_command(binding.connector, binding.account)}`."
    if connector is None:
        unbind = f"Install it, or run `aileron-tui unbind {binding.connector} --account {binding.account}`."
        return BindingState(StateName.UNUSED, "the connector is not installed", unbind)
    if why := outdated(binding, connector):
        if connector.credential is None:
            unbind = f"Run `aileron-tui unbind {binding.connector} --account {binding.account}`."
            return BindingState(StateName.UNUSED, why, unbind)
        return BindingState(StateName.SIGN_IN_AGAIN, why, again)
    try:
        document = read(binding)
    except AccountsLocked as error:
        return BindingState(StateName.LOCKED, error.detail, error.hint)
    except AccountError as error:
        return BindingState(StateName.FAILED, str(error), error.hint)
    if document is None:
        return BindingState(StateName.SIGN_IN_AGAIN, "its secret is missing", again)
    return _of_document(document, again, now())


def _of_document(document: SecretDocument, again: str, now: float) -> BindingState:
    fields = document.reveal()
    if isinstance(ended := fields.get(ENDED), str):
        return BindingState(StateName.SIGN_IN_AGAIN, ended, again)
    expires = fields.get("expires_at")
    if isinstance(expires, int | float) and expires <= now:
        if not fields.get("refresh_token"):
            return BindingState(StateName.EXPIRED, "the provider gave no token to renew it with", again)
        return BindingState(StateName.OK, "it is renewed when it is used next")
    return BindingState(StateName.OK)
