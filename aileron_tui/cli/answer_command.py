"""Giving an answer from the command line: show the prompt, make sure, look again, sign exactly that, and follow it."""

import argparse
import sys
from dataclasses import replace
from typing import Final

from aileron_tui.cli import OK, approver_session, confirmation
from aileron_tui.cli.answer_following import Followed, follow
from aileron_tui.cli.confirmation import NotDecided
from aileron_tui.cli.exit_codes import NOT_FOUND
from aileron_tui.cli.output import write
from aileron_tui.core.decision import Verdict
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.runtime.errors import NotFound, NotWaiting, PromptChanged
from aileron_tui.surface.source_connection import Sources

_WORDS: Final = {Verdict.APPROVE: "approved", Verdict.DENY: "denied"}
_ENDS: Final = {
    RequestState.EXECUTED: "done ✓",
    RequestState.FAILED: "failed ✗",
    RequestState.INTERRUPTED: "interrupted: it may have taken effect",
}
_GONE: Final = "gone"
_CHANGED: Final = "changed"


class _TooLate(Exception):
    """What was shown cannot be answered any more: `state` says what it is now."""

    def __init__(self, item: Request, state: str) -> None:
        super().__init__(state)
        self.item = item
        self.state = state


def arguments(parser: argparse.ArgumentParser) -> None:
    """What every answer needs."""
    parser.add_argument("id", metavar="ID", help="its id, or enough of its beginning or end")
    parser.add_argument("--json", action="store_true", help="what became of it, as one JSON document")


def give(options: argparse.Namespace, verdict: Verdict) -> int:
    """Exit codes: 0 denied, or approved and done; 1 not given, or failed; 5 nothing to answer; 75 still running."""
    policy = load_config(paths().config).policy
    confirmation.check_terminal(policy)
    with approver_session.approver(options) as sources:
        try:
            item = approver_session.settled(sources, approver_session.pick(sources, options.id))
            if not item.state.decidable:
                raise _TooLate(item, item.state)
            sys.stderr.write("".join(f"{line}\n" for line in approver_session.shown(item, sys.stderr)))
            if verdict is Verdict.APPROVE:
                _check(item, options.digest)
                confirmation.confirm(item, policy, sources.key, looked=bool(options.digest))
                item = _unchanged(sources, item)
            item = _decided(sources, item, verdict, options.reason)
            return _told(sources, item, verdict, options)
        except approver_session.NoSuchRequest as error:
            approver_session.complain(error)
        except _TooLate as late:
            _say_late(late, verdict, as_json=options.json)
        return NOT_FOUND


def _check(item: Request, digest: str) -> None:
    if digest and item.digest != digest:
        raise NotDecided("the prompt is not the one you named", f"its digest is {item.digest}", "Look again.")
    if item.deny_only:
        raise NotDecided("this request can only be denied", item.deny_only)
    if item.fetching:
        raise NotDecided("the preview has not come yet", hint="Try again in a moment.")


def _unchanged(sources: Sources, item: Request) -> Request:
    """The request as it is after the question. A daemon takes an answer by the id alone, and people read slowly."""
    try:
        now = approver_session.settled(sources, sources.of(item).item(item.id))
    except NotFound:
        raise _TooLate(item, _GONE) from None
    if not now.state.decidable:
        raise _TooLate(now, now.state)
    if (now.digest, now.instance, now.deny_only) != (item.digest, item.instance, item.deny_only):
        raise _TooLate(now, _CHANGED)
    return now


def _decided(sources: Sources, item: Request, verdict: Verdict, reason: str) -> Request:
    try:
        return replace(item, state=sources.of(item).decide(item, verdict, reason=reason))
    except NotWaiting as error:
        raise _TooLate(item, error.state) from None
    except NotFound:
        raise _TooLate(item, _GONE) from None
    except PromptChanged:
        raise _TooLate(item, _CHANGED) from None


def _told(sources: Sources, item: Request, verdict: Verdict, options: argparse.Namespace) -> int:
    """Says that the answer was taken, and what became of it."""
    if not options.json:
        approver_session.say(f"{_WORDS[verdict]} {inline(item.prompt.action)} {inline(item.id)}")
        sys.stdout.flush()
    approved = verdict is Verdict.APPROVE
    followed = follow(sources.of(item), item, options.wait) if approved else Followed(item, OK)
    if options.json:
        _say_json(followed.item, verdict, taken=True, state=followed.item.state, note=followed.note)
    elif approved:
        end = _ENDS.get(followed.item.state, "it runs on")
        for words in filter(None, (_error(followed.item), followed.note)):
            end = f"{end}: {inline(words)}"
        approver_session.say(end)
    return followed.code


def _say_late(late: _TooLate, verdict: Verdict, *, as_json: bool) -> None:
    if as_json:
        _say_json(late.item, verdict, taken=False, state=late.state)
    id_ = inline(late.item.id)
    if late.state == _CHANGED:
        write(sys.stderr, f"error: what {id_} asks changed meanwhile, so nothing was decided", "  Look again.")
    else:
        write(sys.stderr, f"error: {id_} does not wait any more: it is {inline(late.state)}")


def _say_json(item: Request, verdict: Verdict, *, taken: bool, state: str, note: str = "") -> None:
    approver_session.say_json(
        {
            "id": item.id,
            "source": item.source,
            "action": item.prompt.action,
            "verdict": verdict,
            "taken": taken,
            "state": state,
            "digest": item.digest,
            "error": _error(item),
            "note": note,
        }
    )


def _error(item: Request) -> str:
    error = item.fields.get("error")
    return error if isinstance(error, str) else ""
