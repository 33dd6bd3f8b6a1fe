"""Restorations of a ledger: each must be signed by an approver of the ledger that was restored."""

from collections.abc import Callable

from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonError
from aileron_tui.core.restoration import PAYLOAD_TYPE, read_restoration
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import check_signature, read_envelope
from aileron_tui.signing.errors import EnvelopeRefused


class RestorationFault(AileronError):
    """A restoration that is not signed as it must be, or a ledger that cannot be restored."""


def check_restoration(entry: Entry, approvers: Approvers, follows: Callable[[str, int], bool]) -> None:
    """Checks the signature of a restoration, and that it is for this place in this ledger."""
    try:
        restoration, envelope = read_restoration(entry)
        signed = read_envelope(envelope)
        if signed.type != PAYLOAD_TYPE:
            raise RestorationFault("the restoration was signed as another type", repr(signed.type))
        check_signature(signed, approvers)
    except JsonError as error:
        raise RestorationFault("the restoration cannot be read", str(error)) from None
    except EnvelopeRefused as error:
        raise RestorationFault("no approver signed the restoration", f"{error.reason}: {error.detail}") from None
    if not follows(restoration.head, entry.seq):
        raise RestorationFault("the restoration was signed over another history", restoration.head)
