"""The check of `doctor` on security keys: whether high risk can be approved if it needs one."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Final

from aileron_tui.cli.machine_checks import Check, Status, failed
from aileron_tui.core.errors import AileronError
from aileron_tui.files.config import SECURITY_KEY, Config
from aileron_tui.files.extras import install_command
from aileron_tui.files.paths import Paths
from aileron_tui.surface.key_enrolment import read_approvers

_ID: Final = "keys.security"
_ADD: Final = "Add one with `aileron-tui key security-key add`."


def security_keys(here: Paths, config: Config | None) -> Iterator[Check]:
    """Whether there is a security key, and whether it can be used here; nothing if there is none and none is needed."""
    needed = config is not None and config.policy.high_risk == SECURITY_KEY
    try:
        found = read_approvers(here.data).security_keys
    except AileronError as error:
        if needed:
            yield failed(_ID, error, "Run `aileron-tui history verify`.")
        return
    if not found:
        if needed:
            words = 'high_risk is "key", but no security key may approve here: nothing at high risk can be approved'
            yield Check(_ID, Status.FAIL, words, fix=_ADD)
        return
    words = f"{', '.join(approver.name for approver in found)} may approve here"
    if find_spec("fido2") is None:
        status = Status.FAIL if needed else Status.WARN
        fix = f"Install it with `{install_command('page')}`."
        yield Check(_ID, status, f"{words}, but the page extra is not installed", "fido2 is missing", fix)
        return
    yield Check(_ID, Status.OK, words)
