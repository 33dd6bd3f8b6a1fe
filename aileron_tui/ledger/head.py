"""The head of a chain: the number of its last entry, and the hash that covers the whole chain."""

import re
from typing import Final

from aileron_tui.core.entry_chain import GENESIS
from aileron_tui.core.values import dataclass
from aileron_tui.ledger.errors import LedgerError

_HEAD: Final = re.compile(r"(?:([1-9][0-9]{0,17}|0):)?(sha256:[0-9a-f]{64})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Head:
    """The last entry's number and hash; `seq` is -1 if only the hash is known."""

    seq: int = 0
    hash: str = GENESIS

    def __str__(self) -> str:
        return self.hash if self.seq < 0 else f"{self.seq}:{self.hash}"


def read_head(text: str) -> Head:
    """Parses a head as `history head` prints it, or a bare hash."""
    found = _HEAD.fullmatch(text.strip())
    if not found:
        hint = "Write it as `aileron-tui history head` prints it, such as 1042:sha256:…"
        raise LedgerError("not the head of a ledger", repr(text), hint)
    return Head(int(found[1]) if found[1] else -1, found[2])
