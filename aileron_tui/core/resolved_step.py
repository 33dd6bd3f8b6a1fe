"""A step as it would run, and the connector that runs it."""

from typing import Final

from aileron_tui.core.frozen_json import frozen_object
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass

ACCOUNT_FIELDS: Final = ("account", "needs")


@dataclass(frozen=True, slots=True)
class ConnectorRef:
    """A connector that would run: name, version, hash of its bytes, and whether its publisher is known.

    `account` is the account that it would use, "" if it uses none that was signed in to. `needs` says why it cannot run
    before somebody signs in or chooses; that is shown as a warning.
    """

    name: str
    version: str = ""
    hash: str = ""
    trust: str = ""
    account: str = ""
    needs: str = ""

    def fields(self) -> JsonObject:
        """The connector as JSON. `account` and `needs` are left out if they are empty."""
        fields: JsonObject = {"name": self.name, "version": self.version, "hash": self.hash, "trust": self.trust}
        return fields | {name: text for name in ACCOUNT_FIELDS if (text := getattr(self, name))}


@dataclass(frozen=True, slots=True)
class ResolvedStep:
    """A step as it would run: its op, its connector, and exactly the inputs that the connector receives."""

    id: str
    op: str
    connector: ConnectorRef
    inputs: JsonObject

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", frozen_object(self.inputs))

    def fields(self) -> JsonObject:
        """The step as JSON."""
        return {"id": self.id, "op": self.op, "connector": self.connector.fields(), "inputs": self.inputs}


def account_words(connector: ConnectorRef) -> str:
    """The account that a connector would use, in words, "" if it uses none."""
    return f"account {connector.account}" if connector.account else ""


def short_name(connector: str) -> str:
    """The last part of a connector's full name."""
    return connector.rstrip("/").rpartition("/")[2] or connector
