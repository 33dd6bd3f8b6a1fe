"""What a surface needs from a source. Gates, daemons and opencode look the same to it."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.signing.key_store import UnlockedKey

if TYPE_CHECKING:
    from aileron_tui.core.call_hint import CallHint
    from aileron_tui.core.decision import Statement
    from aileron_tui.core.request import Request
    from aileron_tui.core.rule import Rule
    from aileron_tui.core.rule_change import RuleChange
    from aileron_tui.core.rule_list import ListedRule, RuleOffers
    from aileron_tui.runtime.source_events import SourceEvent
    from aileron_tui.runtime.vault import VaultState
    from aileron_tui.signing.approvers import Approver
    from aileron_tui.signing.envelope import Envelope


class Source(Protocol):
    """Where requests come from. All methods block, so the console calls them from threads."""

    @property
    def name(self) -> str:
        """The operator's name for the source, "" if there is only one."""

    @property
    def instance(self) -> str:
        """Identifies this run of the gate or daemon."""

    def watch(self, after: int = 0) -> Iterator["SourceEvent | None"]:
        """Every change as it happens; None for each heartbeat."""

    def waiting(self) -> tuple["Request", ...]:
        """The waiting requests, oldest first."""

    def item(self, id_: str) -> "Request":
        """One request as it is now."""

    def refresh(self, id_: str, edits: JsonObject | None = None) -> "Request":
        """One request with a new preview, or as it would be with edited inputs."""

    def extend(self, request: "Request") -> "Request":
        """Extends the deadline of a request by five minutes, or raises an AileronError; returns the request."""

    def fetched(self, id_: str) -> Json:
        """Everything that the preview op returns now, or raises an AileronError."""

    def decide(
        self, item: "Request", verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> RequestState:
        """Answers exactly the prompt of this request."""

    def history(self, **filters: str | int | list[str]) -> JsonObject:
        """One page of the history."""

    def past(self, id_: str) -> JsonObject:
        """Everything the ledger has about one request."""

    def rules(self) -> tuple["ListedRule", ...]:
        """All rules, newest first, or raises an AileronError if the source has none."""

    def rule_offers(self, id_: str) -> "RuleOffers":
        """The rules that can be made from a request, narrowest first, and what each would have answered."""

    def make_rule(self, rule: "Rule") -> None:
        """Signs a rule and makes it."""

    def end_rule(self, id_: str) -> None:
        """Signs the end of a rule and ends it."""

    def vault(self) -> "VaultState":
        """Whether the source can read its credentials."""

    def unlock_vault(self, passphrase: bytearray) -> None:
        """Unlocks the source's vault, or raises an AileronError."""

    def close(self) -> None:
        """Closes the connection."""


@runtime_checkable
class CalledByAgents(Protocol):
    """A source that agents call, and that knows how."""

    @property
    def call_hint(self) -> "CallHint | None":
        """How they call it, None if only its owner knows."""


@runtime_checkable
class SignedElsewhere(Protocol):
    """A source that also takes what another key than the operator's has signed, such as a security key."""

    def statement(
        self, request: "Request", verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> "Statement":
        """What is to be signed to answer exactly the prompt of this request."""

    def decide_signed(self, request: "Request", envelope: "Envelope", approver: "Approver") -> RequestState:
        """Answers with such a statement, which this approver signed."""


@runtime_checkable
class RulesSignedElsewhere(Protocol):
    """A source that also takes rules that another key than the operator's has signed, such as a security key."""

    def rule_statement(self, rule: "Rule") -> "RuleChange":
        """What is to be signed to make a rule."""

    def make_signed_rule(self, envelope: "Envelope") -> None:
        """Makes the rule of such a statement."""


def signable_rules(source: Source) -> RulesSignedElsewhere:
    """A source as one that takes rules of security keys. Raises AileronError if it does not."""
    if isinstance(source, RulesSignedElsewhere):
        return source
    raise AileronError("this source takes no rules of security keys")


@runtime_checkable
class TakesPresence(Protocol):
    """A source that decides whom to alert, and so wants to know who is there."""

    def report_presence(self, *, awake: bool, reading: str) -> None:
        """Says whether somebody is at this surface, and the id of the request they read, "" if none."""


@runtime_checkable
class LeavesAlerts(Protocol):
    """A source that alerts nobody itself, so that its surface does, and that records whom."""

    first_alert: Callable[[], JsonObject]
    """Called in any thread; returns what the entry about showing a request says about its first alert."""

    def record_alert(self, id_: str, *, before: str, to: str, reason: str) -> None:
        """Records that a surface was alerted to a request after another one, or raises an AileronError."""


def call_hint_of(source: object) -> "CallHint | None":
    """How agents call a source, None if that is not known."""
    return source.call_hint if isinstance(source, CalledByAgents) else None


Connect: TypeAlias = Callable[[UnlockedKey], Source]
"""Finds a source and connects to it; called again for each new connection."""


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A source to listen to. `kind` is `daemon`, `opencode` or `gate`."""

    name: str
    connect: Connect
    kind: str = ""


class OperatorKey(Protocol):
    """The operator's key: unlocked while answers can be signed, wiped from memory while it is locked."""

    name: str
    insecure: bool

    @property
    def lockable(self) -> bool:
        """Whether the key can be locked and unlocked again."""

    @property
    def key(self) -> UnlockedKey | None:
        """The key, or None while it is locked."""

    def unlock(self, passphrase: bytearray) -> None:
        """Unlocks the key, or raises an AileronError."""

    def lock(self) -> None:
        """Wipes the key from memory."""
