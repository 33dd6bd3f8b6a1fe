"""The table of everything that is fuzzed, by name."""

from collections.abc import Mapping
from typing import Final

from tests.fuzz import answer_targets, ledger_target, manifest_targets, sandbox_target, text_targets
from tests.fuzz.target import Target

TARGETS: Final[Mapping[str, Target]] = {
    **manifest_targets.TARGETS,
    **sandbox_target.TARGETS,
    **text_targets.TARGETS,
    **answer_targets.TARGETS,
    **ledger_target.TARGETS,
}
