"""Answering from the command line: shows the prompt, asks, checks that nothing changed, signs and sends the answer."""

import argparse
import sys
from dataclasses import replace
from typing import Final

from aileron_tui.cli import confirmation, source_options
from aileron_tui.cli.confirmation import NotDecided
from aileron_tui.cli.exit_codes import NOT_FOUND, OK
from aileron_tui.cli.outcome_waiting import Outcome, wait_for_outcome
from aileron_tui.cli.output import print_error, print_json, print_lines, write_error
from aileron_tui.cli.request_lookup import ID_HELP, NoSuchRequest, find_waiting, wait_for_preview
from aileron_tui.cli.request_text import prompt_lines
from aileron_tui.cli.security_key_prompt import needs_touch, touched_answer
from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.request import Request
from aileron_tui.core.state_words import STATE_WORDS
from aileron_tui.core.states import RequestState
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.runtime.errors import NotFound
from aileron_tui.surface.answer_delivery import Answer, DeliveryRefusal, deliver
from aileron_tui.surface.source_connection import OpenSources

_VERDICT_WORDS: Final = {Verdict.APPROVE: "approved", Verdict.DENY: "denied"}
_GONE: Final = "gone"
_CHANGED: Final = "changed"


class _TooLate(Exception):
    """The prompt that was shown can no longer be answered; `state` says why."""

    def __init__(self, request: Request, state: str) -> None:
        super().__init__(state)
        self.request = request
        self.state = state


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of both answers."""
    parser.add_argument("id", metavar="ID", help=ID_HELP)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def give_answer(options: argparse.Namespace, verdict: Verdict) -> int:
    """Returns 0 if denied, or approved and done; 1 if not answered or failed; 5 if not waiting; 75 if still running."""
    policy = load_config(paths().config).policy
    confirmation.check_terminal(policy)
    with source_options.open_sources(options) as sources:
        try:
            request = wait_for_preview(sources, find_waiting(sources, options.id))
            if not request.state.decidable:
                raise _TooLate(request, request.state)
            shown = list(prompt_lines(request, sys.stderr))
            sys.stderr.write("".join(f"{line}\n" for line in shown))
            answer = Answer(request, verdict, options.reason)
            if verdict is Verdict.APPROVE:
                _check_approvable(request, options.digest)
                confirmation.confirm(request, policy, sources.key, digest_given=bool(options.digest), shown=shown)
                if needs_touch(answer, policy.high_risk):
                    answer = touched_answer(sources.of(request), answer)
                answer = replace(answer, request=_unchanged(sources, request))
            request = _send(sources, answer)
            return _report(sources, request, verdict, options)
        except NoSuchRequest as error:
            print_error(error)
        except _TooLate as late:
            _report_too_late(late, verdict, as_json=options.json)
        return NOT_FOUND


def _check_approvable(request: Request, digest: str) -> None:
    if digest and request.digest != digest:
        raise NotDecided(
            "the prompt has a different digest", f"its digest is {request.digest}", "Read the prompt again."
        )
    if request.deny_only:
        raise NotDecided("this request can only be denied", request.deny_only)
    if request.fetching:
        raise NotDecided("the preview is still being fetched", hint="Try again in a moment.")


def _unchanged(sources: OpenSources, request: Request) -> Request:
    """The request after the question, if its prompt is still the same. A daemon itself checks only the id."""
    try:
        now = wait_for_preview(sources, sources.of(request).item(request.id))
    except NotFound:
        raise _TooLate(request, _GONE) from None
    if not now.state.decidable:
        raise _TooLate(now, now.state)
    if (now.digest, now.instance, now.deny_only) != (request.digest, request.instance, request.deny_only):
        raise _TooLate(now, _CHANGED)
    return now


def _send(sources: OpenSources, answer: Answer) -> Request:
    """Sends the answer and returns the request in its new state."""
    request = answer.request
    delivery = deliver(sources.of(request), answer)
    if delivery.taken:
        return replace(request, state=RequestState(delivery.state))
    match delivery.refusal:
        case DeliveryRefusal.ANSWERED_ELSEWHERE | DeliveryRefusal.NOT_ANSWERED:
            raise _TooLate(request, delivery.state)
        case DeliveryRefusal.CHANGED:
            raise _TooLate(request, _CHANGED)
        case DeliveryRefusal.GONE:
            raise _TooLate(request, _GONE)
    raise delivery.error or AileronError("the answer was not accepted", delivery.words)


def _report(sources: OpenSources, request: Request, verdict: Verdict, options: argparse.Namespace) -> int:
    """Prints that the answer was accepted; after an approval, waits for the outcome and prints it."""
    if not options.json:
        print_lines(f"{_VERDICT_WORDS[verdict]} {inline(request.prompt.action)} {inline(request.id)}")
        sys.stdout.flush()
    approved = verdict is Verdict.APPROVE
    outcome = wait_for_outcome(sources.of(request), request, options.wait) if approved else Outcome(request, OK)
    if options.json:
        _print_result(outcome.request, verdict, taken=True, state=outcome.request.state, note=outcome.note)
    elif approved:
        state = outcome.request.state
        words = STATE_WORDS[state].full_status if state.settled else "still running"
        print_lines(": ".join([words, *(inline(note) for note in (_error(outcome.request), outcome.note) if note)]))
    return outcome.code


def _report_too_late(late: _TooLate, verdict: Verdict, *, as_json: bool) -> None:
    if as_json:
        _print_result(late.request, verdict, taken=False, state=late.state)
    if late.state == _CHANGED:
        write_error(f"the prompt of {late.request.id} has changed; nothing was decided", "Read the prompt again.")
    else:
        write_error(f"{late.request.id} is no longer waiting: {late.state}")


def _print_result(request: Request, verdict: Verdict, *, taken: bool, state: str, note: str = "") -> None:
    print_json(
        {
            "id": request.id,
            "source": request.source,
            "action": request.prompt.action,
            "verdict": verdict,
            "taken": taken,
            "state": state,
            "digest": request.digest,
            "error": _error(request),
            "note": note,
        }
    )


def _error(request: Request) -> str:
    error = request.fields.get("error")
    return error if isinstance(error, str) else ""
