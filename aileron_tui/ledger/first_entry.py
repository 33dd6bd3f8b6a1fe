"""The first entry of a ledger, by whose hash a ledger is told from others."""

from aileron_tui.ledger.store import LedgerView


def first_hash(view: LedgerView) -> str:
    """The hash of the first entry, "" if there is none."""
    found = next(view.rows(), None)
    return f"sha256:{found[2].hex()}" if found else ""
