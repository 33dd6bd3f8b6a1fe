"""What becomes of an approval: asked for until it is known or the time is over. Leaving early undoes nothing."""

import argparse
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from aileron_tui.cli import FAILED, INTERRUPTED, OK
from aileron_tui.cli.exit_codes import WAITING
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.runtime.errors import NotFound, RuntimeFault

if TYPE_CHECKING:
    from aileron_tui.surface.source import Source

USUAL: Final = 60
LONGEST: Final = 3600

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Followed:
    """The request as it was last heard of, the exit code for it, and what there is to say beside its state."""

    item: Request
    code: int
    note: str = ""


def seconds(text: str) -> int:
    """How long to wait, as it is written on the command line."""
    if not (text.isascii() and text.isdigit()) or len(text) > 6 or int(text) > LONGEST:
        raise argparse.ArgumentTypeError(f"expected a whole number of seconds, at most {LONGEST:,}")
    return int(text)


def follow(source: "Source", item: Request, patience: int) -> Followed:
    """Follows an approved request to its end."""
    if not item.reports_end:
        return Followed(item, OK, "the daemon does not report how this kind of request ends")
    end, pause, note = time.monotonic() + patience, _FIRST_PAUSE, ""
    try:
        while True:
            try:
                item, note = source.item(item.id), ""
            except NotFound:
                note = "it is not known there any more, and so is not how it ended"
                return Followed(replace(item, state=RequestState.INTERRUPTED), FAILED, note)
            except RuntimeFault as error:
                note = str(error)
            if item.state.final:
                return Followed(item, OK if item.state is RequestState.EXECUTED else FAILED, note)
            left = end - time.monotonic()
            if left <= 0:
                return Followed(item, WAITING, note or item.reason)
            time.sleep(min(pause, left))
            pause = min(_LONGEST_PAUSE, pause * 1.5)
    except KeyboardInterrupt:
        return Followed(item, INTERRUPTED, "no longer waited for; the approval stands")
