"""Trusting the hooks of a setup in Codex, so that it can be taken back."""

from dataclasses import replace
from pathlib import Path

from aileron_tui.doors.agent_programs import shell_words
from aileron_tui.doors.codex_settings import WORD, codex_folder, settings_path
from aileron_tui.doors.codex_trust import trust_hooks, untrusted_hooks
from aileron_tui.doors.settings_file import digest, foreign_record
from aileron_tui.doors.settings_findings import read_text
from aileron_tui.doors.setup_plan import SetupContext
from aileron_tui.doors.setup_record import SetupRecord


def trusted_files(record: SetupRecord, program: Path, context: SetupContext) -> SetupRecord | None:
    """Trusts the hooks and returns the record with what Codex wrote, or None if it trusts them already."""
    hooks_file, command = settings_path(context), shell_words(context.hook(WORD))
    if not untrusted_hooks(program, hooks_file, command, context.folder, context.env):
        return None
    config = (codex_folder(context) / "config.toml").resolve()
    before = read_text(config)
    known = next((file for file in record.files if file.path == str(config)), None)
    made = foreign_record(config, before, known)
    trust_hooks(program, hooks_file, command, context.folder, context.env)
    after = replace(made, after=digest(read_text(config) or ""))
    return replace(record, files=(*(file for file in record.files if file.path != str(config)), after))
