"""Confirming an approval at the terminal, as strictly as the console does."""

import os
import sys
import time
from collections.abc import Sequence
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.prompt import count_warnings
from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import SECURITY_KEY, Policy
from aileron_tui.files.paths import paths
from aileron_tui.signing import key_store
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.secret_memory import wipe
from aileron_tui.signing.terminal_input import ask_line, ask_passphrase

SHOWN_SECONDS: Final = 0.7
"""How long a prompt is shown before the question. Keys typed before the question are dropped."""

_QUESTION_LINES: Final = 3


class NotDecided(AileronError):
    """No answer was given."""


def check_terminal(policy: Policy, what: str = "") -> None:
    """Refuses to decide, or to do `what`, without a terminal, unless the configuration allows it."""
    if not (_has_terminal() or policy.headless_decisions):
        title, verb = (f"{what} needs a terminal", "Run this") if what else ("decisions need a terminal", "Answer")
        hint = f"{verb} in a terminal, or set headless_decisions = true under [policy] in the configuration."
        raise NotDecided(title, "this process has no terminal", hint)


def confirm(
    request: Request, policy: Policy, key: UnlockedKey, *, digest_given: bool, shown: Sequence[str] = ()
) -> None:
    """Asks whether to approve the prompt that was `shown`, line by line. `digest_given`: the user gave its digest.

    A prompt with warnings is refused unless the window shows all of it at once. The question says if there are
    warnings, or more lines than the window shows. High risk is confirmed as `[policy] high_risk` says; for "key", the
    caller asks for the touch afterwards. Nothing can be asked without a terminal, so there high risk is refused if it
    needs more than a yes.
    """
    high = request.prompt.risk.level is RiskLevel.HIGH
    if not _has_terminal():
        if high and policy.high_risk != "confirm":
            detail = f'high_risk is "{policy.high_risk}", and this process has no terminal'
            raise NotDecided("approving high risk needs a terminal", detail)
        return
    warnings = count_warnings(request.prompt) + len(request.cautions_at(utc_now()))
    if warnings and not _fits(shown):
        raise NotDecided(
            "not approved: the prompt has warnings and does not fit in this window",
            f"{_warning_words(warnings)} in {len(shown):,} lines",
            "Answer it with `aileron-tui prompt`, which shows it page by page, in the console, or in a taller window.",
        )
    notice = _notice(warnings, shown)
    if digest_given and not high and not notice:
        return
    if notice:
        sys.stderr.write(f"\n{notice}\n")
    time.sleep(SHOWN_SECONDS)
    if not _confirmed(request, policy.high_risk if high else "", key):
        raise NotDecided("not approved", hint="The request is still waiting.")


def confirm_rule(action: str, policy: Policy, key: UnlockedKey, *, high: bool) -> None:
    """Asks whether to make a rule. One that allows something of high risk is confirmed as such an approval is."""
    if not _has_terminal():
        if high and policy.high_risk != "confirm":
            detail = f'high_risk is "{policy.high_risk}", and this process has no terminal'
            raise NotDecided("a rule for high risk needs a terminal", detail)
        return
    time.sleep(SHOWN_SECONDS)
    if not _asked(action, policy.high_risk if high else "", key, "make this rule", "Make this rule? [y/N]"):
        raise NotDecided("no rule was made")


def confirm_change(question: str, refusal: str) -> None:
    """Asks whether to make a change that was just shown. Raises NotDecided with `refusal` if it is not wanted."""
    if not _has_terminal():
        return
    time.sleep(SHOWN_SECONDS)
    if ask_line(f"{question} [y/N]").lower() not in ("y", "yes"):
        raise NotDecided(refusal)


def _notice(warnings: int, shown: Sequence[str]) -> str:
    """What the operator may not have seen of the prompt; "" if there is no warning and it fits the window."""
    notices = []
    if warnings:
        notices.append(f"The prompt has {_warning_words(warnings)}.")
    if not _fits(shown) and _window_height():
        notices.append(f"The prompt has {len(shown):,} lines, more than the window shows: scroll up to read all of it.")
    return " ".join(notices)


def _warning_words(count: int) -> str:
    return f"{count} warning{'' if count == 1 else 's'}"


def _fits(shown: Sequence[str]) -> bool:
    """Whether the window shows all of the prompt above the question; False if its height is unknown."""
    return len(shown) + _QUESTION_LINES <= _window_height()


def _window_height() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).lines
    except (OSError, ValueError):
        return 0


def _confirmed(request: Request, high_risk: str, key: UnlockedKey) -> bool:
    return _asked(request.prompt.action, high_risk, key, "approve", "Approve? [y/N]")


def _asked(action: str, high_risk: str, key: UnlockedKey, verb: str, question: str) -> bool:
    if high_risk == SECURITY_KEY:
        return True  # the touch that follows confirms it
    if high_risk == "type":
        return ask_line(f"High risk. Type {inline(action)} to {verb}:") == action
    if high_risk == "passphrase" and not key.insecure:
        return _knows_passphrase(key, verb)
    return ask_line(f"High risk. {question}" if high_risk else question).lower() in ("y", "yes")


def _knows_passphrase(key: UnlockedKey, verb: str) -> bool:
    passphrase = ask_passphrase(f"High risk. {verb.capitalize()} with the passphrase of {key.name}")
    try:
        key_store.unlock(paths().keys, key.name, passphrase).lock()
    finally:
        wipe(passphrase)
    return True


def _has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
