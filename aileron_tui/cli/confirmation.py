"""Making sure before an approval is signed, at the terminal, as strictly as the console does."""

import sys
import time
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import Policy
from aileron_tui.files.paths import paths
from aileron_tui.signing import key_store
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.secret_memory import wipe
from aileron_tui.signing.terminal_input import ask_line, ask_passphrase

MOMENT: Final = 0.7
"""How long a prompt is on the terminal before the question comes; what is typed before it is dropped."""


class NotDecided(AileronError):
    """An answer that was not given."""


def check_terminal(policy: Policy) -> None:
    """Refuses to decide where nobody can be looking, unless the user wants it so."""
    if not (_watched() or policy.headless_decisions):
        hint = "Answer in a terminal, or set headless_decisions = true under [policy] in the configuration."
        raise NotDecided("decisions are made at a terminal", "this process has none", hint)


def confirm(item: Request, policy: Policy, key: UnlockedKey, *, looked: bool) -> None:
    """Asks whether to approve what was shown. `looked` says that the person named the digest of what they saw before.

    High risk is asked about as `[policy] high_risk` says. Without a terminal nobody is asked, and where high risk takes
    more than a yes it is refused then.
    """
    high = item.prompt.risk.level is RiskLevel.HIGH
    if not _watched():
        if high and policy.high_risk != "confirm":
            detail = f'high_risk is "{policy.high_risk}", and this process has no terminal'
            raise NotDecided("high risk is approved at a terminal", detail)
        return
    if looked and not high:
        return
    time.sleep(MOMENT)
    if not _sure(item, policy.high_risk if high else "", key):
        raise NotDecided("not approved", hint="The request waits on.")


def _sure(item: Request, way: str, key: UnlockedKey) -> bool:
    action = item.prompt.action
    if way == "type":
        return ask_line(f"High risk. Type {inline(action)} to approve:") == action
    if way == "passphrase" and not key.insecure:
        return _knows_passphrase(key)
    return ask_line("Really approve? [y/N]" if way else "Approve? [y/N]").lower() in ("y", "yes")


def _knows_passphrase(key: UnlockedKey) -> bool:
    passphrase = ask_passphrase(f"High risk. Approve with the passphrase of {key.name}")
    try:
        key_store.unlock(paths().keys, key.name, passphrase).lock()
    finally:
        wipe(passphrase)
    return True


def _watched() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
