"""Takes back what a setup changed in the settings of an agent."""

import argparse
from pathlib import Path

from aileron_tui.cli import confirmation
from aileron_tui.cli.commands.setup.settings_text import diff_lines, said_yes, tell
from aileron_tui.cli.confirmation import NotDecided
from aileron_tui.cli.exit_codes import NOT_FOUND, OK
from aileron_tui.cli.output import print_lines, write_error
from aileron_tui.core.visible_text import inline
from aileron_tui.doors.agent_programs import KINDS
from aileron_tui.doors.agent_settings import has_hook
from aileron_tui.doors.settings_file import UndonePlan, take_back, undone
from aileron_tui.doors.settings_findings import read_text
from aileron_tui.doors.setup_plan import SetupContext
from aileron_tui.doors.setup_record import SetupRecord, read_records, remove_record
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths


def run(options: argparse.Namespace, context: SetupContext) -> int:
    """Returns 5 if the agent was not set up."""
    here, title = paths(), KINDS[options.word].title
    confirmation.check_terminal(load_config(here.config).policy, "undoing a setup")
    wanted = options.word, str(context.folder) if context.project else ""
    record = next((known for known in read_records(here.data) if known.key == wanted), None)
    if record is None:
        write_error(f"{title} was not set up {'for this folder' if context.project else 'here'}")
        return NOT_FOUND
    take_back_all(here.data, (record,))
    if has_hook(options.word):
        print_lines(
            f"{title} no longer asks the gate. The agent {record.agent} and its rules are kept.",
            f"  `aileron-tui agent revoke {record.agent}` revokes it for good; its name cannot be used again.",
        )
    return OK


def take_back_all(data: Path, records: tuple[SetupRecord, ...]) -> None:
    """Shows what becomes of the files, asks, and takes the setups back. Raises NotDecided."""
    shown = [undone(file, read_text(Path(file.path))) for record in records for file in record.files]
    for plan in shown:
        tell(*diff_lines(plan.record.path, plan.before, plan.after))
    if any(plan.before != plan.after for plan in shown) and not said_yes("Take this back?"):
        raise NotDecided("nothing was changed")
    for record in records:
        for file in record.files:
            plan = undone(file, read_text(Path(file.path)))
            take_back(plan)
            print_lines(*_report(plan))
        remove_record(data, record)


def _report(plan: UndonePlan) -> list[str]:
    path = inline(plan.record.path)
    if plan.before is None:
        return [f"{path} is gone already"]
    if plan.exact:
        return [f"{path} is as it was before the setup" if plan.after is not None else f"removed {path}"]
    lines = [f"{path} was edited since the setup, so only what the setup wrote was taken back"]
    if plan.before == plan.after:
        lines = [f"{path} was edited since the setup, and nothing in it was changed"]
    lines += [f"  left as it is: {inline('.'.join(change.wanted.path))}" for change in plan.left]
    if plan.record.backup:
        lines.append(f"  {inline(plan.record.backup)} has the file from before the setup")
    return lines
