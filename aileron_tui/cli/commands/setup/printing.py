"""Prints the settings that an agent needs, and changes nothing."""

import argparse
import sys

from aileron_tui.cli.exit_codes import OK
from aileron_tui.core.settings_changes import EMPTY, apply
from aileron_tui.core.visible_text import inline
from aileron_tui.doors.agent_settings import plan_for
from aileron_tui.doors.setup_plan import SetupContext


def run(options: argparse.Namespace, context: SetupContext) -> int:
    """Works without the agent's program, without a key and without a terminal."""
    plan = plan_for(options.word, context)
    parts = []
    for file in plan.files:
        text = file.text or apply(EMPTY, file.wanted).text
        parts.append(f"{inline(str(file.path))}:\n\n{text}")
    parts += ["\n".join(plan.steps) + "\n"] if plan.steps else []
    sys.stdout.write("\n".join(parts))
    return OK
