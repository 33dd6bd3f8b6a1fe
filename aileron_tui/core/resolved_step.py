"""A step as it would run, and the connector that runs it."""

from aileron_tui.core.frozen_json import frozen_object
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class ConnectorRef:
    """A connector that would run: name, version, hash of its bytes, and whether its publisher is known."""

    name: str
    version: str = ""
    hash: str = ""
    trust: str = ""

    def fields(self) -> JsonObject:
        """The connector as JSON."""
        return {"name": self.name, "version": self.version, "hash": self.hash, "trust": self.trust}


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


def short_name(connector: str) -> str:
    """The last part of a connector's full name."""
    return connector.rstrip("/").rpartition("/")[2] or connector
