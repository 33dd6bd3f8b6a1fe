"""A one-line summary of what happened to the answers of a batch."""

from collections.abc import Sequence

from aileron_tui.core.decision import Verdict
from aileron_tui.surface.answer_delivery import Delivery
from aileron_tui.surface.board import Tone


def summarize(deliveries: Sequence[Delivery]) -> tuple[str, Tone]:
    """For example `3 approved, 1 denied, 1 skipped (answered elsewhere: denied)`, and the tone to show it in."""
    counts = {"approved": 0, "denied": 0, "skipped": 0}
    for delivery in deliveries:
        verdict = "approved" if delivery.answer.verdict is Verdict.APPROVE else "denied"
        counts[verdict if delivery.taken else "skipped"] += 1
    words = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    why = "; ".join(dict.fromkeys(delivery.words for delivery in deliveries if not delivery.taken))
    return (f"{words} ({why})", Tone.WARN) if why else (words, Tone.GOOD)
