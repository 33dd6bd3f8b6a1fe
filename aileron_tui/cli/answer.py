"""Giving an answer from the command line: show the prompt, make sure, sign exactly that, send it."""

import argparse
import sys
from typing import TYPE_CHECKING

from aileron_tui.cli import FAILED, OK, approver
from aileron_tui.cli.exits import NOT_FOUND
from aileron_tui.core.decision import Verdict
from aileron_tui.core.risk import Level
from aileron_tui.core.text import inline
from aileron_tui.runtime.errors import NotFound, NotWaiting, PromptChanged
from aileron_tui.runtime.items import Item

if TYPE_CHECKING:
    from aileron_tui.console.source import Source

_WORDS = {Verdict.APPROVE: "approved", Verdict.DENY: "denied"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """What every answer needs."""
    parser.add_argument("id", metavar="ID", help="its id, or enough of its beginning or end")
    parser.add_argument("--json", action="store_true", help="what became of it, as one JSON document")


def give(options: argparse.Namespace, verdict: Verdict) -> int:
    """0 if the answer was taken, 1 if it was not given, 5 if there is nothing to answer."""
    approver.check_terminal()
    with approver.approver(options) as sources:
        try:
            item = approver.settled(sources, approver.pick(sources, options.id))
            if not item.state.decidable:
                return _too_late(item.id, item.state)
            sys.stderr.write("".join(f"{line}\n" for line in approver.shown(item, sys.stderr)))
            _check(item, verdict, options.digest)
            return _send(sources.of(item), item, verdict, options)
        except approver.NoSuchRequest as error:
            approver.complain(error)
            return NOT_FOUND


def _check(item: Item, verdict: Verdict, digest: str) -> None:
    if digest and item.digest != digest:
        raise approver.NotDecided("the prompt is not the one you named", f"its digest is {item.digest}", "Look again.")
    if verdict is Verdict.DENY:
        return
    if item.deny_only:
        raise approver.NotDecided("this request can only be denied", item.deny_only)
    if item.fetching:
        raise approver.NotDecided("the preview has not come yet", hint="Try again in a moment.")
    if item.prompt.risk.level is Level.HIGH and not approver.confirmed("Really approve?"):
        raise approver.NotDecided("not approved", hint="The request waits on.")


def _send(source: "Source", item: Item, verdict: Verdict, options: argparse.Namespace) -> int:
    try:
        state = source.decide(item, verdict, reason=options.reason)
    except NotWaiting as error:
        return _too_late(item.id, error.state)
    except NotFound:
        return _too_late(item.id, "gone")
    except PromptChanged:
        sys.stderr.write("error: what is shown changed meanwhile, so nothing was decided\n  Look again.\n")
        return FAILED
    if options.json:
        approver.say_json({"id": item.id, "state": state, "digest": item.digest})
    else:
        approver.say(f"{_WORDS[verdict]} {inline(item.prompt.action)} {inline(item.id)}")
    return OK


def _too_late(id_: str, state: str) -> int:
    sys.stderr.write(f"error: {inline(id_)} does not wait any more: it is {inline(state)}\n")
    return NOT_FOUND
