"""One row of the history."""

from typing import Final

from aileron_tui.core.outcomes import ELSEWHERE
from aileron_tui.core.values import dataclass

_PLACES: Final = {"page": "on the page", "notification": "in a notification"}


@dataclass(frozen=True, slots=True)
class HistoryRecord:
    """One request in the history. `took` is the number of seconds from first shown to decided; times are in UTC.

    `agent` is the name of the agent's token, and `says` is what the agent called itself. `agent` is empty if only the
    latter is known: for a daemon's request, and before agents had tokens of their own. `kind` and `daemon` are empty
    for a request of a gate. `edited` means that the inputs were changed before the call was approved. `rule` is the
    rule that answered the request, and then `signer` is the key that signed the rule. `signer` is empty if the answer
    was not signed. `reduced` is when the contents were removed from the ledger, "" if they were not.
    """

    seq: int
    id: str
    asked: str
    action: str
    connector: str
    agent: str
    risk: str
    outcome: str
    shown: str
    decided: str
    took: float | None
    surface: str
    signer: str
    reason: str
    ended: str
    error: str
    kind: str = ""
    daemon: str = ""
    edited: bool = False
    says: str = ""
    rule: str = ""
    reduced: str = ""

    @property
    def removed(self) -> str:
        """That and when the contents were removed, in a few words, or ""."""
        return f"contents removed on {self.reduced[:10]} by [ledger] keep" if self.reduced else ""

    @property
    def unsigned_denial(self) -> bool:
        """Whether the request was denied here without a signature."""
        return self.outcome == "denied" and bool(self.decided) and not self.signer and self.surface != ELSEWHERE

    @property
    def answered(self) -> str:
        """How the request was answered, in a few words: the surface, or which rule did it."""
        if self.unsigned_denial:
            return f"denied {_PLACES.get(self.surface, f'on {self.surface}')}, without a signature"
        if not self.rule:
            return self.surface
        return f"{'denied' if self.outcome == 'denied' else 'allowed'} by a rule ({self.rule})"

    @property
    def asked_by(self) -> str:
        """Who asked, in a few words: the agent, or else its claim, marked as one."""
        return self.agent or (f'says "{self.says}"' if self.says else "")
